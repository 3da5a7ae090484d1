"""How many bytes lie behind a page: its document, and every file that it leads a browser to.

Counted are the bodies, not compressed. A file that the page or one of its stylesheets names counts
once, even if no element of this page shows it; a font that is kept for some characters only, by
its `unicode-range`, counts if one of them is in the document, since browsers load no other.
"""

import re
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import PurePosixPath
from urllib.parse import urljoin, urlsplit

from tests.benchmarks.servers import Server, ServerFailed

_NAMED_BY = {"link": "href", "script": "src", "img": "src"}
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_FONT = re.compile(r"@font-face\s*\{[^}]*\}")
_URL = re.compile(r"""\burl\(\s*["']?(?!data:)([^"')]+?)["']?\s*\)""")
_RANGES = re.compile(r"unicode-range:([^;}]*)")
_RANGE = re.compile(r"U\+([0-9A-F]+)(?:-([0-9A-F]+))?", re.IGNORECASE)


def weigh(listener: Server, path: str) -> dict[str, int]:
    """The bytes of a page and of what it loads, by kind: `html`, `css`, …

    Raises ServerFailed where something that is named cannot be had.
    """
    document = _get(listener, path)
    html = document.decode()
    weights = Counter(html=len(document))
    seen = set()
    due = [urljoin(path, name) for name in _names_in(html)]
    while due:
        file = due.pop()
        if file in seen:
            continue
        seen.add(file)
        content = _get(listener, file)
        kind = PurePosixPath(urlsplit(file).path).suffix.removeprefix(".")
        weights[kind] += len(content)
        if kind == "css":
            due += [urljoin(file, name) for name in _names_of(content.decode(), set(html))]
    return dict(weights)


def _get(listener: Server, path: str) -> bytes:
    if urlsplit(path).netloc:
        raise ServerFailed(f"a page loads from elsewhere: {path}")
    status, body = listener.call("GET", path, {"Accept": "*/*"})
    if status != 200:
        raise ServerFailed(f"{path} was answered {status}: {body[:600]!r}")
    return body


class _Document(HTMLParser):
    """Collects what elements name to be loaded with the page."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        name = dict(attrs).get(_NAMED_BY.get(tag, ""))
        if name:
            self.names.append(name)


def _names_in(html: str) -> list[str]:
    document = _Document()
    document.feed(html)
    return document.names


def _names_of(stylesheet: str, characters: set[str]) -> Iterator[str]:
    """What a stylesheet names: its images, and the fonts for these characters."""
    text = _COMMENT.sub("", stylesheet)
    yield from _URL.findall(_FONT.sub("", text))
    for face in _FONT.findall(text):
        if _is_for(face, characters):
            yield from _URL.findall(face)


def _is_for(face: str, characters: set[str]) -> bool:
    ranges = _RANGES.search(face)
    return ranges is None or any(
        int(first, 16) <= ord(character) <= int(last or first, 16)
        for first, last in _RANGE.findall(ranges[1])
        for character in characters
    )
