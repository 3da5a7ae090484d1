"""Recognizes unusual request lines, targets and heads of HTTP/1.1; loaded when one arrives."""

import re
from http import HTTPMethod

import httptools

from emulator.domain.errors import MalformedHttp, Refusal, UnknownRoute

MAX_REQUEST_LINE_BYTES = 8 * 1024
_NOT_IN_AN_ADDRESS = re.compile(rb"[^!-~]")
_LINE_START = re.compile(rb"[A-Za-z_-]{1,32}(?: .*)?", re.DOTALL)
_LINE = re.compile(rb"([A-Za-z_-]{1,32}) (.+) ([A-Z]{1,9}/[0-9.]{1,9})", re.DOTALL)
_VERSIONS = (b"HTTP/1.1", b"HTTP/1.0")
_ABSOLUTE_FORM = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")


def is_unfinished(start: bytes | bytearray) -> bool:
    """Whether an error in a head that starts so is judged when its request line is complete."""
    is_whole = b"\n" in start or len(start) >= MAX_REQUEST_LINE_BYTES
    return not is_whole and _LINE_START.fullmatch(start) is not None


def refusal_of(error: Exception, start: bytes | bytearray, *, is_first: bool) -> Refusal:
    """The refusal of bytes that are not a request; `start` is the head so far."""
    # An error in one of our own callbacks is the context of the parser's.
    cause = error.__context__ if isinstance(error, httptools.HttpParserError) else error
    if isinstance(cause, MalformedHttp):
        return cause
    line = _LINE.fullmatch(start[:MAX_REQUEST_LINE_BYTES].partition(b"\n")[0].removesuffix(b"\r"))
    if line is not None and line[3] not in _VERSIONS:
        return MalformedHttp(
            f"The protocol must be HTTP/1.1 or HTTP/1.0 (got {line[3].decode()})."
            " Configure the client to use HTTP/1.1; the option of curl is --http1.1."
        )
    if line is not None and _NOT_IN_AN_ADDRESS.search(line[2]):
        return MalformedHttp("The address has characters that must be percent-encoded.")
    if line is not None and line[1].decode() not in HTTPMethod.__members__:
        # An unknown method is an unknown route.
        return UnknownRoute(line[1].decode(), line[2].decode())
    if is_first:
        return MalformedHttp("This is not an HTTP request.")
    return MalformedHttp(
        "The bytes after the previous request are not an HTTP request."
        " Its 'Content-Length' must be the number of bytes of its body, not of characters."
    )


def body_refusal(error: Exception) -> Refusal:
    """The refusal of a request whose body cannot be read."""
    cause = error.__context__ if isinstance(error, httptools.HttpParserError) else error
    if isinstance(cause, MalformedHttp):
        return cause
    return MalformedHttp(
        "The body cannot be read: its chunks or its 'Transfer-Encoding' are invalid."
    )


def origin_form(target: bytes) -> bytes:
    """The path and query of a request target in another form (RFC 9112, section 3.2)."""
    if target == b"*":
        return target
    absolute = _ABSOLUTE_FORM.match(target)
    rest = target[absolute.end() :] if absolute else b""
    return rest if rest.startswith(b"/") else b"/" + rest
