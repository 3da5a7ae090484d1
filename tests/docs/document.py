"""The documents: their sections, their fenced blocks, the rows of their tables."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from itertools import pairwise
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
README = "README.md"
CONTRIBUTING = "CONTRIBUTING.md"
_AT_THE_TOP = ["CHANGELOG.md", CONTRIBUTING, "SECURITY.md"]

_FENCE = re.compile(r"^```(?P<info>[^`\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_EXAMPLE = re.compile(r"\]\((?:\.\./)?examples/(?P<name>[\w.-]+)\)")
_HEADING = re.compile(r"^## (?P<title>.+)$", re.MULTILINE)
_ROW = re.compile(r"^\|(?P<cells>.+)\|$", re.MULTILINE)
_PARAGRAPH_OR_ITEM = re.compile(r"\n\n|\n(?=(?:-|\d+\.) )")


class Kind(Enum):
    """What a block is for: the second word of its info string."""

    RUN = "run"
    """Commands for the shell, with a server behind them."""
    SERVE = "serve"
    """The command that starts that server."""
    HANDLER = "handler"
    """A command that starts a merchant's server; several say the same in different languages."""
    PRINTED = "printed"
    """What each of these prints by the end of the commands."""
    OUTPUT = "output"
    """What the block before it prints; `…` stands for anything."""
    FILE = "file"
    SCENARIO = "scenario"
    """A file that `check` must find valid, and whose script, if it has one, must pass."""
    FAILING = "failing"
    """The same, but its script must not pass."""
    WORKFLOW = "workflow"
    """A workflow of GitHub Actions."""
    GITLAB = "gitlab"
    """A pipeline of GitLab CI."""
    COMPOSE = "compose"
    REPLICAS = "replicas"
    """Commands, a line each, that start servers side by side."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """A fenced block that is more than shown; `name` is that of a file."""

    kind: Kind
    text: str
    name: str = ""


@dataclass(frozen=True, kw_only=True)
class Section:
    """What stands below a heading of the second level; `files` are those of the whole document."""

    page: str
    title: str
    text: str
    blocks: list[Block] = field(default_factory=list)
    files: dict[str, Block] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return f"{self.page}: {self.title}"

    @property
    def is_run(self) -> bool:
        return any(block.kind in {Kind.RUN, Kind.SERVE} for block in self.blocks)


def pages() -> list[str]:
    """The paths of all documents below the repository."""
    chapters = sorted((REPOSITORY / "docs").rglob("*.md"))
    return [README, *_AT_THE_TOP, *(path.relative_to(REPOSITORY).as_posix() for path in chapters)]


@cache
def text_of(page: str) -> str:
    return (REPOSITORY / page).read_text(encoding="utf-8")


@cache
def sections_of(page: str) -> list[Section]:
    """The sections of a document; the first is what stands before its first heading."""
    text = text_of(page)
    # A heading inside a fence would be a comment of a shell script.
    starts = list(_HEADING.finditer(_with_fences_dotted(text)))
    titles = ["", *(match["title"] for match in starts)]
    places = [0, *(match.start() for match in starts), len(text)]
    files = {block.name: block for block in _blocks(text) if block.name}
    return [
        Section(
            page=page,
            title=title,
            text=text[start:end],
            blocks=list(_blocks(text[start:end])),
            files=files,
        )
        for title, (start, end) in zip(titles, pairwise(places), strict=True)
    ]


def sections() -> list[Section]:
    """The sections of all documents."""
    return [section for page in pages() for section in sections_of(page)]


def part(page: str, title: str) -> str:
    """What stands below a heading of any level, up to the next one of that level or above."""
    text = text_of(page)
    dotted = _with_fences_dotted(text)
    [heading] = re.finditer(rf"^(#+) {re.escape(title)}$", dotted, re.MULTILINE)
    end = re.compile(rf"^#{{1,{len(heading[1])}}} ", re.MULTILINE).search(dotted, heading.end())
    return text[heading.end() : end.start() if end else None]


def shown_file(name: str) -> Block:
    """The one file of that name that the documents show."""
    shown = {sections_of(page)[0].files.get(name) for page in pages()} - {None}
    [block] = [block for block in shown if block is not None]
    return block


def unannounced(text: str) -> list[str]:
    """The files that a text shows without their names in backquotes directly before, by line.

    Who reads the document as a page does not see the info string of a block.
    """
    prose = _with_fences_dotted(text)
    found = []
    for match in _FENCE.finditer(text):
        _, _, name = match["info"].partition("=")
        before = _PARAGRAPH_OR_ITEM.split(prose[: match.start()].rstrip())[-1]
        if name and f"`{name}`" not in before:
            line = text.count("\n", 0, match.start()) + 1
            found.append(f"line {line}: {name}")
    return found


def command_after(marker: str, page: str = README) -> str:
    """The text of the block below a comment such as `<!-- test command -->`."""
    pattern = rf"^<!-- {marker} -->\n```sh.*\n((?:.*\n)*?)```$"
    [found] = re.findall(pattern, text_of(page), re.MULTILINE)
    return str(found)


def rows(text: str) -> list[list[str]]:
    """The cells of every table row, without heads and rules."""
    cells = [
        [cell.strip() for cell in match["cells"].split("|")]
        for match in _ROW.finditer(_FENCE.sub("", text))
    ]
    rules = [number for number, row in enumerate(cells) if set("".join(row)) <= set("-")]
    return [row for number, row in enumerate(cells) if not {number, number + 1} & set(rules)]


def _with_fences_dotted(text: str) -> str:
    """A text of the same length that has nothing in its blocks."""
    return _FENCE.sub(lambda fence: "." * len(fence[0]), text)


def _blocks(text: str) -> Iterator[Block]:
    """The fenced blocks with a purpose, and the files of `docs/examples` that the text links."""
    for name in dict.fromkeys(match["name"] for match in _EXAMPLE.finditer(text)):
        example = REPOSITORY / "docs/examples" / name
        yield Block(kind=Kind.FILE, text=example.read_text(encoding="utf-8"), name=name)
    for match in _FENCE.finditer(text):
        _, _, purpose = match["info"].partition(" ")
        if purpose:
            word, _, name = purpose.partition("=")
            yield Block(kind=Kind(word), text=match["text"], name=name)
