"""README.md taken apart: its sections, its fenced blocks, the rows of its tables."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
README = REPOSITORY / "README.md"

_FENCE = re.compile(r"^```(?P<info>[^`\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
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
    """What stands below a heading of the second level."""

    title: str
    text: str
    blocks: list[Block] = field(default_factory=list)

    @property
    def is_run(self) -> bool:
        return any(block.kind in {Kind.RUN, Kind.SERVE} for block in self.blocks)


def readme() -> str:
    return README.read_text(encoding="utf-8")


def sections() -> list[Section]:
    text = readme()
    # A heading inside a fence would be a comment of a shell script.
    starts = list(_HEADING.finditer(_with_fences_dotted(text)))
    ends = [match.start() for match in starts[1:]] + [len(text)]
    return [
        Section(
            title=match["title"],
            text=text[match.start() : end],
            blocks=list(_blocks(text[match.start() : end])),
        )
        for match, end in zip(starts, ends, strict=True)
    ]


def section(title: str) -> Section:
    [found] = [one for one in sections() if one.title == title]
    return found


def part(title: str) -> str:
    """What stands below a heading of the third level."""
    [found] = re.findall(
        rf"^### {re.escape(title)}\n(.*?)(?=^###? |\Z)", readme(), re.MULTILINE | re.DOTALL
    )
    return str(found)


def files() -> dict[str, Block]:
    """Every file that the document shows, by name."""
    return {block.name: block for one in sections() for block in one.blocks if block.name}


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


def command_after(marker: str) -> str:
    """The text of the block below a comment such as `<!-- test command -->`."""
    [found] = re.findall(rf"^<!-- {marker} -->\n```sh.*\n((?:.*\n)*?)```$", readme(), re.MULTILINE)
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
    for match in _FENCE.finditer(text):
        _, _, purpose = match["info"].partition(" ")
        if purpose:
            word, _, name = purpose.partition("=")
            yield Block(kind=Kind(word), text=match["text"], name=name)
