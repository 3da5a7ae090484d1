"""Records what an HTTP client exchanges with the emulator, as HAR, during random histories."""

import asyncio
import json
from base64 import b64encode
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, TypeVar

from emulator import ids
from emulator.domain.instants import format_instant
from tests.tools.verify.wrong import PAYMENTS, Change, Reply, Request, unchanged
from tests.world import OTHER_TEST_KEY, World, order

T = TypeVar("T")
Entry = dict[str, Any]


class Draws:
    """Random choices that follow from a seed."""

    def __init__(self, seed: int) -> None:
        self._key = ids.stream_key(seed, "recordings")
        self._count = 0

    def below(self, limit: int) -> int:
        self._count += 1
        return int(ids.chance(self._key, "draw", self._count) * limit)

    def one_of(self, choices: Sequence[T]) -> T:
        return choices[self.below(len(choices))]


class Recorder:
    """Sends requests with httpx to the emulator, which `change` may make wrong, and records them.

    A request takes 5 ms, and the next one follows 2 ms later.
    """

    def __init__(self, emulator: World, key: str, change: Change = unchanged) -> None:
        self.emulator = emulator
        self.key = key
        self.entries: list[Entry] = []
        self._change = change
        self._earlier: list[tuple[Request, Reply]] = []
        self._events: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

    async def send(
        self,
        verb: str = "GET",
        path: str = PAYMENTS,
        body: object = None,
        *,
        key: str | None = "",
        **query: object,
    ) -> Reply:
        """Send a request with the key of the recording, another key, or (None) without one."""
        self.emulator.wall.move(2)
        began_at = self.emulator.wall.now_ms()
        headers = {} if key is None else {"authorization": f"Bearer {key or self.key}"}
        headers |= {} if body is None else {"content-type": "application/json"}
        request = Request(
            method=verb,
            path=path,
            query={name: str(value) for name, value in query.items()},
            headers=headers,
            content=b"" if body is None else json.dumps(body).encode(),
            earlier=self._earlier,
            events=self._events,
        )
        reply = await self._change(request, self._serve)
        self._earlier.append((request, reply))
        self.emulator.wall.move(5)
        self.entries.append(_entry(request, reply, began_at))
        return reply

    async def _serve(self, request: Request) -> Reply:
        response = await self.emulator.api.request(
            request.method,
            request.path,
            params=request.query or None,
            headers=request.headers,
            content=request.content,
        )
        return Reply(
            status=response.status_code, content=response.content, headers=dict(response.headers)
        )

    def har(self) -> dict[str, Any]:
        creator = {"name": "test", "version": "1"}
        return {"log": {"version": "1.2", "creator": creator, "entries": self.entries}}


def _entry(request: Request, reply: Reply, began_at: int) -> Entry:
    query = "&".join(f"{name}={value}" for name, value in request.query.items())
    url = f"https://sandbox.service.example{request.path}{'?' if query else ''}{query}"
    sent: Entry = {"method": request.method, "url": url, "headers": _pairs(request.headers)}
    if request.content:
        sent["postData"] = {"mimeType": "application/json", "text": request.content.decode()}
    content = {"size": len(reply.content), "mimeType": reply.headers.get("content-type", "")}
    return {
        "startedDateTime": format_instant(began_at),
        "time": 5,
        "request": {**sent, "bodySize": len(request.content)},
        "response": {
            "status": reply.status,
            "headers": _pairs(reply.headers),
            "content": {**content, "text": reply.content.decode()},
        },
    }


def _pairs(headers: Any) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in headers.items()]


WRONG = (
    {"amount": 99},
    {"amount": "100"},
    {"currency": "USD"},
    {"methods": []},
    {"methods": ...},
    {"success_url": "http://shop.example/ok"},
    {"cancel_url": "/no"},
    {"metadata": {"pair": 1}},
    {"expires_in": 600.5},
    {"amount": 1, "currency": "USD"},
)
QUERIES: Sequence[dict[str, object]] = (
    {},
    {"limit": 2},
    {"limit": 100},
    {"status": "pending"},
    {"status": "completed", "limit": 3},
    {"method": "telebirr"},
    {"limit": 0},
    {"status": "paid"},
    {"created_gte": "yesterday"},
    {"after": "no_cursor"},
    {"after": "pay_000000000000000000000000"},
)
PHONES = tuple(f"090000000{n}" for n in range(1, 6))


