"""The parameters of `/v1`: a table for each call (contract, sections 4.1 and 4.3).

A row is the only declaration of a parameter. The check, the messages and warnings, the order of
the checks and the OpenAPI document follow from it.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from emulator.domain import payment
from emulator.domain.message_text import WrittenNumber
from emulator.server.api.parameter_types import (
    Constant,
    Cursor,
    EnumWord,
    Integer,
    OfferedMethod,
    OfferedMethods,
    PageLength,
    ParameterRules,
    ParameterTable,
    ShortText,
    TextPairs,
    Timestamp,
    Warnings,
    parameter,
)
from emulator.server.api.redirect_urls import RedirectUrl
from emulator.server.api.request_warnings import unknown_parameters
from emulator.server.engine.payments.payments import KEY_RETENTION_MS, Order
from emulator.server.engine.state.wire import CANCEL_URL, SUCCESS_URL
from emulator.server.storage.payments import PageQuery

METADATA = {"order": "1042"}
_HOUR_MS = 3_600_000
# A number of at most two decimal places.
_BIRR = r"([0-9]{1,16})(?:\.([0-9]{1,2})0*)?"
_REDIRECT = (
    "An absolute HTTPS URL to which the customer is redirected {}, exactly as it is given. The"
    " control characters U+0080 to U+009F are refused as well, and brackets without an IPv6 address"
    " in them. A URL with user information, a backslash, more than"
    f" {payment.USUAL_URL_LENGTH} characters, or a host or port that no browser opens is served"
    " with a warning. With `--allow-http-localhost` the emulator also accepts `http://` where a"
    " browser opens a local name."
)


def _amount_advice(value: Any) -> str:
    """The number of cents of an amount in birr or in a string."""
    written = value.token if isinstance(value, WrittenNumber) else value
    number = re.fullmatch(_BIRR, str(written)) if type(written) in (int, str) else None
    per_birr = payment.MINOR_PER_BIRR
    if number is None or int(number[1]) > payment.MAX_AMOUNT_MINOR // per_birr:
        return f"1 birr is {per_birr}."
    whole, hundredths = int(number[1]), (number[2] or "").ljust(2, "0")
    if isinstance(value, str) and number[2] is None and whole >= payment.MIN_AMOUNT_MINOR:
        return f"Send {whole} without quotation marks for {_birr(whole)} birr."
    amount_minor = whole * per_birr + int(hundredths)
    if amount_minor < payment.MIN_AMOUNT_MINOR:
        return f"1 birr is {per_birr}."
    return f"{_birr(amount_minor)} birr is {amount_minor}."


def _birr(amount_minor: int) -> str:
    birr, hundredths = divmod(amount_minor, payment.MINOR_PER_BIRR)
    return f"{birr}.{hundredths:02}" if hundredths else str(birr)


_CURRENCY = "currency"
_REDIRECT_URL = RedirectUrl(usual_length=payment.USUAL_URL_LENGTH)

CREATE = ParameterTable(
    parameter(
        "amount",
        Integer(
            minimum=payment.MIN_AMOUNT_MINOR,
            maximum=payment.MAX_AMOUNT_MINOR,
            unit="ETB cents",
            advice=_amount_advice,
            example=15_000,
        ),
        *("4.1.2", "4.1.3", "4.1.18", "8.1"),
        description="The amount in ETB cents, written as an integer: `100.0` and `1e3` are"
        " refused.",
        attribute="amount_minor",
        is_required=True,
    ),
    parameter(
        "currency",
        Constant(value=payment.CURRENCY, component="Currency"),
        *("4.1.4", "9.2"),
        attribute=_CURRENCY,
        is_required=True,
    ),
    parameter(
        "methods",
        OfferedMethods(),
        *("2.1.17", "4.1.5"),
        description="The payment methods to offer, in order; duplicates count once.",
        is_required=True,
    ),
    parameter(
        "success_url",
        _REDIRECT_URL,
        "4.1.6",
        description=_REDIRECT.format("after success"),
        example=SUCCESS_URL,
        is_required=True,
    ),
    parameter(
        "cancel_url",
        _REDIRECT_URL,
        "4.1.7",
        description=_REDIRECT.format("on cancellation"),
        example=CANCEL_URL,
        is_required=True,
    ),
    parameter(
        "metadata",
        TextPairs(
            max_pairs=payment.MAX_METADATA_PAIRS,
            usual_key_length=payment.USUAL_METADATA_KEY_LENGTH,
            usual_value_length=payment.USUAL_METADATA_VALUE_LENGTH,
        ),
        *("2.1.11", "4.1.8", "4.1.9", "8.2"),
        description=f"Keys over {payment.USUAL_METADATA_KEY_LENGTH} and values over"
        f" {payment.USUAL_METADATA_VALUE_LENGTH} characters get a warning.",
        example=METADATA,
    ),
    # No example: all requests with the same key and other parameters get 409.
    parameter(
        "idempotency_key",
        ShortText(usual_length=payment.USUAL_IDEMPOTENCY_KEY_LENGTH),
        "4.1.10",
        description="Makes retries safe: requests with the same key and the same parameters create"
        " one payment; the same key with other parameters gets 409. A key is stored for"
        f" {KEY_RETENTION_MS // _HOUR_MS} hours of the account's clock.",
    ),
    # No `default`: types generated for TypeScript would make it a required member.
    parameter(
        "expires_in",
        Integer(
            minimum=payment.MIN_EXPIRES_IN_S,
            maximum=payment.MAX_EXPIRES_IN_S,
            unit="seconds",
            advice=lambda _: f"Leave it out for {payment.DEFAULT_EXPIRES_IN_S}.",
            usual=range(payment.MIN_USUAL_EXPIRES_IN_S, payment.MAX_USUAL_EXPIRES_IN_S + 1),
        ),
        *("4.1.11", "8.9"),
        description="The seconds until the checkout expires,"
        f" {payment.DEFAULT_EXPIRES_IN_S} by default. An integer; a value that is not"
        f" {payment.MIN_USUAL_EXPIRES_IN_S:,} to {payment.MAX_USUAL_EXPIRES_IN_S:,} gets a"
        " warning.",
        attribute="expires_in_s",
    ),
)
"""The members of the body of a create call."""

LIST = ParameterTable(
    parameter(
        "limit",
        PageLength(minimum=payment.MIN_PAGE_LENGTH, maximum=payment.MAX_PAGE_LENGTH),
        *("4.3.15", "8.5"),
        description="The maximum number of results on a page.",
        default=payment.DEFAULT_PAGE_LENGTH,
    ),
    parameter(
        "after",
        Cursor(),
        "4.3.13",
        description="The `next_cursor` of the previous page.",
        kind="cursor",
    ),
    parameter(
        "status",
        EnumWord(words=payment.Status),
        "4.3.13",
        description="Only payments of this status.",
    ),
    parameter("method", OfferedMethod(), "4.3.13", description="Only payments of this method."),
    parameter(
        "created_gte",
        Timestamp(rounds_up=True),
        *("4.3.13", "4.3.14"),
        description="Only payments created at this instant or later.",
    ),
    parameter(
        "created_lte",
        Timestamp(rounds_up=False),
        *("4.3.13", "4.3.14"),
        description="Only payments created at this instant or earlier.",
    ),
)
"""The query parameters of a list call."""


def check_order(body: Mapping[str, Any], rules: ParameterRules, warnings: Warnings) -> Order:
    """The order of a body; accepted deviations are added to `warnings`.

    Raises MissingParameter or InvalidField for the first parameter at fault.
    """
    checked = CREATE.check(body, rules, warnings)
    if len(checked) != len(body):
        # A member is unknown or null.
        unknown = {name: value for name, value in body.items() if name not in CREATE.names}
        warnings.extend(unknown_parameters(unknown, CREATE.names))
        checked["unknown"] = _canonical(unknown)
    # No member of the order has the currency.
    del checked[_CURRENCY]
    return Order(**checked)


def _canonical(members: Mapping[str, Any]) -> str:
    """One text for equal members in any order; null is as good as absent."""
    given = {name: value for name, value in members.items() if value is not None}
    return json.dumps(given, sort_keys=True, default=lambda number: [number.token]) if given else ""


def page_query(
    values: Mapping[str, str],
    rules: ParameterRules,
    warnings: Warnings,
    table: ParameterTable = LIST,
) -> PageQuery:
    """The page of a list call. Raises InvalidField for the first invalid parameter.

    The engine checks whether `after` is a payment.
    """
    return PageQuery(**table.check(values, rules, warnings))
