"""Reports a stored row that cannot be used, instead of the error that it causes."""

from collections.abc import Iterator
from contextlib import contextmanager

from emulator.domain.instants import FIRST_INSTANT, LAST_INSTANT, Instant

# A payment may expire ten years after the last instant that a clock can be set to.
_LAST_DUE: Instant = LAST_INSTANT + 11 * 365 * 24 * 3_600_000
_MAX_SHOWN_CHARACTERS = 40


class InvalidValue(ValueError):
    """A column has a value that it cannot have."""

    def __init__(self, column: str, value: object, expected: str) -> None:
        shown = repr(value)
        if len(shown) > _MAX_SHOWN_CHARACTERS:
            shown = f"{shown[: _MAX_SHOWN_CHARACTERS - 1]}…"
        super().__init__(f"{column}: found {shown}, expected {expected}")


class InvalidRow(Exception):
    """A table has a row that cannot be used; the message is the end of a sentence for the user."""

    def __init__(self, table: str, reason: str) -> None:
        super().__init__(f"an invalid row in the table {table}: {reason}")


@contextmanager
def reading(table: str) -> Iterator[None]:
    """Raises InvalidRow for any error of the conversion of a row."""
    try:
        yield
    except InvalidValue as error:
        raise InvalidRow(table, str(error)) from error
    except LookupError as error:
        raise InvalidRow(table, f"unknown value {error}") from error
    except (ArithmeticError, TypeError, ValueError) as error:
        raise InvalidRow(table, str(error)) from error


def check_instant(column: str, instant: Instant | None) -> None:
    """Raises InvalidValue for an instant beyond the calendar."""
    if instant is not None and not FIRST_INSTANT <= instant < _LAST_DUE:
        raise InvalidValue(column, instant, "milliseconds from 1970 to 9999")
