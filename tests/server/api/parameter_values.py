"""Values of each parameter of `/v1`, derived from its row: accepted, unusual and refused ones."""

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from emulator.server.api.parameter_types import (
    Constant,
    Cursor,
    EnumWord,
    Integer,
    OfferedMethod,
    OfferedMethods,
    PageLength,
    Parameter,
    ShortText,
    TextPairs,
    Timestamp,
)
from emulator.server.api.parameters import CREATE, LIST
from emulator.server.api.redirect_urls import RedirectUrl
from tests.server.api import redirect_url_values
from tests.world import METHODS


class Values(NamedTuple):
    """JSON tokens of a member of a body, or texts of a query parameter."""

    accepted: list[str]
    refused: list[str]
    unusual: Sequence[str] = ()


def tokens(*values: Any) -> list[str]:
    return [json.dumps(value) for value in values]


# One token of each type, and numbers that are written in an unusual way.
_ANY = tokens(True, False, "", "x", 0, 1.5, [], ["x"], [None], {}, {"x": 1}, {"x": "1"})
_ODD_NUMBERS = [
    *("-0", "100.0", "100.5", "1e3", "1E3", "1e+3", "1e999", "-1e999", "1e-999", "1.5e-400"),
    *("0." + "9" * 5000, "9" * 400, "9" * 401, "9" * 5000, "-" + "9" * 5000, "1" + "0" * 100_000),
]
_NO_TEXT = [token for token in _ANY if not token.startswith('"')]


def _integer(type_: Integer) -> Values:
    first, last = type_.minimum, type_.maximum
    usual = type_.usual or range(first, last + 1)
    beyond = (first - 1, last + 1, -last, 2**63, 2**64, -(2**63) - 1)
    return Values(
        tokens(usual.start, usual.start + 1, usual.stop - 1),
        [*tokens(*beyond, str(first), [first]), *_ODD_NUMBERS, *_ANY],
        tokens(first, usual.start - 1, usual.stop, last) if type_.usual else [],
    )


def _methods(_: OfferedMethods) -> Values:
    accepted = [[*METHODS], *([method] for method in METHODS), [*reversed(METHODS[:2])]]
    wrong = [
        *("telebirr", {"telebirr": True}, [""], ["Telebirr"], ["telebirr "]),
        *(["telebirr", "paypal"], ["paypal", "telebirr"], ["telebirr", None]),
        *([["telebirr"]], [{"method": "telebirr"}], [1], [1.5], [True]),
    ]
    return Values(
        tokens(*accepted), [*tokens(*wrong), *_ANY], tokens(["mpesa", "telebirr", "mpesa"])
    )


def _pairs(type_: TextPairs) -> Values:
    key, value = type_.usual_key_length, type_.usual_value_length
    accepted = [
        *({}, {"order": "1"}, {"": ""}, {"z": "1", "a": "2", "m": "3"}),
        {"ቁልፍ": "ዋጋ \U0001f600", "quote": '"\\/\b\f\n\r\t'},
        {"nul": "a\0b", "controls": "\x01\x1f\x7f\x85"},
        {"amount": "1", "id": "pay_x", "__proto__": "x"},
        {f"key{number}": str(number) for number in range(type_.max_pairs)},
        {"k" * key: "v" * value},
    ]
    wrong = [
        {f"key{number}": "" for number in range(type_.max_pairs + 1)},
        *({"a": wrong} for wrong in (1, 1.5, True, None, [], {})),
        *({"a": "1", "b": 2}, [["a", "1"]], "a=1", 1, True),
    ]
    unusual = [{"k" * (key + 1): ""}, {"ቁ" * (key + 1): ""}, {"k": "v" * (value + 1)}]
    no_pairs = [token for token in _ANY if token not in ("{}", '{"x": "1"}')]
    return Values(tokens(*accepted), [*tokens(*wrong), *no_pairs], tokens(*unusual))


def _text(type_: ShortText) -> Values:
    accepted = ("a", " ", "\0", "ቁልፍ", "x" * type_.usual_length, "a/b?c", "null", "0")
    return Values(
        tokens(*accepted),
        [*tokens("", 1, ["a"], {"a": "b"}), *_NO_TEXT],
        tokens("k" * (type_.usual_length + 1)),
    )


def _constant(type_: Constant) -> Values:
    value = type_.value
    wrong = [value.lower(), value.title(), "USD", f"{value} ", f" {value}", f"{value}\0", "ብር"]
    # An escaped letter is the letter.
    accepted = [*tokens(value), f'"\\u{ord(value[0]):04x}{value[1:]}"']
    return Values(accepted, [*tokens(*wrong, [value]), *_ANY])


def _url(_: RedirectUrl) -> Values:
    values = redirect_url_values
    unusual = [url for url, _ in values.UNUSUAL]
    return Values(tokens(*values.VALID), [*tokens(*values.INVALID), *_ANY], tokens(*unusual))


def _whole_number(type_: PageLength) -> Values:
    first, last = type_.minimum, type_.maximum
    wrong = [
        *(str(first - 1), str(last + 1), "", "5 ", " 5", "000", "1000", "-1", "+5", "1.0", "1e1"),
        *("0x5", "five", "٣", "५", "³", "1_0", "1,0", "null", "true", "[5]", "5\x00", "9" * 5000),
    ]
    return Values([str(first), "9", "010", "00000000003", str(last)], wrong)


_NO_WORD = ["paid", "", "Pending", "pending ", "pending,failed", "\0"]
_NO_TIMESTAMP = ["x", "", "now", "2026-02-30", "2026-01-01T24:00:01Z", "\x00", "9" * 5000]
_LOOSE = [
    *("2026-01-01T00:00:00", "2026-01-01", "2026-01-01T03:00:00 03:00", "2026-001T00:00:00Z"),
    *("2026-W01-4T00:00:00Z", "2025-12-31T24:00:00Z", "2026-01-01T00:00:00+00:00:00"),
    *("2026-12-31T23:59:60Z", "20260101", "2026-01-01T00:00", "2026-01-01T03:00:00 0300"),
]
_TIMESTAMPS = Values(
    ["2026-01-01T03:00:00+03:00", "2026-01-01T00:00:00.000Z"], _NO_TIMESTAMP, _LOOSE
)
_OF_TYPE: dict[type, Callable[[Any], Values]] = {
    Integer: _integer,
    Constant: _constant,
    OfferedMethods: _methods,
    RedirectUrl: _url,
    TextPairs: _pairs,
    ShortText: _text,
    PageLength: _whole_number,
    # Only the engine knows the cursors.
    Cursor: lambda _: Values([], ["pay_unknown"]),
    EnumWord: lambda _: Values(["pending", "completed"], _NO_WORD),
    OfferedMethod: lambda _: Values([*METHODS], _NO_WORD),
    Timestamp: lambda _: _TIMESTAMPS,
}


def values_of(row: Parameter) -> Values:
    return _OF_TYPE[type(row.type)](row.type)


WRONG = {row.name: values_of(row).refused[0] for row in (*CREATE.rows, *LIST.rows)}
"""A value of each parameter that is certainly refused."""
# The warning of an unusual value.
SLUGS = {
    "methods": "duplicate-method",
    "success_url": "unusual-success-url",
    "cancel_url": "unusual-cancel-url",
    "metadata": "long-metadata",
    "idempotency_key": "long-idempotency-key",
    "expires_in": "unusual-expires-in",
    "created_gte": "loose-timestamp:created_gte",
    "created_lte": "loose-timestamp:created_lte",
}
