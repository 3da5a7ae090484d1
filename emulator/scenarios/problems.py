"""Collects the problems of a scenario file, with their positions."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from emulator.domain.message_text import escape_controls, nearest_word
from emulator.domain.payment import Status, status_advice
from emulator.domain.user_error import UserError

_MAX_MESSAGE_CHARACTERS = 300
# The search for the nearest word takes as long as reading a hundred lines.
MAX_WITH_HINTS = 200
MAX_IN_ONE_LINE = 10


class Problem(Struct, frozen=True, kw_only=True):
    """One problem; line and column count from 1.

    `key` is the key of the outermost mapping whose value has the problem; None at the top itself.
    """

    source: str
    line: int = 1
    column: int = 1
    message: str
    key: str | None = None

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}: {self.message}"


class ScenarioError(UserError):
    """One or several scenario files are invalid; `problems` has every problem."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(*map(str, self.problems))


def in_one_line(messages: Sequence[str]) -> str:
    """The first messages, and the number of the others."""
    more = len(messages) - MAX_IN_ONE_LINE
    shown = "; ".join(messages[:MAX_IN_ONE_LINE])
    return f"{shown}; and {more} more" if more > 0 else shown


class Notes:
    """The problems of one file so far; `problems` has them in the order of the file."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._problems: list[Problem] = []

    @property
    def are_many(self) -> bool:
        """Whether there are too many problems for further hints."""
        return len(self._problems) >= MAX_WITH_HINTS

    def add(self, line: int, column: int, message: str) -> None:
        """Add a problem; its message becomes one line, whatever the file has."""
        message = escape_controls(message)
        if len(message) > _MAX_MESSAGE_CHARACTERS:
            message = f"{message[: _MAX_MESSAGE_CHARACTERS - 1]}…"
        self._problems.append(
            Problem(source=self._source, line=line, column=column, message=message)
        )

    @property
    def problems(self) -> tuple[Problem, ...]:
        return tuple(sorted(self._problems, key=lambda problem: (problem.line, problem.column)))


# Words of other services, and of the language.
_SYNONYMS = {
    "completed": "succeeded success successful paid approved captured settled done",
    "failed": "declined rejected error failure timeout timed_out",
    "insufficient_balance": "insufficient_funds no_funds not_enough_money low_balance",
    "user_cancelled": "cancelled canceled cancel aborted",
    "timeout": "timed_out time_out no_answer expired",
    "bank_declined": "declined rejected",
    "provider_error": "error internal_error",
    "decline": "reject refuse",
    "create_payment": "post create",
    "retrieve_payment": "get retrieve fetch read",
    "list_payments": "list",
    "true": "yes on",
    "false": "no off",
    "test": "sandbox",
    "live": "production prod",
}


def hint_nearest(word: str, known: Iterable[str]) -> str:
    """The end of a message with the nearest known word, or nothing."""
    words = list(known)
    prefix, dot, last = word.lower().rpartition(".")
    last = last.replace(" ", "_").replace("-", "_")
    advice = status_advice(last) if f"{prefix}{dot}{Status.FAILED}" in words else ""
    if advice:
        return f"; {advice[0].lower()}{advice[1:-1]}"
    meant = (f"{prefix}{dot}{each}" for each in _SYNONYMS if last in _SYNONYMS[each].split())
    nearest = next(filter(words.__contains__, meant), None) or nearest_word(word.lower(), words)
    return "" if nearest is None else f"; did you mean '{nearest}'?"
