"""Sends every path with every origin, host, method and content type to the program.

The expected results are stated here again, and not taken from the code that checks requests.
"""

import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import groupby, product
from typing import Any
from urllib.parse import urlencode

from tests.server.api.raw_requests import RawRequest, RawResponse, send_raw
from tests.server.checkout.visiting import customer
from tests.server.openapi.navigation import operations
from tests.server.webhooks.receiver import receiving
from tests.tools.recordings import Draws
from tests.world import API_PORT, CHECKOUT_PORT, OTHER_TEST_KEY, TEST_KEY, World, world

READS = ("GET", "HEAD")
CHANGES = ("POST", "PUT", "PATCH", "DELETE")
METHODS = (*READS, *CHANGES, "OPTIONS", "TRACE", "CONNECT", "BREW", "post")
FORM = "application/x-www-form-urlencoded"
SIMPLE_TYPES = (FORM, "text/plain", "multipart/form-data; boundary=x")
TYPES = ("application/json", *SIMPLE_TYPES, None)
# Whether a host is one of this machine. An attacker can register and resolve all others.
HOSTS = {
    **dict.fromkeys(("127.0.0.1:{port}", "[::1]:{port}", "LOCALHOST:{port}", "localhost."), True),
    **dict.fromkeys(("evil.example", "evil.example:{port}", "EVIL.Example.", ""), False),
    "127.0.0.1.evil.example:{port}": False,
}
# What browsers send with the request of a page, and whether it is a page of another origin.
SENDERS: dict[str, tuple[dict[str, str], bool]] = {
    "no page": ({}, False),
    "the same origin": ({"origin": "http://{host}", "sec-fetch-site": "same-origin"}, False),
    "another scheme": ({"origin": "https://{host}"}, False),
    "another origin": ({"origin": "https://evil.example", "sec-fetch-site": "cross-site"}, True),
    "null": ({"origin": "null"}, True),
    "another port": ({"origin": "http://{name}:3000", "sec-fetch-site": "same-site"}, True),
    "an image": ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, True),
    "a link": (
        {
            "sec-fetch-site": "cross-site",
            "sec-fetch-mode": "navigate",
            "sec-fetch-dest": "document",
        },
        True,
    ),
}
STATUSES = {200, 201, 202, 204, 303, 400, 401, 403, 404, 409, 410}
PAGES = {"/", "/_emulator", "/_emulator/", "/_emulator/view", "/favicon.ico"}
# Their responses have no state, or contain what each request adds, also a refused one.
NO_STATE = {
    *("list_requests", "count_requests", "count_kinds", "list_unauthorized", "get_checklist"),
    *("stream", "wait_for_delivery", "get_recording"),
    *("get_health", "list_documents"),
}
COMPARED_EVERY = 2_000
_ADDRESS = re.compile(r'(?:href|src|action|data-[a-z-]+)="(/[^"#?]*)')
_CHECKOUT_FORM = {"method": "telebirr", "phone": "0911111111", "answer": "approve"}


@dataclass(frozen=True, kw_only=True)
class Route:
    """A path of a listener, with its parameters in braces, and the body of each method."""

    port: int
    path: str
    bodies: dict[str, bytes] = field(default_factory=dict, compare=False)

    def zone(self, method: str) -> str:
        """Which rules the documents promise for it."""
        path, is_read = self.path, method in READS
        if self.port == CHECKOUT_PORT:
            if path.startswith(("/v1", "/_emulator")):
                return "unknown"
            return "form" if method == "POST" and method in self.bodies else "checkout"
        if path.startswith("/v1"):
            return "contract"
        if path == "/_emulator/health" and is_read:
            return "health"
        if path.startswith("/_emulator/") or (is_read and path in PAGES):
            return "guarded"
        return "unknown"


