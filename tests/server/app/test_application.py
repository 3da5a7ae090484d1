"""The application: its routes, its two ports, its lifespan, and other ASGI servers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
import uvicorn
from starlette.routing import Route

from emulator.domain.user_error import UserError
from emulator.server import Application, create_app
from emulator.server.control.app import RESOURCES
from emulator.settings import Settings
from tests.asgi import asgi
from tests.turns import turn
from tests.world import LIVE_KEY, TEST_KEY, World, headers, order


def test_the_routes_name_every_call() -> None:
    """Contract, section 4, and the control API as its document lists it."""
    declared = {(call.method, call.path) for each in RESOURCES for call in each.operations}
    listed = {
        (method, route.path)
        for route in create_app(Settings()).routes
        if isinstance(route, Route)
        for method in route.methods or ()
    }
    assert {(method, path) for method, path in listed if path.startswith("/v1")} == {
        ("POST", "/v1/payments"),
        ("GET", "/v1/payments"),
        ("GET", "/v1/payments/{payment_id}"),
    }
    assert declared <= listed
    assert len(declared) > 50


def test_the_ports_must_be_the_real_ones() -> None:
    for settings in (Settings(port=0), Settings(checkout_port=0)):
        with pytest.raises(UserError, match="real ports"):
            create_app(settings)


async def get(app: Application, path: str, port: int | None) -> httpx.Response:
    base_url = "http://127.0.0.1" if port is None else f"http://127.0.0.1:{port}"
    transport = httpx.ASGITransport(app=asgi(app))
    async with httpx.AsyncClient(transport=transport, base_url=base_url) as client:
        return await client.get(path, headers=headers())


async def test_only_the_checkout_port_has_the_pages(emulator: World) -> None:
    for port in (8080, 9999, None):
        assert (await get(emulator.app, "/v1/payments", port)).status_code == 200, port
        unknown = await get(emulator.app, "/c/token", port)
        assert unknown.json()["error"]["code"] == "route_not_found"
    page = await get(emulator.app, "/c/token", 8081)
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert (await get(emulator.app, "/v1/payments", 8081)).status_code == 404


@pytest.mark.parametrize(
    "path",
    ["/v1/payments", "/v1/nothing", "/_emulator/clock", "/_emulator/health", "/", "/c/token"],
)
async def test_every_path_is_503_before_and_after_the_lifespan(path: str) -> None:
    """Design, section 10: 503 before the application has started."""
    app = create_app(Settings())
    for _ in range(2):
        response = await get(app, path, 8081 if path == "/c/token" else 8080)
        assert response.status_code == 503
        assert response.json()["error"]["code"] == "not_ready"
        assert response.headers["request-id"].startswith("req_")
        async with app.router.lifespan_context(app):
            assert (await get(app, path, 8080)).status_code < 500


async def test_each_lifespan_begins_anew_in_memory() -> None:
    app = create_app(Settings())
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://shop") as api:
        for _ in range(2):
            async with app.router.lifespan_context(app):
                await api.post("/v1/payments", json=order(), headers=headers())
                listed = await api.get("/v1/payments", headers=headers())
                assert len(listed.json()["data"]) == 1


async def test_a_head_is_no_get_in_the_contract(emulator: World) -> None:
    head = await emulator.api.head("/v1/payments", headers=headers())
    assert head.status_code == 404
    assert (await emulator.api.head("/_emulator/clock")).status_code == 200


async def test_a_websocket_is_closed(emulator: World) -> None:
    sent: list[str] = []

    async def send(message: dict[str, str]) -> None:
        sent.append(message["type"])

    async def receive() -> dict[str, str]:
        return {"type": "websocket.connect"}

    await emulator.app({"type": "websocket", "path": "/v1/payments"}, receive, send)  # type: ignore[arg-type]
    assert sent == ["websocket.close"]


@asynccontextmanager
async def other_server(app: Application) -> AsyncIterator[str]:
    """A server that is not configured by the emulator; it runs the lifespan."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None))
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await turn()
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    await serving


async def test_another_server_runs_it_and_its_faults_that_cut_are_500() -> None:
    app = create_app(Settings())
    async with other_server(app) as url, httpx.AsyncClient(base_url=url) as client:
        created = await client.post("/v1/payments", json=order(), headers=headers())
        assert created.status_code == 201
        for cut in ("drop", "truncate"):
            rule = {"when": {}, "then": {cut: True}, "times": 1}
            assert (await client.post("/_emulator/faults", json=rule)).status_code == 201
            failed = await client.get("/v1/payments", headers=headers())
            assert failed.status_code == 500
            assert failed.json()["error"]["code"] == "internal_error"
        entry = (await client.get("/_emulator/requests/latest")).json()
        assert (entry["status"], entry["fault"]["rule"]) == (500, 0)
        for key in (TEST_KEY, LIVE_KEY):
            assert (await client.get("/v1/payments", headers=headers(key))).status_code == 200


async def test_a_mistake_fails_the_lifespan(tmp_path: object) -> None:
    app = create_app(Settings(database=str(tmp_path)))
    with pytest.raises(Exception, match=r"is not a regular file|cannot open"):
        async with app.router.lifespan_context(app):
            raise AssertionError("it cannot start")
