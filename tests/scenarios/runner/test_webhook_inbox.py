"""Webhooks have the order of arrival, except where it depends on chance."""

import json

import pytest

from emulator.http.received_webhooks import ReceivedWebhook
from emulator.scenarios.runner.trace import Arrival, in_order
from emulator.scenarios.values import Json
from emulator.scenarios.webhook_form_file import shipped_form, webhook_form_json
from tests.tools.replay.sample_results import BEGIN, LATER, ORDER, OTHER

Delivery = dict[str, Json]
STANDARD = webhook_form_json(shipped_form("standard"))
UNSIGNED = webhook_form_json(shipped_form("unsigned"))


def arrival(event: str, payment: str = ORDER, step: int = 1) -> Arrival:
    kind = event.partition("_")[0]
    body = f'{{"type":"payment.{kind}","data":{{"id":"{payment}"}}}}'.encode()
    webhook = ReceivedWebhook(headers={"webhook-id": event}, body=body, form=STANDARD)
    return Arrival(step=step, webhook=webhook)


def delivery(event: str, at: str = BEGIN, payment: str = ORDER) -> Delivery:
    kind = event.partition("_")[0]
    attempts: list[Json] = [{"at": at}]
    return {"event": event, "type": f"payment.{kind}", "payment": payment, "attempts": attempts}


TWO_CREATED = [delivery("created_1"), delivery("created_2", payment=OTHER)]


@pytest.mark.parametrize(
    ("deliveries", "arrivals", "order"),
    [
        pytest.param(
            [*TWO_CREATED, delivery("expired_1", LATER), delivery("expired_2", LATER, OTHER)],
            [
                arrival("created_1"),
                arrival("created_2", OTHER, 2),
                arrival("expired_2", OTHER, 3),
                arrival("expired_1", ORDER, 3),
            ],
            ["created_1", "created_2", "expired_1", "expired_2"],
            id="payments of one instant and step are in the order of creation",
        ),
        pytest.param(
            TWO_CREATED,
            [arrival("created_2", OTHER, 1), arrival("created_1", ORDER, 2)],
            ["created_2", "created_1"],
            id="an earlier step comes first",
        ),
        pytest.param(
            [delivery("processing"), delivery("completed")],
            [arrival("completed"), arrival("processing")],
            ["completed", "processing"],
            id="the webhooks of a payment keep the order of arrival, because one may be held",
        ),
        pytest.param(
            [
                delivery("created_1"),
                delivery("completed_1", LATER),
                delivery("completed_2", BEGIN, OTHER),
            ],
            [arrival("completed_1"), arrival("completed_2", OTHER)],
            ["completed_2", "completed_1"],
            id="within a step, an earlier attempt comes first",
        ),
    ],
)
def test_the_order_is_that_of_steps_instants_and_payments(
    deliveries: list[Delivery], arrivals: list[Arrival], order: list[str]
) -> None:
    assert [webhook.id for webhook in in_order(arrivals, deliveries, "")] == order


def test_each_copy_has_the_instant_of_its_attempt() -> None:
    deliveries = [delivery("completed"), delivery("completed", LATER)]
    webhooks = in_order([arrival("completed"), arrival("completed")], deliveries, "")
    assert [webhook.at for webhook in webhooks] == [BEGIN, LATER]


def test_a_webhook_without_a_known_delivery_has_no_instant() -> None:
    [webhook] = in_order([arrival("created")], [], "")
    assert (webhook.id, webhook.at) == ("created", "")


def test_a_webhook_without_an_id_has_the_instant_of_its_payment_and_type() -> None:
    result = {"code": "completed", "transaction_id": OTHER}
    body = json.dumps({"result": result}).encode()
    webhook = ReceivedWebhook(headers={}, body=body, form=UNSIGNED)
    deliveries = [delivery("completed", BEGIN), delivery("completed_2", LATER, OTHER)]
    [traced] = in_order([Arrival(step=1, webhook=webhook)], deliveries, "")
    assert (traced.type, traced.at, traced.is_genuine) == ("payment.completed", LATER, True)
