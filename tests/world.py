"""The smallest world that a test needs: the whole program on a virtual clock, without sockets."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx

from emulator.domain.instants import Instant, parse_clock
from emulator.domain.payment_methods import DEFAULT_METHODS
from emulator.server import Application, create_app
from emulator.settings import Settings
from tests.asgi import asgi

METHODS = DEFAULT_METHODS
API_PORT = 8080
CHECKOUT_PORT = 8081
START = "2026-01-01T00:00:00Z"
START_MS: Instant = 1_767_225_600_000
TEST_KEY = "test_demo_key"
LIVE_KEY = "live_demo_key"
OTHER_TEST_KEY = "test_other_key"
APPROVES = "+251900000001"
FROZEN = Settings(clock=parse_clock(f"frozen@{START}"), seed=1)

ORDER: dict[str, Any] = {
    "amount": 15_000,
    "currency": "ETB",
    "methods": list(DEFAULT_METHODS),
    "success_url": "https://shop.example/ok?order=1",
    "cancel_url": "https://shop.example/no",
}


class ManualClock:
    """Real time as a test would have it: it stands until it is moved, and wakes who waits."""

    def __init__(self, now_ms: Instant = START_MS) -> None:
        self._now_ms = now_ms
        self._behind_ms = 0
        self._moved: set[asyncio.Event] = set()
        self._is_waited_for = asyncio.Event()

    def now_ms(self) -> Instant:
        return self._now_ms

    def system_ms(self) -> Instant:
        return self._now_ms - self._behind_ms

    def monotonic_ms(self) -> float:
        return float(self._now_ms)

    def set_back(self, by_ms: int) -> None:
        """Set the system clock back; the time that flows goes on."""
        self._behind_ms += by_ms

    def move(self, by_ms: int) -> None:
        self._now_ms += by_ms
        for moved in self._moved:
            moved.set()

    async def waited_for(self) -> None:
        """Return when somebody waits for an instant who did not before."""
        await self._is_waited_for.wait()
        self._is_waited_for.clear()

    async def wait(self, event: asyncio.Event, *, until: Instant | None) -> None:
        if until is not None:
            self._is_waited_for.set()
        while not event.is_set() and (until is None or self._now_ms < until):
            moved = asyncio.Event()
            self._moved.add(moved)
            waits = [asyncio.create_task(event.wait()), asyncio.create_task(moved.wait())]
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                self._moved.discard(moved)
                for wait in waits:
                    wait.cancel()
                await asyncio.gather(*waits, return_exceptions=True)


def headers(key: str = TEST_KEY) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def order(**changes: Any) -> dict[str, Any]:
    """A valid create body with some members changed; a member that is `...` is left out."""
    body = {**ORDER, **changes}
    return {name: value for name, value in body.items() if value is not ...}


@dataclass(frozen=True, kw_only=True)
class World:
    """The program, and clients of its two listeners."""

    app: Application
    wall: ManualClock
    api: httpx.AsyncClient
    pages: httpx.AsyncClient
    log: list[str]

    async def create(self, key: str = TEST_KEY, **changes: Any) -> dict[str, Any]:
        """A payment, created as an SDK would."""
        response = await self.api.post("/v1/payments", json=order(**changes), headers=headers(key))
        assert response.status_code == 201, response.text
        return dict(response.json())

    async def retrieve(self, payment_id: str, key: str = TEST_KEY) -> dict[str, Any]:
        response = await self.api.get(f"/v1/payments/{payment_id}", headers=headers(key))
        assert response.status_code == 200, response.text
        return dict(response.json())

    async def payments(self, key: str = TEST_KEY) -> list[dict[str, Any]]:
        """The newest payments of an account and mode."""
        response = await self.api.get("/v1/payments?limit=100", headers=headers(key))
        assert response.status_code == 200, response.text
        return list(response.json()["data"])

    async def control(
        self, method: str, path: str, body: Any = None, key: str = TEST_KEY
    ) -> httpx.Response:
        """A call of the control API, on the account and mode of a key."""
        return await self.api.request(method, f"/_emulator{path}", json=body, headers=headers(key))

    async def done(self, method: str, path: str, body: Any = None, key: str = TEST_KEY) -> Any:
        """What a call of the control API returns, which succeeds."""
        response = await self.control(method, path, body, key)
        assert response.is_success, response.text
        return response.json()

    async def shown(self, path: str, key: str = TEST_KEY) -> Any:
        return await self.done("GET", path, None, key)

    async def advance(self, seconds: float, key: str = TEST_KEY) -> dict[str, Any]:
        return dict(await self.done("POST", "/clock/advance", {"seconds": seconds}, key))

    async def pay(
        self,
        payment: dict[str, Any],
        phone: str = APPROVES,
        method: str = "telebirr",
        key: str = TEST_KEY,
    ) -> dict[str, Any]:
        """Submit a payment; the payment after it."""
        body = {"method": method, "phone": phone}
        return dict(await self.done("POST", f"/payments/{payment['id']}/pay", body, key))

    async def transition(self, payment: dict[str, Any], *statuses: str, **more: Any) -> None:
        for status in statuses:
            body = {"status": status, **more}
            await self.done("POST", f"/payments/{payment['id']}/transition", body)


@asynccontextmanager
async def world(settings: Settings = FROZEN, **changes: Any) -> AsyncIterator[World]:
    """A world with a frozen clock and a seed, unless the settings say otherwise."""
    async with world_at(ManualClock(), replace(settings, **changes)) as emulator:
        yield emulator


@asynccontextmanager
async def world_at(wall: ManualClock, settings: Settings) -> AsyncIterator[World]:
    """A world whose real time is that of a wall clock."""
    log: list[str] = []
    app = create_app(settings, wall=wall, write_log=log.append)
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app=asgi(app))
        async with (
            httpx.AsyncClient(transport=transport, base_url=f"http://127.0.0.1:{API_PORT}") as api,
            httpx.AsyncClient(
                transport=transport, base_url=f"http://127.0.0.1:{CHECKOUT_PORT}"
            ) as pages,
        ):
            yield World(app=app, wall=wall, api=api, pages=pages, log=log)
