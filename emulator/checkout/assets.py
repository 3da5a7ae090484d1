"""The files that the pages load: each under a name that changes with its content."""

from hashlib import blake2b
from pathlib import Path

from starlette.responses import Response

DIRECTORY = "static"
FOREVER = "public, max-age=31536000, immutable"

_MEDIA_TYPES = {".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}


class Assets:
    """All files of known types in a directory, read once."""

    def __init__(self, directory: Path) -> None:
        self._names: dict[str, str] = {}
        self._files: dict[str, tuple[bytes, str]] = {}
        for path in sorted(directory.iterdir()):
            if path.suffix in _MEDIA_TYPES:
                content = path.read_bytes()
                digest = blake2b(content, digest_size=6).hexdigest()
                name = f"{path.stem}-{digest}{path.suffix}"
                self._names[path.name] = f"{DIRECTORY}/{name}"
                self._files[name] = content, _MEDIA_TYPES[path.suffix]

    def path(self, name: str) -> str:
        """The path of a file below the listener's root. Raises KeyError."""
        return self._names[name]

    def response(self, name: str) -> Response | None:
        """A file by its name with the digest, None when there is no such."""
        if name not in self._files:
            return None
        content, media_type = self._files[name]
        headers = {"Cache-Control": FOREVER, "Content-Type": media_type}
        return Response(content, headers=headers)
