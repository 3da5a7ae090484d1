"""The routes of `/_emulator`, and the base of `checkout_url`."""

import pytest

from tests.server.control import refusal
from tests.world import LIVE_KEY, OTHER_TEST_KEY, World, headers, order


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


async def test_a_fixed_path_precedes_a_parameter(emulator: World) -> None:
    assert (await emulator.shown("/deliveries/paused"))["paused"] is False
    assert (await emulator.shown("/requests/count"))["count"] == 0


async def test_a_line_feed_at_the_end_is_a_part_of_a_path(emulator: World) -> None:
    for path in ("/clock%0A", "/payments%0A"):
        assert refusal(await emulator.control("GET", path)) == (404, "route_not_found", None)


MAPPED = "http://localhost:49153"


async def test_payments_created_from_now_on_have_the_new_base(emulator: World) -> None:
    before = await emulator.create()
    response = await emulator.control("PUT", "/checkout_url", {"url": MAPPED})
    assert (response.status_code, response.json()) == (200, {"url": MAPPED})
    after = [await emulator.create(key) for key in (OTHER_TEST_KEY, LIVE_KEY)]
    assert before["checkout_url"].startswith("http://127.0.0.1:8081/c/")
    assert all(payment["checkout_url"].startswith(f"{MAPPED}/c/") for payment in after)
    assert (await emulator.retrieve(before["id"]))["checkout_url"] == before["checkout_url"]


async def test_it_can_be_read(emulator: World) -> None:
    response = await emulator.control("GET", "/checkout_url")
    assert response.json() == {"url": "http://127.0.0.1:8081"}
    await emulator.control("PUT", "/checkout_url", {"url": f"{MAPPED}/shop/"})
    assert (await emulator.shown("/checkout_url")) == {"url": f"{MAPPED}/shop"}


async def test_the_pages_answer_under_the_host_of_the_new_base(emulator: World) -> None:
    await emulator.control("PUT", "/checkout_url", {"url": "https://pay.example"})
    payment = await emulator.create()
    path = payment["checkout_url"].removeprefix("https://pay.example")
    assert (await emulator.pages.get(path, headers={"Host": "pay.example"})).status_code == 200


async def test_a_replay_of_an_idempotency_key_is_the_first_body_still(emulator: World) -> None:
    first = await emulator.api.post(
        "/v1/payments", json=order(idempotency_key="a"), headers=headers()
    )
    await emulator.control("PUT", "/checkout_url", {"url": MAPPED})
    again = await emulator.api.post(
        "/v1/payments", json=order(idempotency_key="a"), headers=headers()
    )
    assert again.content == first.content


async def test_a_reset_of_everything_leaves_it(emulator: World) -> None:
    await emulator.control("PUT", "/checkout_url", {"url": MAPPED})
    await emulator.control("POST", "/reset", {"all": True})
    assert (await emulator.create())["checkout_url"].startswith(MAPPED)


async def test_a_base_with_signs_of_json_is_written_as_it_is(emulator: World) -> None:
    odd = 'https://pay.example/"\\ብር'
    assert (await emulator.control("PUT", "/checkout_url", {"url": odd})).status_code == 200
    assert (await emulator.create())["checkout_url"].startswith(f"{odd}/c/")
