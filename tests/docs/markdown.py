"""How the documents write a table."""

from collections.abc import Iterable


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A Markdown table, with a line break at its end."""
    first, *others = (f"| {' | '.join(cells)} |\n" for cells in (head, *rows))
    return f"{first}|{'---|' * len(head)}\n{''.join(others)}"
