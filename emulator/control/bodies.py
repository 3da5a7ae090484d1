"""What counts as the body of a control call: one JSON object, strictly, or nothing at all."""

import json
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from typing import Any

from starlette.requests import ClientDisconnect, Request

from emulator.control.fields import Fields
from emulator.domain.errors import (
    DuplicateParameter,
    InvalidJson,
    InvalidRequestBody,
    RequestTooLarge,
    UnknownParameter,
    UnsupportedContentType,
)

LARGEST_BODY_BYTES = 256 * 1024
LONGEST_SHOWN_NAME = 64
_LONGEST_LENGTH = 15
_LONGEST_INTEGER = 20


async def read_fields(request: Request, known: tuple[str, ...]) -> Fields:
    """The members of the body; without a body there are none, and null counts as absent.

    Raises InvalidRequest in one of its kinds.
    """
    raw = await _read(request)
    if not raw:
        return Fields({})
    _check_content_type(request.headers.get("content-type"))
    members = _decode_object(raw)
    for name in members:
        if name not in known:
            raise unknown_parameter(name, known)
    return Fields({name: value for name, value in members.items() if value is not None})


def unknown_parameter(name: str, known: Iterable[str]) -> UnknownParameter:
    shown = name[:LONGEST_SHOWN_NAME]
    nearest = get_close_matches(shown, known, n=1)
    hint = f" Did you mean '{nearest[0]}'?" if nearest else ""
    return UnknownParameter(f"There is no parameter '{shown}' here.{hint}", param=shown)


async def _read(request: Request) -> bytes:
    declared = request.headers.get("content-length", "0")
    _check_size(int(declared[:_LONGEST_LENGTH]) if declared.isdecimal() else 0)
    parts: list[bytes] = []
    size = 0
    try:
        async for part in request.stream():
            size += len(part)
            _check_size(size)
            parts.append(part)
    except ClientDisconnect:
        # Nobody is left to read this; but neither is it a failure of ours.
        raise InvalidJson("The request ended before its body did.") from None
    return b"".join(parts)


def _check_size(length: int) -> None:
    if length > LARGEST_BODY_BYTES:
        raise RequestTooLarge(limit_bytes=LARGEST_BODY_BYTES)


def _check_content_type(value: str | None) -> None:
    media_type, *parameters = (value or "").lower().split(";")
    if media_type.strip() != "application/json":
        raise UnsupportedContentType(
            "A request with a body needs the header 'Content-Type: application/json'."
        )
    for parameter in parameters:
        name, _, charset = parameter.strip().partition("=")
        if name.strip() == "charset" and charset.strip().strip('"') not in ("utf-8", "utf8"):
            raise UnsupportedContentType("The charset must be UTF-8.")


def _decode_object(raw: bytes) -> dict[str, Any]:
    """Numbers with a fraction or an exponent, and very long ones, become exact Decimals."""
    repeated: list[str] = []

    def collect(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members: dict[str, Any] = {}
        for name, value in pairs:
            if name in members:
                repeated.append(name)
            members[name] = value
        return members

    try:
        value = json.loads(
            raw.decode(),
            object_pairs_hook=collect,
            parse_float=_decimal,
            parse_int=_integer,
            parse_constant=_refuse_constant,
        )
        # A lone surrogate is valid to the standard library, but can be neither kept nor written.
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except (ValueError, RecursionError) as error:
        raise InvalidJson(f"The request body is not JSON: {_reason(error)}.") from None
    if not isinstance(value, dict):
        raise InvalidRequestBody
    if repeated:
        raise DuplicateParameter(repeated[0][:LONGEST_SHOWN_NAME])
    return value


def _integer(token: str) -> int | Decimal:
    return int(token) if len(token) <= _LONGEST_INTEGER else _decimal(token)


def _decimal(token: str) -> Decimal:
    try:
        return Decimal(token)
    except InvalidOperation:
        # Its exponent is beyond what even a Decimal holds: JSON, but out of every range.
        return Decimal("Infinity")


def _refuse_constant(token: str) -> object:
    raise ValueError(f"there is no {token}")


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    if isinstance(error, UnicodeEncodeError):
        return "it has half of a surrogate pair"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return str(error)
