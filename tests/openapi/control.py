"""Records the examples of the document of the control API, each named `operation/name`."""

import asyncio
import json
from functools import partial
from typing import Any

from emulator.openapi.examples import ANY_OPERATION
from tests.openapi.control_refusals import refusals
from tests.openapi.recorder import Example, ExampleRecorder
from tests.webhooks.receiver import Receiver, Reply, receiving, replies
from tests.world import World, headers, world

AT = "/_emulator"
# Where a receiver really listened is another port each time.
SHOWN_RECEIVER = "http://127.0.0.1:3000/hook"

YAML = {"Content-Type": "application/yaml"}
SCENARIO = """\
description: The second create call fails after it was done; success is told twice.
outcomes:
  - when: {method: telebirr, phone: "+251911111111"}
    then:
      - {after: 5s, status: failed, reason: limit_exceeded}
expiry:
  - when: {metadata: {order: "1043"}}
    after: 5m
faults:
  - when: {request: create_payment, nth: 2}
    then: {status: 500, point: after_commit}
webhooks:
  - when: {event: payment.completed}
    then: {copies: 2, delay: 10s}
"""
FAULT = {
    "when": {"request": "list_payments"},
    "then": {"status": 429, "retry_after": 30},
    "times": 2,
}


async def control_examples() -> dict[str, Example]:
    """Of every call, and of every code that it is refused with."""
    recorder = ExampleRecorder()
    for ask in (_accounts, _life, _handset, _clock, _scenarios, _journal, _past, _program):
        async with world() as emulator:
            await ask(recorder, emulator)
    async with world() as emulator, receiving() as receiver:
        await _webhooks(recorder, emulator, receiver)
        recorder.by_name = _elsewhere(recorder.by_name, receiver)
    await refusals(recorder)
    return recorder.by_name


def _elsewhere(examples: dict[str, Example], receiver: Receiver) -> dict[str, Example]:
    shown = json.dumps(examples).replace(receiver.url, SHOWN_RECEIVER)
    moved: dict[str, Example] = json.loads(shown)
    return moved


async def _accounts(recorder: ExampleRecorder, emulator: World) -> None:
    record = partial(recorder.record, emulator)
    await record("create_account/with_defaults", f"POST {AT}/accounts")
    wanted = {
        "name": "Addis Books",
        "test_key": "test_addis_books",
        "live_key": "live_addis_books",
        "clock": "frozen@2026-01-01T00:00:00Z",
        "seed": 42,
    }
    created = await record("create_account/as_wanted", f"POST {AT}/accounts", wanted)
    account = f"{AT}/accounts/{created.json()['id']}"
    await record("list_accounts/three_of_them", f"GET {AT}/accounts")
    await record("get_account/masked", f"GET {account}")
    await record("delete_account/gone", f"DELETE {account}")
    await record("reset/everything", f"POST {AT}/reset", {"all": True})
    await record(
        "get_clock/of_another_account",
        f"GET {AT}/clock?account=acct_other&mode=live",
        authorization=None,
    )


async def _life(recorder: ExampleRecorder, emulator: World) -> None:
    """A payment by phone that is paid, and one by bank that is refunded."""
    record = partial(recorder.record, emulator)
    payment = await emulator.create(metadata={"order": "1042"})
    at = f"{AT}/payments/{payment['id']}"
    await record("get_payment/pending", f"GET {at}")
    await record("cancel_payment/still_pending", f"POST {at}/cancel")
    await record("place_scenario/placed", f"PUT {at}/scenario", {"name": "banks"})
    await record(
        "pay_payment/by_phone", f"POST {at}/pay", {"method": "telebirr", "phone": "0900000001"}
    )
    await record("wait_for_payment/reached", f"GET {at}/wait?status=completed&timeout=5")
    banked = await emulator.create()
    at = f"{AT}/payments/{banked['id']}"
    await record(
        "pay_payment/by_bank", f"POST {at}/pay", {"method": "bank_transfer", "bank": "walia_test"}
    )
    await emulator.control("POST", f"/payments/{banked['id']}/transition", {"status": "completed"})
    await record("transition_payment/refunded", f"POST {at}/transition", {"status": "refunded"})
    await record("list_events/two_of_them", f"GET {AT}/events?limit=2")


