"""The routes, and the headers of every response (contract, sections 4 and 7)."""

import pytest

from tests.server.api.calls import PAYMENTS, assert_common_headers, get, page, post, refusal
from tests.world import World, headers, order

NO_ROUTE = (404, "route_not_found", None)


OTHER_METHODS = ("PATCH", "PUT", "DELETE", "OPTIONS", "TRACE", "QUERY")


@pytest.mark.clause("4.0.3")
@pytest.mark.parametrize(
    ("path", "method"),
    [
        *((PAYMENTS, method) for method in OTHER_METHODS),
        *((f"{PAYMENTS}/{{id}}", method) for method in (*OTHER_METHODS, "POST")),
    ],
)
async def test_another_http_method_is_no_route(emulator: World, path: str, method: str) -> None:
    payment = await emulator.create()
    before = await page(emulator)
    response = await emulator.api.request(
        method, path.format(id=payment["id"]), json=order(), headers=headers()
    )
    assert refusal(response) == NO_ROUTE
    assert await page(emulator) == before


@pytest.mark.clause("1.9", "7.9", "9.1", "9.3")
@pytest.mark.parametrize(
    "path",
    [
        *("/v1", "/v1/", "/v1/payment", "/v1/Payments", "/v1/payments/", "/v1//payments"),
        *("/v1/payments/pay_x/", "/v1/payments/pay_x/refund", "/v1/payments%2F"),
        *("/v1/payments/..", "/v1/refunds", "/v1/\u1264"),
        *("/v2/payments", "/v1x", "/favicon.svg", "/_emulatorx", "/_emulator/clock/"),
    ],
)
async def test_an_unknown_path_is_no_route(emulator: World, path: str) -> None:
    assert refusal(await get(emulator, path)) == NO_ROUTE
    if not path.startswith("/v1/") and path != "/v1":
        assert refusal(await emulator.api.get(path)) == NO_ROUTE


MEANT = [
    (f"/v1{PAYMENTS}", " Did you mean /v1/payments? '/v1' is in the base URL and in the path."),
    (
        f"/v1/v1{PAYMENTS}/pay_x/",
        " Did you mean /v1/payments/pay_x? '/v1' is in the base URL and in",
    ),
    (f"{PAYMENTS}/", " Did you mean /v1/payments, without the slash at the end?"),
    (f"{PAYMENTS}/pay_x/", " Did you mean /v1/payments/pay_x, without the slash at the end?"),
    ("/payments", " Did you mean /v1/payments?"),
    ("/payments/pay_x/", " Did you mean /v1/payments/pay_x?"),
    ("/v1/payments/pay_x/refund", ""),
    ("/v2/payments", ""),
    ("/v1", ""),
]


@pytest.mark.parametrize(("path", "hint"), MEANT)
async def test_a_path_that_is_similar_to_a_call_is_explained(
    emulator: World, path: str, hint: str
) -> None:
    response = await get(emulator, path)
    assert refusal(response) == NO_ROUTE
    assert response.json()["error"]["message"].startswith(f"There is no GET {path} here.{hint}")


@pytest.mark.parametrize("path", ["/v1", PAYMENTS, "/_emulator/", "/_emulator/clock"])
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_the_checkout_port_names_the_port_of_the_api(
    emulator: World, method: str, path: str
) -> None:
    response = await emulator.pages.request(method, path, headers=headers())
    assert refusal(response) == NO_ROUTE
    assert response.json()["error"]["message"] == (
        f"There is no {method} {path} here. This port has only the checkout pages: send the request"
        " to the address of the API, which the emulator prints at start (port 8080 by default)."
    )


async def test_an_unknown_route_is_reported_before_its_body(emulator: World) -> None:
    response = await emulator.api.post("/v1/nothing", content=b"{", headers=headers())
    assert refusal(response) == NO_ROUTE


@pytest.mark.clause("1.3")
async def test_every_response_has_a_unique_id_and_a_status_of_the_contract(emulator: World) -> None:
    created = await post(emulator, order())
    responses = [
        created,
        await get(emulator, created.headers["location"]),
        await get(emulator, PAYMENTS),
        await get(emulator, f"{PAYMENTS}/pay_unknown"),
        await get(emulator, f"{PAYMENTS}?limit=0"),
        await get(emulator, "/v1/nothing"),
        await get(emulator, PAYMENTS, "test_unknown"),
        await get(emulator, PAYMENTS, "live_unknown"),
        await emulator.api.get(PAYMENTS),
        await emulator.api.get("/nowhere"),
        await emulator.api.get("/_emulator/health"),
    ]
    for response in responses:
        assert_common_headers(response)
    assert len({response.headers["request-id"] for response in responses}) == len(responses)
    statuses = [response.status_code for response in responses]
    assert statuses == [201, 200, 200, 404, 400, 404, 401, 401, 401, 404, 200]


@pytest.mark.clause("1.5")
@pytest.mark.parametrize("method", ["GET", "OPTIONS"])
async def test_responses_have_no_cors_headers(emulator: World, method: str) -> None:
    response = await emulator.api.request(
        method,
        PAYMENTS,
        headers={
            **headers(),
            "Origin": "https://shop.example",
            "Access-Control-Request-Method": "POST",
        },
    )
    assert_common_headers(response)


@pytest.mark.clause("4.0.4", "4.2.2")
async def test_a_get_ignores_its_body_and_media_type(emulator: World) -> None:
    payment = await emulator.create()
    for path in (PAYMENTS, f"{PAYMENTS}/{payment['id']}"):
        response = await emulator.api.request(
            "GET", path, content=b"{", headers={**headers(), "Content-Type": "text/plain"}
        )
        assert response.status_code == 200
