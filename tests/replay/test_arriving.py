"""The order of webhooks: that of arrival, but where only chance decided it."""

from typing import Any

from emulator.replay.receiver import Arrival
from emulator.replay.webhook_inbox import in_order
from tests.replay.made import BEGIN, LATER, ORDER, OTHER


def arrival(event: str, payment: str = ORDER, step: int = 1) -> Arrival:
    kind = event.partition("_")[0]
    body = f'{{"type":"payment.{kind}","data":{{"id":"{payment}"}}}}'.encode()
    return Arrival(step=step, id=event, timestamp="1", signature="v1,", body=body, is_genuine=True)


def delivery(event: str, *ats: str, payment: str = ORDER) -> dict[str, Any]:
    return {"event": event, "payment": payment, "attempts": [{"at": at} for at in ats]}


def test_of_several_payments_at_one_instant_the_first_payment_comes_first() -> None:
    deliveries = [
        delivery("created_1", BEGIN),
        delivery("created_2", BEGIN, payment=OTHER),
        delivery("expired_1", LATER),
        delivery("expired_2", LATER, payment=OTHER),
    ]
    one, two = arrival("created_1"), arrival("created_2", OTHER, step=2)
    first, second = arrival("expired_1", step=3), arrival("expired_2", OTHER, step=3)
    told = ["created_1", "created_2", "expired_1", "expired_2"]
    for arrived in ([one, two, first, second], [one, two, second, first]):
        assert [webhook.id for webhook in in_order(arrived, deliveries)] == told


def test_what_arrived_during_an_earlier_step_stays_before() -> None:
    deliveries = [delivery("created_1", BEGIN), delivery("created_2", BEGIN, payment=OTHER)]
    arrived = [arrival("created_2", OTHER, step=1), arrival("created_1", step=2)]
    assert [webhook.id for webhook in in_order(arrived, deliveries)] == ["created_2", "created_1"]


def test_webhooks_of_one_payment_stay_as_they_arrived() -> None:
    """One that is held arrives after its successor, though it was made before."""
    deliveries = [delivery("processing", BEGIN), delivery("completed", BEGIN)]
    arrived = [arrival("completed"), arrival("processing")]
    assert [webhook.id for webhook in in_order(arrived, deliveries)] == ["completed", "processing"]


def test_each_copy_has_the_instant_of_its_own_attempt() -> None:
    deliveries = [delivery("completed", BEGIN), delivery("completed", LATER)]
    webhooks = in_order([arrival("completed"), arrival("completed")], deliveries)
    assert [webhook.at for webhook in webhooks] == [BEGIN, LATER]


def test_within_a_step_what_was_attempted_earlier_comes_first() -> None:
    deliveries = [
        delivery("created_1", BEGIN),
        delivery("completed_1", LATER),
        delivery("completed_2", BEGIN, payment=OTHER),
    ]
    arrived = [arrival("completed_1"), arrival("completed_2", OTHER)]
    found = in_order(arrived, deliveries)
    assert [webhook.id for webhook in found] == ["completed_2", "completed_1"]


def test_what_the_emulator_no_longer_tells_of_is_not_lost() -> None:
    [webhook] = in_order([arrival("created")], [])
    assert (webhook.id, webhook.at) == ("created", "")
