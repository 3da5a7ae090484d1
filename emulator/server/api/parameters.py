"""Validates the parameters of a create call in the contract's order (section 4.1)."""

import re
from collections.abc import Mapping
from ipaddress import IPv6Address
from typing import Any

import msgspec

from emulator.domain.errors import InvalidField, MissingParameter
from emulator.domain.hosts import is_local_name, is_open_port, parse_url_host
from emulator.domain.message_text import WrittenNumber, not_accepted, received
from emulator.domain.payment import (
    CURRENCY,
    DEFAULT_EXPIRES_IN_S,
    MAX_AMOUNT_MINOR,
    MAX_EXPIRES_IN_S,
    MAX_METADATA_PAIRS,
    MIN_AMOUNT_MINOR,
    MINOR_PER_BIRR,
)
from emulator.server.api.request_warnings import RequestWarning, unknown_parameters
from emulator.server.engine.payments.payments import Order

KNOWN = (
    *("amount", "currency", "methods", "success_url", "cancel_url"),
    *("metadata", "idempotency_key", "expires_in"),
)
_KNOWN_SET = frozenset(KNOWN)

USUAL_METADATA_KEY_LENGTH = 40
USUAL_METADATA_VALUE_LENGTH = 500
USUAL_URL_LENGTH = 2048
USUAL_IDEMPOTENCY_KEY_LENGTH = 255
USUAL_EXPIRES_IN_S = range(60, 86_401)

_ACCEPTED_URL = "an absolute https URL with a host, such as https://shop.example/ok"
# A number of at most two decimal places.
_BIRR = re.compile(r"([0-9]{1,16})(?:\.([0-9]{1,2})0*)?", re.ASCII)
_BLANK = r"\s\x00-\x1f\x7f"
_BLANK_OR_CONTROL = re.compile(rf"[{_BLANK}\x80-\x9f]")
# Nearly every URL: at most three plain labels, the last not a number, and no backslash. It matches
# nothing that gets a warning below.
_USUAL_LABEL = r"(?![Xx][Nn]--)[A-Za-z{digits}][A-Za-z0-9-]{{0,62}}"
_USUAL_URL = re.compile(
    rf"https://(?:{_USUAL_LABEL.format(digits='0-9')}\.){{0,2}}{_USUAL_LABEL.format(digits='')}"
    r"(?:/[!-\[\]-~]*)?"
)
_AFTER_SCHEME = (
    rf"://([^/?#{_BLANK}]*@)?(\[[0-9A-Fa-f:.]+\]|[^/?#:@\[\]{_BLANK}]+)(:[0-9]*)?"
    rf"([/?#][^{_BLANK}]*)?"
)
# Also in the OpenAPI document and in generated clients: without syntax that only Python knows, and
# without \x80, which is not a character in Ruby, and in PHP a part of many.
HTTPS_URL = f"[Hh][Tt][Tt][Pp][Ss]{_AFTER_SCHEME}"
_URL = re.compile(f"([Hh][Tt][Tt][Pp][Ss]?){_AFTER_SCHEME}")


