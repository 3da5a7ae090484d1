"""How a form is read, and how it is known to come from our own page."""

import hmac
from collections.abc import Mapping
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect, Request

from emulator.domain.errors import (
    ForbiddenOrigin,
    InvalidRequestBody,
    RequestTooLarge,
    UnsupportedContentType,
)
from emulator.domain.hosts import authority

TOKEN_FIELD = "form_token"  # noqa: S105 - the name of a field
MAX_BYTES = 16 * 1024
MAX_FIELDS = 20

_SCHEMES = ("http", "https")
_MEDIA_TYPE = "application/x-www-form-urlencoded"


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a form; of one that is given twice the last counts.

    Raises UnsupportedContentType, RequestTooLarge, InvalidRequestBody.
    """
    _check_content_type(request.headers.get("content-type", ""))
    try:
        text = (await _read_body(request)).decode()
        # Strict in what each percent stands for as well: a page of ours sends UTF-8.
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except (ValueError, ClientDisconnect):
        raise InvalidRequestBody from None
    return dict(pairs)


def check_origin(headers: Mapping[str, str], *, public_url: str) -> None:
    """Refuse a form of another web site: by `Origin`, where the browser tells it.

    Behind a proxy, ours is the origin of the checkout's public URL. Raises ForbiddenOrigin.
    """
    origin = headers.get("origin")
    scheme = (origin or "").partition("://")[0]
    ours = (authority(f"{scheme}://{headers.get('host', '')}"), authority(public_url))
    if origin is not None and (scheme not in _SCHEMES or authority(origin) not in ours):
        raise ForbiddenOrigin("A web page of another origin may not pay.")


def check_token(form: Mapping[str, str], expected: str) -> None:
    """Refuse a form that is not of this checkout's own page. Raises ForbiddenOrigin."""
    if not hmac.compare_digest(form.get(TOKEN_FIELD, "").encode(), expected.encode()):
        raise ForbiddenOrigin("The form does not come from this checkout's page.")


def _check_content_type(content_type: str) -> None:
    media_type, _, parameters = content_type.partition(";")
    charset = parameters.strip().lower().removeprefix("charset=").strip('"')
    if media_type.strip().lower() != _MEDIA_TYPE or charset not in ("", "utf-8", "utf8"):
        raise UnsupportedContentType(f"Expected a form: {_MEDIA_TYPE} in UTF-8.")


async def _read_body(request: Request) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BYTES:
            raise RequestTooLarge(limit_bytes=MAX_BYTES)
    return bytes(body)
