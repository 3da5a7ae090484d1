"""The routes of `/_emulator`."""

import pytest
from starlette.routing import Match, Route

from emulator.server.control.app import router_of
from emulator.server.openapi.declarations import Operation
from tests.server.control import refusal
from tests.world import World


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(("POST", ""), ("GET", "/nothing"), ("GET", "/accounts/"), ("GET", "/clock/")),
        *(("OPTIONS", "/clock"), ("POST", "/health"), ("POST", "/payments/pay_1/pay/")),
        *(("PUT", "/snapshots/"), ("PUT", "/snapshots/a%2Fb")),
    ],
)
async def test_an_unknown_route_or_method_is_not_found(
    emulator: World, method: str, path: str
) -> None:
    assert refusal(await emulator.control(method, path)) == (404, "route_not_found", None)


async def test_every_response_has_a_request_id_and_is_not_stored(emulator: World) -> None:
    for path in ("/clock", "/nothing", "/accounts"):
        response = await emulator.control("GET", path)
        assert response.headers["request-id"].startswith("req_")
        assert response.headers["cache-control"] == "no-store"


async def test_health_needs_no_key(emulator: World) -> None:
    response = await emulator.api.get("/_emulator/health")
    assert response.status_code == 200
    assert response.json()["status"] == "ok"


async def test_the_control_api_is_not_on_the_listener_of_the_pages(emulator: World) -> None:
    assert (await emulator.pages.get("/_emulator/clock")).status_code == 404


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/deliveries/paused", "/deliveries/paused"),
        ("/deliveries/dlv_1", "/deliveries/{id}"),
        ("/deliveries/paused/resend", "/deliveries/{id}/resend"),
        ("/deliveries/dlv_1/all", "/deliveries/{id}/all"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_a_fixed_path_precedes_a_parameter_for_every_method(
    method: str, path: str, expected: str
) -> None:
    router = router_of(
        Operation(method=declared, path=template, id="", summary="", description="", responses={})
        for declared, template in (
            ("GET", "/deliveries/{id}"),
            ("PUT", "/deliveries/{id}/{part}"),
            ("POST", "/deliveries/{id}/resend"),
            ("PUT", "/deliveries/paused"),
            ("GET", "/deliveries/{id}/all"),
        )
    )
    scope = {"type": "http", "method": method, "path": path}
    matches = [each for each in router.routes if each.matches(scope)[0] is Match.FULL]
    assert isinstance(matches[0], Route)
    assert matches[0].path == expected
