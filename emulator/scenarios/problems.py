"""Collects the problems of a scenario file, with their positions."""

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass

_MAX_MESSAGE_CHARACTERS = 300
_MAX_COMPARED_CHARACTERS = 64
# The search for the nearest word takes as long as reading a hundred lines.
MAX_WITH_HINTS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
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


class ScenarioError(Exception):
    """One or several scenario files are invalid; `problems` has every problem."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class Notes:
    """The problems of one file so far; `problems` has them in the order of the file."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._problems: list[Problem] = []

    @property
    def are_many(self) -> bool:
        """Whether there are so many that further ones need no hints."""
        return len(self._problems) >= MAX_WITH_HINTS

    def add(self, line: int, column: int, message: str) -> None:
        if len(message) > _MAX_MESSAGE_CHARACTERS:
            message = f"{message[: _MAX_MESSAGE_CHARACTERS - 1]}…"
        self._problems.append(
            Problem(source=self._source, line=line, column=column, message=message)
        )

    @property
    def problems(self) -> tuple[Problem, ...]:
        return tuple(sorted(self._problems, key=lambda problem: (problem.line, problem.column)))


# Words of other payment services, and of the language, for those of this format.
_SYNONYMS = {
    "completed": "succeeded success successful paid approved captured settled done",
    "failed": "declined rejected error failure unsuccessful cancelled canceled timeout timed_out",
    "pending": "created open unpaid requires_action",
    "processing": "in_progress submitted",
    "refunded": "reversed returned",
    "insufficient_balance": "insufficient_funds no_funds not_enough_money low_balance",
    "user_cancelled": "cancelled canceled cancel aborted",
    "timeout": "timed_out time_out no_answer expired",
    "wrong_pin": "invalid_pin incorrect_pin bad_pin",
    "bank_declined": "declined rejected do_not_honor",
    "limit_exceeded": "over_limit limit",
    "provider_error": "error internal_error",
    "approve": "accept confirm",
    "decline": "reject refuse",
    "create_payment": "post create new_payment",
    "retrieve_payment": "get retrieve fetch read",
    "list_payments": "list get_payments",
    "true": "yes on",
    "false": "no off",
    "test": "sandbox",
    "live": "production prod",
}


def hint_nearest(word: str, known: Iterable[str]) -> str:
    """The end of a message with the nearest known word, or nothing."""
    candidates = list(known)
    written = word[:_MAX_COMPARED_CHARACTERS].lower()
    prefix, dot, last = written.rpartition(".")
    plain = re.sub("[ -]", "_", last)
    meant = (f"{prefix}{dot}{each}" for each, words in _SYNONYMS.items() if plain in words.split())
    nearest = next((each for each in meant if each in candidates), None)
    if nearest is None:
        close = difflib.get_close_matches(written, candidates, n=1)
        nearest = close[0] if close else None
    return f"; did you mean '{nearest}'?" if nearest else ""
