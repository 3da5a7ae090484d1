"""A server with one error: the emulator, with changed requests or replies."""

import asyncio
import json
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from emulator.tools.verify.client import ServiceRequest, ServiceResponse
from tests.server.api import raw_requests
from tests.world import API_PORT, World

PAYMENTS = "/v1/payments"
BASE_URL = f"http://127.0.0.1:{API_PORT}"

Object = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request to a wrong server, which remembers `earlier` requests with their replies.

    `events` are those of one run, by their names.
    """

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    content: bytes
    earlier: "list[tuple[Request, Reply]]"
    events: defaultdict[str, asyncio.Event]

    @property
    def scheme(self) -> str:
        return self.headers.get("authorization", "").partition(" ")[0]

    @property
    def key(self) -> str:
        return self.headers.get("authorization", "").removeprefix("Bearer ")

    @cached_property
    def body(self) -> Object:
        """The sent object; empty if the content is not an object."""
        try:
            body = json.loads(self.content.decode())
        except ValueError:
            return {}
        return body if isinstance(body, dict) else {}

    @property
    def idempotency_key(self) -> str:
        key = self.body.get("idempotency_key")
        return key if isinstance(key, str) else ""

    @property
    def is_create(self) -> bool:
        return self.method == "POST" and self.path == PAYMENTS

    @property
    def is_list(self) -> bool:
        return self.method == "GET" and self.path == PAYMENTS

    @property
    def is_retrieve(self) -> bool:
        return self.method == "GET" and self.path.startswith(f"{PAYMENTS}/")

    @property
    def is_of_owner(self) -> bool:
        """Whether the request has the key of the first request."""
        return not self.earlier or self.key == self.earlier[0][0].key

    @property
    def created(self) -> dict[str, Object]:
        """The bodies of the earlier create calls, by the ids of their payments."""
        return {reply.json["id"]: each.body for each, reply in self.earlier if reply.status == 201}

    def earlier_with_key(self, status: int) -> "list[tuple[Request, Reply]]":
        """The earlier requests with the same idempotency key and a reply of this status."""
        return [
            (each, reply)
            for each, reply in self.earlier
            if each.idempotency_key == self.idempotency_key != "" and reply.status == status
        ]

    def by_owner(self) -> "Request":
        return self.with_headers(authorization=f"Bearer {self.earlier[0][0].key}")

    def with_members(self, **members: Any) -> "Request":
        """The request with some members of its body changed; `...` removes a member."""
        return self.with_body(changed(self.body, members))

    def with_body(self, body: Object) -> "Request":
        return replace(self, content=json.dumps(body).encode())

    def with_headers(self, **headers: str) -> "Request":
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return replace(self, headers={**self.headers, **named})

    def with_query(self, **query: Any) -> "Request":
        """The request with some parameters changed; `...` removes a parameter."""
        return replace(self, query=changed(self.query, query))


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

    def with_json(self, value: Any) -> "Reply":
        return replace(self, content=json.dumps(value).encode())

    def with_status(self, status: int) -> "Reply":
        return replace(self, status=status)

    def with_headers(self, **headers: str | None) -> "Reply":
        """The reply with some headers changed; None removes a header."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        merged = {**self.headers, **named}
        return replace(self, headers={name: text for name, text in merged.items() if text})


Serve = Callable[[Request], Awaitable[Reply]]
Change = Callable[[Request, Serve], Awaitable[Reply]]
RequestFilter = Callable[[Request], bool]
ReplyFilter = Callable[[Request, Reply], bool]


async def unchanged(request: Request, serve: Serve) -> Reply:
    return await serve(request)


def changed(members: Mapping[str, Any], changes: Mapping[str, Any]) -> Object:
    """The members with changes: another value, a function of the value, or `...` for none."""
    values = {
        name: change(members[name]) if callable(change) else change
        for name, change in changes.items()
    }
    return {name: value for name, value in {**members, **values}.items() if value is not ...}


def refusal(
    status: int, code: str, param: str | None = None, *, message: str = "No.", **headers: str
) -> Reply:
    error = {"code": code, "message": message} | ({} if param is None else {"param": param})
    return Reply.of(status, {"error": error}).with_headers(**headers)


def at(path: str) -> RequestFilter:
    return lambda request: request.path == path


def of_method(method: str) -> RequestFilter:
    return lambda request: request.method == method


def created(_: Request, reply: Reply) -> bool:
    return reply.status == 201


def retrieved(request: Request, reply: Reply) -> bool:
    return request.is_retrieve and reply.status == 200


def listed(request: Request, reply: Reply) -> bool:
    return request.is_list and reply.status == 200


def succeeded(_: Request, reply: Reply) -> bool:
    return reply.status < 300


def of_status(*statuses: int) -> ReplyFilter:
    return lambda _, reply: reply.status in statuses


def of_code(*codes: str) -> ReplyFilter:
    return lambda _, reply: reply.code in codes