@dataclass(frozen=True, kw_only=True)
class Case:
    route: Route
    method: str
    sender: str
    host: str
    type: str | None

    @property
    def is_foreign(self) -> bool:
        """Whether a page of another origin can send it, also after DNS rebinding."""
        return SENDERS[self.sender][1] or not HOSTS[self.host]

    @property
    def may_change(self) -> bool:
        """Whether it is a call that may change something, of a page of the same origin."""
        # No page of another origin knows the token of the forms; these requests have it.
        has_origin = "origin" in SENDERS[self.sender][0]
        is_own = not self.is_foreign or (
            self.route.port == CHECKOUT_PORT and HOSTS[self.host] and not has_origin
        )
        is_call = self.method in CHANGES and self.method in self.route.bodies
        return is_own and is_call and not self.is_simple_write()

    def is_simple_write(self) -> bool:
        """Whether a form of any page can send it to the control API without a preflight."""
        is_write = self.route.zone(self.method) == "guarded" and self.method in CHANGES
        return is_write and self.type in SIMPLE_TYPES

    def expected(self) -> set[int]:
        """The statuses that the documents allow."""
        page = self.route.path in PAGES or self.route.path.startswith("/_emulator/view/")
        by_link = self.sender == "a link" and self.method == "GET" and page and HOSTS[self.host]
        is_refused = {
            "checkout": not HOSTS[self.host],
            "form": self.is_foreign and not self.may_change,
            "guarded": self.is_foreign and not by_link,
        }
        zone = self.route.zone(self.method)
        if zone in is_refused:
            accepted = set(range(200, 300)) if self.is_simple_write() else {403}
            return {403} if is_refused[zone] else STATUSES - accepted
        return {"unknown": {404}, "health": {200}, "contract": {401, 404}}[zone]

    def request(self, values: dict[str, str]) -> RawRequest:
        host = self.host.format(port=self.route.port)
        sent = {"host": host, "accept": "text/html"}
        for name, value in SENDERS[self.sender][0].items():
            sent[name] = value.format(host=host, name=host.partition(":")[0])
        if self.type is not None:
            sent["content-type"] = self.type
        if self.method == "OPTIONS":
            sent["access-control-request-method"] = "POST"
            sent["access-control-request-headers"] = "authorization"
        return RawRequest(
            method=self.method,
            path=self.route.path.format(**values),
            port=self.route.port,
            headers=[(name.encode(), value.encode()) for name, value in sent.items()],
            chunks=(self.route.bodies.get(self.method, values["form"].encode()),),
        )


@dataclass(frozen=True, kw_only=True)
class Target:
    """A program with a resource of each kind, and the values of the parameters of paths."""

    emulator: World
    values: dict[str, str]
    readable: list[str]

    async def state(self) -> list[bytes]:
        """What the control API shows of the state of two accounts."""
        return [
            (await self.emulator.control("GET", path, key=key)).content
            for key in (TEST_KEY, OTHER_TEST_KEY)
            for path in self.readable
        ]

    def written_rows(self) -> int:
        """How many rows the program has written since its start."""
        return int(self.emulator.running.engine.snapshots._database._raw.total_changes)


@asynccontextmanager
async def target() -> AsyncIterator[Target]:
    async with world() as emulator, receiving() as receiver:
        done = emulator.done
        await done("PUT", "/deliveries/paused", {"paused": True})
        endpoint = await done("POST", "/webhook_endpoints", {"url": receiver.url})
        fault = await done("POST", "/faults", {"when": {"nth": 10_000}, "then": {"status": 500}})
        await done("PUT", "/scenarios/own", {"description": "Own."})
        visitor = await customer(emulator)
        page = await visitor.open("?method=telebirr")
        token = page.form("pay-form").fields["form_token"]
        await done("PUT", "/snapshots/own")
        values = {
            "account_id": "acct_other",
            "payment_id": visitor.payment_id,
            "id": visitor.payment_id,
            "endpoint_id": endpoint["id"],
            "fault_id": fault["id"],
            "event_id": (await emulator.shown("/events"))["data"][0]["id"],
            "delivery_id": (await emulator.shown("/deliveries"))["data"][0]["id"],
            "request_id": (await emulator.shown("/requests"))["data"][0]["id"],
            "name": "own",
            "checkout": visitor.path,
            "form": urlencode({**_CHECKOUT_FORM, "form_token": token}),
        }
        document = await emulator.shown("/openapi/control")
        readable = [
            call.path.removeprefix("/_emulator")
            for call in operations(document)
            if call.method == "get" and "{" not in call.path and call.name not in NO_STATE
        ]
        yield Target(emulator=emulator, values=values, readable=readable)


async def routes() -> list[Route]:
    """Every path of both listeners: of the documents, the routes and the links of pages."""
    async with target() as found:
        emulator = found.emulator
        bodies: dict[str, dict[str, bytes]] = {}
        for name in ("v1.json", "control"):
            for call in operations(await emulator.shown(f"/openapi/{name}")):
                bodies.setdefault(call.path, {})[call.method.upper()] = _example(call.definition)
        api = [Route(port=API_PORT, path=path, bodies=body) for path, body in bodies.items()]
        pages = PAGES | await _linked(emulator, "/_emulator/view/payments")
        unknown = {"/nothing", "/v1", "/_emulator/nothing", "/_emulator/view/nothing"}
        api += [Route(port=API_PORT, path=path) for path in sorted(pages | unknown)]
        checkout = emulator.running.gateway._checkout._app._routes  # type: ignore[attr-defined]
        leaves = sorted({leaf or "" for _, leaf in checkout})
        forms = {leaf or "" for method, leaf in checkout if method == "POST"}
        form = {"POST": found.values["form"].encode()}
        paths = [
            Route(
                port=CHECKOUT_PORT,
                path="{checkout}" + f"/{leaf}" * bool(leaf),
                bodies=form if leaf in forms else {},
            )
            for leaf in leaves
        ]
        others = {"/", "/favicon.ico", "/c/unknown", "/v1/payments", "/_emulator/reset"}
        others |= set(await _assets(found))
        return api + paths + [Route(port=CHECKOUT_PORT, path=path) for path in sorted(others)]


