"""Parses an HTML page into elements, texts and forms."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

import httpx

_VOID = frozenset({"meta", "link", "input", "br", "hr", "img"})


@dataclass(slots=True)
class Element:
    tag: str
    attributes: dict[str, str]
    parts: list[str] = field(default_factory=list)
    fields: dict[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return re.sub(" +", " ", " ".join(self.parts)).strip()


class Markup(HTMLParser):
    """The elements of a page, each of which is closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[Element] = []
        self.timed: list[Element] = []
        self._open: list[Element] = []
        self.feed(html)
        assert self._open == [], "an element is not closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.elements.append(element)
        if self._open and self._open[-1].tag == "noscript":
            self.timed.append(element)
        if tag == "input":
            for form in self._open:
                if form.tag == "form":
                    form.fields[element.attributes["name"]] = element.attributes.get("value", "")
        if tag not in _VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop().tag == tag, "elements overlap"

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.parts.append(data.strip("\n"))

    def all(self, tag: str) -> list[Element]:
        return [element for element in self.elements if element.tag == tag]


class Page(Markup):
    """A page as a browser without scripts shows it."""

    def __init__(self, response: httpx.Response) -> None:
        assert response.headers["content-type"] == "text/html; charset=utf-8", response.text
        self.response = response
        super().__init__(response.text)

    def find(self, testid: str) -> Element | None:
        found = [e for e in self.elements if e.attributes.get("data-testid") == testid]
        assert len(found) < 2, f"{testid} occurs {len(found)} times"
        return found[0] if found else None

    def get(self, testid: str) -> Element:
        element = self.find(testid)
        assert element is not None, f"no {testid} in {self.response.text}"
        return element

    def text(self, testid: str) -> str:
        return self.get(testid).text

    @property
    def name(self) -> str:
        """The name of the page; the name of a result ends with the status of its payment."""
        [main] = self.all("main")
        name, status = main.attributes["data-page"], main.attributes.get("data-status")
        return f"{name}-{status}" if name == "result" else name

    @property
    def heading(self) -> str:
        [heading] = self.all("h1")
        return heading.text

    @property
    def refresh(self) -> str | None:
        """The automatic redirect, with scripts or without: `0;url=…`."""
        return _refresh([meta for meta in self.all("meta") if meta not in self.timed])

    @property
    def refresh_without_script(self) -> str | None:
        """The automatic redirect without scripts: `2;url=…`."""
        return _refresh(self.timed)

    def form(self, of: str) -> Element:
        """The form with this end of its action, or with this test id."""
        for form in self.all("form"):
            action = form.attributes["action"].partition("?")[0]
            if form.attributes.get("data-testid") == of or action.endswith(of):
                return form
        raise AssertionError(f"no form {of}")


def _refresh(metas: list[Element]) -> str | None:
    found = [
        meta.attributes["content"]
        for meta in metas
        if meta.attributes.get("http-equiv") == "refresh"
    ]
    return found[0] if found else None
