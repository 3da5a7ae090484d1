"""Reads bodies as YAML; a JSON body is converted where YAML would read it differently."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from emulator.domain.errors import InvalidRequestBody, UnsupportedContentType
from emulator.domain.message_text import received
from emulator.server.api.bodies import (
    Receive,
    check_charset,
    check_content_type,
    decode_object,
    read_body,
)

YAML_TYPES = frozenset({"application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"})
_JSON_TYPE = "application/json"

# Characters in JSON strings that YAML takes for line breaks or refuses, and the tab, which JSON
# allows between tokens.
_REPLACEMENTS = {
    code: f"\\u{code:04x}" for code in (*range(0x7F, 0xA0), 0x2028, 0x2029, 0xFEFF, 0xFFFE)
}
_REPLACEMENTS |= {0xFFFF: "\\uffff", 0x09: " "}
_ESCAPE = re.compile(
    r"\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})|\\.", re.IGNORECASE | re.DOTALL
)


@dataclass(frozen=True, slots=True, kw_only=True)
class YamlBody:
    """A text of YAML; of a JSON body also its members, and the repeated ones."""

    text: str
    members: Mapping[str, Any] = field(default_factory=dict)
    repeated: list[str] = field(default_factory=list)


async def read_source(
    headers: Mapping[bytes, bytes], receive: Receive, *, takes_yaml: bool
) -> YamlBody:
    """A body in JSON (an object), or in YAML if `takes_yaml`.

    Raises ClientDisconnected, InvalidRequest.
    """
    raw = await read_body(headers, receive)
    declared = headers.get(b"content-type", b"").decode("latin-1").lower()
    media_type, *parameters = declared.split(";")
    if takes_yaml and media_type.strip() in YAML_TYPES:
        check_charset(parameters)
        try:
            return YamlBody(text=raw.decode())
        except UnicodeDecodeError:
            raise InvalidRequestBody("The request body is not UTF-8.") from None
    if takes_yaml and media_type.strip() != _JSON_TYPE:
        raise UnsupportedContentType(
            f"The Content-Type must be application/yaml or {_JSON_TYPE} (got {received(declared)})."
        )
    check_content_type(headers.get(b"content-type"))
    members, repeated = decode_object(raw)
    return YamlBody(text=_as_yaml(raw.decode()), members=members, repeated=repeated)


def _as_yaml(text: str) -> str:
    """JSON as YAML of the same meaning; line numbers do not change."""
    return _ESCAPE.sub(_paired, text).translate(_REPLACEMENTS)


def _paired(escape: re.Match[str]) -> str:
    """One character for the escapes of a surrogate pair, which YAML does not know."""
    if escape[1] is None:
        return escape[0]
    return bytes.fromhex(escape[1] + escape[2]).decode("utf-16-be")
