"""Writes a received value in an error message: as JSON, short, and without keys."""

import json
import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation

from emulator.domain.accounts import mask_keys
from emulator.domain.errors import InvalidField

MAX_SHOWN_LENGTH = 64

# A key that begins within the shown part is masked as a whole.
_MAX_READ_LENGTH = 4 * MAX_SHOWN_LENGTH
_NOT_ASCII = re.compile(r"[^ -~]")


class WrittenNumber:
    """A number with a fraction or an exponent, or a very long one, as it was written."""

    __slots__ = ("token",)

    def __init__(self, token: str) -> None:
        self.token = token

    def exact(self) -> Decimal:
        try:
            return Decimal(self.token)
        except InvalidOperation:
            # Its exponent is beyond what even a Decimal holds: out of every range.
            return Decimal("Infinity")


def received(value: object) -> str:
    """The value as JSON: at most 64 characters, without control characters and API keys."""
    parts: list[str] = []
    length = 0
    for part in _parts(value):
        parts.append(part)
        length += len(part)
        if length > MAX_SHOWN_LENGTH:
            return "".join(parts)[: MAX_SHOWN_LENGTH - 1] + "…"
    return "".join(parts)


def not_accepted(
    param: str, value: object, accepted: str, *, advice: str = "", kind: str | None = None
) -> InvalidField:
    """The refusal of a field: what was received, what is accepted, what to do."""
    message = f'"{param}" must be {accepted} (got {received(value)}).'
    return InvalidField(param, f"{message} {advice}" if advice else message, kind=kind)


def _parts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield _string(value)
    elif isinstance(value, dict):
        separator = "{"
        for name, member in value.items():
            yield f"{separator}{_string(name)}: "
            yield from _parts(member)
            separator = ", "
        yield "}" if value else "{}"
    elif isinstance(value, list):
        separator = "["
        for entry in value:
            yield separator
            yield from _parts(entry)
            separator = ", "
        yield "]" if value else "[]"
    elif isinstance(value, WrittenNumber):
        yield value.token
    elif isinstance(value, Decimal):
        yield str(value)
    else:
        yield json.dumps(value)


def _string(text: str) -> str:
    written = json.dumps(mask_keys(text[:_MAX_READ_LENGTH]), ensure_ascii=False)
    return _NOT_ASCII.sub(_visible, written)


def _visible(found: re.Match[str]) -> str:
    """A character, or the escapes of one that would not be seen or would change the others."""
    character = found[0]
    return character if character.isprintable() else json.dumps(character)[1:-1]
