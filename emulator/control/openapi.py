"""The OpenAPI documents over HTTP, as they are true of this program where it was asked."""

from collections.abc import Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from emulator.control.replies import reply
from emulator.domain.errors import UnknownRoute

# By name; each is built for the base URL under which it was asked for.
Documents = Mapping[str, Callable[[str], dict[str, Any]]]

_SUFFIX = ".json"


class DocumentCalls:
    """`/openapi/` and `/openapi/{name}`: of no account, so they know no key and no parameter."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents

    async def list(self, request: Request) -> Response:
        base_url = _base_url(request)
        listed = [
            {
                "name": name,
                "title": build(base_url)["info"]["title"],
                "url": f"{base_url}/_emulator/openapi/{name}{_SUFFIX}",
            }
            for name, build in self._documents.items()
        ]
        return reply({"data": listed})

    async def get(self, request: Request) -> Response:
        build = self._documents.get(request.path_params["name"].removesuffix(_SUFFIX))
        if build is None:
            raise UnknownRoute(request.method, request.scope["path"])
        return reply(build(_base_url(request)))


def _base_url(request: Request) -> str:
    return f"{request.scope['scheme']}://{request.headers['host']}"
