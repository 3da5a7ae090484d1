"""The guarantees of deliveries, for arbitrary actions and responses."""

from datetime import datetime
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.depth import usually
from tests.server.engine.webhook_world import WebhookWorld, webhook_world
from tests.server.webhooks.receiver import HANG_UP, Received, Reply, Response

DELAYS_MS = [0, 1_000, 5_000, 15_000, 60_000]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("create"), st.integers(1, 100)),
        st.tuples(st.just("pay"), st.sampled_from(["1", "2", "3", "4"])),
        st.tuples(st.just("refund"), st.none()),
        st.tuples(st.just("advance"), st.integers(0, 40_000)),
        st.tuples(st.just("next"), st.none()),
    ),
    max_size=25,
)
REPLIES = st.lists(st.sampled_from([200, 204, 301, 404, 500, 0]), min_size=1, max_size=12)


@settings(max_examples=usually(4, deep=15))
@given(steps=STEPS, statuses=REPLIES)
async def test_every_event_is_delivered_or_failed_in_order_and_in_time(
    steps: list[tuple[str, Any]], statuses: list[int]
) -> None:
    count = 0

    def answer(_: Received) -> Response:
        nonlocal count
        count += 1
        status = statuses[count % len(statuses)]
        return Reply(status=status) if status else HANG_UP

    async with webhook_world(answer) as hooks:
        payments: list[dict[str, Any]] = []
        for step, argument in steps:
            await take(hooks, payments, step, argument)
        await hooks.advance(4_000)
        events = (await hooks.emulator.shown("/events"))["data"][::-1]
        deliveries = await hooks.deliveries("?limit=1000")
        assert [delivery["event"] for delivery in deliveries] == [event["id"] for event in events]
        assert {delivery["status"] for delivery in deliveries} <= {"succeeded", "failed"}
        assert len(hooks.receiver.received) == sum(
            len(delivery["attempts"]) for delivery in deliveries
        )
        check_attempts(deliveries)
        check_order(hooks, events)


async def take(
    hooks: WebhookWorld, payments: list[dict[str, Any]], step: str, argument: Any
) -> None:
    emulator = hooks.emulator
    if step == "create":
        payments.append(await emulator.create(expires_in=argument))
    elif step == "advance":
        await hooks.advance(argument / 1_000)
    elif step == "next":
        await emulator.control("POST", "/clock/advance", {"to": "next"})
    elif payments and step == "pay":
        body = {"method": "telebirr", "phone": f"090000000{argument}"}
        await emulator.control("POST", f"/payments/{payments[-1]['id']}/pay", body)
    elif payments:
        body = {"status": "refunded"}
        await emulator.control("POST", f"/payments/{payments[0]['id']}/transition", body)


def check_attempts(deliveries: list[dict[str, Any]]) -> None:
    """Each attempt comes so long after the one before as the profile says, to the millisecond."""
    for delivery in deliveries:
        instants = [delivery["created_at"]] + [attempt["at"] for attempt in delivery["attempts"]]
        times_ms = [round(datetime.fromisoformat(at).timestamp() * 1_000) for at in instants]
        waits_ms = [later - sooner for sooner, later in pairwise(times_ms)]
        assert waits_ms == DELAYS_MS[: len(waits_ms)]
        arrived = [200 <= (attempt["status"] or 0) < 300 for attempt in delivery["attempts"]]
        assert not any(arrived[:-1])
        assert arrived[-1] == (delivery["status"] == "succeeded")
        assert arrived[-1] or len(arrived) == len(DELAYS_MS)


def check_order(hooks: WebhookWorld, events: list[dict[str, Any]]) -> None:
    """Of each payment, what was received for the first time came in the order of its events."""
    first_seen = list(dict.fromkeys(hooks.ids))
    for payment in {event["data"]["id"] for event in events}:
        mine = [event["id"] for event in events if event["data"]["id"] == payment]
        assert [name for name in first_seen if name in mine] == mine
