"""`GET /` and `GET /_emulator/`: the dashboard for people, an index for programs."""

from tests.server.dashboard import BROWSER, VIEW
from tests.world import World, world

PATHS = ["/", "/_emulator", "/_emulator/"]


async def test_a_program_gets_the_addresses(emulator: World) -> None:
    for path in PATHS:
        for accept in ("*/*", "application/json", None):
            headers = {} if accept is None else {"Accept": accept}
            response = await emulator.api.get(path, headers=headers)
            assert response.status_code == 200, (path, accept)
            assert response.json() == {
                "name": "etb-payments-emulator",
                "version": "0.1.0",
                "api": "http://127.0.0.1:8080/v1",
                "checkout": "http://127.0.0.1:8081",
                "control": "http://127.0.0.1:8080/_emulator",
                "dashboard": "http://127.0.0.1:8080/_emulator/view/payments",
                "health": "http://127.0.0.1:8080/_emulator/health",
                "openapi": "http://127.0.0.1:8080/_emulator/openapi/v1.json",
                "control_openapi": "http://127.0.0.1:8080/_emulator/openapi/control.json",
            }, (path, accept)


async def test_a_browser_is_redirected_to_the_dashboard(emulator: World) -> None:
    for path in (*PATHS, VIEW, f"{VIEW}/"):
        response = await emulator.api.get(path, headers=BROWSER)
        assert response.status_code == 303, path
        assert response.headers["location"] == "/_emulator/view/payments"
        assert response.headers["vary"] == "Accept"


async def test_the_addresses_have_the_host_of_the_request() -> None:
    async with world(checkout_url="https://pay.test") as emulator:
        response = await emulator.api.get("/", headers={"Host": "emulator:9000"})
        assert response.json()["api"] == "http://emulator:9000/v1"
        assert response.json()["checkout"] == "https://pay.test"


async def test_both_listeners_have_an_icon(emulator: World) -> None:
    for client in (emulator.api, emulator.pages):
        response = await client.get("/favicon.ico")
        assert response.status_code == 200
        assert response.headers["content-type"] == "image/svg+xml"
        assert response.content.startswith(b"<svg")


async def test_a_foreign_host_is_refused(emulator: World) -> None:
    for path in (*PATHS, "/favicon.ico"):
        response = await emulator.api.get(path, headers={"Host": "shop.example"})
        assert response.status_code == 403, path
        assert response.json()["error"]["code"] == "forbidden_origin", path


async def test_other_methods_are_unknown_routes(emulator: World) -> None:
    for path in PATHS:
        response = await emulator.api.post(path, headers=BROWSER)
        assert response.status_code == 404, path
        assert response.json()["error"]["code"] == "route_not_found", path
