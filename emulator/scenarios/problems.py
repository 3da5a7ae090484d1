"""What is wrong with a scenario file, where, and in words that tell how to put it right."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

_MAX_MESSAGE_CHARACTERS = 300
_MAX_COMPARED_CHARACTERS = 64
# To look for the nearest word takes as long as reading a hundred lines.
MAX_WITH_HINTS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One mistake; line and column count from 1.

    `key` is the key of the outermost mapping whose value it is in; None at the top itself.
    """

    source: str
    line: int = 1
    column: int = 1
    message: str
    key: str | None = None

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}: {self.message}"


class ScenarioError(Exception):
    """One or several scenario files cannot be used; `problems` holds every mistake found."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class Notes:
    """The mistakes found so far in one file, in the order of the file when asked for."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._problems: list[Problem] = []

    @property
    def are_many(self) -> bool:
        """Whether there are so many that nobody will look for hints in further ones."""
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


def hint_nearest(word: str, known: Iterable[str]) -> str:
    """The end of a message that asks whether the nearest known word was meant, or nothing."""
    nearest = difflib.get_close_matches(word[:_MAX_COMPARED_CHARACTERS].lower(), list(known), n=1)
    return f"; did you mean '{nearest[0]}'?" if nearest else ""