async def _handset(recorder: ExampleRecorder, emulator: World) -> None:
    """Payments with a pending confirmation: one is answered, one fails by a transition."""
    record = partial(recorder.record, emulator)
    first, second, third = [await emulator.create() for _ in range(3)]
    submitted = {"method": "mpesa", "phone": "0711111111"}
    for payment in (first, second):
        await emulator.control("POST", f"/payments/{payment['id']}/pay", submitted)
    at = f"{AT}/payments/{first['id']}"
    await record("get_payment/asked", f"GET {at}")
    await record("answer_payment/approved", f"POST {at}/answer", {"answer": "approve"})
    await record(
        "transition_payment/failed",
        f"POST {AT}/payments/{second['id']}/transition",
        {"status": "failed", "reason": "limit_exceeded"},
    )
    await record("get_payment/failed", f"GET {AT}/payments/{second['id']}")
    await record(
        "wait_for_payment/not_reached",
        f"GET {AT}/payments/{third['id']}/wait?status=completed&timeout=0",
    )


async def _clock(recorder: ExampleRecorder, emulator: World) -> None:
    record = partial(recorder.record, emulator)
    await emulator.create()
    await record("get_clock/expiry_is_next", f"GET {AT}/clock")
    advance = f"POST {AT}/clock/advance"
    await record("advance_clock/by_seconds", advance, {"seconds": 1800})
    later = {"until": "2026-01-01T12:00:00Z", "webhooks": "background"}
    await record("advance_clock/until", advance, later)
    await record("advance_clock/to_next", advance, {"to": "next"})
    flowing = {"now": "2026-01-02T00:00:00Z", "frozen": False}
    await record("set_clock/flowing", f"PUT {AT}/clock", flowing)


async def _scenarios(recorder: ExampleRecorder, emulator: World) -> None:
    record = partial(recorder.record, emulator)
    at = f"{AT}/scenarios/double-success"
    await record("put_scenario/in_yaml", f"PUT {at}", SCENARIO, **YAML)
    in_json = {"webhooks": [{"when": {}, "then": {"tamper": "signature"}}]}
    await record("put_scenario/in_json", f"PUT {at}", in_json)
    await emulator.api.put(at, content=SCENARIO, headers={**headers(), **YAML})
    await record("get_scenario/with_rules", f"GET {at}")
    await record("get_scenario/with_a_script", f"GET {AT}/scenarios/telebirr-test-numbers")
    await record("switch_scenario/off", f"PUT {at}/enabled", {"enabled": False})
    await record("list_scenarios/all", f"GET {AT}/scenarios")
    await record("delete_scenario/gone", f"DELETE {at}")


async def _journal(recorder: ExampleRecorder, emulator: World) -> None:
    """Requests that succeed, are refused, warned about and struck; and the fault that strikes."""
    record = partial(recorder.record, emulator)
    live = {"when": {"mode": "live"}, "then": {"drop": True}}
    await record("add_fault/in_live_mode", f"POST {AT}/faults", live)
    added = await record("add_fault/twice", f"POST {AT}/faults", FAULT)
    await emulator.create(idempotency_key="order-1042", expires_in=30)
    await emulator.api.get("/v1/payments?limit=1", headers=headers())
    refused = await emulator.api.get("/v1/payments/pay_unknown", headers=headers())
    await record("list_faults/one_has_struck", f"GET {AT}/faults")
    await record(
        "list_requests/struck_by_a_fault",
        f"GET {AT}/requests?method=GET&path=/v1/*&status=4xx&limit=2"
        f"&before={refused.headers['request-id']}",
    )
    await record("list_requests/with_a_warning", f"GET {AT}/requests?status=201")
    await record("count_requests/refused", f"GET {AT}/requests/count?method=GET&status=4xx")
    fault = f"{AT}/faults/{added.json()['id']}"
    await record("delete_fault/gone", f"DELETE {fault}")
    await record("clear_faults/gone", f"DELETE {AT}/faults")


