"""Serves the files that the pages load, under names that change with their content."""

import re
from hashlib import blake2b
from pathlib import Path

from starlette.responses import Response

DIRECTORY = "static"
FOREVER = "public, max-age=31536000, immutable"
FOR_A_DAY = "public, max-age=86400"

_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}
_REFERENCE = re.compile(r"""\burl\(\s*(?P<quote>["']?)(?P<name>[^)]*?)(?P=quote)\s*\)""")


class Assets:
    """All files of known types in a directory, and further files, read once."""

    def __init__(self, directory: Path, *more: Path) -> None:
        """Raises ValueError where a stylesheet names a missing file."""
        self._names: dict[str, str] = {}
        self._files: dict[str, tuple[bytes, str]] = {}
        paths = [
            path for path in (*sorted(directory.iterdir()), *more) if path.suffix in _MEDIA_TYPES
        ]
        # Stylesheets come last: their contents, and so their digests, depend on the other names.
        for path in sorted(paths, key=_is_stylesheet):
            content = self._stylesheet(path) if _is_stylesheet(path) else path.read_bytes()
            digest = blake2b(content, digest_size=6).hexdigest()
            name = f"{path.stem}-{digest}{path.suffix}"
            self._names[path.name] = name
            self._files[name] = content, _MEDIA_TYPES[path.suffix]

    def path(self, name: str) -> str:
        """The path of a file below the listener's root. Raises KeyError."""
        return f"{DIRECTORY}/{self._names[name]}"

    def response(self, name: str) -> Response | None:
        """A file by its name with the digest; None for an unknown name."""
        return self._response(name, FOREVER) if name in self._files else None

    def icon(self) -> Response:
        """The icon, under the fixed name that browsers request."""
        return self._response(self._names["icon.svg"], FOR_A_DAY)

    def _response(self, name: str, cache_control: str) -> Response:
        content, media_type = self._files[name]
        headers = {"Cache-Control": cache_control, "Content-Type": media_type}
        return Response(content, headers=headers)

    def _stylesheet(self, path: Path) -> bytes:
        """A stylesheet with the served names of the files that it refers to."""

        def as_served(reference: re.Match[str]) -> str:
            name = reference["name"]
            if name not in self._names or name.endswith(".css"):
                raise ValueError(f"{path.name} names '{name}', which is no file beside it")
            return f'url("{self._names[name]}")'

        return _REFERENCE.sub(as_served, path.read_text(encoding="utf-8")).encode()


def _is_stylesheet(path: Path) -> bool:
    return path.suffix == ".css"
