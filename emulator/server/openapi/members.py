"""Decodes the members of a body, a query or a path into a struct; null counts as absent.

The annotation of a field decides: its type (a string for `Any` with that type as schema),
`Meta(max_length=…)`, and these keys of `Meta(extra={…})`:

- `parse`: a function of the name and the value that returns the value of the field
- `kind`: the refusals of the field have the code `invalid_<kind>` in place of its name
"""

from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.inspect import (
    AnyType,
    BoolType,
    EnumType,
    Metadata,
    NoneType,
    StrType,
    Type,
    UnionType,
)

from emulator.domain.errors import InvalidField, MissingParameter
from emulator.domain.message_text import not_accepted
from emulator.domain.payment import Status, status_advice

MAX_TEXT_LENGTH = 200

StructT = TypeVar("StructT", bound=Struct)


class Member(Struct, frozen=True, kw_only=True):
    """A field of a struct, without its union with null and without its annotations."""

    name: str
    type: Type
    is_required: bool
    parse: Callable[[str, Any], Any] | None = None
    kind: str | None = None

    @property
    def is_checked(self) -> bool:
        """Whether a string can be invalid; any member of a JSON body can be."""
        is_text = isinstance(self.type, StrType)
        return not is_text or self.parse is not None or self.kind is not None


@cache
def members_of(struct: type[Struct]) -> tuple[Member, ...]:
    """The members in the order in which they are checked."""
    info: Any = msgspec.inspect.type_info(struct)
    return tuple(_member(field) for field in info.fields)


def _member(field: msgspec.inspect.Field) -> Member:
    extra: dict[str, Any] = {}
    found = field.type
    is_text = False
    while isinstance(found, Metadata | UnionType):
        if isinstance(found, Metadata):
            extra = {**(found.extra or {}), **extra}
            is_text |= (found.extra_json_schema or {}).get("type") == "string"
            found = found.type
        else:
            [found] = [each for each in found.types if not isinstance(each, NoneType)]
    if is_text and isinstance(found, AnyType):
        found = StrType()
    return Member(name=field.encode_name, type=found, is_required=field.required, **extra)


def decode(
    values: Mapping[str, Any], struct: type[StructT], *, max_length: int | None = MAX_TEXT_LENGTH
) -> StructT:
    """The struct with these values. Raises InvalidField, MissingParameter.

    `max_length` limits the strings that have no limit of their own.
    """
    decoded: dict[str, Any] = {}
    for member in members_of(struct):
        value = values.get(member.name)
        if value is not None:
            decoded[member.name] = _value(member, value, max_length)
        elif member.is_required:
            raise MissingParameter(member.name)
    return struct(**decoded)


def _value(member: Member, value: Any, max_length: int | None) -> Any:
    name, kind = member.name, member.kind
    match member.type:
        case BoolType() if not isinstance(value, bool):
            raise not_accepted(name, value, "true or false", kind=kind)
        case StrType(max_length=own_max_length):
            check_text(name, value, max_length=own_max_length or max_length, kind=kind)
        case EnumType(cls=words):
            value = word_of(check_text(name, value, max_length=max_length), words, name)
    return value if member.parse is None else member.parse(name, value)


def check_text(
    name: str, value: object, *, max_length: int | None = MAX_TEXT_LENGTH, kind: str | None = None
) -> str:
    """The value, if it is a string of at most `max_length` characters. Raises InvalidField."""
    if not isinstance(value, str):
        raise not_accepted(name, value, "a string", kind=kind)
    if max_length is not None and len(value) > max_length:
        message = f'"{name}" must have at most {max_length} characters (got {len(value)}).'
        raise InvalidField(name, message, kind=kind)
    return value


def word_of(value: str, words: type[Enum], param: str) -> Enum:
    """The member of a closed set of words. Raises InvalidField."""
    for word in words:
        if value == word.value:
            return word
    advice = status_advice(value) if words is Status else ""
    accepted = f"one of: {', '.join(word.value for word in words)}"
    raise not_accepted(param, value, accepted, advice=advice)