class CreateRules(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that the validation of a create call depends on."""

    methods: tuple[str, ...]
    allow_http_localhost: bool


def check_order(
    body: Mapping[str, Any], rules: CreateRules, warnings: list[RequestWarning]
) -> Order:
    """The order of a body; accepted deviations are added to `warnings`.

    Raises MissingParameter or InvalidField for the first parameter at fault.
    """
    amount_minor = _amount(_required(body, "amount"))
    _currency(_required(body, "currency"))
    methods = _methods(_required(body, "methods"), rules, warnings)
    order = Order(
        amount_minor=amount_minor,
        methods=methods,
        success_url=_url(_required(body, "success_url"), "success_url", rules, warnings),
        cancel_url=_url(_required(body, "cancel_url"), "cancel_url", rules, warnings),
        metadata=_metadata(body.get("metadata"), warnings),
        idempotency_key=_idempotency_key(body.get("idempotency_key"), warnings),
        expires_in_s=_expires_in(body.get("expires_in"), warnings),
    )
    if not body.keys() <= _KNOWN_SET:
        unknown = (name for name in body if name not in KNOWN)
        warnings.extend(unknown_parameters(unknown, KNOWN))
    return order


def _required(body: Mapping[str, Any], param: str) -> Any:
    value = body.get(param)
    if value is None:
        raise MissingParameter(param)
    return value


def _amount(value: Any) -> int:
    if type(value) is not int or not MIN_AMOUNT_MINOR <= value <= MAX_AMOUNT_MINOR:
        raise not_accepted(
            "amount",
            value,
            f"an integer number of ETB cents from {MIN_AMOUNT_MINOR} to {MAX_AMOUNT_MINOR}",
            advice=_amount_advice(value),
        )
    return value


def _amount_advice(value: Any) -> str:
    """The number of cents of an amount in birr or in a string."""
    written = value.token if isinstance(value, WrittenNumber) else value
    number = _BIRR.fullmatch(str(written)) if type(written) in (int, str) else None
    if number is None or int(number[1]) > MAX_AMOUNT_MINOR // MINOR_PER_BIRR:
        return f"1 birr is {MINOR_PER_BIRR}."
    whole, hundredths = int(number[1]), (number[2] or "").ljust(2, "0")
    if isinstance(value, str) and number[2] is None and whole >= MIN_AMOUNT_MINOR:
        return f"Send {whole} without quotation marks for {_birr(whole)} birr."
    amount_minor = whole * MINOR_PER_BIRR + int(hundredths)
    if amount_minor < MIN_AMOUNT_MINOR:
        return f"1 birr is {MINOR_PER_BIRR}."
    return f"{_birr(amount_minor)} birr is {amount_minor}."


def _birr(amount_minor: int) -> str:
    birr, hundredths = divmod(amount_minor, MINOR_PER_BIRR)
    return f"{birr}.{hundredths:02}" if hundredths else str(birr)


def _currency(value: Any) -> None:
    if value != CURRENCY:
        raise not_accepted("currency", value, f'"{CURRENCY}"')


def _methods(value: Any, rules: CreateRules, warnings: list[RequestWarning]) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise not_accepted(
            "methods", value, f"an array of one or more of: {', '.join(rules.methods)}"
        )
    for method in value:
        if method not in rules.methods:
            raise InvalidField(
                "methods",
                f'Each entry of "methods" must be one of: {", ".join(rules.methods)}'
                f" (got {received(method)}).",
            )
    methods = tuple(dict.fromkeys(value))
    if len(methods) != len(value):
        refusal = InvalidField(
            "methods", f"Each method must be listed once (got {received(value)})."
        )
        warnings.append(RequestWarning("duplicate-method", refusal))
    return methods


def _url(value: Any, param: str, rules: CreateRules, warnings: list[RequestWarning]) -> str:
    if not isinstance(value, str):
        raise not_accepted(param, value, _ACCEPTED_URL)
    if _USUAL_URL.fullmatch(value) and len(value) <= USUAL_URL_LENGTH:
        return value
    if _BLANK_OR_CONTROL.search(value):
        raise not_accepted(
            param,
            value,
            f"{_ACCEPTED_URL}, without white space and control characters",
            advice="Percent-encode them, such as %20 for a blank.",
        )
    parts = _URL.fullmatch(value)
    if parts is None or not _is_host(parts[3]):
        raise not_accepted(param, value, _ACCEPTED_URL)
    flaw = _flaw(value, parts)
    if len(parts[1]) == len("http"):
        _check_http(value, parts[3], param, rules, flaw)
    if flaw is None and len(value) > USUAL_URL_LENGTH:
        flaw = f"is over {USUAL_URL_LENGTH} characters long"
    if flaw is not None:
        refusal = InvalidField(param, f'The URL of "{param}" {flaw} (got {received(value)}).')
        warnings.append(RequestWarning(f"unusual-{param.replace('_', '-')}", refusal))
    return value


def _flaw(url: str, parts: re.Match[str]) -> str | None:
    """Why a browser opens another host than that of the URL, or no host."""
    if "\\" in url:
        return "has a backslash, which browsers read as a slash"
    if parts[2] is not None:
        return "has user information"
    port = parts[4] or ":"
    if parse_url_host(parts[3]) is None or not is_open_port(port[1:]):
        return "has a host or a port that no browser opens"
    return None


def _check_http(url: str, host: str, param: str, rules: CreateRules, flaw: str | None) -> None:
    """Raises InvalidField unless http is allowed and the host is local for a browser."""
    if not rules.allow_http_localhost:
        raise not_accepted(
            param,
            url,
            "an https URL",
            advice="To use http:// on local names, start the emulator with --allow-http-localhost.",
        )
    opened = parse_url_host(host) if flaw is None else None
    if opened is None or not _is_local(opened):
        raise not_accepted(
            param,
            url,
            "an https URL, or http:// with a local name as browsers read it, such as"
            " http://localhost:3000/ok",
        )


def _is_local(host: str) -> bool:
    """Whether a host as a browser resolves it is local; a name without a dot must be ASCII.

    Programs resolve other letters differently, and containers have no such names.
    """
    return is_local_name(host) and (host.isascii() or "." in host)


def _is_host(host: str) -> bool:
    """Whether the host has no brackets, or is an IPv6 address in brackets."""
    if not host.startswith("["):
        return True
    try:
        IPv6Address(host[1:-1])
    except ValueError:
        return False
    return True


def _metadata(value: Any, warnings: list[RequestWarning]) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise not_accepted(
            "metadata", value, f"an object of at most {MAX_METADATA_PAIRS} pairs with string values"
        )
    if len(value) > MAX_METADATA_PAIRS:
        raise InvalidField(
            "metadata",
            f'"metadata" must have at most {MAX_METADATA_PAIRS} pairs (got {len(value)}).',
        )
    long_key = None
    for key, text in value.items():
        if not isinstance(text, str):
            raise InvalidField(
                "metadata",
                'Each value of "metadata" must be a string'
                f" (got {received(text)} for the key {received(key)}).",
            )
        if len(key) > USUAL_METADATA_KEY_LENGTH or len(text) > USUAL_METADATA_VALUE_LENGTH:
            long_key = key
    if long_key is not None:
        refusal = InvalidField(
            "metadata",
            f'A key of "metadata" must have at most {USUAL_METADATA_KEY_LENGTH} characters, and a'
            f" value at most {USUAL_METADATA_VALUE_LENGTH} (got {len(long_key)} and"
            f" {len(value[long_key])} for the key {received(long_key)}).",
        )
        warnings.append(RequestWarning("long-metadata", refusal))
    return value


def _idempotency_key(value: Any, warnings: list[RequestWarning]) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not value:
        raise not_accepted("idempotency_key", value, "a string that is not empty")
    if len(value) > USUAL_IDEMPOTENCY_KEY_LENGTH:
        refusal = InvalidField(
            "idempotency_key",
            f'"idempotency_key" must have at most {USUAL_IDEMPOTENCY_KEY_LENGTH} characters'
            f" (got {len(value)}).",
        )
        warnings.append(RequestWarning("long-idempotency-key", refusal))
    return value


def _expires_in(value: Any, warnings: list[RequestWarning]) -> int:
    if value is None:
        return DEFAULT_EXPIRES_IN_S
    if type(value) is not int or not 1 <= value <= MAX_EXPIRES_IN_S:
        raise not_accepted(
            "expires_in",
            value,
            f"an integer number of seconds from 1 to {MAX_EXPIRES_IN_S}",
            advice=f"Leave it out for {DEFAULT_EXPIRES_IN_S}.",
        )
    if value not in USUAL_EXPIRES_IN_S:
        first, last = USUAL_EXPIRES_IN_S.start, USUAL_EXPIRES_IN_S.stop - 1
        refusal = not_accepted("expires_in", value, f"{first} to {last} seconds under --strict")
        warnings.append(RequestWarning("unusual-expires-in", refusal))
    return value
