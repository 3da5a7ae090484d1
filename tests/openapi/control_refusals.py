"""Records the refusals of the control API: an example for each code."""

import asyncio
from functools import partial
from typing import Any

import httpx

from emulator.domain.webhooks import MAX_ENDPOINTS
from emulator.engine.accounts.scenarios import MAX_FAULTS, MAX_SCENARIOS
from emulator.engine.accounts.snapshots import MAX_SNAPSHOTS
from emulator.openapi.examples import ANY_OPERATION
from emulator.scenarios.script import MAX_SCRIPT_STEPS
from tests.openapi.recorder import ExampleRecorder
from tests.world import World, world

AT = "/_emulator"
JSON = {"Content-Type": "application/json"}

# By call and code: what is asked, in a world with one pending payment and one endpoint.
OF_CALLS: dict[str, tuple[str, Any]] = {
    "create_account/invalid_name": ("POST /accounts", {"name": "two\nlines"}),
    "create_account/invalid_test_key": ("POST /accounts", {"test_key": "test_demo_key"}),
    "create_account/invalid_live_key": ("POST /accounts", {"live_key": "test_new_key"}),
    "create_account/invalid_clock": ("POST /accounts", {"clock": "frozen@tomorrow"}),
    "create_account/invalid_seed": ("POST /accounts", {"seed": 0.5}),
    "delete_account/account_is_permanent": ("DELETE /accounts/acct_demo", None),
    "reset/invalid_all": ("POST /reset", {"all": "yes"}),
    "set_clock/invalid_clock": ("PUT /clock", {"now": "2025-12-31T23:59:59Z"}),
    "advance_clock/invalid_clock": ("POST /clock/advance", {"seconds": 1, "to": "next"}),
    "advance_clock/invalid_webhooks": (
        "POST /clock/advance",
        {"seconds": 1, "webhooks": "foreground"},
    ),
    "pay_payment/invalid_method": ("POST {payment}/pay", {"method": "cash"}),
    "pay_payment/invalid_phone": (
        "POST {payment}/pay",
        {"method": "telebirr", "phone": "0700000001"},
    ),
    "pay_payment/invalid_bank": (
        "POST {payment}/pay",
        {"method": "bank_transfer", "bank": "national_bank"},
    ),
    "answer_payment/invalid_answer": ("POST {payment}/answer", {"answer": "yes"}),
    "answer_payment/invalid_state_transition": ("POST {payment}/answer", {"answer": "approve"}),
    "transition_payment/invalid_method": (
        "POST {payment}/transition",
        {"status": "processing", "method": "cash"},
    ),
    "transition_payment/invalid_reason": (
        "POST {payment}/transition",
        {"status": "processing", "reason": "timeout"},
    ),
    "transition_payment/invalid_unusual": (
        "POST {payment}/transition",
        {"status": "completed", "unusual": "yes"},
    ),
    "transition_payment/invalid_state_transition": (
        "POST {payment}/transition",
        {"status": "completed"},
    ),
    "place_scenario/invalid_name": ("PUT {payment}/scenario", {"name": 1}),
    "wait_for_payment/invalid_timeout": ("GET {payment}/wait?status=failed&timeout=301", None),
    "list_deliveries/invalid_status": ("GET /deliveries?status=late", None),
    "put_scenario/invalid_scenario": (
        "PUT /scenarios/late",
        {"outcomes": [{"when": {"phon": "0900000001"}, "then": "handset"}]},
    ),
    "delete_scenario/scenario_is_permanent": ("DELETE /scenarios/banks", None),
    "add_fault/invalid_fault": ("POST /faults", {"then": {"status": 200}}),
    "get_document/route_not_found": ("GET /openapi/v2.json", None),
    "list_requests/invalid_before": ("GET /requests?before=req_unknown", None),
    "cancel_payment/invalid_state_transition": ("POST {paid}/cancel", None),
    "pay_payment/payment_not_payable": (
        "POST {paid}/pay",
        {"method": "telebirr", "phone": "0900000001"},
    ),
}
OF_ANY_CALL: dict[str, tuple[str, Any]] = {
    "missing_parameter": ("PUT /checkout_url", {}),
    "unknown_parameter": ("POST /clock/advance", {"second": 1}),
    "invalid_status": ("POST {payment}/transition", {"status": "paid"}),
    "invalid_limit": ("GET /events?limit=0", None),
    "invalid_url": ("POST /webhook_endpoints", {"url": "ftp://shop.example/hook"}),
    "invalid_events": ("POST /webhook_endpoints", {"url": "http://localhost/", "events": []}),
    "invalid_secret": ("POST {endpoint}/rotate", {"secret": "whsec_c2hvcnQ="}),
    "invalid_profile": ("PATCH {endpoint}", {"profile": "patient"}),
    "invalid_enabled": ("PATCH {endpoint}", {"enabled": "yes"}),
    "invalid_name": ("GET /snapshots/-", None),
    "account_not_found": ("GET /accounts/acct_unknown", None),
    "payment_not_found": ("GET /payments/pay_unknown", None),
    "webhook_endpoint_not_found": ("GET /webhook_endpoints/we_unknown", None),
    "delivery_not_found": ("GET /deliveries/dlv_unknown", None),
    "scenario_not_found": ("GET /scenarios/unknown", None),
    "fault_not_found": ("DELETE /faults/flt_unknown", None),
    "snapshot_not_found": ("GET /snapshots/unknown", None),
}


