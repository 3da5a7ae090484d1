"""What the contract states about the members of a payment, independent of the emulator.

A field of the payment has a row in `RULES`. A parameter of a create call has rules in `PARAMETERS`,
wrong values, and a value that differs from the usual one; a text that the service returns is in
`TEXTS`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from emulator.domain.instants import Instant, parse_timestamp
from emulator.domain.payment import Status

MIN_AMOUNT = 100
CURRENCY = "ETB"
# A real service need not know other methods of the emulator.
METHODS = ("telebirr", "mpesa", "bank_transfer")
MAX_PAIRS = 20
DEFAULT_EXPIRES_IN_S = 1_800
MAX_LIMIT = 100
DEFAULT_LIMIT = 10
# The contract does not show which parameters are required: these are, in the emulator.
REQUIRED = ("amount", "currency", "methods", "success_url", "cancel_url")

# For a service that refuses the smallest amount of the contract.
LARGER_AMOUNT = 1_000
EXPIRES_IN_S = 600
# For a service that refuses such a short expiry; different from the default.
LONGER_EXPIRES_IN_S = 2_700
MADE_BY = "payments-emulator verify"
# The texts of each create call; the addresses, of a reserved domain, name the program.
TEXTS = {
    "success_url": "https://example.com/made-by-payments-emulator-verify?order=1&paid=yes",
    "cancel_url": "https://example.com/made-by-payments-emulator-verify?order=1&paid=no",
}

_OUR_ID = re.compile(r"pay_[A-Za-z0-9]{24}", re.ASCII)
# The contract asks for ISO 8601 and for no particular form of it.
_OUR_TIMESTAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}Z", re.ASCII)

Payment = Mapping[str, Any]


def parse_instant(value: object) -> Instant | None:
    """Milliseconds since 1970; None for anything but an ISO 8601 timestamp with a time of day."""
    if not isinstance(value, str) or "T" not in value.upper():
        return None
    try:
        return parse_timestamp(value).floor
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class FieldRule:
    """The valid values of a field; `...` is an absent field.

    `our_form` is the form that we assume where the contract leaves it open. A field that
    `is_given` has the value of the create call.
    """

    field: str
    numbers: tuple[str, ...]
    is_valid: Callable[[Any], bool]
    our_form: re.Pattern[str] | None = None
    is_given: bool = False

    def allows(self, payment: Payment) -> bool:
        value, status = payment.get(self.field, ...), payment.get("status")
        # A completed payment has a `completed_at`, and a pending payment has none.
        fits_status = status != ("completed" if value is None else "pending")
        return self.is_valid(value) and (self.field != "completed_at" or fits_status)


def _is_id(value: object) -> bool:
    return isinstance(value, str) and value.startswith("pay_")


def _is_amount(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def is_url(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        parts = urlsplit(value)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)


def _is_metadata(value: object) -> bool:
    return (
        isinstance(value, dict)
        and len(value) <= MAX_PAIRS
        and all(isinstance(item, str) for item in value.values())
    )


def _is_instant(value: object) -> bool:
    return parse_instant(value) is not None


RULES = (
    FieldRule("id", ("2.1.1",), _is_id, _OUR_ID),
    FieldRule("object", ("2.1.2",), lambda value: value == "payment"),
    FieldRule("amount", ("2.1.3",), _is_amount),
    FieldRule("currency", ("2.1.4", "9.2"), lambda value: value == CURRENCY),
    FieldRule("status", ("2.1.5", "3.1"), lambda value: value in list(Status)),
    FieldRule("method", ("2.1.6",), lambda value: value is None or isinstance(value, str)),
    FieldRule("checkout_url", ("2.1.7",), is_url),
    FieldRule("success_url", ("2.1.9",), is_url, is_given=True),
    FieldRule("cancel_url", ("2.1.10",), is_url, is_given=True),
    FieldRule("metadata", ("2.1.11",), _is_metadata, is_given=True),
    FieldRule("created_at", ("2.1.12",), _is_instant, _OUR_TIMESTAMP),
    FieldRule("expires_at", ("2.1.13",), _is_instant, _OUR_TIMESTAMP),
    FieldRule("completed_at", ("2.1.14",), lambda value: value is None or _is_instant(value)),
)
FIELDS = tuple(rule.field for rule in RULES)
RETURNED_FIELDS = {rule.field: rule.numbers[0] for rule in RULES if rule.is_given}


class Rule(NamedTuple):
    """What makes a value of a parameter wrong, with the clauses that state or assume it."""

    is_broken: Callable[[Any], bool]
    states: tuple[str, ...] = ()
    assumes: tuple[str, ...] = ()


def _is_no_integer(value: object) -> bool:
    return not isinstance(value, int) or isinstance(value, bool)


def _is_not_https(value: object) -> bool:
    try:
        scheme, host, *_ = urlsplit(value) if isinstance(value, str) else ("", "")
    except ValueError:
        return True
    return scheme != "https" or not host


_ABSENT = Rule(lambda value: value is ..., (), ("4.1.13",))
_UNKNOWN_METHOD = "no_such_method"
# The first rule that a value breaks determines the clauses.
PARAMETERS: Mapping[str, tuple[Rule, ...]] = {
    "amount": (
        _ABSENT,
        Rule(lambda value: isinstance(value, float) and value.is_integer(), (), ("4.1.2",)),
        Rule(_is_no_integer, ("4.1.2",)),
        Rule(lambda value: value < MIN_AMOUNT, ("4.1.3", "8.1")),
    ),
    "currency": (
        _ABSENT,
        Rule(lambda value: value != CURRENCY == str(value).upper(), (), ("4.1.4",)),
        Rule(lambda value: value != CURRENCY, ("4.1.4", "9.2")),
    ),
    "methods": (
        Rule(lambda value: not (value and isinstance(value, list)), ("4.1.5",)),
        Rule(lambda value: _UNKNOWN_METHOD in value, (), ("2.1.17",)),
    ),
    "success_url": (_ABSENT, Rule(_is_not_https, ("4.1.6",))),
    "cancel_url": (_ABSENT, Rule(_is_not_https, ("4.1.7",))),
    "metadata": (
        Rule(lambda value: not isinstance(value, dict), ("2.1.11", "4.1.8")),
        Rule(lambda value: len(value) > MAX_PAIRS, ("2.1.11", "4.1.8", "8.2")),
        Rule(
            lambda value: not all(isinstance(text, str) for text in value.values()),
            ("2.1.11", "4.1.9", "8.2"),
        ),
    ),
    "idempotency_key": (
        Rule(lambda value: not isinstance(value, str), ("4.1.10",)),
        Rule(lambda value: not value, (), ("4.1.10",)),
    ),
    "expires_in": (
        Rule(_is_no_integer, ("4.1.11",)),
        Rule(lambda value: value <= 0, (), ("8.9",)),
    ),
}

_NOT_HTTPS = "http://example.com/made-by-payments-emulator-verify"
_TOO_MANY_PAIRS = {f"pair_{number}": "" for number in range(MAX_PAIRS + 1)}
WRONG_VALUES: tuple[tuple[str, object] | tuple[str, object, str], ...] = (
    *(("amount", value) for value in (MIN_AMOUNT - 1, 0, -100, 100.5, "100", 100.0)),
    *(("currency", value) for value in ("USD", "etb")),
    ("methods", ...),
    ("methods", []),
    ("methods", "telebirr"),
    ("success_url", _NOT_HTTPS, "`success_url` with http"),
    ("success_url", "/paid"),
    ("cancel_url", _NOT_HTTPS, "`cancel_url` with http"),
    ("cancel_url", "/cancelled"),
    ("metadata", _TOO_MANY_PAIRS, f"{len(_TOO_MANY_PAIRS)} pairs of metadata"),
    ("metadata", {"pair": 1}, "a number in metadata"),
    *(("metadata", value) for value in ({"pair": None}, {"pair": {"a": "b"}}, ["pair"])),
    *(("idempotency_key", value) for value in (5, "")),
    *(("expires_in", value) for value in ("600", 600.5, -600, 0)),
    *((param, ...) for param in ("amount", "currency", "success_url", "cancel_url")),
    ("methods", [_UNKNOWN_METHOD], "an unknown method"),
)
# Of the parameters whose values are compared under a used key.
OTHER_VALUES: dict[str, object] = {
    "amount": LARGER_AMOUNT + 1,
    "success_url": "https://example.com/made-by-payments-emulator-verify",
    "cancel_url": "https://example.com/made-by-payments-emulator-verify",
    "metadata": {"made_by": MADE_BY},
    "expires_in": LONGER_EXPIRES_IN_S + 1,
}
