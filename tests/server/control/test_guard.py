"""Who may reach the control API: programs on this machine, and not web pages."""

from typing import Any

import pytest

from tests.server.api.calls import PAYMENTS
from tests.server.control import refusal
from tests.world import World, headers, world

FORBIDDEN = (403, "forbidden_origin", None)
CLOCK = "/_emulator/clock"
CALLS = (("GET", CLOCK), ("POST", "/_emulator/reset"))


SERVED = (
    *("localhost", "localhost:8080", "LOCALHOST:8080", "localhost.", "app.localhost", "emulator"),
    *("emulator:8080", "payments.test", "host.docker.internal:8080", "host.containers.internal"),
    *("127.0.0.1", "127.0.0.1:8080", "192.168.1.20:8080", "8.8.8.8"),
    *("[::1]", "[::1]:8080", "[fd00::20]:8080"),
)


async def test_a_host_that_dns_cannot_point_elsewhere_is_served(emulator: World) -> None:
    for host in SERVED:
        assert (await emulator.api.get(CLOCK, headers={"Host": host})).status_code == 200, host


REFUSED = (
    *("evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example"),
    *("host.docker.internal.evil.example", "evil.example.", "nottest.evil-test"),
    *("evil.example/.test", "evil@local", "two words", "a,b", "*", "..test"),
)


async def test_a_host_that_dns_could_have_made_to_point_here_is_refused(emulator: World) -> None:
    for host in REFUSED:
        for method, path in (*CALLS, ("GET", "/_emulator/no")):
            response = await emulator.api.request(method, path, headers={"Host": host})
            assert refusal(response) == FORBIDDEN, host
            assert "--allowed-hosts" in response.json()["error"]["message"]


@pytest.mark.parametrize("site", ["cross-site", "same-origin", "none"])
async def test_a_browser_may_not_use_the_contract_under_a_foreign_host(
    emulator: World, site: str
) -> None:
    """The demo key is public. A program sends no `Sec-Fetch-Site`, and may use any host."""
    for method, path in (("GET", PAYMENTS), ("POST", PAYMENTS), ("GET", "/v1/no")):
        for host in REFUSED:
            sent = {**headers(), "Host": host}
            response = await emulator.api.request(method, path, headers=sent)
            assert response.status_code != 403
            sent["Sec-Fetch-Site"] = site
            response = await emulator.api.request(method, path, headers=sent)
            assert refusal(response) == FORBIDDEN, host
        sent = {**headers(), "Host": "localhost:8080", "Sec-Fetch-Site": site}
        assert (await emulator.api.request(method, path, headers=sent)).status_code != 403
    assert await emulator.payments() == []


@pytest.mark.parametrize("host", ["", ".", ":8080"])
async def test_a_request_that_names_no_host_is_refused(emulator: World, host: str) -> None:
    response = await emulator.api.get(CLOCK, headers={"Host": host})
    assert refusal(response) == FORBIDDEN
    assert "header 'Host' is empty or missing" in response.json()["error"]["message"]


async def test_a_host_can_be_allowed_by_name() -> None:
    async with world(allowed_hosts=("staging.example",)) as emulator:
        for host in ("staging.example", "Staging.Example:8080", "staging.example."):
            response = await emulator.api.get(CLOCK, headers={"Host": host})
            assert response.status_code == 200
        response = await emulator.api.get(CLOCK, headers={"Host": "www.staging.example"})
        assert refusal(response) == FORBIDDEN


@pytest.mark.parametrize(
    "url",
    [
        "https://pay.shop.example/emulator",
        "https://pay.shop.example:8443",
        "http://u@pay.shop.example",
    ],
)
async def test_the_host_of_the_checkout_url_is_allowed(url: str) -> None:
    async with world(checkout_url=url) as emulator:
        response = await emulator.api.get(CLOCK, headers={"Host": "pay.shop.example:8080"})
        assert response.status_code == 200


async def test_a_long_host_is_not_repeated_at_length(emulator: World) -> None:
    response = await emulator.api.get(CLOCK, headers={"Host": "x." * 10_000})
    assert refusal(response) == FORBIDDEN
    assert len(response.content) < 1_000


@pytest.mark.parametrize(
    "given",
    [
        {"Origin": "null"},
        {"Origin": "https://evil.example"},
        {"Origin": "http://127.0.0.1:8081"},
        {"Origin": "http://127.0.0.1"},
        {"Origin": "http://localhost:8080"},
        {"Origin": ""},
        {"Origin": "127.0.0.1:8080"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
    ],
)
@pytest.mark.parametrize(("method", "path"), CALLS)
async def test_a_foreign_page_is_refused(
    emulator: World, method: str, path: str, given: dict[str, str]
) -> None:
    response = await emulator.api.request(method, path, headers={**headers(), **given})
    assert refusal(response) == FORBIDDEN


@pytest.mark.parametrize("origin", ["http://127.0.0.1:8080", "https://127.0.0.1:8080"])
@pytest.mark.parametrize("site", ["same-origin", "none"])
async def test_a_page_of_the_same_origin_is_served(emulator: World, origin: str, site: str) -> None:
    given = {"Origin": origin, "Sec-Fetch-Site": site}
    assert (await emulator.api.post("/_emulator/reset", headers=given)).status_code == 204


NAVIGATION = {
    "Sec-Fetch-Site": "cross-site",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-Dest": "document",
}


async def test_a_link_from_another_site_leads_to_pages_alone(emulator: World) -> None:
    browser = {**NAVIGATION, "Accept": "text/html"}
    for path in ("/", "/_emulator/"):
        assert (await emulator.api.get(path, headers=NAVIGATION)).status_code == 200
        assert (await emulator.api.get(path, headers=browser)).status_code == 303
    assert refusal(await emulator.api.get(CLOCK, headers=NAVIGATION)) == FORBIDDEN
    for name, value in (("Sec-Fetch-Mode", "cors"), ("Sec-Fetch-Dest", "empty")):
        response = await emulator.api.get("/", headers={**NAVIGATION, name: value})
        assert refusal(response) == FORBIDDEN


@pytest.mark.parametrize("origin", [None, "https://evil.example", "null"])
async def test_a_form_of_another_site_cannot_be_sent(emulator: World, origin: str | None) -> None:
    given = NAVIGATION if origin is None else {**NAVIGATION, "Origin": origin}
    assert refusal(await emulator.api.post("/_emulator/reset", headers=given)) == FORBIDDEN


@pytest.mark.parametrize("name", ["Host", "Origin", "Sec-Fetch-Site"])
async def test_a_header_that_decides_cannot_be_given_twice(emulator: World, name: str) -> None:
    twice: Any = [("Host", "127.0.0.1:8080")] if name != "Host" else []
    twice += [(name, "evil.example"), (name, "127.0.0.1:8080")]
    assert refusal(await emulator.api.get(CLOCK, headers=twice)) == FORBIDDEN


async def test_the_contract_and_health_are_served_under_any_name(emulator: World) -> None:
    foreign = {"Host": "evil.example", "Origin": "null"}
    browser = {**foreign, "Sec-Fetch-Site": "cross-site"}
    assert (await emulator.api.get("/_emulator/health", headers=browser)).status_code == 200
    response = await emulator.api.get("/v1/payments", headers={**foreign, **headers()})
    assert response.status_code == 200
