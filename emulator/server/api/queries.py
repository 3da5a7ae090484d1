"""Parses and validates the query parameters of the contract's GET calls (section 4.3)."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from urllib.parse import parse_qsl

from emulator.domain.instants import ParsedTimestamp, parse_timestamp
from emulator.domain.message_text import not_accepted
from emulator.domain.payment import DEFAULT_PAGE_LENGTH, MAX_AMOUNT_MINOR, PAGE_LENGTHS, Status
from emulator.domain.payment_methods import normalise_phone
from emulator.server.api.request_warnings import (
    RequestWarning,
    duplicate_parameters,
    unknown_parameters,
)
from emulator.server.storage.payments import PageQuery

KNOWN = ("limit", "after", "status", "method", "created_gte", "created_lte")

_ACCEPTED_TIMESTAMP = (
    "an ISO 8601 timestamp with a date, a time and an offset, such as 2026-01-01T00:00:00Z or"
    " 2026-01-01T03:00:00+03:00"
)
_USUAL_TIMESTAMP = "a date, a time and an offset in a usual form, such as 2026-01-01T00:00:00Z"
_DIGITS = re.compile(r"0*([0-9]{1,3})", re.ASCII)
_AMOUNT = re.compile(r"[0-9]{1,16}", re.ASCII)
_STATUSES = tuple(Status)
# Many clients repeat few queries.
_MAX_CACHED_LENGTH = 128
_DEFAULT_PAGE = PageQuery(limit=DEFAULT_PAGE_LENGTH)


def parse_query(
    query_string: bytes, known: tuple[str, ...], warnings: list[RequestWarning]
) -> Mapping[str, str]:
    """The known parameters of a query string; the last of a repeated one counts.

    An empty value is a value. Unknown and repeated parameters are added to `warnings`.
    """
    if not query_string:
        return {}
    parse = _parsed if len(query_string) <= _MAX_CACHED_LENGTH else _parsed.__wrapped__
    values, repeated, unknown = parse(query_string, known)
    if repeated or unknown:
        warnings.extend(duplicate_parameters(repeated))
        warnings.extend(unknown_parameters(unknown, known))
    return values


@lru_cache(maxsize=256)
def _parsed(
    query_string: bytes, known: tuple[str, ...]
) -> tuple[Mapping[str, str], Iterable[str], Iterable[str]]:
    """The known parameters, and the names of the repeated and of the unknown ones."""
    values: dict[str, str] = {}
    repeated: dict[str, None] = {}
    for name, value in parse_qsl(query_string.decode("latin-1"), keep_blank_values=True):
        if name in values:
            repeated[name] = None
        values[name] = value
    unknown = [name for name in values if name not in known]
    return {name: value for name, value in values.items() if name in known}, repeated, unknown


def page_query(
    values: Mapping[str, str], methods: tuple[str, ...], warnings: list[RequestWarning]
) -> PageQuery:
    """The page of a list call. Raises InvalidField for the first invalid parameter.

    The engine checks whether `after` is a payment.
    """
    if not values:
        return _DEFAULT_PAGE
    limit = _limit(values.get("limit"))
    if len(values) == 1 and "limit" in values:
        return PageQuery(limit=limit)
    after = values.get("after")
    status = _one_of(_STATUSES, values.get("status"), "status")
    method = _one_of(methods, values.get("method"), "method")
    created_gte = _timestamp(values.get("created_gte"), "created_gte", warnings)
    created_lte = _timestamp(values.get("created_lte"), "created_lte", warnings)
    phone = values.get("phone")
    return PageQuery(
        limit=limit,
        after=after,
        status=None if status is None else Status(status),
        method=method,
        created_gte=None if created_gte is None else created_gte.ceiling,
        created_lte=None if created_lte is None else created_lte.floor,
        # The contract does not have these; `parse_query` removes them.
        amount_gte=_amount(values.get("amount_gte"), "amount_gte"),
        amount_lte=_amount(values.get("amount_lte"), "amount_lte"),
        phone=None if phone is None else _phone(phone),
        metadata=values.get("metadata"),
    )


def _limit(value: str | None) -> int:
    if value is None:
        return DEFAULT_PAGE_LENGTH
    digits = _DIGITS.fullmatch(value)
    if digits is None or int(digits[1]) not in PAGE_LENGTHS:
        raise not_accepted(
            "limit",
            value,
            f"a whole number from {PAGE_LENGTHS.start} to {PAGE_LENGTHS.stop - 1} in plain digits",
        )
    return int(digits[1])


def _amount(value: str | None, param: str) -> int | None:
    if value is None:
        return None
    if not _AMOUNT.fullmatch(value) or int(value) > MAX_AMOUNT_MINOR:
        raise not_accepted(
            param, value, f"an amount in ETB cents from 0 to {MAX_AMOUNT_MINOR}, such as 15000"
        )
    return int(value)


def _phone(value: str) -> str:
    try:
        return normalise_phone(value)
    except ValueError:
        raise not_accepted("phone", value, "a mobile number, such as 0911223344") from None


def _one_of(accepted: tuple[str, ...], value: str | None, param: str) -> str | None:
    if value is not None and value not in accepted:
        raise not_accepted(param, value, f"one of: {', '.join(accepted)}")
    return value


def _timestamp(
    value: str | None, param: str, warnings: list[RequestWarning]
) -> ParsedTimestamp | None:
    if value is None:
        return None
    try:
        timestamp = parse_timestamp(value)
    except ValueError:
        raise not_accepted(param, value, _ACCEPTED_TIMESTAMP) from None
    if timestamp.is_loose:
        refusal = not_accepted(param, value, _USUAL_TIMESTAMP)
        warnings.append(RequestWarning(f"loose-timestamp:{param}", refusal))
    return timestamp
