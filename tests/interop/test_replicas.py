"""The documented nginx configuration: each account lives entirely on one of two replicas."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from standardwebhooks import Webhook

from tests.cli.processes import Server
from tests.interop.replicas import Balanced, balanced
from tests.server.checkout.reading import Page
from tests.server.webhooks.receiver import Received, receiving
from tests.world import headers, order

ACCOUNTS = 50
# Of so many keys far fewer than half may have the same home, by chance.
FAIR_SHARE = 8
APPROVES = "0900000001"
CUT_KEY = "test_of_faults"


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Balanced]:
    with balanced(tmp_path_factory.mktemp("pair")) as found:
        yield found


@dataclass(frozen=True, kw_only=True)
class Life:
    """What a test has done with an account of its own."""

    secret: str
    paid: str
    unpaid: str

    @property
    def payments(self) -> frozenset[str]:
        return frozenset({self.paid, self.unpaid})


async def call(
    client: httpx.AsyncClient, method: str, path: str, key: str, body: Any = None
) -> Any:
    answer = await client.request(method, path, json=body, headers=headers(key))
    assert answer.status_code in {200, 201}, f"{method} {path}: {answer.text}"
    return answer.json()


async def live(client: httpx.AsyncClient, key: str, receiver_url: str) -> Life:
    """One payment is paid and one expires, with webhooks of both."""
    path = "/_emulator/webhook_endpoints"
    endpoint = await call(client, "POST", path, key, {"url": receiver_url})
    await call(client, "PUT", "/_emulator/clock", key, {"frozen": True})
    body = order(idempotency_key="order-7")
    paid = (await call(client, "POST", "/v1/payments", key, body))["id"]
    assert (await call(client, "POST", "/v1/payments", key, body))["id"] == paid
    unpaid = (await call(client, "POST", "/v1/payments", key, order()))["id"]

    control = f"/_emulator/payments/{paid}"
    customer = {"method": "telebirr", "phone": APPROVES}
    waited, _ = await asyncio.gather(
        call(client, "GET", f"{control}/wait?status=completed&timeout=50", key),
        call(client, "POST", f"{control}/pay", key, customer),
    )
    assert waited["reached"]
    assert (await call(client, "GET", f"/v1/payments/{paid}", key))["status"] == "completed"
    advanced = await call(client, "POST", "/_emulator/clock/advance", key, {"seconds": 1800})
    assert advanced["settled"]
    assert (await call(client, "GET", f"/v1/payments/{unpaid}", key))["status"] == "expired"
    listed = (await call(client, "GET", "/v1/payments", key))["data"]
    assert [payment["id"] for payment in listed] == [unpaid, paid]
    return Life(secret=endpoint["secret"], paid=paid, unpaid=unpaid)


def accounts(replica: Server) -> list[dict[str, Any]]:
    """The accounts created by keys; the request has no key, so that it creates none."""
    listed = _ask(replica, "/accounts")
    return [one for one in listed if one["id"] not in {"acct_demo", "acct_other"}]


def payments(replica: Server, account: dict[str, Any]) -> frozenset[str]:
    """All that an account has ever had on a replica."""
    events = _ask(replica, f"/events?account={account['id']}&mode=test&limit=1000")
    return frozenset(event["data"]["id"] for event in events)


def _ask(replica: Server, path: str) -> list[dict[str, Any]]:
    answer = httpx.get(f"http://127.0.0.1:{replica.api_port}/_emulator{path}", trust_env=False)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["data"])


def verified(secret: str, received: list[Received]) -> Counter[tuple[str, str]]:
    """The number of verified events by payment and type."""
    events = [Webhook(secret).verify(one.body, one.headers) for one in received]
    return Counter((event["data"]["id"], event["type"]) for event in events)


async def test_fifty_accounts_in_parallel_live_whole_on_one_replica_each(pair: Balanced) -> None:
    keys = [f"test_account_{number:02}" for number in range(ACCOUNTS)]
    async with receiving() as receiver, pair.client() as client:
        lives = await asyncio.gather(*(live(client, key, f"{receiver.url}/{key}") for key in keys))
        received = receiver.received
    homes = [
        [payments(replica, account) for account in accounts(replica)] for replica in pair.replicas
    ]
    assert sorted(map(sorted, [*homes[0], *homes[1]])) == sorted(
        sorted(life.payments) for life in lives
    )
    assert min(map(len, homes)) >= FAIR_SHARE
    for key, life in zip(keys, lives, strict=True):
        own = [one for one in received if one.path.endswith(f"/{key}")]
        assert verified(life.secret, own) == {
            (life.paid, "payment.created"): 1,
            (life.paid, "payment.processing"): 1,
            (life.paid, "payment.completed"): 1,
            (life.unpaid, "payment.created"): 1,
            (life.unpaid, "payment.expired"): 1,
        }


async def test_a_checkout_page_opens_at_the_address_of_its_replica_alone(pair: Balanced) -> None:
    addresses = [f"http://localhost:{pair.ports[port]}" for port in ("8081", "8082")]
    opened = set()
    async with pair.client() as client:
        for number in range(20):
            key = f"test_customer_{number:02}"
            payment = await call(client, "POST", "/v1/payments", key, order())
            address, _, token = payment["checkout_url"].partition("/c/")
            [other] = set(addresses) - {address}
            assert (await client.get(f"{other}/c/{token}")).status_code == 404
            await _pay_on_the_page(client, payment["checkout_url"], address)
            paid = await call(client, "GET", f"/v1/payments/{payment['id']}", key)
            assert paid["status"] == "completed"
            opened.add(address)
    assert opened == set(addresses)


async def _pay_on_the_page(client: httpx.AsyncClient, url: str, origin: str) -> None:
    page = Page(await client.get(url, params={"method": "telebirr"}))
    form = page.form("pay-form")
    action = page.response.url.join(form.attributes["action"])
    sent = await client.post(
        action, data={**form.fields, "phone": APPROVES}, headers={"Origin": origin}
    )
    assert sent.status_code == 303, sent.text


async def test_a_key_has_one_home_however_its_header_is_written(pair: Balanced) -> None:
    before = sum(len(accounts(replica)) for replica in pair.replicas)
    async with pair.client() as client:
        for number in range(10):
            for written in ("Bearer test_{}", "bearer test_{}", "BEARER  test_{}"):
                answer = await client.get(
                    "/v1/payments", headers={"Authorization": written.format(f"writer_{number}")}
                )
                assert answer.status_code == 200
    assert sum(len(accounts(replica)) for replica in pair.replicas) == before + 10


@pytest.mark.parametrize("size", [300_000, 3_000_000])
async def test_the_emulator_says_what_is_too_large(pair: Balanced, size: int) -> None:
    async with pair.client() as client:
        body = order(metadata={"note": "x" * size})
        answer = await client.post("/v1/payments", json=body, headers=headers("test_large"))
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "request_too_large"


async def test_a_connection_that_is_cut_is_a_502_or_half_an_answer(pair: Balanced) -> None:
    async with pair.client() as client:
        await call(client, "POST", "/_emulator/faults", CUT_KEY, _fault(drop=True))
        assert (await client.get("/v1/payments", headers=headers(CUT_KEY))).status_code == 502
        await call(client, "POST", "/_emulator/faults", CUT_KEY, _fault(truncate=True))
        with pytest.raises(httpx.RemoteProtocolError):
            await client.get("/v1/payments", headers=headers(CUT_KEY))
        assert await call(client, "GET", "/v1/payments", CUT_KEY)


def _fault(**then: bool) -> dict[str, Any]:
    return {"when": {"request": "list_payments"}, "then": then, "times": 1}


async def test_a_lost_replica_takes_its_accounts_along_until_it_is_back(tmp_path: Path) -> None:
    keys = [f"test_account_{number:02}" for number in range(20)]
    with balanced(tmp_path, has_databases=True) as pair:
        async with pair.client() as client:
            created = [
                (await call(client, "POST", "/v1/payments", key, order()))["id"] for key in keys
            ]
            on_the_first = len(accounts(pair.replicas[0]))
            pair.replicas[1].kill()
            answers = [
                (await client.get("/v1/payments", headers=headers(key))).status_code for key in keys
            ]
            assert Counter(answers) == {200: on_the_first, 502: len(keys) - on_the_first}
            assert len(accounts(pair.replicas[0])) == on_the_first, "an account was created again"
            pair.start(1)
            for key, payment_id in zip(keys, created, strict=True):
                listed = (await call(client, "GET", "/v1/payments", key))["data"]
                assert [payment["id"] for payment in listed] == [payment_id]
