"""Checks the redirect URLs of a create call: absolute HTTPS URLs, as browsers open them."""

import re
from typing import Annotated, Any
from urllib.parse import unquote

from msgspec import Meta

from emulator.domain.errors import InvalidField
from emulator.domain.hosts import is_local_name
from emulator.domain.message_text import not_accepted, received
from emulator.server.api.parameter_types import ParameterRules, ParameterType, Warnings
from emulator.server.api.request_warnings import RequestWarning

_ACCEPTED = "an absolute https URL with a host, such as https://shop.example/ok"
_BLANK = r"\s\x00-\x1f\x7f"
_BLANK_OR_CONTROL = rf"[{_BLANK}\x80-\x9f]"
# Nearly every URL: at most three plain labels, the last not a number, and no backslash. It matches
# nothing that gets a warning below.
_USUAL_LABEL = r"(?![Xx][Nn]--)[A-Za-z{digits}][A-Za-z0-9-]{{0,62}}"
_match_usual = re.compile(
    rf"https://(?:{_USUAL_LABEL.format(digits='0-9')}\.){{0,2}}{_USUAL_LABEL.format(digits='')}"
    r"(?:/[!-\[\]-z|~]*)?"
).fullmatch
_AFTER_SCHEME = (
    rf"://([^/?#{_BLANK}]*@)?(\[[0-9A-Fa-f:.]+\]|[^/?#:@\[\]{_BLANK}]+)(:[0-9]*)?"
    rf"([/?#][^{_BLANK}]*)?"
)
# What other services replace, such as `{CHECKOUT_SESSION_ID}`.
_TEMPLATE = r"\{[^{}]+\}"
# Also in the OpenAPI document and in generated clients: without syntax that only Python knows, and
# without \x80, which is not a character in Ruby, and in PHP a part of many.
_HTTPS_URL = f"[Hh][Tt][Tt][Pp][Ss]{_AFTER_SCHEME}"
_URL = f"([Hh][Tt][Tt][Pp][Ss]?){_AFTER_SCHEME}"
# Chromium, Firefox and the Fetch standard (section 2.9) refuse all of these.
BLOCKED_PORTS = frozenset(
    {
        0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95,
        101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179,
        389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601,
        636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 5060, 5061, 6000, 6566, 6665,
        6666, 6667, 6668, 6669, 6697, 10080,
    }
)  # fmt: skip
HTTPS_PORT = 443
# DNS has no longer names and labels; a browser parses them and cannot resolve them.
MAX_NAME_LENGTH = 253
MAX_LABEL_LENGTH = 63


class RedirectUrl(ParameterType, frozen=True, kw_only=True):
    """An absolute HTTPS URL; one that browsers open differently gets a warning."""

    usual_length: int

    def check(self, param: str, value: Any, rules: ParameterRules, warnings: Warnings) -> str:
        if not isinstance(value, str):
            raise not_accepted(param, value, _ACCEPTED)
        if _match_usual(value) and len(value) <= self.usual_length:
            return value
        if re.search(_BLANK_OR_CONTROL, value):
            raise not_accepted(
                param,
                value,
                f"{_ACCEPTED}, without white space and control characters",
                advice="Percent-encode them, such as %20 for a blank.",
            )
        parts = re.fullmatch(_URL, value)
        # In brackets, only an IPv6 address is a host.
        if parts is None or (parts[3].startswith("[") and opened_host(parts[3], "") is None):
            raise not_accepted(param, value, _ACCEPTED)
        opened = opened_host(parts[3], (parts[4] or ":")[1:])
        flaw = _flaw(value, parts[2], opened)
        if len(parts[1]) == len("http"):
            is_ascii = unquote(parts[3]).isascii()
            _check_http(value, param, rules, None if flaw else opened, is_ascii=is_ascii)
        if flaw is None and len(value) > self.usual_length:
            flaw = f"is over {self.usual_length} characters long"
        if flaw is not None:
            refusal = InvalidField(param, f'The URL of "{param}" {flaw} (got {received(value)}).')
            warnings.append(RequestWarning(f"unusual-{param.replace('_', '-')}", refusal))
        return value

    def field_type(self) -> Any:
        # Importers such as Postman's make random URLs of a `pattern` beside the example.
        pattern = {"not": {"not": {"pattern": f"^{_HTTPS_URL}$"}}}
        return Annotated[str, Meta(extra_json_schema={"format": "uri", **pattern})]


def _flaw(url: str, user: str | None, opened: str | None) -> str | None:
    """Why a browser opens another host than the URL's host, or no host."""
    if "\\" in url:
        return "has a backslash, which browsers read as a slash"
    if user is not None:
        return "has user information"
    template = re.search(_TEMPLATE, url)
    if template is not None:
        return f"has {received(template[0])}, and nothing replaces it"
    return "has a host or a port that no browser opens" if opened is None else None


def _check_http(
    url: str, param: str, rules: ParameterRules, opened: str | None, *, is_ascii: bool
) -> None:
    """Raises InvalidField unless http is allowed and the host is local for a browser.

    A name without a dot must be ASCII: programs resolve other letters differently, and containers
    have no such names.
    """
    if not rules.allow_http_localhost:
        raise not_accepted(
            param,
            url,
            "an https URL",
            advice="To use http:// on local names, start the emulator with --allow-http-localhost.",
        )
    if opened is None or not is_local_name(opened) or not (is_ascii or "." in opened):
        raise not_accepted(
            param,
            url,
            "an https URL, or http:// with a local name as browsers read it, such as"
            " http://localhost:3000/ok",
        )


def opened_host(host: str, port: str) -> str | None:
    """The host that a browser opens for a host and a port of a URL; None if it opens none.

    It is ASCII in lower case, and an IPv4 address has four parts.
    """
    import ada_url  # noqa: PLC0415 - 20 ms, few URLs need it

    try:
        parsed = ada_url.parse_url(f"https://{host}:{port}/", ("hostname", "port"))
    except ValueError:
        return None
    opened = parsed["hostname"]
    if int(parsed["port"] or HTTPS_PORT) in BLOCKED_PORTS or len(opened) > MAX_NAME_LENGTH + 1:
        return None
    labels = opened.removesuffix(".").split(".")
    if not all(1 <= len(label) <= MAX_LABEL_LENGTH for label in labels):
        return None
    # Some browsers accept a label that looks encoded and is not; no name system has it.
    if "xn--" in opened:
        decoded = ada_url.idna_to_unicode(opened)
        if "xn--" in decoded or ada_url.idna_to_ascii(decoded).decode() != opened:
            return None
    return opened
