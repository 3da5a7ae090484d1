"""The types of the parameters of `/v1`, and the parsing of queries.

Each type checks values and describes itself for OpenAPI.
"""

import re
from collections.abc import Callable, Mapping
from enum import Enum
from functools import lru_cache
from typing import Annotated, Any, get_args
from urllib.parse import parse_qsl

import msgspec
from msgspec import Meta, Struct

from emulator.domain.errors import InvalidField, MissingParameter
from emulator.domain.instants import Instant, parse_timestamp
from emulator.domain.message_text import check_words, not_accepted, received
from emulator.server.api.request_warnings import (
    RequestWarning,
    duplicate_parameters,
    unknown_parameters,
)
from emulator.server.engine.state.wire import InstantText, PaymentId
from emulator.server.openapi.declarations import doc, int64, ref, refers_to
from emulator.server.openapi.members import word_of

_EMPTY_ARRAY_ADVICE = "PHP writes an empty array as []: send new stdClass(), or leave it out."
_ACCEPTED_TIMESTAMP = (
    "an ISO 8601 timestamp with a date, a time and an offset, such as 2026-01-01T00:00:00Z or"
    " 2026-01-01T03:00:00+03:00"
)
_USUAL_TIMESTAMP = "a date, a time and an offset in a usual form, such as 2026-01-01T00:00:00Z"
_DIGITS = re.compile(r"0*([0-9]{1,3})", re.ASCII)
# Of what depends on the payments: a client would send the examples.
_WITHOUT_EXAMPLES = doc(None, examples=[])
_ID, _ID_LIMITS = get_args(PaymentId)


class ParameterRules(Struct, frozen=True, kw_only=True):
    """The settings that the validation of parameters depends on."""

    methods: tuple[str, ...]
    allow_http_localhost: bool


Warnings = list[RequestWarning]
"""The list to which a check adds the accepted deviations."""


class ParameterType(Struct, frozen=True, kw_only=True):
    """Checks a value that is not null, and has the type of its field in a struct for OpenAPI."""

    def check(self, param: str, value: Any, rules: ParameterRules, warnings: Warnings) -> Any:
        """The value for the engine. Raises InvalidField."""
        raise NotImplementedError

    def field_type(self) -> Any:
        raise NotImplementedError


class Parameter(Struct, frozen=True, kw_only=True):
    """A parameter of a call of `/v1`: a row of its table.

    `clauses` state or assume its limits. `attribute` is the member of the `Order` or the
    `PageQuery`. The code of its refusals is `invalid_`, then `kind`.
    """

    name: str
    type: ParameterType
    clauses: tuple[str, ...]
    description: str | None
    attribute: str
    example: object = None
    kind: str | None
    is_required: bool = False
    default: object = None


def parameter(
    name: str, type_: ParameterType, *clauses: str, description: str | None = None, **more: Any
) -> Parameter:
    """A row in which the attribute and the kind are the name, if `more` has no others."""
    names = {"attribute": name, "kind": name}
    return Parameter(
        name=name, type=type_, clauses=clauses, description=description, **names | more
    )


class ParameterTable:
    """The parameters of a call, in the order of their checks."""

    def __init__(self, *rows: Parameter) -> None:
        self.rows = rows
        self.names = tuple(row.name for row in rows)
        # Tuples, because the attributes of eight rows take half a microsecond of each request.
        self._checks = [(row.name, row.attribute, row.type.check, row.is_required) for row in rows]

    def check(
        self, values: Mapping[str, Any], rules: ParameterRules, warnings: Warnings
    ) -> dict[str, Any]:
        """The checked values by attribute; null counts as absent.

        Raises MissingParameter, InvalidField.
        """
        checked = {}
        for name, attribute, check, is_required in self._checks:
            value = values.get(name)
            if value is not None:
                checked[attribute] = check(name, value, rules, warnings)
            elif is_required:
                raise MissingParameter(name)
        return checked

    def struct(self, name: str) -> type[Struct]:
        """The struct from which the OpenAPI document follows."""
        return msgspec.defstruct(name, [_field(row) for row in self.rows])


