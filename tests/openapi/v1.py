"""Records the examples of the document of `/v1`: each kind of success, each code of a refusal."""

from functools import partial
from typing import Any
from urllib.parse import urlencode

from emulator.domain.instants import parse_clock
from emulator.domain.rate_limit import RateLimit
from emulator.openapi.examples import ANY_OPERATION
from tests.openapi.recorder import Example, ExampleRecorder
from tests.world import World, order, world

PAYMENTS = "/v1/payments"
CREATE = f"POST {PAYMENTS}"
LIST = f"GET {PAYMENTS}"
JSON = {"Content-Type": "application/json"}

FULL = order(
    metadata={"order": "1042", "customer": "አበበ"}, idempotency_key="order-1042", expires_in=3600
)
# By the code that it is refused with: the create call that has only this mistake.
WRONG_BODIES: dict[str, Any] = {
    "missing_parameter": order(success_url=...),
    "invalid_amount": order(amount=99),
    "invalid_currency": order(currency="USD"),
    "invalid_methods": order(methods=["cash"]),
    "invalid_success_url": order(success_url="http://shop.example/ok"),
    "invalid_cancel_url": order(cancel_url="shop.example/no"),
    "invalid_metadata": order(metadata={"order": 1042}),
    "invalid_idempotency_key": order(idempotency_key=""),
    "invalid_expires_in": order(expires_in=0),
}
WRONG_QUERIES = {
    "invalid_limit": "limit=101",
    "invalid_cursor": "after=pay_unknown",
    "invalid_status": "status=paid",
    "invalid_method": "method=cash",
    "invalid_created_gte": "created_gte=yesterday",
    "invalid_created_lte": "created_lte=2026-02-30T00:00:00Z",
}


async def v1_examples() -> dict[str, Example]:
    """The examples; each setting or fault that they need has an emulator of its own."""
    recorder = ExampleRecorder()
    async with world() as emulator:
        await _successes(recorder, emulator)
    async with world() as emulator:
        await _life(recorder, emulator)
    async with world() as emulator:
        await _refusals(recorder, emulator)
    async with world(strict=True) as emulator:
        await _objections(recorder, emulator)
    limit = RateLimit(requests=1, period_ms=60_000)
    async with world(rate_limit=limit, clock=parse_clock("real")) as emulator:
        await emulator.api.get(PAYMENTS, headers={"Authorization": "Bearer test_demo_key"})
        await recorder.record(emulator, f"{ANY_OPERATION}/rate_limit_exceeded", LIST)
    return recorder.by_name


async def _successes(recorder: ExampleRecorder, emulator: World) -> None:
    record = partial(recorder.record, emulator)
    await record("list_payments/empty_page", LIST)
    await record("create_payment/created", CREATE, order())
    full = await record("create_payment/created_with_all_parameters", CREATE, FULL)
    await record("create_payment/replayed", CREATE, FULL)
    await record("create_payment/tolerated", CREATE, order(expires_in=30))
    payment = f"GET {PAYMENTS}/{full.json()['id']}"
    await record("retrieve_payment/pending", payment)
    first = await record("list_payments/first_page", f"{LIST}?limit=2")
    cursor = first.json()["next_cursor"]
    await record("list_payments/last_page", f"{LIST}?limit=2&after={cursor}")


async def _life(recorder: ExampleRecorder, emulator: World) -> None:
    """What becomes of payments, and the events that tell of it."""
    record = partial(recorder.record, emulator)
    paid, failed, left = [await emulator.create() for _ in range(3)]
    await emulator.advance(45)
    for payment in (paid, failed):
        await _move(emulator, payment, "processing")
    await emulator.advance(15)
    await _move(emulator, paid, "completed")
    await _move(emulator, failed, "failed")
    await record("retrieve_payment/completed", f"GET {PAYMENTS}/{paid['id']}")
    asked = {
        "limit": 20,
        "after": left["id"],
        "status": "completed",
        "method": "telebirr",
        "created_gte": "2026-01-01T00:00:00Z",
        "created_lte": "2026-01-31T23:59:59Z",
    }
    await record("list_payments/narrowed_page", f"{LIST}?{urlencode(asked)}")
    await emulator.advance(1800)
    await _move(emulator, paid, "refunded")
    events = (await emulator.control("GET", "/events")).json()["data"]
    for event in reversed(events):
        operation = f"on_{event['type'].replace('.', '_')}"
        recorder.by_name.setdefault(f"{operation}/{event['type']}", {"body": event})


async def _move(emulator: World, payment: dict[str, Any], status: str) -> None:
    moved = await emulator.control(
        "POST", f"/payments/{payment['id']}/transition", {"status": status}
    )
    assert moved.status_code == 200, moved.text


async def _refusals(recorder: ExampleRecorder, emulator: World) -> None:
    record = partial(recorder.record, emulator)
    for code, body in WRONG_BODIES.items():
        await record(f"{ANY_OPERATION}/{code}", CREATE, body)
    for code, query in WRONG_QUERIES.items():
        await record(f"{ANY_OPERATION}/{code}", f"{LIST}?{query}")
    await record(f"{ANY_OPERATION}/invalid_json", CREATE, '{"amount": 15000,}', **JSON)
    await record(f"{ANY_OPERATION}/invalid_request_body", CREATE, "[]", **JSON)
    plain = {"Content-Type": "text/plain"}
    await record(f"{ANY_OPERATION}/unsupported_content_type", CREATE, "amount=15000", **plain)
    large = order(metadata={"note": "x" * 262_144})
    recorder.add(
        f"{ANY_OPERATION}/request_too_large",
        {"method": "POST", "path": PAYMENTS},
        await emulator.api.post(
            PAYMENTS, json=large, headers={"Authorization": "Bearer test_demo_key"}
        ),
    )
    await record(f"{ANY_OPERATION}/missing_api_key", LIST, authorization=None)
    await record(f"{ANY_OPERATION}/invalid_api_key", LIST, authorization="Bearer sk_demo_key")
    await record(f"{ANY_OPERATION}/payment_not_found", f"GET {PAYMENTS}/pay_unknown")
    await record(f"{ANY_OPERATION}/route_not_found", f"DELETE {PAYMENTS}/pay_unknown")
    await emulator.create(idempotency_key="order-1042")
    reused = order(amount=20_000, idempotency_key="order-1042")
    await record(f"{ANY_OPERATION}/idempotency_key_reused", CREATE, reused)
    for code, status in (("idempotency_key_in_use", 409), ("internal_error", 500)):
        fault = {"when": {}, "then": {"status": status}, "times": 1}
        await emulator.control("POST", "/faults", fault)
        await record(f"{ANY_OPERATION}/{code}", CREATE, FULL)


async def _objections(recorder: ExampleRecorder, emulator: World) -> None:
    """What is only refused under `--strict`, as a code of its own."""
    record = partial(recorder.record, emulator)
    await record(f"{ANY_OPERATION}/unknown_parameter", CREATE, order(metdata={"order": "1042"}))
    await record(f"{ANY_OPERATION}/duplicate_parameter", f"{LIST}?limit=2&limit=3")
    key = {"Idempotency-Key": "order-1042"}
    await record(f"{ANY_OPERATION}/idempotency_key_header", CREATE, order(), **key)