class RandomHistory:
    """Does at random what merchants and customers do; only the merchant's requests are recorded."""

    def __init__(self, recorder: Recorder, seed: int) -> None:
        self.recorder = recorder
        self.draws = Draws(seed)
        self.payments: list[dict[str, Any]] = []
        self._bodies: list[dict[str, Any]] = []

    async def run(self, steps: int) -> None:
        deeds = (
            *(self.create, self.create, self.pay, self.retrieve, self.listed, self.walk),
            *(self.repeat, self.wrong, self.unauthorised, self.unknown, self.advance, self.filter),
        )
        for _ in range(steps):
            await self.draws.one_of(deeds)()

    async def create(self) -> None:
        draws = self.draws
        body = order(
            amount=draws.one_of((100, 15_000, 999_999)),
            methods=draws.one_of((["telebirr"], ["telebirr", "mpesa"], ["mpesa"])),
            metadata=draws.one_of(
                (..., {}, {"order": "7"}, {f"pair_{n}": "ብር" for n in range(20)})
            ),
            expires_in=draws.one_of((..., 60, 600, 3600)),
            idempotency_key=draws.one_of((..., f"key-{len(self._bodies)}")),
        )
        reply = await self.recorder.send("POST", body=body)
        assert reply.status < 400, reply
        self._bodies.append(body)
        self.payments.append(reply.json)

    async def repeat(self) -> None:
        bodies = [body for body in self._bodies if "idempotency_key" in body]
        if bodies:
            changes = self.draws.one_of(({}, {}, {"amount": 20_000}))
            await self.recorder.send("POST", body={**self.draws.one_of(bodies), **changes})

    async def pay(self) -> None:
        if self.payments:
            path = f"/payments/{self.draws.one_of(self.payments)['id']}/pay"
            body = {"phone": self.draws.one_of(PHONES)}
            await self.recorder.emulator.control("POST", path, body, self.recorder.key)

    async def advance(self) -> None:
        await self.recorder.emulator.advance(
            self.draws.one_of((1, 30, 600, 3_600)), self.recorder.key
        )

    async def retrieve(self) -> None:
        if self.payments:
            await self.recorder.send(path=f"{PAYMENTS}/{self.draws.one_of(self.payments)['id']}")

    async def unknown(self) -> None:
        await self.recorder.send(path=f"{PAYMENTS}/pay_000000000000000000000000")

    async def listed(self) -> None:
        await self.recorder.send(**self.draws.one_of(QUERIES))

    async def filter(self) -> None:
        if self.payments:
            at = self.draws.one_of(self.payments)["created_at"]
            await self.recorder.send(**{self.draws.one_of(("created_gte", "created_lte")): at})

    async def walk(self) -> None:
        query: dict[str, object] = {"limit": self.draws.one_of((1, 2, 3, 5))}
        query |= self.draws.one_of(({}, {"status": "pending"}))
        for _ in range(4):
            page = (await self.recorder.send(**query)).json
            query["after"] = page["next_cursor"]
            if not page["has_more"]:
                break

    async def wrong(self) -> None:
        await self.recorder.send("POST", body=order(**self.draws.one_of(WRONG)))

    async def unauthorised(self) -> None:
        key = self.draws.one_of((None, "test_unknown_key", OTHER_TEST_KEY))
        await self.recorder.send(key=key)


async def tour(recorder: Recorder) -> None:
    """Exercise every call once, with correct and wrong requests, and two paid payments."""
    send = recorder.send
    pairs = {f"pair_{number}": "ብር" for number in range(20)}
    full = order(metadata=pairs, idempotency_key="order-7", expires_in=600)
    created = [await send("POST", body=full), await send("POST", body=order())]
    await send("POST", body=full)
    await send("POST", body={**full, "amount": 20_000})
    for changes in WRONG:
        await send("POST", body=order(**changes))
    for number in range(10):
        await recorder.emulator.advance(60, recorder.key)
        created.append(await send("POST", body=order(metadata={"n": str(number)})))
    ids = [reply.json.get("id") for reply in created if reply.status < 300]
    for phone, id_ in (("0900000001", ids[-1]), ("0711223344", ids[-2])):
        path = f"/payments/{id_}/pay"
        await recorder.emulator.control("POST", path, {"phone": phone}, recorder.key)
        await send(path=f"{PAYMENTS}/{id_}")
    for id_ in (*ids, "pay_000000000000000000000000"):
        await send(path=f"{PAYMENTS}/{id_}")
    await send(key=None)
    cursor: dict[str, object] = {}
    for _ in range(4):
        page = (await send(limit=4, **cursor)).json
        await send("POST", body=order())
        cursor = {"after": page.get("next_cursor")}
        if not (page.get("has_more") and cursor["after"]):
            break
    at = created[5].json["created_at"]
    queries = ({"status": "completed"}, {"status": "pending"}, {"method": "telebirr"})
    bounds = ({"created_gte": at, "limit": 100}, {"created_lte": at, "limit": 100})
    for query in (*queries, *bounds, {"limit": 100}, *QUERIES):
        await send(**query)
    await recorder.emulator.advance(3_600, recorder.key)
    for id_ in ids[-3:]:
        await send(path=f"{PAYMENTS}/{id_}")
    await send()


def disguised(har: dict[str, Any], draws: Draws) -> dict[str, Any]:
    """The same exchanges as another recorder might write them."""
    other_host = {
        "request": {"method": "GET", "url": "https://shop.example/v1/cart", "headers": []},
        "response": {"status": 200, "content": {"text": "[" * 10}},
    }
    entries: list[Entry] = [other_host, {}, {"request": None, "response": {"status": 0}}]
    for entry in har["log"]["entries"]:
        request, response = dict(entry["request"]), dict(entry["response"])
        content = dict(response["content"])
        if draws.below(2):
            content |= {"encoding": "base64", "text": b64encode(content["text"].encode()).decode()}
        for each in (request, response):
            case = draws.one_of((str.title, str.upper, str.lower))
            each["headers"] = [
                {"name": ":status", "value": "x"},
                *({"name": case(h["name"]), "value": h["value"], "_x": 1} for h in each["headers"]),
            ]
        if draws.below(20) == 0:
            content.pop("text")  # a browser keeps no longer what is large
        del request["bodySize"]
        response["content"] = content
        entries.append({**entry, "request": request, "response": response, "_initiator": {}})
    return {"log": {"entries": entries, "_priority": None}}