async def refusals(recorder: ExampleRecorder) -> None:
    """Records one example of each refusal."""
    async with world() as emulator:
        payment, paid = [await emulator.create() for _ in range(2)]
        submitted = {"method": "telebirr", "phone": "0900000001"}
        await emulator.control("POST", f"/payments/{paid['id']}/pay", submitted)
        endpoint = await emulator.control(
            "POST", "/webhook_endpoints", {"url": "http://127.0.0.1:3000/hook"}
        )
        targets = {
            "payment": f"/payments/{payment['id']}",
            "paid": f"/payments/{paid['id']}",
            "endpoint": f"/webhook_endpoints/{endpoint.json()['id']}",
        }
        of_any_call = {f"{ANY_OPERATION}/{code}": asked for code, asked in OF_ANY_CALL.items()}
        for name, (line, body) in {**OF_CALLS, **of_any_call}.items():
            method, path = line.split(" ")
            path = path.format(**targets)
            await recorder.record(emulator, name, f"{method} {AT}{path}", body)
        await _of_every_request(recorder, emulator)
    async with world() as emulator:
        await _of_too_many(recorder, emulator)


async def _of_every_request(recorder: ExampleRecorder, emulator: World) -> None:
    """What is wrong before it is known what the call is about."""
    record = partial(recorder.record, emulator)

    async def ask(code: str, line: str, body: Any = None, **more: Any) -> httpx.Response:
        return await record(f"{ANY_OPERATION}/{code}", line, body, **more)

    clock = f"GET {AT}/clock"
    advance = f"POST {AT}/clock/advance"
    await ask("missing_api_key", clock, authorization="Basic dGVzdA==")
    await ask("invalid_api_key", clock, authorization="Bearer test_unknown_key")
    await ask("forbidden_origin", clock, Origin="https://shop.example")
    await ask("invalid_mode", f"{clock}?mode=sandbox", authorization=None)
    await ask("duplicate_parameter", advance, '{"seconds": 1, "seconds": 2}', **JSON)
    await ask("invalid_json", advance, '{"seconds": 1,}', **JSON)
    await ask("invalid_request_body", advance, "[]", **JSON)
    await ask("unsupported_content_type", advance, "seconds=1", **{"Content-Type": "text/plain"})
    large = await emulator.control("POST", "/clock/advance", {"until": "x" * 262_144})
    request = {"method": "POST", "path": f"{AT}/clock/advance"}
    recorder.add(f"{ANY_OPERATION}/request_too_large", request, large)


async def _of_too_many(recorder: ExampleRecorder, emulator: World) -> None:
    record = partial(recorder.record, emulator)

    async def fill(count: int, method: str, path: str, body: Any = None) -> None:
        asked = (emulator.control(method, path.format(number), body) for number in range(count))
        await asyncio.gather(*asked)

    endpoint = {"url": "http://127.0.0.1:3000/hook"}
    await fill(MAX_SNAPSHOTS, "PUT", "/snapshots/s{}")
    await record("save_snapshot/too_many_snapshots", f"PUT {AT}/snapshots/one-more")
    await fill(MAX_ENDPOINTS, "POST", "/webhook_endpoints", endpoint)
    await record(
        "create_webhook_endpoint/too_many_webhook_endpoints",
        f"POST {AT}/webhook_endpoints",
        endpoint,
    )
    await fill(MAX_FAULTS, "POST", "/faults", {"when": {"mode": "live"}, "then": {"drop": True}})
    fault = {"then": {"drop": True}}
    await record("add_fault/too_many_faults", f"POST {AT}/faults", fault)
    await fill(MAX_SCENARIOS, "PUT", "/scenarios/s{}", {})
    await record("put_scenario/too_many_scenarios", f"PUT {AT}/scenarios/one-more", {})
    most_payments = MAX_SCRIPT_STEPS // 2
    await asyncio.gather(*(emulator.create("test_other_key") for _ in range(most_payments + 1)))
    await record(
        "get_recording/too_much_to_record",
        f"GET {AT}/recording",
        authorization="Bearer test_other_key",
    )