def _field(row: Parameter) -> tuple[str, Any] | tuple[str, Any, object]:
    field_type: Any = row.type.field_type()
    is_nullable = not row.is_required and row.default is None
    if is_nullable and getattr(field_type, "__origin__", field_type) is not Any:
        field_type = field_type | None
    annotated: Any = Annotated[field_type, doc(row.description, row.example, kind=row.kind)]
    return (row.name, annotated) if row.is_required else (row.name, annotated, row.default)


class Integer(ParameterType, frozen=True, kw_only=True):
    """A JSON integer within limits; outside the `usual` values it gets a warning."""

    minimum: int
    maximum: int
    unit: str
    advice: Callable[[Any], str]
    usual: range | None = None
    example: int | None = None

    def check(self, param: str, value: Any, _: ParameterRules, warnings: Warnings) -> int:
        if type(value) is not int or not self.minimum <= value <= self.maximum:
            raise not_accepted(
                param,
                value,
                f"an integer number of {self.unit} from {self.minimum} to {self.maximum}",
                advice=self.advice(value),
            )
        if self.usual is not None and value not in self.usual:
            first, last = self.usual.start, self.usual.stop - 1
            refusal = not_accepted(param, value, f"{first} to {last} {self.unit} under --strict")
            warnings.append(RequestWarning(f"unusual-{_slug(param)}", refusal))
        return value

    def field_type(self) -> Any:
        return Annotated[int, int64(self.minimum, self.maximum, self.example)]


class Constant(ParameterType, frozen=True, kw_only=True):
    """The only accepted value; `component` is its schema."""

    value: str
    component: str

    def check(self, param: str, value: Any, _: ParameterRules, __: Warnings) -> str:
        if value != self.value:
            raise not_accepted(param, value, f'"{self.value}"')
        return self.value

    def field_type(self) -> Any:
        return Annotated[Any, refers_to(self.component)]


class OfferedMethods(ParameterType, frozen=True, kw_only=True):
    """One or more of the offered payment methods; a repeated one counts once, with a warning."""

    def check(
        self, param: str, value: Any, rules: ParameterRules, warnings: Warnings
    ) -> tuple[str, ...]:
        check_words(param, value, rules.methods)
        methods = tuple(value)
        if len({*methods}) != len(methods):
            methods = tuple(dict.fromkeys(methods))
            refusal = InvalidField(
                param, f"Each method must be listed once (got {received(value)})."
            )
            warnings.append(RequestWarning("duplicate-method", refusal))
        return methods

    def field_type(self) -> Any:
        return Annotated[list[Annotated[Any, refers_to("PaymentMethod")]], Meta(min_length=1)]


class TextPairs(ParameterType, frozen=True, kw_only=True):
    """An object of strings; long keys and values get a warning."""

    max_pairs: int
    usual_key_length: int
    usual_value_length: int

    def check(
        self, param: str, value: Any, _: ParameterRules, warnings: Warnings
    ) -> dict[str, str]:
        if not isinstance(value, dict):
            raise not_accepted(
                param,
                value,
                f"an object of at most {self.max_pairs} pairs with string values",
                advice="" if value != [] else _EMPTY_ARRAY_ADVICE,
            )
        if len(value) > self.max_pairs:
            raise InvalidField(
                param, f'"{param}" must have at most {self.max_pairs} pairs (got {len(value)}).'
            )
        long_key = None
        key_length, value_length = self.usual_key_length, self.usual_value_length
        for key, text in value.items():
            if not isinstance(text, str):
                raise InvalidField(
                    param,
                    f'Each value of "{param}" must be a string'
                    f" (got {received(text)} for the key {received(key)}).",
                )
            if len(key) > key_length or len(text) > value_length:
                long_key = key
        if long_key is not None:
            refusal = InvalidField(
                param,
                f'A key of "{param}" must have at most {key_length} characters, and a'
                f" value at most {value_length} (got {len(long_key)} and"
                f" {len(value[long_key])} for the key {received(long_key)}).",
            )
            warnings.append(RequestWarning(f"long-{_slug(param)}", refusal))
        return value

    def field_type(self) -> Any:
        # Not `type: [object, null]`: generated clients would have a separate class for it.
        return Annotated[Any, doc(None, oneOf=[ref("Metadata"), {"type": "null"}])]


