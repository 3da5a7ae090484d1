"""The lists of chapters in README.md and llms.txt, from the list in docs/index.md."""

import re
from collections.abc import Callable, Mapping

from tests.docs.document import README, text_of
from tests.docs.markdown import table

INDEX, LLMS = "docs/index.md", "llms.txt"
_GROUP = re.compile(r"^## (?P<name>.+)\n\n(?P<items>(?:- .+\n(?:  .+\n)*)+)", re.MULTILINE)
_LINK = re.compile(r"\[([^]]+)\]\(((?:tutorial|guides|reference|explanation)[^)]*)\)")


def groups() -> Mapping[str, str]:
    """The items of each group of the index."""
    return {match["name"]: match["items"] for match in _GROUP.finditer(text_of(INDEX))}


def tasks() -> list[str]:
    """The chapters and sections of the table of tasks, a row each."""
    rows, _, _ = text_of(INDEX).partition("\n## ")
    return [target for _, target in _LINK.findall(rows.partition("\n|---")[2])]


def _readme_table() -> str:
    """A row for each group of chapters."""
    links = {name: _LINK.findall(items) for name, items in groups().items() if name != "Start"}
    rows = [
        (f"**{name}**", ", ".join(f"[{chapter}](docs/{path})" for chapter, path in found))
        for name, found in links.items()
    ]
    return table(("", "chapters"), rows)


def _lists() -> str:
    """The index with links from the top of the repository."""
    below_docs = {name: _LINK.sub(r"[\1](docs/\2)", items) for name, items in groups().items()}
    return "\n".join(f"## {name}\n\n{items}" for name, items in below_docs.items())


TABLES: dict[tuple[str, str], Callable[[], str]] = {
    (README, "chapters"): _readme_table,
    (LLMS, "chapters"): _lists,
}
