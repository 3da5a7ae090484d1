"""Recognizes unusual request lines, targets and heads of HTTP/1.1; loaded when one arrives."""

import re
from collections.abc import Iterable

import httptools

from emulator.domain.errors import MalformedHttp, Refusal, UnknownRoute

_NOT_IN_AN_ADDRESS = re.compile(rb"[^!-~]")
_REQUEST_LINE = re.compile(rb"([A-Za-z-]{1,32}) (/[!-~]*) HTTP/1\.[01]\r\n")
_FRAMING_HEADERS = frozenset({b"content-length", b"transfer-encoding"})
_ABSOLUTE_FORM = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")


def _has_bare_address(request: bytes) -> bool:
    """Whether the address in a request line has characters that belong percent-encoded."""
    method, _, rest = request.partition(b"\r\n")[0].partition(b" ")
    address, _, version = rest.rpartition(b" ")
    is_request = method.isalpha() and version.startswith(b"HTTP/1.")
    return is_request and _NOT_IN_AN_ADDRESS.search(address) is not None


def refusal_of(error: Exception, start: bytes, *, is_first: bool) -> Refusal:
    """The refusal of bytes that are not a request; `start` is the first of them, where known."""
    # An error in one of our own callbacks is the context of the parser's.
    cause = error.__context__ if isinstance(error, httptools.HttpParserError) else error
    if isinstance(cause, MalformedHttp):
        return cause
    if _has_bare_address(start):
        return MalformedHttp("The address has characters that must be percent-encoded.")
    line = _REQUEST_LINE.match(start)
    if line and isinstance(error, httptools.HttpParserInvalidMethodError):
        # An unknown method of HTTP is an unknown route.
        return UnknownRoute(line[1].decode(), line[2].decode("latin-1"))
    if is_first:
        return MalformedHttp("This is not an HTTP request.")
    return MalformedHttp(
        "The bytes after the previous request are not an HTTP request."
        " Its 'Content-Length' must be the number of bytes of its body, not of characters."
    )


def origin_form(target: bytes) -> bytes:
    """The path and query of a request target in another form (RFC 9112, section 3.2)."""
    if target == b"*":
        return target
    absolute = _ABSOLUTE_FORM.match(target)
    rest = target[absolute.end() :] if absolute else b""
    return rest if rest.startswith(b"/") else b"/" + rest


def head_with_framing(
    headers: Iterable[tuple[bytes, bytes]], version: str, *, closes: bool
) -> bytes:
    """A head whose body has the framing that these headers describe."""
    framing = [b"%s: %s\r\n" % header for header in headers if header[0] in _FRAMING_HEADERS]
    if closes:
        framing.append(b"connection: close\r\n")
    return b"POST / HTTP/%s\r\n%s\r\n" % (version.encode(), b"".join(framing))
