"""Reads request bodies: strict JSON, and YAML."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

import msgspec
from starlette.requests import ClientDisconnect
from starlette.types import Receive

from emulator.domain import errors
from emulator.domain.message_text import WrittenNumber, received

MAX_BODY_BYTES = 256 * 1024
MAX_NESTING = 32
MAX_LENGTH_DIGITS = 18
_MAX_DIGITS = 400
_WHITE_SPACE = " \t\n\r"
_BYTE_ORDER_MARK = "\ufeff"
_BRACKET = rb"[{}\[\]]"
# The last string of a malformed body may have no end.
_STRING = rb'(?s)"(?:[^"\\]|\\.)*"?'
_JSON_TYPE = "application/json"
YAML_TYPES = frozenset({"application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"})
# Characters in JSON strings that YAML takes for line breaks or refuses, and the tab, which JSON
# allows between tokens.
_REPLACEMENTS = {
    code: f"\\u{code:04x}" for code in (*range(0x7F, 0xA0), 0x2028, 0x2029, 0xFEFF, 0xFFFE)
}
_REPLACEMENTS |= {0xFFFF: "\\uffff", 0x09: " "}
_ESCAPE = r"(?is)\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})|\\."

T = TypeVar("T")


async def unless_disconnected(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`. Cancels it and raises ClientDisconnect when the client disconnects."""
    working = asyncio.create_task(work)
    leaving = asyncio.create_task(_disconnected(receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def read_optional_object(
    headers: Mapping[bytes, bytes], receive: Receive
) -> tuple[dict[str, Any], list[str]]:
    """As `decode_body`, of an optional body; without a body, the `Content-Type` is optional too.

    Raises ClientDisconnect, InvalidRequest.
    """
    raw, declared = await read_body(headers, receive), headers.get(b"content-type")
    if raw or declared is not None:
        check_content_type(declared)
    return decode_body(raw, headers) if raw else ({}, [])


class YamlBody(msgspec.Struct, frozen=True, kw_only=True):
    """A text of YAML; of a JSON body also its members, and the repeated ones."""

    text: str
    members: Mapping[str, Any] = {}
    repeated: list[str] = []


async def read_source(
    headers: Mapping[bytes, bytes], receive: Receive, *, takes_yaml: bool
) -> YamlBody:
    """A body in JSON (an object), or in YAML if `takes_yaml`.

    Raises ClientDisconnect, InvalidRequest.
    """
    raw = await read_body(headers, receive)
    declared = headers.get(b"content-type", b"" if takes_yaml else None)
    if check_content_type(declared, takes_yaml=takes_yaml) in YAML_TYPES:
        try:
            return YamlBody(text=raw.decode())
        except UnicodeDecodeError:
            raise errors.InvalidRequestBody("The request body is not UTF-8.") from None
    members, repeated = decode_body(raw, headers)
    # As YAML of the same meaning; line numbers do not change.
    text = re.sub(_ESCAPE, _paired, raw.decode()).translate(_REPLACEMENTS)
    return YamlBody(text=text, members=members, repeated=repeated)


def _paired(escape: re.Match[str]) -> str:
    """One character for the escapes of a surrogate pair, which YAML does not know."""
    if escape[1] is None:
        return escape[0]
    return bytes.fromhex(escape[1] + escape[2]).decode("utf-16-be")


async def read_body(
    headers: Mapping[bytes, bytes], receive: Receive, max_bytes: int = MAX_BODY_BYTES
) -> bytes:
    """Raises RequestTooLarge as early as possible, ClientDisconnect."""
    declared = headers.get(b"content-length", b"0")
    # The server has refused other values than digits; a long one is cut, to limit the conversion.
    check_size(int(declared[:MAX_LENGTH_DIGITS]) if declared.isdigit() else 0, max_bytes)
    message = await receive()
    parts: list[bytes] = []
    size = 0
    while True:
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        part: bytes = message.get("body", b"")
        size += len(part)
        check_size(size, max_bytes)
        if not message.get("more_body"):
            return b"".join((*parts, part)) if parts else part
        parts.append(part)
        message = await receive()


def check_content_type(value: bytes | None, *, takes_yaml: bool = False) -> str:
    """The media type: JSON in UTF-8 (contract, section 4), or YAML if `takes_yaml`.

    Raises UnsupportedContentType.
    """
    if value == b"application/json":
        return _JSON_TYPE
    if value is None:
        raise errors.UnsupportedContentType(
            "The request needs the header 'Content-Type: application/json'."
        )
    declared = value.decode("latin-1")
    media_type, *parameters = (part.strip() for part in declared.lower().split(";"))
    if media_type != _JSON_TYPE and not (takes_yaml and media_type in YAML_TYPES):
        accepted = f"application/yaml or {_JSON_TYPE}" if takes_yaml else _JSON_TYPE
        raise errors.UnsupportedContentType(
            f"The Content-Type must be {accepted} (got {received(declared)})."
        )
    for parameter in parameters:
        name, _, charset = parameter.partition("=")
        charset = charset.strip().strip('"')
        if name.strip() == "charset" and charset not in ("utf-8", "utf8"):
            raise errors.UnsupportedContentType(
                f"The charset must be UTF-8 (got {received(charset)})."
            )
    return media_type


def check_size(length: int, max_bytes: int = MAX_BODY_BYTES) -> None:
    """Raises RequestTooLarge."""
    if length > max_bytes:
        raise errors.RequestTooLarge(limit_bytes=max_bytes)


def decode_body(raw: bytes, headers: Mapping[bytes, bytes]) -> tuple[dict[str, Any], list[str]]:
    """As `decode_object`; the refusal of a compressed body names its header."""
    try:
        return decode_object(raw)
    except errors.InvalidJson:
        encoding = headers.get(b"content-encoding", b"").decode("latin-1").strip()
        if encoding.lower() in ("", "identity"):
            raise
        raise errors.InvalidJson(
            f"The request body is not JSON, because its Content-Encoding is {received(encoding)}."
            " Send it without compression."
        ) from None


def decode_object(raw: bytes) -> tuple[dict[str, Any], list[str]]:
    """The members of a JSON object, and the names of those that are or contain repeated members.

    The last of a repeated member counts. Raises InvalidJson, InvalidRequestBody.
    """
    if raw.count(b"{") + raw.count(b"[") > MAX_NESTING:
        _check_nesting(raw)
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise errors.InvalidJson("The request body is not JSON: it is not UTF-8.") from None
    if not text.strip(_WHITE_SPACE):
        raise errors.InvalidJson("The request body is empty; send a JSON object.")
    if text.startswith(_BYTE_ORDER_MARK):
        raise errors.InvalidJson(
            "The request body begins with a byte order mark; send UTF-8 without it."
        )
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        position = len(text[: error.pos].encode())
        reason = error.msg[0].lower() + error.msg[1:]
        raise errors.InvalidJson(
            f"The request body is not JSON: {reason} (byte {position})."
        ) from None
    if "\\u" in text:
        _check_surrogates(value)
    if not isinstance(value, dict):
        raise errors.InvalidRequestBody(
            f"The request body must be a JSON object (got {received(value)})."
        )
    return value, value.repeated if isinstance(value, _Repeating) else []


def _check_nesting(raw: bytes) -> None:
    """Check the depth without the brackets inside strings. Raises InvalidJson."""
    depth = 0
    for bracket in re.findall(_BRACKET, re.sub(_STRING, b"", raw)):
        depth += 1 if bracket in b"{[" else -1
        if depth > MAX_NESTING:
            raise errors.InvalidJson(
                f"The request body is nested more than {MAX_NESTING} levels deep."
            )


class _Repeating(dict[str, Any]):
    """An object with a repeated member at any depth."""

    def __init__(self, members: dict[str, Any], repeated: list[str]) -> None:
        super().__init__(members)
        self.repeated = repeated


def _collect(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) == len(pairs) and _Repeating not in map(type, members.values()):
        return members
    repeated = [name for name, inner in pairs if isinstance(inner, _Repeating)]
    if len(members) != len(pairs):
        repeated += [
            name for name, times in Counter(name for name, _ in pairs).items() if times > 1
        ]
    return _Repeating(members, repeated)


def _check_surrogates(value: object) -> None:
    """Raises InvalidJson for a lone surrogate, which is valid JSON but not UTF-8."""
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError as error:
        half = json.dumps(error.object[error.start])[1:-1]
        raise errors.InvalidJson(
            f"A string in the request body has half of a surrogate pair ({half}); send both halves,"
            " or the character in UTF-8."
        ) from None


def _integer(token: str) -> object:
    return int(token) if len(token) <= _MAX_DIGITS else WrittenNumber(token)


def _refuse_constant(token: str) -> object:
    raise errors.InvalidJson(f"The request body is not JSON: {token} is not a JSON number.")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_collect,
    parse_float=WrittenNumber,
    parse_int=_integer,
    parse_constant=_refuse_constant,
)