NO_ROUTE = refusal(404, "route_not_found")
AT_UNKNOWN_PATH = at("/v1/no_such_call")


def replying(reply: Reply, when: RequestFilter) -> Change:
    """Some requests have this reply, and no other effect."""

    async def change(request: Request, serve: Serve) -> Reply:
        return reply if when(request) else await serve(request)

    return change


def requests(edit: Callable[[Request], Request], when: RequestFilter = lambda _: True) -> Change:
    """Some requests are served as other requests."""

    async def change(request: Request, serve: Serve) -> Reply:
        return await serve(edit(request) if when(request) else request)

    return change


def as_owner(when: RequestFilter) -> Change:
    """Some requests are served as if they had the key of the first request."""
    return requests(Request.by_owner, when)


def queries(when: RequestFilter = lambda _: True, **query: Any) -> Change:
    """Some list calls with some parameters changed; `...` removes a parameter."""
    return requests(
        lambda request: request.with_query(**query),
        lambda request: request.is_list and when(request),
    )


def replies(edit: Callable[[Request, Reply], Reply], when: ReplyFilter = lambda *_: True) -> Change:
    """Some replies are changed."""

    async def change(request: Request, serve: Serve) -> Reply:
        reply = await serve(request)
        return edit(request, reply) if when(request, reply) else reply

    return change


def answering(reply: Reply, when: ReplyFilter) -> Change:
    """Some requests have this reply instead of their own, and its effect."""
    return replies(lambda *_: reply, when)


def statuses(status: int, when: ReplyFilter) -> Change:
    return replies(lambda _, reply: reply.with_status(status), when)


def headers(when: ReplyFilter = lambda *_: True, **headers: str | None) -> Change:
    """Some replies have other headers; None removes a header."""
    return replies(lambda _, reply: reply.with_headers(**headers), when)


def contents(encode: Callable[[Reply], bytes], when: ReplyFilter = lambda *_: True) -> Change:
    return replies(lambda _, reply: replace(reply, content=encode(reply)), when)


def payments(edit: Callable[[Object], Object], when: ReplyFilter = succeeded) -> Change:
    """Every payment in some replies is changed."""

    def edited(_: Request, reply: Reply) -> Reply:
        body = reply.json
        is_page = "data" in body
        data = [edit(payment) for payment in body["data"]] if is_page else []
        return reply.with_json({**body, "data": data} if is_page else edit(body))

    return replies(edited, when)


def fields(when: ReplyFilter = succeeded, **members: Any) -> Change:
    """Every payment in some replies has other members."""
    return payments(lambda payment: changed(payment, members), when)


def errors(edit: Callable[[Object], Any], *statuses: int, of: str = "error") -> Change:
    """The error of every refusal is changed, or of refusals with some statuses."""
    return replies(
        lambda _, reply: reply.with_json({of: edit(reply.json["error"])}),
        lambda _, reply: reply.status >= 400 and reply.status in (statuses or (reply.status,)),
    )


def pages(edit: Callable[[Request, Object], Object], when: ReplyFilter = listed) -> Change:
    """Every page is changed."""
    return replies(
        lambda request, reply: reply.with_json(edit(request, reply.json)),
        lambda request, reply: listed(request, reply) and when(request, reply),
    )


def members(when: ReplyFilter = listed, **changes: Any) -> Change:
    """Some pages have other members."""
    return pages(lambda _, page: changed(page, changes), when)


def filtered(is_listed: Callable[[Request, Object], bool]) -> Change:
    """Every page without some payments."""
    return pages(
        lambda request, page: {
            **page,
            "data": [payment for payment in page["data"] if is_listed(request, payment)],
        }
    )


class WrongServer:
    """A transport to the changed emulator; real time passes with every request.

    It uses no HTTP library, which would take half of the time.
    """

    def __init__(self, emulator: World, change: Change) -> None:
        self._emulator = emulator
        self._change = change
        self._earlier: list[tuple[Request, Reply]] = []
        self._events: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

    async def send(self, request: ServiceRequest) -> ServiceResponse:
        self._emulator.wall.move(7)
        received = Request(
            method=request.method,
            path=request.path,
            query=request.query,
            headers=request.headers,
            content=request.body or b"",
            earlier=self._earlier,
            events=self._events,
        )
        reply = await self._change(received, self._serve)
        self._earlier.append((received, reply))
        return ServiceResponse(
            request=request, status=reply.status, headers=reply.headers, body=reply.content
        )

    async def _serve(self, request: Request) -> Reply:
        """The response of the emulator."""
        response = await raw_requests.send_raw(
            self._emulator,
            raw_requests.RawRequest(
                method=request.method,
                path=request.path,
                query=urlencode(request.query).encode(),
                headers=[(name.encode(), text.encode()) for name, text in request.headers.items()],
                chunks=(request.content,),
            ),
        )
        return Reply(
            status=response.status,
            content=response.body,
            headers={name.decode(): text.decode() for name, text in response.headers},
        )
