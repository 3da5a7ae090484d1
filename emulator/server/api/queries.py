"""Parses query strings, and the types of the query parameters of `/v1` (section 4.3)."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any
from urllib.parse import parse_qsl

from msgspec import Meta

from emulator.domain.instants import Instant, parse_timestamp
from emulator.domain.message_text import not_accepted
from emulator.domain.payment import Status, status_advice
from emulator.server.api.parameter_types import (
    ParameterRules,
    ParameterType,
    Warnings,
)
from emulator.server.api.request_warnings import (
    RequestWarning,
    duplicate_parameters,
    unknown_parameters,
)
from emulator.server.engine.state.wire import InstantText, PaymentId
from emulator.server.openapi.declarations import JsonObject, refers_to

_ACCEPTED_TIMESTAMP = (
    "an ISO 8601 timestamp with a date, a time and an offset, such as 2026-01-01T00:00:00Z or"
    " 2026-01-01T03:00:00+03:00"
)
_USUAL_TIMESTAMP = "a date, a time and an offset in a usual form, such as 2026-01-01T00:00:00Z"
_DIGITS = re.compile(r"0*([0-9]{1,3})", re.ASCII)
_STATUSES = tuple(Status)
# Of what depends on the payments: a client would send the examples.
_WITHOUT_EXAMPLES: JsonObject = {"examples": []}


def parse_query(
    query_string: bytes, known: tuple[str, ...], warnings: Warnings
) -> Mapping[str, str]:
    """The known parameters of a query string; the last of a repeated one counts.

    An empty value is a value. Unknown and repeated parameters are added to `warnings`.
    """
    values, repeated = _parsed(query_string)
    if repeated:
        warnings.extend(duplicate_parameters(repeated))
    unknown = [name for name in values if name not in known]
    if not unknown:
        return values
    warnings.extend(unknown_parameters(unknown, known))
    return {name: value for name, value in values.items() if name in known}


@lru_cache(maxsize=64)
def _parsed(query_string: bytes) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """The parameters, and the names of repeated ones; clients send few different queries."""
    values: dict[str, str] = {}
    repeated: dict[str, None] = {}
    for name, value in parse_qsl(query_string.decode("latin-1"), keep_blank_values=True):
        if name in values:
            repeated[name] = None
        values[name] = value
    return values, tuple(repeated)


def one_of(accepted: tuple[str, ...], param: str, value: str, *, advice: str = "") -> str:
    """Raises InvalidField for any other value."""
    if value not in accepted:
        raise not_accepted(param, value, f"one of: {', '.join(accepted)}", advice=advice)
    return value


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
    """The identifier of a payment; the engine checks whether the payment exists."""

    def check(self, _: str, value: Any, __: ParameterRules, ___: Warnings) -> str:
        return str(value)

    def field_type(self) -> Any:
        return PaymentId

    def schema(self) -> JsonObject:
        return _WITHOUT_EXAMPLES


class StatusName(ParameterType, frozen=True, kw_only=True):
    """A status."""

    def check(self, param: str, value: Any, _: ParameterRules, __: Warnings) -> Status:
        return Status(one_of(_STATUSES, param, value, advice=status_advice(value)))

    def field_type(self) -> Any:
        return Status


class OfferedMethod(ParameterType, frozen=True, kw_only=True):
    """One of the offered payment methods."""

    def check(self, param: str, value: Any, rules: ParameterRules, _: Warnings) -> str:
        return one_of(rules.methods, param, value)

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
        return InstantText

    def schema(self) -> JsonObject:
        return _WITHOUT_EXAMPLES
