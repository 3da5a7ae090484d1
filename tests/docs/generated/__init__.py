"""The tables of the documents that are generated from the program, and their places."""

from collections.abc import Callable

from tests.docs import document
from tests.docs.document import REPOSITORY
from tests.docs.generated import (
    action,
    control_api,
    error_codes,
    explore,
    helpers,
    index,
    pages,
    program,
    scenario_format,
    webhook_form,
)

# By the page that each is on, and its name there.
TABLES: dict[tuple[str, str], Callable[[], str]] = {
    **program.TABLES,
    **control_api.TABLES,
    **error_codes.TABLES,
    **action.TABLES,
    **pages.TABLES,
    **scenario_format.TABLES,
    **explore.TABLES,
    **helpers.TABLES,
    **index.TABLES,
    **webhook_form.TABLES,
}


def generated(name: str, text: str) -> str:
    """What stands in a document where a table is generated."""
    return _parts(name, text)[1]


def regenerate() -> None:
    """Write all tables into their pages, texts into the helpers, the version into the recipes."""
    for page in helpers.HELPERS:
        path = REPOSITORY / page
        path.write_text(helpers.with_texts(page, path.read_text("utf-8")), encoding="utf-8")
    for (page, name), table in TABLES.items():
        path = REPOSITORY / page
        before, _, after = _parts(name, path.read_text(encoding="utf-8"))
        path.write_text(before + table() + after, encoding="utf-8")
    for page in document.pages():
        path = REPOSITORY / page
        text = path.read_text(encoding="utf-8")
        path.write_text(action.with_versions(text), encoding="utf-8")


def _parts(name: str, text: str) -> tuple[str, str, str]:
    """What stands before a generated table, the table, and what comes after it."""
    begin, end = f"<!-- generated: {name} -->\n", "<!-- end generated -->"
    before, found, rest = text.partition(begin)
    table, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"no place for the table '{name}'")
    return before + found, table, closed + after
