"""Recognizes unusual request lines and targets of HTTP/1.1; loaded when one arrives."""

import re

_NOT_IN_AN_ADDRESS = re.compile(rb"[^!-~]")
REQUEST_LINE = re.compile(rb"([A-Za-z-]{1,32}) (/[!-~]*) HTTP/1\.[01]\r\n")
_ABSOLUTE_FORM = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")


def has_bare_address(request: bytes) -> bool:
    """Whether the address in a request line has characters that belong percent-encoded."""
    method, _, rest = request.partition(b"\r\n")[0].partition(b" ")
    address, _, version = rest.rpartition(b" ")
    is_request = method.isalpha() and version.startswith(b"HTTP/1.")
    return is_request and _NOT_IN_AN_ADDRESS.search(address) is not None


def origin_form(target: bytes) -> bytes:
    """The path and query of a request target in another form (RFC 9112, section 3.2)."""
    if target == b"*":
        return target
    absolute = _ABSOLUTE_FORM.match(target)
    rest = target[absolute.end() :] if absolute else b""
    return rest if rest.startswith(b"/") else b"/" + rest
