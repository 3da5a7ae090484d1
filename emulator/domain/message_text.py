"""Writes values and hints into messages: received values, visible characters, the nearest word."""

import json
import re
from collections.abc import Collection, Iterable, Iterator
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from functools import lru_cache
from itertools import groupby

from emulator.domain.accounts import mask_keys
from emulator.domain.errors import InvalidField
from emulator.domain.instants import Instant, format_instant

LINE_BREAK = "\n"
_QUOTES = ('""', "''", "``", "“”", "‘’", "«»")
MAX_SHOWN_LENGTH = 64
# A key that begins within the shown part is masked as a whole.
_MAX_READ_LENGTH = 4 * MAX_SHOWN_LENGTH
_MAX_COMPARED_CHARACTERS = 64
_NOT_ASCII = r"[^ -~]"
# C0, DEL and C1; separators of lines and paragraphs; marks of text direction.
_CONTROL = "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"


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


def check_words(param: str, value: object, accepted: Collection[str]) -> None:
    """Refuse what is not an array of one or more accepted words. Raises InvalidField."""
    if not isinstance(value, list) or not value:
        raise not_accepted(param, value, f"an array of one or more of: {', '.join(accepted)}")
    for entry in value:
        if entry not in accepted:
            expected = f'Each entry of "{param}" must be one of: {", ".join(accepted)}'
            raise InvalidField(param, f"{expected} (got {received(entry)}).")


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
    return re.sub(_NOT_ASCII, _visible, written)


def _visible(found: re.Match[str]) -> str:
    """A character, or the escapes of one that would not be seen or would change the others."""
    character = found[0]
    return character if character.isprintable() else json.dumps(character)[1:-1]


def escape_controls(text: str, *, besides: str = "") -> str:
    r"""A text with each control character that is not in `besides` in the form `\u001b`.

    In a JSON string or a quoted YAML string this is the same character.
    """
    return re.sub(
        _CONTROL, lambda found: found[0] if found[0] in besides else f"\\u{ord(found[0]):04x}", text
    )


def counted_runs(texts: Iterable[str]) -> str:
    """The texts, with equal neighbours once and their number, such as `500, 400 (4 times)`."""
    runs = ((text, len([*equal])) for text, equal in groupby(texts))
    return ", ".join(f"{text} ({number} times)" if number > 1 else text for text, number in runs)


def copied_ends(secret: str) -> str:
    """What surrounds a secret by mistake, as the end of a message that does not show it, or ""."""
    for character, at in ((secret[-1:], "ends"), (secret[:1], "begins")):
        if character in {"\n", "\r", "\u2028", "\u2029", "\x85"}:
            return f"; the given text {at} with a line end"
        if character.isspace():
            return f"; the given text {at} with white space"
        if character and not character.isprintable():
            return f"; the given text {at} with a control character"
    is_quoted = len(secret) > 1 and secret[0] + secret[-1] in _QUOTES
    return "; the given text is in quotes" if is_quoted else ""


def nearest_word(word: str, known: Iterable[str], *, similarity: float = 0.6) -> str | None:
    """The most similar known word, or None when none has this similarity, from 0 to 1."""
    return _nearest(word[:_MAX_COMPARED_CHARACTERS], tuple(known), similarity)


# A client repeats its unknown parameters, and to find one takes a third of a create.
@lru_cache(maxsize=256)
def _nearest(word: str, known: tuple[str, ...], similarity: float) -> str | None:
    nearest = get_close_matches(word, known, n=1, cutoff=similarity)
    return nearest[0] if nearest else None


def nearest_word_hint(word: str, known: Iterable[str]) -> str:
    """A sentence with the most similar known word, after a blank, or nothing."""
    nearest = nearest_word(word, known)
    return "" if nearest is None else f" Did you mean '{nearest}'?"


JSON_MEMBERS = "json_members"
"""The attribute of a record of `logging` with the members of its line of JSON."""


def json_line(at_ms: Instant, level: str, message: str, **members: object) -> str:
    """A line of the log with the format json; `at_ms` is of the system clock."""
    entry = {"at": format_instant(at_ms), "level": level, "message": message, **members}
    return escape_controls(json.dumps(entry, ensure_ascii=False))