class ShortText(ParameterType, frozen=True, kw_only=True):
    """A string that is not empty; a long one gets a warning."""

    usual_length: int

    def check(self, param: str, value: Any, _: ParameterRules, warnings: Warnings) -> str:
        if not isinstance(value, str) or not value:
            raise not_accepted(param, value, "a string that is not empty")
        if len(value) > self.usual_length:
            refusal = InvalidField(
                param,
                f'"{param}" must have at most {self.usual_length} characters (got {len(value)}).',
            )
            warnings.append(RequestWarning(f"long-{_slug(param)}", refusal))
        return value

    def field_type(self) -> Any:
        return Annotated[str, Meta(min_length=1)]


def _slug(param: str) -> str:
    return param.replace("_", "-")


def parse_query(
    query_string: bytes, known: tuple[str, ...], warnings: Warnings
) -> Mapping[str, str]:
    """The known parameters of a query; unknown and repeated ones are added to `warnings`."""
    values, repeated = query_values(query_string)
    if repeated:
        warnings.extend(duplicate_parameters(repeated))
    unknown = [name for name in values if name not in known]
    if not unknown:
        return values
    warnings.extend(unknown_parameters(unknown, known))
    return {name: value for name, value in values.items() if name in known}


@lru_cache(maxsize=64)
def query_values(query_string: bytes) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """The last value of each parameter, which may be empty, and the names of repeated ones."""
    # Cached, because clients send few different queries.
    values: dict[str, str] = {}
    repeated: dict[str, None] = {}
    for name, value in parse_qsl(query_string.decode("latin-1"), keep_blank_values=True):
        if name in values:
            repeated[name] = None
        values[name] = value
    return values, tuple(repeated)


class PageLength(ParameterType, frozen=True, kw_only=True):
    """A number in decimal digits, within limits."""

    minimum: int
    maximum: int

    def check(self, param: str, value: Any, _: ParameterRules, __: Warnings) -> int:
        digits = _DIGITS.fullmatch(value)
        if digits is None or not self.minimum <= int(digits[1]) <= self.maximum:
            accepted = f"a whole number from {self.minimum} to {self.maximum} in plain digits"
            raise not_accepted(param, value, accepted)
        return int(digits[1])

    def field_type(self) -> Any:
        return Annotated[int, Meta(ge=self.minimum, le=self.maximum)]


class Cursor(ParameterType, frozen=True, kw_only=True):
    """The identifier of a payment, which the engine checks."""

    def check(self, param: str, value: Any, _: ParameterRules, __: Warnings) -> str:  # noqa: ARG002
        return str(value)

    def field_type(self) -> Any:
        return Annotated[_ID, Meta(pattern=_ID_LIMITS.pattern), _WITHOUT_EXAMPLES]


class EnumWord(ParameterType, frozen=True, kw_only=True):
    """A member of a closed set of words."""

    words: type[Enum]

    def check(self, param: str, value: Any, _: ParameterRules, __: Warnings) -> Enum:
        return word_of(value, self.words, param)

    def field_type(self) -> Any:
        return self.words


class OfferedMethod(ParameterType, frozen=True, kw_only=True):
    """One of the offered payment methods."""

    def check(self, param: str, value: Any, rules: ParameterRules, _: Warnings) -> str:
        if value not in rules.methods:
            raise not_accepted(param, value, f"one of: {', '.join(rules.methods)}")
        return str(value)

    def field_type(self) -> Any:
        return Annotated[Any, refers_to("PaymentMethod")]


class Timestamp(ParameterType, frozen=True, kw_only=True):
    """An ISO 8601 timestamp, rounded to the millisecond; a rare form gets a warning."""

    rounds_up: bool

    def check(self, param: str, value: Any, _: ParameterRules, warnings: Warnings) -> Instant:
        try:
            timestamp = parse_timestamp(value)
        except ValueError:
            raise not_accepted(param, value, _ACCEPTED_TIMESTAMP) from None
        if timestamp.is_loose:
            refusal = not_accepted(param, value, _USUAL_TIMESTAMP)
            warnings.append(RequestWarning(f"loose-timestamp:{param}", refusal))
        return timestamp.ceiling if self.rounds_up else timestamp.floor

    def field_type(self) -> Any:
        return Annotated[InstantText, _WITHOUT_EXAMPLES]
