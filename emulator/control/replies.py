"""How the control API answers: JSON, with what the engine already wrote as JSON put in whole."""

import msgspec
from starlette.responses import Response

MEDIA_TYPE = "application/json"


def reply(value: object, *, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status_code=status, media_type=MEDIA_TYPE)


def no_content() -> Response:
    return Response(status_code=204)


def written(text: str) -> msgspec.Raw:
    """A value that is JSON already."""
    return msgspec.Raw(text.encode())
