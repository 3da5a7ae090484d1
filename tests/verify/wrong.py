"""A server with one error: the emulator, with changed requests or responses."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from emulator.verify.messages import ServiceRequest, ServiceResponse
from tests.api import raw_requests
from tests.world import API_PORT, World

PAYMENTS = "/v1/payments"
BASE_URL = f"http://127.0.0.1:{API_PORT}"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A request to a wrong server."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    content: bytes

    @property
    def key(self) -> str:
        return self.headers.get("authorization", "").removeprefix("Bearer ")

    @property
    def body(self) -> dict[str, Any]:
        """The sent object; empty if the content is not an object."""
        try:
            body = json.loads(self.content)
        except ValueError:
            return {}
        return body if isinstance(body, dict) else {}

    @property
    def is_create(self) -> bool:
        return self.method == "POST" and self.path == PAYMENTS

    @property
    def is_list(self) -> bool:
        return self.method == "GET" and self.path == PAYMENTS

    @property
    def is_retrieve(self) -> bool:
        return self.method == "GET" and self.path.startswith(f"{PAYMENTS}/")

    def with_body(self, body: Mapping[str, Any]) -> "Asked":
        return replace(self, content=json.dumps(body).encode())

    def with_headers(self, **headers: str) -> "Asked":
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return replace(self, headers={**self.headers, **named})

    def without(self, *names: str) -> "Asked":
        """The request without some parameters of the query."""
        kept = {name: value for name, value in self.query.items() if name not in names}
        return replace(self, query=kept)

    def asking(self, **query: str) -> "Asked":
        return replace(self, query={**self.query, **query})


@dataclass(frozen=True, kw_only=True)
class Reply:
    """A response of a wrong server."""

    status: int
    content: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, status: int, value: Any) -> "Reply":
        headers = {"content-type": "application/json"}
        return cls(status=status, content=json.dumps(value).encode(), headers=headers)

    @cached_property
    def json(self) -> Any:
        return json.loads(self.content)

    @property
    def code(self) -> str:
        """The error code; empty for other responses."""
        return str(self.json["error"]["code"]) if self.status >= 400 else ""

    def saying(self, value: Any) -> "Reply":
        return replace(self, content=json.dumps(value).encode())

    def with_status(self, status: int) -> "Reply":
        return replace(self, status=status)

    def with_headers(self, **headers: str | None) -> "Reply":
        """The reply with some headers changed; None removes a header."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        merged = {**self.headers, **named}
        return replace(self, headers={name: text for name, text in merged.items() if text})


Serve = Callable[[Asked], Awaitable[Reply]]
Change = Callable[[Asked, Serve], Awaitable[Reply]]
MakeChange = Callable[[], Change]
"""Creates the change for one run, with a state of its own."""


def refusal(status: int, code: str, param: str | None = None, **headers: str) -> Reply:
    error = {"code": code, "message": "No."} | ({} if param is None else {"param": param})
    return Reply.of(status, {"error": error}).with_headers(**headers)


def once(change: Change) -> MakeChange:
    """A change without state."""
    return lambda: change


def replying(is_wrong: Callable[[Asked], bool], reply: Reply) -> MakeChange:
    """The same reply to every request that meets a condition."""

    async def change(asked: Asked, serve: Serve) -> Reply:
        return reply if is_wrong(asked) else await serve(asked)

    return once(change)


def answering(edit: Callable[[Asked, Reply], Reply]) -> MakeChange:
    """Every response changed."""

    async def change(asked: Asked, serve: Serve) -> Reply:
        return edit(asked, await serve(asked))

    return once(change)


def asking(edit: Callable[[Asked], Asked]) -> MakeChange:
    """Every request changed."""

    async def change(asked: Asked, serve: Serve) -> Reply:
        return await serve(edit(asked))

    return once(change)


def payments(edit: Callable[[dict[str, Any]], dict[str, Any]]) -> MakeChange:
    """Every returned payment changed."""

    def edited(_: Asked, reply: Reply) -> Reply:
        if reply.status >= 300:
            return reply
        if "data" in reply.json:
            return reply.saying({**reply.json, "data": [edit(one) for one in reply.json["data"]]})
        return reply.saying(edit(reply.json))

    return answering(edited)


def setting(**members: Any) -> MakeChange:
    """Every payment with some members changed; `...` removes a member."""

    def edited(payment: dict[str, Any]) -> dict[str, Any]:
        merged = {**payment, **members}
        return {name: value for name, value in merged.items() if value is not ...}

    return payments(edited)


def errors(edit: Callable[[dict[str, Any]], Any], *statuses: int, of: str = "error") -> MakeChange:
    """The error of every refusal changed, or of refusals with some statuses."""

    def edited(_: Asked, reply: Reply) -> Reply:
        if reply.status < 400 or (statuses and reply.status not in statuses):
            return reply
        return reply.saying({of: edit(reply.json["error"])})

    return answering(edited)


def lists(edit: Callable[[Asked, dict[str, Any]], dict[str, Any]]) -> MakeChange:
    """Every page changed."""

    def edited(asked: Asked, reply: Reply) -> Reply:
        is_page = asked.is_list and reply.status == 200
        return reply.saying(edit(asked, reply.json)) if is_page else reply

    return answering(edited)


class WrongServer:
    """A transport to the changed emulator; real time passes with every request.

    It uses no HTTP library, which would take half of the time.
    """

    def __init__(self, emulator: World, change: Change) -> None:
        self.base_url = BASE_URL
        self._emulator = emulator
        self._change = change

    async def send(self, request: ServiceRequest) -> ServiceResponse:
        self._emulator.wall.move(7)
        asked = Asked(
            method=request.method,
            path=request.path,
            query=request.query,
            headers=request.headers,
            content=request.body or b"",
        )
        reply = await self._change(asked, self._serve)
        return ServiceResponse(
            request=request, status=reply.status, headers=reply.headers, body=reply.content
        )

    async def _serve(self, asked: Asked) -> Reply:
        """The response of the emulator."""
        answered = await raw_requests.send_raw(
            self._emulator,
            raw_requests.RawRequest(
                method=asked.method,
                path=asked.path,
                query=urlencode(asked.query).encode(),
                headers=[(name.encode(), text.encode()) for name, text in asked.headers.items()],
                chunks=(asked.content,),
            ),
        )
        return Reply(
            status=answered.status,
            content=answered.body,
            headers={name.decode(): text.decode() for name, text in answered.headers},
        )
