"""Records requests and responses, which the documents show as examples.

`python -m tests.openapi` writes the two files; a test records again and compares.
"""

import json
from typing import Any

import httpx

from tests.world import TEST_KEY, World

Example = dict[str, Any]

# Headers that every response has, or that the transport adds.
_LEFT_OUT = {"content-type", "content-length", "cache-control"}


class ExampleRecorder:
    """Requests and responses by name."""

    def __init__(self) -> None:
        self.by_name: dict[str, Example] = {}

    async def record(
        self,
        emulator: World,
        name: str,
        line: str,
        body: Any = None,
        *,
        authorization: str | None = f"Bearer {TEST_KEY}",
        **more: str,
    ) -> httpx.Response:
        """Sends a request (`GET /v1/payments`) and records the response under a new name.

        A body of bytes or text is sent as it is, any other as JSON; `more` are further headers.
        """
        method, path = line.split(" ", 1)
        sent = dict(more) if authorization is None else {"Authorization": authorization, **more}
        if isinstance(body, bytes | str):
            response = await emulator.api.request(method, path, content=body, headers=sent)
        else:
            response = await emulator.api.request(method, path, json=body, headers=sent)
        self.add(name, _request(line, body, more), response)
        return response

    def add(self, name: str, request: Example, response: httpx.Response) -> None:
        """Adds a response to a request that was sent in another way."""
        assert name not in self.by_name, f"two examples have the name {name}"
        self.by_name[name] = {
            "request": request,
            "status": response.status_code,
            "headers": {
                name.title(): value
                for name, value in response.headers.items()
                if name not in _LEFT_OUT
            },
            "body": _decoded(response),
        }


def written(examples: dict[str, Example]) -> str:
    """The text of a file of examples."""
    return json.dumps(examples, indent=2, ensure_ascii=False) + "\n"


def _request(line: str, body: Any, more: dict[str, str]) -> Example:
    method, path = line.split(" ", 1)
    request: Example = {"method": method, "path": path}
    if more:
        request["headers"] = more
    if body is not None:
        request["body"] = body.decode("latin-1") if isinstance(body, bytes) else body
    return request


def _decoded(response: httpx.Response) -> Any:
    """JSON as a value, any other text as it is, no body at all as null."""
    if not response.content:
        return None
    if response.headers["content-type"].startswith("application/json"):
        return response.json()
    return response.text
