"""Reads values of a response: by a path of its JSON, by a header, or by a regular expression."""

import html
import re
import signal
from dataclasses import dataclass
from typing import NoReturn

from emulator.http.response import HttpResponse
from emulator.scenarios.values import Json
from emulator.tools.explore.json_path import MAX_SHOWN_MEMBERS, JsonPath
from emulator.tools.explore.service import ExploreError

MAX_TEXT_CHARACTERS = 256 * 1024
# CPU time of this process, so that other load does not count.
MAX_SEARCH_S = 0.5
# A longer number is no count.
MAX_COUNT_DIGITS = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseValue:
    """Where a response has a value; `match` is searched in that of the path or header, if given.

    A match is its first group, if it has one. With `payment`, the value is that of a path of the
    payment, and no response has it.
    """

    path: JsonPath | None = None
    header: str | None = None
    match: str | None = None
    payment: JsonPath | None = None

    def __str__(self) -> str:
        if self.payment is not None:
            return f"{self.payment} of the payment"
        where = f"the header {self.header}" if self.header else str(self.path or "its text")
        return f"a match of {self.match!r} in {where}" if self.match else where

    def read(self, response: HttpResponse) -> Json:
        """The value; None where there is none. Raises ExploreError when a search takes too long."""
        return next(iter(self.matches(response)), None) if self.match else self._whole(response)

    def matches(self, response: HttpResponse) -> list[str]:
        """What the pattern matches, each time. Raises ExploreError when this takes too long."""
        whole = self._whole(response)
        return [] if whole is None or self.match is None else _search(self.match, str(whole))

    def missing_in(self, response: HttpResponse) -> str | None:
        """What a response has where the path or header does not exist in it; None where it does."""
        if self.path is not None:
            return self.path.missing_in(response.json)
        if self.header is None or response.header(self.header.lower()) is not None:
            return None
        names = dict.fromkeys(name for name, _ in response.headers)
        return f"the headers are: {', '.join(list(names)[:MAX_SHOWN_MEMBERS]) or 'none'}"

    def _whole(self, response: HttpResponse) -> Json:
        if self.path is not None:
            return self.path.read(response.json)
        if self.header is not None:
            return response.header(self.header.lower())
        text = response.body.decode("utf-8", "replace")
        is_html = "html" in (response.header("content-type") or "")
        return html.unescape(text) if is_html else text


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition(ResponseValue):
    """A condition of the order's state: a pattern that matches, or values that make it true."""

    values: tuple[Json, ...] = (True,)

    def holds(self, response: HttpResponse) -> bool:
        if self.match is not None:
            return bool(self.matches(response))
        # Python's 1 == True is not JSON's.
        value = self.read(response)
        return any(type(value) is type(each) and value == each for each in self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Count(ResponseValue):
    """A value of the order's state that counts: a number, a Boolean, a list, or matches."""

    def count(self, response: HttpResponse) -> int:
        """The number that the pattern matches first, or how often the pattern matches."""
        if self.match is not None:
            found = self.matches(response)
            is_number = found and found[0].isdecimal() and len(found[0]) <= MAX_COUNT_DIGITS
            return int(found[0]) if is_number else len(found)
        value = self.read(response)
        if isinstance(value, list):
            return len(value)
        return int(value) if isinstance(value, int | float) else 0


class _SearchTooLong(Exception):
    """A pattern has used its time."""


def _search(pattern: str, text: str) -> list[str]:
    """The first group of each match, or the match; `^` and `$` match at each line.

    Some patterns need exponential time on some texts: a timer of CPU time ends the search, which
    checks for signals. Raises ExploreError then, and for a text that is too long.
    """

    def end(*_: object) -> NoReturn:
        raise _SearchTooLong

    if len(text) > MAX_TEXT_CHARACTERS:
        raise ExploreError(
            f"match: {pattern!r}: no text of more than {MAX_TEXT_CHARACTERS:,} characters is"
            f" searched (got {len(text):,})"
        )
    before = signal.signal(signal.SIGVTALRM, end)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, MAX_SEARCH_S)
        try:
            found = list(re.finditer(pattern, text, re.MULTILINE))
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    except _SearchTooLong:
        raise ExploreError(
            f"match: {pattern!r} needs more than {MAX_SEARCH_S:g} s for a text of {len(text):,}"
            " characters; write a pattern with fewer repetitions"
        ) from None
    finally:
        signal.signal(signal.SIGVTALRM, before)
    return [match[min(1, match.re.groups)] or "" for match in found]
