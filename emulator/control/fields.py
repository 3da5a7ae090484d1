"""How the members of a body become values, each checked once; null and absent are None."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal, Inexact
from enum import StrEnum
from typing import Any, TypeVar

from emulator.domain.errors import InvalidField, MissingParameter
from emulator.domain.instants import LAST_INSTANT, ClockSpec, Instant, parse_clock, parse_instant
from emulator.domain.received_values import not_accepted, received
from emulator.settings import parse_checkout_url, parse_url

MAX_TEXT_LENGTH = 200
MAX_NAME_LENGTH = 100
MAX_URL_LENGTH = 2_048
SEEDS = range(-(2**63), 2**63)
# Whatever code a field of a clock would have, its refusals are `invalid_clock`.
CLOCK = "clock"

_ACCEPTED_URL = "an absolute http or https URL"
_CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f-\x9f]")
# Multiplies without rounding: what would have to be rounded is finer than any millisecond.
_EXACT = Context(prec=40, traps=[Inexact])

T = TypeVar("T")
Word = TypeVar("Word", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Fields:
    """The known members of one body that are not null."""

    members: Mapping[str, Any]

    def has(self, name: str) -> bool:
        return name in self.members

    def text(
        self, name: str, *, kind: str | None = None, longest: int = MAX_TEXT_LENGTH
    ) -> str | None:
        """A string of a limited number of characters. Raises InvalidField."""
        value = self.members.get(name)
        if value is None:
            return None
        if not isinstance(value, str):
            raise not_accepted(name, value, "a string", kind=kind)
        if len(value) > longest:
            raise InvalidField(
                name,
                f'"{name}" must have at most {longest} characters (got {len(value)}).',
                kind=kind,
            )
        return value

    def flag(self, name: str, *, kind: str | None = None) -> bool | None:
        """Raises InvalidField."""
        value = self.members.get(name)
        if value is not None and not isinstance(value, bool):
            raise not_accepted(name, value, "true or false", kind=kind)
        return value

    def word(self, name: str, words: type[Word]) -> Word | None:
        """One of a closed set of words. Raises InvalidField."""
        value = self.text(name)
        return None if value is None else word_of(value, words, name)

    def words(self, name: str, words: Collection[str]) -> tuple[str, ...] | None:
        """A list of some of a closed set of words, in the order of the set. Raises InvalidField."""
        value = self.members.get(name)
        if value is None:
            return None
        if not isinstance(value, list) or not value:
            raise not_accepted(name, value, f"an array of one or more of: {', '.join(words)}")
        for entry in value:
            if not isinstance(entry, str) or entry not in words:
                raise InvalidField(
                    name,
                    f'Each entry of "{name}" must be one of: {", ".join(words)}'
                    f" (got {received(entry)}).",
                )
        return tuple(word for word in words if word in value)

    def url(self, name: str) -> str | None:
        """An absolute http or https URL, as it is written. Raises InvalidField."""
        return self._url(name, parse_url, _ACCEPTED_URL)

    def base_url(self, name: str) -> str | None:
        """A URL that others begin with, without a slash at its end. Raises InvalidField."""
        accepted = f"{_ACCEPTED_URL}, without a query or a fragment"
        return self._url(name, parse_checkout_url, accepted)

    def _url(self, name: str, parse: Callable[[str], str], accepted: str) -> str | None:
        value = self.text(name, longest=MAX_URL_LENGTH)
        if value is None:
            return None
        try:
            return parse(value)
        except ValueError:
            raise not_accepted(name, value, accepted) from None

    def name(self, name: str) -> str | None:
        """A name that a page can show. Raises InvalidField."""
        value = self.text(name, longest=MAX_NAME_LENGTH)
        if value is None:
            return None
        if not value or _CONTROL_CHARACTER.search(value):
            raise not_accepted(
                name, value, f"1 to {MAX_NAME_LENGTH} characters without control characters"
            )
        return value

    def seed(self, name: str) -> int | None:
        """A signed integer of 64 bits. Raises InvalidField."""
        value = self.members.get(name)
        if value is None:
            return None
        if type(value) is not int or value not in SEEDS:
            raise not_accepted(name, value, "a signed integer of 64 bits")
        return value

    def span_ms(self, name: str) -> int | None:
        """Seconds, down to the millisecond, as milliseconds. Raises InvalidField."""
        value = self.members.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            raise not_accepted(name, value, "a number of seconds", kind=CLOCK)
        if not 0 <= value <= LAST_INSTANT // 1000:
            raise not_accepted(
                name, value, f"a number of seconds from 0 to {LAST_INSTANT // 1000}", kind=CLOCK
            )
        try:
            exact_ms = _EXACT.multiply(Decimal(value), Decimal(1000))
        except Inexact:
            exact_ms = None
        if exact_ms is None or exact_ms != exact_ms.to_integral_value():
            raise not_accepted(
                name, value, "a number of seconds in whole milliseconds, such as 1.005", kind=CLOCK
            )
        return int(exact_ms)

    def instant(self, name: str) -> Instant | None:
        """What a clock is set to. Raises InvalidField."""
        value = self.text(name, kind=CLOCK)
        if value is None:
            return None
        try:
            return parse_instant(value)
        except ValueError as error:
            raise InvalidField(name, f"{error}.", kind=CLOCK) from None

    def clock(self, name: str) -> ClockSpec | None:
        """A clock, written as for `--clock`. Raises InvalidField."""
        value = self.text(name, kind=CLOCK)
        if value is None:
            return None
        try:
            return parse_clock(value)
        except ValueError as error:
            raise InvalidField(name, f"{error}.", kind=CLOCK) from None


def word_of(value: str, words: type[Word], param: str) -> Word:
    """Raises InvalidField for a word that is not of the set."""
    for word in words:
        if value == word.value:
            return word
    raise not_accepted(param, value, f"one of: {', '.join(word.value for word in words)}")


def required(value: T | None, param: str) -> T:
    """Raises MissingParameter."""
    if value is None:
        raise MissingParameter(param)
    return value