def _example(definition: dict[str, Any]) -> bytes:
    """The example of the body of a call."""
    for content in definition.get("requestBody", {}).get("content", {}).values():
        examples = [example["value"] for example in content.get("examples", {}).values()]
        return json.dumps(content.get("example") or next(iter(examples), {})).encode()
    return b""


async def _linked(emulator: World, start: str) -> set[str]:
    """The paths to which the pages of the dashboard link, one of each kind."""
    found: dict[str, str] = {}
    waiting = [start]
    while waiting:
        path = waiting.pop()
        kind = "/".join(path.split("/")[:4]) + "/…" * (path.count("/") > 3)
        if kind in found or not path.startswith("/_emulator/view/"):
            continue
        found[kind] = path
        response = await emulator.api.get(path, headers={"Accept": "text/html"})
        waiting += _ADDRESS.findall(response.text)
    return set(found.values())


async def _assets(found: Target) -> list[str]:
    response = await found.emulator.pages.get(found.values["checkout"])
    return re.findall(r'href="[^"]*(/static/[^"]+)', response.text)


def cases_of(every: Iterable[Route]) -> list[Case]:
    return [
        Case(route=route, method=method, sender=sender, host=host, type=type_)
        for route, method, sender, host, type_ in product(every, METHODS, SENDERS, HOSTS, TYPES)
    ]


async def check_matrix(seed: int, count: int) -> dict[str, str]:
    """Send the whole matrix, or as many of its cases as a seed chooses. Raises AssertionError."""
    every = await routes()
    cases = cases_of(every)
    if count < len(cases):
        draws, chosen = Draws(seed), set[int]()
        while len(chosen) < count:
            chosen.add(draws.below(len(cases)))
        cases = [cases[index] for index in sorted(chosen)]
    statuses = await _send_harmless([case for case in cases if not case.may_change])
    changed: set[str] = set()
    changing = [case for case in cases if case.may_change]
    for (route, method), group in groupby(changing, key=lambda case: (case.route, case.method)):
        async with target() as found:
            rows = found.written_rows()
            for case in group:
                statuses[await _send(found, case)] += 1
            if found.written_rows() != rows:
                changed.add(f"{method} {route.path}")
    shown = ", ".join(f"{status}: {number:,}" for status, number in sorted(statuses.items()))
    return {
        "Requests": f"{len(cases):,}, to {len(every)} paths",
        "Requests of foreign pages": f"{sum(case.is_foreign for case in cases):,}",
        "Statuses": shown,
        "Calls that wrote something for their own origin": str(len(changed)),
    }


async def _send_harmless(cases: list[Case]) -> Counter[int]:
    """Send requests that must not change anything; returns how often each status was sent."""
    statuses: Counter[int] = Counter()
    async with target() as found:
        before = await found.state()
        for number, case in enumerate(cases, start=1):
            rows = found.written_rows()
            statuses[await _send(found, case)] += 1
            assert found.written_rows() == rows, f"{case} has written"
            if number % COMPARED_EVERY == 0 or number == len(cases):
                assert await found.state() == before, f"changed since {COMPARED_EVERY} requests"
    return statuses


async def _send(found: Target, case: Case) -> int:
    """Send a request and check its response; returns the status."""
    response = await send_raw(found.emulator, case.request(found.values))
    assert response.status in case.expected(), (case, response)
    given = dict(response.headers)
    assert not [name for name in given if name.startswith((b"access-control", b"set-cookie"))], case
    assert given[b"request-id"].startswith(b"req_"), case
    if given.get(b"content-type", b"").startswith(b"text/html"):
        assert b"frame-ancestors 'none'" in given[b"content-security-policy"], case
        assert given[b"x-content-type-options"] == b"nosniff", case
    if response.status == 403:
        _check_refusal(case, response)
    return response.status


def _check_refusal(case: Case, response: RawResponse) -> None:
    """A refusal must not contain anything of the account."""
    assert b"shop.example" not in response.body, case
    assert b"pay_" not in response.body, case
    if case.route.port == API_PORT:
        code = json.loads(response.body)["error"]["code"]
        assert code == "forbidden_origin", case