async def _past(recorder: ExampleRecorder, emulator: World) -> None:
    record = partial(recorder.record, emulator)
    payment = await emulator.create()
    at = f"{AT}/snapshots/one-order"
    await record("save_snapshot/new", f"PUT {at}")
    paid = {"method": "telebirr", "phone": "0900000002"}
    await emulator.control("POST", f"/payments/{payment['id']}/pay", paid)
    await record("get_recording/of_one_payment", f"GET {AT}/recording")
    await record("get_snapshot/kept", f"GET {at}")
    await record("restore_snapshot/restored", f"POST {at}/restore")
    await record("save_snapshot/again", f"PUT {at}")
    await record("list_snapshots/one", f"GET {AT}/snapshots")
    await record("delete_snapshot/gone", f"DELETE {at}")


async def _program(recorder: ExampleRecorder, emulator: World) -> None:
    record = partial(recorder.record, emulator)
    await record("get_health/ready", f"GET {AT}/health", authorization=None)
    emulator.running.gateway.is_ready = False
    await record("get_health/stopping", f"GET {AT}/health", authorization=None)
    emulator.running.gateway.is_ready = True
    await record("list_documents/both", f"GET {AT}/openapi", authorization=None)
    mapped = {"url": "http://localhost:49153"}
    await record("set_checkout_url/mapped", f"PUT {AT}/checkout_url", mapped)
    await record("get_checkout_url/mapped", f"GET {AT}/checkout_url")
    payment = await emulator.create()
    line = f"GET {AT}/payments/{payment['id']}/wait?status=completed"
    waiting = asyncio.create_task(record(f"{ANY_OPERATION}/not_ready", line))
    emulator.running.engine.change_notifier.close()
    await waiting


async def _webhooks(recorder: ExampleRecorder, emulator: World, receiver: Receiver) -> None:
    record = partial(recorder.record, emulator)
    receiver.answer = replies(Reply(), Reply(status=503, body=b"busy"), Reply(body=b"ok"))
    at = f"{AT}/webhook_endpoints"
    await record("create_webhook_endpoint/with_defaults", f"POST {at}", {"url": receiver.url})
    wanted: dict[str, Any] = {
        "url": receiver.url,
        "events": ["payment.completed", "payment.failed"],
        "secret": "whsec_ZXRiLXBheW1lbnRzLWVtdWxhdG9yLXNlY3JldA==",
        "profile": "standard",
    }
    created = await record("create_webhook_endpoint/as_wanted", f"POST {at}", wanted)
    endpoint = f"{at}/{created.json()['id']}"
    await record("list_webhook_endpoints/two_of_them", f"GET {at}")
    await record("get_webhook_endpoint/as_wanted", f"GET {endpoint}")
    await record("ping_webhook_endpoint/succeeded", f"POST {endpoint}/ping")
    await record("update_webhook_endpoint/disabled", f"PATCH {endpoint}", {"enabled": False})
    await record("rotate_webhook_secret/new", f"POST {endpoint}/rotate")
    given = {"secret": "whsec_YW5vdGhlci1zZWNyZXQtb2YtdGhlLW1lcmNoYW50"}
    await record("rotate_webhook_secret/given", f"POST {endpoint}/rotate", given)
    await record("delete_webhook_endpoint/gone", f"DELETE {endpoint}")
    await _deliveries(recorder, emulator)


async def _deliveries(recorder: ExampleRecorder, emulator: World) -> None:
    """A payment whose event is refused, and sent again."""
    record = partial(recorder.record, emulator)
    tampered = {"webhooks": [{"when": {}, "then": {"tamper": "timestamp"}}]}
    await emulator.control("PUT", "/scenarios/tampered", tampered)
    payment = await emulator.create()
    await emulator.advance(0)
    await record("get_payment/to_be_told_of", f"GET {AT}/payments/{payment['id']}")
    found = await record(
        "list_deliveries/refused_and_waiting",
        f"GET {AT}/deliveries?payment={payment['id']}&status=pending",
    )
    [delivery] = found.json()["data"]
    await record(
        "list_deliveries/of_an_endpoint",
        f"GET {AT}/deliveries?endpoint={delivery['endpoint']}&limit=1",
    )
    await record("advance_clock/webhooks", f"POST {AT}/clock/advance", {"seconds": 1.5})
    at = f"{AT}/deliveries/{delivery['id']}"
    await record("get_delivery/succeeded", f"GET {at}")
    await record("resend_delivery/genuine", f"POST {at}/resend")
