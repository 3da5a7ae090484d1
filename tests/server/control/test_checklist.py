"""The checklist: each item is judged by an integration that passes it and one that fails it."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from emulator.domain.accounts import RateLimit
from emulator.server.engine.accounts.checklist_items import ITEMS
from emulator.server.engine.state.journal import MAX_ATTEMPTS, AttemptSpan, Journal
from tests.server.checkout.visiting import customer
from tests.server.engine.scenario_world import scenario_world
from tests.server.engine.webhook_world import (
    WebhookWorld,
    register,
    reply_after,
    webhook_world,
)
from tests.server.webhooks.receiver import HANG_UP, Answer, Received, Reply, replies
from tests.world import APPROVES, World, headers, order, world

RULES = """
webhooks:
  - when: {event: payment.created}
    then: {tamper: signature}
  - when: {event: payment.processing}
    then: {hold: true}
  - when: {event: payment.completed}
    then: {copies: 2}
"""
DROP = {"when": {"request": "create_payment"}, "then": {"drop": True}, "times": 1}
LIMIT = {"when": {}, "then": {"status": 429, "retry_after": 2}, "times": 1}
Integration = Callable[[WebhookWorld], Awaitable[None]]


def receives(answer: Answer) -> Integration:
    """An integration that answers the webhooks of one paid payment."""

    async def run(hooks: WebhookWorld) -> None:
        hooks.receiver.answer = answer
        await hooks.pay(await hooks.create())
        await hooks.advance(600)

    return run


def answers(**statuses: int) -> Integration:
    """It answers events with a status by their types, otherwise with 200; forged ones with 400."""

    def answer(received: Received) -> Reply:
        kind = received.json["type"].removeprefix("payment.")
        return Reply(status=statuses.get(kind, 400 if kind == "created" else 200))

    return receives(answer)


def creates(*bodies: dict[str, Any], fault: Any = None, waits_ms: int = 0) -> Integration:
    """It sends creates in turn, and waits in real time between them."""

    async def run(hooks: WebhookWorld) -> None:
        emulator = hooks.emulator
        if fault is not None:
            await emulator.control("POST", "/faults", fault)
        for body in bodies:
            with contextlib.suppress(httpx.TransportError, ConnectionResetError):
                await emulator.api.post("/v1/payments", json=order(**body), headers=headers())
            emulator.wall.move(waits_ms)

    return run


def reads(
    count: int,
    *,
    waits_ms: int = 0,
    advances_s: int = 0,
    pays: bool = False,
    after_ms: int = 1_001,
    orders: int = 1,
) -> Integration:
    """It reads the payment of its first order some time after the last webhook was answered."""

    async def run(hooks: WebhookWorld) -> None:
        payment = await hooks.create()
        if pays:
            await hooks.pay(payment)
        await hooks.advance(0)
        hooks.emulator.wall.move(after_ms)
        for _ in range(orders - 1):
            await hooks.create()
        for _ in range(count):
            await hooks.emulator.retrieve(payment["id"])
            hooks.emulator.wall.move(waits_ms)
            await hooks.advance(advances_s)

    return run


def handles(*, reads: int, answers_after_ms: int = 0, for_each: int = 1) -> Integration:
    """Its handler reads the payment, as often at each event; then it answers."""

    async def run(hooks: WebhookWorld) -> None:
        async def answer(received: Received) -> Reply:
            for _ in range(reads):
                hooks.emulator.wall.move(answers_after_ms)
                await hooks.emulator.retrieve(received.json["data"]["id"])
            return Reply()

        hooks.receiver.answer = answer
        for _ in range(for_each):
            await hooks.pay(await hooks.create())
            await hooks.advance(600)

    return run


def orders_again(*, fails_first: bool) -> Integration:
    async def run(hooks: WebhookWorld) -> None:
        first = await hooks.create(metadata={"order": "1"})
        if fails_first:
            await hooks.emulator.pay(first, "+251900000002")
        await hooks.create(metadata={"order": "1"})

    return run


def returns(*, after_ms: int) -> Integration:
    """It retrieves the payment some time after the customer has left the checkout page."""

    async def run(hooks: WebhookWorld) -> None:
        hooks.receiver.answer = replies(Reply(status=500))
        buyer = await customer(hooks.emulator)
        await buyer.pay("telebirr", phone=APPROVES)
        await hooks.settle()
        hooks.emulator.wall.move(after_ms)
        await hooks.emulator.retrieve(buyer.payment_id)
        hooks.emulator.wall.move(30_000)

    return run


def sends_again(status: str) -> Integration:
    """It repeats a create after the payment has ended."""

    async def run(hooks: WebhookWorld) -> None:
        payment = await hooks.create(**KEY)
        await hooks.emulator.transition(payment, status, unusual=True)
        await hooks.create(**KEY)

    return run


KEY = {"idempotency_key": "order-1"}
PAIRS: dict[str, tuple[Integration, Integration]] = {
    "webhook-acknowledged": (
        receives(replies(Reply(status=500), Reply())),
        receives(replies(Reply(status=500))),
    ),
    "webhook-signature": (answers(), answers(created=200)),
    "webhook-duplicate": (answers(), receives(replies(Reply(), Reply(), Reply(status=409)))),
    "webhook-order": (answers(), answers(processing=422)),
    "create-idempotent": (creates(KEY), creates(KEY, {})),
    "create-retried": (creates(KEY, KEY, fault=DROP, waits_ms=100), creates(KEY, KEY, fault=DROP)),
    "retry-after": (
        creates(KEY, KEY, fault=LIMIT, waits_ms=2_000),
        creates(KEY, KEY, fault=LIMIT, waits_ms=1_000),
    ),
    "polling": (reads(3, waits_ms=1_000, pays=True), reads(4, waits_ms=1_000, pays=True)),
    "one-payment": (orders_again(fails_first=True), orders_again(fails_first=False)),
    "verified-before-paid": (returns(after_ms=29_000), returns(after_ms=31_000)),
}


@asynccontextmanager
async def hooks_with(
    rules: str, tmp_path: Path, answer: Answer | None = None
) -> AsyncIterator[WebhookWorld]:
    """A world with an endpoint, and a scenario with these rules."""
    async with (
        scenario_world(tmp_path, odd=rules) as emulator,
        webhook_world(answer, emulator) as hooks,
    ):
        yield hooks


async def results(emulator: World, query: str = "") -> dict[str, dict[str, Any]]:
    return {item["id"]: item for item in (await emulator.shown(f"/checklist{query}"))["data"]}


def test_each_item_has_a_pair() -> None:
    assert list(PAIRS) == [item.id for item in ITEMS]


@pytest.mark.parametrize("expected", ["passed", "failed"])
@pytest.mark.parametrize("item", PAIRS)
async def test_an_item_is_judged_by_what_the_integration_did(
    tmp_path: Path, item: str, expected: str
) -> None:
    async with hooks_with(RULES, tmp_path) as hooks:
        await PAIRS[item][expected == "failed"](hooks)
        await hooks.advance(0)
        judged = (await results(hooks.emulator))[item]
        assert judged["result"] == expected
        assert judged["evidence"]
        assert all(evidence["seen"] for evidence in judged["evidence"])
        for each in (each for evidence in judged["evidence"] for each in evidence["ids"]):
            kind = {"req": "requests", "dlv": "deliveries"}.get(each[:3], "payments")
            assert (await hooks.emulator.control("GET", f"/{kind}/{each}")).status_code == 200


async def test_without_requests_nothing_is_judged(emulator: World) -> None:
    items = (await results(emulator)).values()
    assert {item["result"] for item in items} == {"not_exercised"}
    assert all(item["evidence"] == [] for item in items)
    assert all(item["exercise"] for item in items)


@pytest.mark.parametrize(
    ("integration", "seen"),
    [
        (creates({}, {}, fault=DROP), ["sent without an idempotency_key"]),
        (creates(KEY, fault=DROP), ["not sent again"]),
        (
            creates(KEY, {"amount": 20_000, "idempotency_key": "order-2"}, fault=DROP),
            ["not sent again"],
        ),
        (
            creates(KEY, {"idempotency_key": "order-2"}, fault=DROP),
            ["sent again with another key than req_"],
        ),
        (creates(KEY, KEY, fault=DROP, waits_ms=3), ["sent again 3 ms after req_"]),
        (
            creates(KEY, KEY, KEY, fault={**DROP, "times": 2}, waits_ms=3),
            ["sent again 3 ms after req_"] * 2,
        ),
    ],
    ids=["no key", "no retry", "another order", "another key", "at once", "twice at once"],
)
async def test_a_wrong_retry_is_named(integration: Integration, seen: list[str]) -> None:
    async with webhook_world() as hooks:
        await integration(hooks)
        judged = (await results(hooks.emulator))["create-retried"]
        assert judged["result"] == "failed"
        found = [evidence["seen"] for evidence in judged["evidence"]]
        assert [text[: len(start)] for text, start in zip(found, seen, strict=True)] == seen


async def test_a_refused_connection_is_no_acknowledgement() -> None:
    # The port belongs to a socket that does not listen, so no other program can open it.
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        async with world() as emulator:
            await register(emulator, f"http://127.0.0.1:{closed.getsockname()[1]}/hook")
            await emulator.create()
            await emulator.advance(600)
            judged = (await results(emulator))["webhook-acknowledged"]
    assert judged["result"] == "failed"
    assert "connection refused" in judged["evidence"][0]["seen"]


# By item and result: what is done.
EDGES: dict[tuple[str, str], dict[str, Integration]] = {
    ("create-retried", "failed"): {
        "half a response": creates(KEY, KEY, fault={**DROP, "then": {"truncate": True}}),
    },
    ("create-retried", "passed"): {
        "it gives up after a retry": creates(KEY, KEY, fault={**DROP, "times": 2}, waits_ms=500),
    },
    ("retry-after", "not_exercised"): {"nothing is sent after a 429": creates(KEY, fault=LIMIT)},
    ("create-idempotent", "failed"): {"an empty key": creates({"idempotency_key": ""})},
    ("polling", "passed"): {
        "the account's clock": reads(9, advances_s=1),
        "once a second": reads(2, waits_ms=1_000),
        "one read in the handler of each webhook": handles(reads=1),
        "several reads in a handler": handles(reads=5),
        "a slow handler": handles(reads=5, answers_after_ms=900),
        "1 s after a webhook": reads(9, after_ms=1_000, pays=True),
    },
    ("polling", "failed"): {
        "more than once a second": reads(2, waits_ms=900),
        "the webhook is that of another payment": reads(2, orders=2),
    },
    ("one-payment", "not_exercised"): {
        "metadata that is empty": creates({}, {}),
        "all payments have the same metadata": creates(*[{"metadata": {"shop": "a"}}] * 3),
    },
    ("one-payment", "failed"): {
        "the create of a payment that has failed is sent again": sends_again("failed"),
        "the create of a payment that has expired is sent again": sends_again("expired"),
    },
    ("webhook-order", "not_exercised"): {"the events arrive in order": reads(1)},
    ("webhook-duplicate", "not_exercised"): {"each event arrives once": reads(1)},
    ("webhook-duplicate", "passed"): {
        "the retry of a copy": receives(replies(Reply(), Reply(), Reply(status=503), Reply())),
    },
}


@pytest.mark.parametrize(
    ("item", "expected", "integration"),
    [
        pytest.param(*key, integration, id=name)
        for key, row in EDGES.items()
        for name, integration in row.items()
    ],
)
async def test_the_limits_of_an_item(
    tmp_path: Path, item: str, expected: str, integration: Integration
) -> None:
    async with hooks_with(RULES, tmp_path) as hooks:
        await integration(hooks)
        await hooks.advance(0)
        assert (await results(hooks.emulator))[item]["result"] == expected


async def test_a_create_that_the_rate_limit_refuses_is_compared_with_its_repetition() -> None:
    limit = RateLimit(requests=1, period_ms=60_000)
    async with world(rate_limit=limit) as emulator, webhook_world(None, emulator) as hooks:
        await creates(*({"idempotency_key": key} for key in ("a", "b", "c")))(hooks)
        assert (await results(hooks.emulator))["retry-after"]["result"] == "not_exercised"
        await hooks.advance(60)
        await creates({"idempotency_key": "b"})(hooks)
        assert (await results(hooks.emulator))["retry-after"]["result"] == "passed"


AGENTS = ["payments-emulator/9.9", "payments-emulator-verify/9.9"]


@pytest.mark.parametrize("agent", AGENTS)
async def test_requests_of_the_commands_of_this_program_are_not_judged(agent: str) -> None:
    """`trigger`, `replay` and `verify` send these."""
    async with webhook_world() as hooks:
        api = hooks.emulator.api
        own = {**headers(), "User-Agent": agent}
        for _ in range(2):
            sent = order(metadata={"order": "1"})
            created = await api.post("/v1/payments", json=sent, headers=own)
            for _ in range(5):
                await api.get(f"/v1/payments/{created.json()['id']}", headers=own)
        judged = await results(hooks.emulator)
        assert {judged[item]["result"] for item in ("create-idempotent", "polling")} == {
            "not_exercised"
        }
        assert judged["one-payment"]["result"] == "not_exercised"
        await api.post("/v1/payments", json=sent, headers={**own, "User-Agent": "shop/1"})
        judged = await results(hooks.emulator)
        assert judged["create-idempotent"]["result"] == "failed"
        assert judged["one-payment"]["result"] == "passed"


async def test_a_departure_is_judged_after_30_s() -> None:
    async with webhook_world() as hooks:
        await returns(after_ms=0)(hooks)
        hooks.emulator.wall.move(-1)
        assert (await results(hooks.emulator))["verified-before-paid"]["result"] == "not_exercised"


async def test_an_acknowledged_event_verifies_a_payment() -> None:
    async with webhook_world() as hooks:
        await (await customer(hooks.emulator)).pay("telebirr", phone=APPROVES)
        await hooks.settle()
        hooks.emulator.wall.move(30_000)
        judged = (await results(hooks.emulator))["verified-before-paid"]
        assert judged["result"] == "passed"
        assert [each[:4] for each in judged["evidence"][0]["ids"]] == ["dlv_"]


async def test_the_evidence_of_a_second_payment_names_both_creates() -> None:
    async with webhook_world() as hooks:
        await creates(*[{"metadata": {"order": each}} for each in "112"])(hooks)
        judged = (await results(hooks.emulator))["one-payment"]
        assert judged["result"] == "failed"
        assert len(judged["evidence"][0]["ids"]) == 2


async def test_deliveries_to_an_excluded_endpoint_are_ignored() -> None:
    async with webhook_world() as hooks:
        await hooks.create()
        assert (await results(hooks.emulator))["webhook-acknowledged"]["result"] == "passed"
        judged = await results(hooks.emulator, f"?exclude_endpoint={hooks.endpoint['id']}")
        assert judged["webhook-acknowledged"]["result"] == "not_exercised"


async def test_reads_after_a_delivery_to_an_excluded_endpoint_are_counted() -> None:
    async with webhook_world() as hooks:
        await handles(reads=2)(hooks)
        assert (await results(hooks.emulator))["polling"]["result"] == "passed"
        judged = await results(hooks.emulator, f"?exclude_endpoint={hooks.endpoint['id']}")
        assert judged["polling"]["result"] == "failed"


async def test_a_read_during_an_unanswered_delivery_is_not_counted() -> None:
    is_read = asyncio.Event()
    async with webhook_world(reply_after(is_read)) as hooks:
        payment = await hooks.emulator.create()
        await hooks.receiver.wait_for(1)
        hooks.emulator.wall.move(5_000)
        for _ in range(2):
            await hooks.emulator.retrieve(payment["id"])
        assert (await results(hooks.emulator))["polling"]["result"] == "passed"
        is_read.set()
        await hooks.settle()
        assert (await results(hooks.emulator))["polling"]["result"] == "passed"


def test_the_journal_has_a_limit_of_attempts() -> None:
    journal = Journal()
    for number in range(2 * MAX_ATTEMPTS):
        journal.attempts.append(AttemptSpan("pay_1", "we_1", float(number)))
    assert len(journal.attempts) == MAX_ATTEMPTS
    assert journal.attempts[-1].began_ms == 2 * MAX_ATTEMPTS - 1


async def test_reads_are_not_counted_where_the_attempts_of_their_time_are_forgotten() -> None:
    async with webhook_world() as hooks:
        await handles(reads=2)(hooks)
        journal = hooks.emulator.app.engine.accounts.first.test.journal
        hooks.emulator.wall.move(60_000)
        for _ in range(MAX_ATTEMPTS):
            journal.attempts.append(
                AttemptSpan("pay_1", "we_1", hooks.emulator.wall.monotonic_ms(), 0.0)
            )
        assert (await results(hooks.emulator))["polling"]["result"] == "passed"


async def test_a_snapshot_includes_what_the_checklist_judges() -> None:
    async with world() as emulator:
        await emulator.create()
        await emulator.control("PUT", "/snapshots/one")
        await emulator.control("POST", "/reset")
        assert (await results(emulator))["create-idempotent"]["result"] == "not_exercised"


@pytest.mark.parametrize("tamper", ["body", "stale", "unsigned"])
async def test_each_forged_delivery_must_be_refused(tmp_path: Path, tamper: str) -> None:
    rules = f"webhooks:\n  - when: {{}}\n    then: {{tamper: {tamper}}}\n"
    answer = replies(Reply(status=401), Reply(status=500))
    async with hooks_with(rules, tmp_path, answer) as hooks:
        await hooks.create()
        assert (await results(hooks.emulator))["webhook-signature"]["result"] == "passed"
        await hooks.create()
        judged = await results(hooks.emulator)
        assert judged["webhook-signature"]["result"] == "failed"
        assert judged["webhook-acknowledged"]["result"] == "not_exercised"


async def test_a_form_without_a_signature_has_nothing_to_verify() -> None:
    async with webhook_world(format="unsigned") as hooks:
        rule = {"webhooks": [{"when": {}, "then": {"tamper": "body"}}]}
        await hooks.emulator.done("PUT", "/scenarios/odd", rule)
        await hooks.pay(await hooks.create())
        await hooks.settle()
        assert [each["attempts"][0]["tampered"] for each in await hooks.deliveries()] == ["body"]
        judged = (await results(hooks.emulator))["webhook-signature"]
        assert judged["result"] == "not_exercised"
        assert "in a format without a signature" in judged["exercise"]


async def test_a_delivery_with_less_time_than_usual_proves_nothing(tmp_path: Path) -> None:
    rules = "webhooks:\n  - when: {}\n    then: {timeout: 50ms}\n"
    async with hooks_with(rules, tmp_path, lambda _: HANG_UP) as hooks:
        await hooks.create()
        await hooks.advance(600)
        assert (await hooks.deliveries())[0]["status"] == "failed"
        assert (await results(hooks.emulator))["webhook-acknowledged"]["result"] == "not_exercised"


async def test_a_customer_who_does_not_return_is_not_judged(tmp_path: Path) -> None:
    rules = "checkout:\n  - when: {}\n    then: {redirect: never}\n"
    async with hooks_with(rules, tmp_path) as hooks:
        await returns(after_ms=0)(hooks)
        assert (await results(hooks.emulator))["verified-before-paid"]["result"] == "not_exercised"
