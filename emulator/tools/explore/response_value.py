"""Reads values of a response: by a path of its JSON, by a header, or by a regular expression.

A path such as `$.orders[0].status` has the names of members, and indices of items.
"""

import html
import json
import re
import signal
from decimal import Decimal
from enum import StrEnum
from typing import NoReturn

from msgspec import Struct

from emulator.domain.user_error import UserError
from emulator.http.response import HttpResponse
from emulator.scenarios.values import Json

MAX_SHOWN_MEMBERS = 20
MAX_SHOWN_TEXT = 80
_STEP = re.compile(r"\.([^.\[\]\s]+)|\[([0-9]{1,9})\]")
JSON_PATH = re.compile(rf"\$(?:{_STEP.pattern})*")
MAX_TEXT_CHARACTERS = 256 * 1024
# CPU time of this process, so that other load does not count.
MAX_SEARCH_S = 0.5
_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?", re.ASCII)
# A longer number is no count.
MAX_COUNT_DIGITS = 9


class ResponseValue(Struct, frozen=True, kw_only=True):
    """Where a response has a value; `match` is searched in the path's or header's value, if given.

    A match is its first group, if it has one. With `payment`, the value is at a path of the
    payment, and no response has it.
    """

    path: str | None = None
    header: str | None = None
    match: str | None = None
    payment: str | None = None

    def __str__(self) -> str:
        if self.payment is not None:
            return f"{self.payment} of the payment"
        where = f"the header {self.header}" if self.header else self.path or "its text"
        return f"a match of {self.match!r} in {where}" if self.match else where

    def read(self, response: HttpResponse) -> Json:
        """The value; None where there is none. Raises UserError when a search takes too long."""
        return next(iter(self.matches(response)), None) if self.match else self._whole(response)

    def matches(self, response: HttpResponse) -> list[str]:
        """What the pattern matches, each time. Raises UserError when this takes too long."""
        whole = self._whole(response)
        return [] if whole is None or self.match is None else _search(self.match, str(whole))

    def missing_in(self, response: HttpResponse) -> str | None:
        """What a response has where the path or header does not exist in it; None where it does."""
        if self.path is not None:
            return missing_at(self.path, response.json)
        if self.header is None or response.header(self.header.lower()) is not None:
            return None
        names = dict.fromkeys(name for name, _ in response.headers)
        return f"the headers are: {', '.join(list(names)[:MAX_SHOWN_MEMBERS]) or 'none'}"

    def _whole(self, response: HttpResponse) -> Json:
        if self.path is not None:
            return read_path(self.path, response.json)
        if self.header is not None:
            return response.header(self.header.lower())
        text = response.body.decode("utf-8", "replace")
        is_html = "html" in (response.header("content-type") or "")
        return html.unescape(text) if is_html else text


class Condition(ResponseValue, frozen=True, kw_only=True):
    """A condition of the order's state: a pattern that matches, or values that make it true."""

    values: tuple[Json, ...] = (True,)

    def holds(self, response: HttpResponse) -> bool:
        if self.match is not None:
            return bool(self.matches(response))
        # Python's 1 == True is not JSON's.
        value = self.read(response)
        return any(type(value) is type(each) and value == each for each in self.values)

    def shown(self, response: HttpResponse) -> str:
        """The value, beside those that make the condition true."""
        if self.match is not None:
            return f"no match of {self.match!r}"
        accepted = ", ".join(map(repr, self.values))
        return f"`{self.path}` is {self._whole(response)!r:.{MAX_SHOWN_TEXT}}; `in` has {accepted}"


class Count(ResponseValue, frozen=True, kw_only=True):
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

    def shown_unless_zero(self, response: HttpResponse) -> str:
        """The value in words; empty where it counts nothing."""
        count = self.count(response)
        value = self._whole(response) if self.match is None else count
        is_zero = count == 0 and not isinstance(value, str | dict)
        return "" if is_zero else f"{value!r:.{MAX_SHOWN_TEXT}}"

    def number(self, response: HttpResponse) -> int:
        """The number. Raises UserError where the value is none, and no list."""
        value = self.read(response)
        if isinstance(value, str | dict):
            raise UserError(f"{self} is {value!r}, and neither a number, a Boolean nor a list")
        return self.count(response)


class Unit(StrEnum):
    """What a number of an amount counts."""

    CENTS = "cents"
    BIRR = "birr"


class Amount(ResponseValue, frozen=True, kw_only=True):
    """An amount of money: a number, or a text that is a number."""

    unit: Unit = Unit.CENTS

    def number(self, response: HttpResponse) -> int:
        """The amount in cents. Raises UserError where the value is none."""
        value = self.read(response)
        text = "" if isinstance(value, bool) else str(value)
        if _NUMBER.fullmatch(text):
            amount = Decimal(text) * (100 if self.unit is Unit.BIRR else 1)
            if amount == int(amount):
                return int(amount)
        raise UserError(f"{self} is {value!r}, and no amount in {self.unit}")


def _search(pattern: str, text: str) -> list[str]:
    """The first group of each match, or the match; `^` and `$` match at each line.

    Some patterns need exponential time on some texts: a timer of CPU time ends the search, which
    checks for signals. Raises UserError then, and for a text that is too long.
    """

    def end(*_: object) -> NoReturn:
        raise TimeoutError

    if len(text) > MAX_TEXT_CHARACTERS:
        raise UserError(
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
    except TimeoutError:
        raise UserError(
            f"match: {pattern!r} needs more than {MAX_SEARCH_S:g} s for a text of {len(text):,}"
            " characters; write a pattern with fewer repetitions"
        ) from None
    finally:
        signal.signal(signal.SIGVTALRM, before)
    return [match[min(1, match.re.groups)] or "" for match in found]


def read_path(path: str, document: Json) -> Json:
    """The value at a path; None where there is none."""
    rest, value = _follow(path, document)
    return None if rest else value


def missing_at(path: str, document: Json) -> str | None:
    """What a document has where a path ends in it; None where the path exists."""
    rest, value = _follow(path, document)
    if not rest:
        return None
    has = f"is {json.dumps(value)[:MAX_SHOWN_TEXT]}"
    if isinstance(value, dict):
        has = f"has the members: {', '.join(list(value)[:MAX_SHOWN_MEMBERS]) or 'none'}"
    elif isinstance(value, list):
        has = f"is a list of {len(value)} items"
    return f"{path.removesuffix(rest)} {has}"


def _follow(path: str, document: Json) -> tuple[str, Json]:
    """The part of a path that a document does not have, and the value where that begins."""
    for step in _STEP.finditer(path):
        name, index = step[1] or step[2], int(step[2] or 0)
        if isinstance(document, dict) and name in document:
            document = document[name]
        elif isinstance(document, list) and step[2] and index < len(document):
            document = document[index]
        else:
            return path[step.start() :], document
    return "", document
