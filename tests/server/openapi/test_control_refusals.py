"""Each refusal of the control API has the status, the code and the headers of its document."""

import asyncio
from typing import Any

import pytest

from emulator.domain.webhooks import MAX_ENDPOINTS
from emulator.scenarios.script import MAX_SCRIPT_STEPS
from emulator.server.engine.accounts.scenarios import MAX_FAULTS, MAX_SCENARIOS
from emulator.server.engine.accounts.snapshots import MAX_SNAPSHOTS
from tests.server.openapi.navigation import Operation, operations
from tests.server.openapi.test_control_document import codes_of, refusals, validate
from tests.server.openapi.test_control_validity import BODIES, QUERIES, codes_of_member
from tests.world import OTHER_TEST_KEY, World, world

JSON = {"Content-Type": "application/json"}
ENDPOINT = {"url": "http://127.0.0.1:3000/hook"}
FAULT = {"when": {"mode": "live"}, "then": {"drop": True}}
PHONE = {"method": "telebirr", "phone": "0900000001"}

# The call, the code, the path and the body, with one pending and one paid payment.
REFUSALS: tuple[tuple[str, str, str, Any], ...] = (
    ("create_account", "invalid_test_key", "/accounts", {"test_key": "test_demo_key"}),
    ("create_account", "invalid_takes_over", "/accounts", {"takes_over": "test_other_key"}),
    ("delete_account", "account_is_permanent", "/accounts/acct_demo", None),
    ("set_clock", "invalid_clock", "/clock", {"now": "2025-12-31T23:59:59Z"}),
    ("advance_clock", "invalid_clock", "/clock/advance", {"seconds": 1, "to": "next"}),
    ("advance_clock", "unknown_parameter", "/clock/advance", {"second": 1}),
    ("advance_clock", "request_too_large", "/clock/advance", {"until": "x" * 262_144}),
    ("list_payments", "invalid_cursor", "/payments?after=pay_unknown", None),
    ("release_delivery", "delivery_not_pending", "{ping}/release", None),
    ("drop_delivery", "delivery_not_pending", "{ping}/drop", None),
    ("list_deliveries", "payment_not_found", "/deliveries?payment=pay_1", None),
    ("list_deliveries", "webhook_endpoint_not_found", "/deliveries?endpoint=we_1", None),
    ("resend_failing_deliveries", "missing_parameter", "/deliveries/resend", {}),
    ("resend_failing_deliveries", "invalid_endpoint", "/deliveries/resend", {"endpoint": 1}),
    (
        *("resend_failing_deliveries", "webhook_endpoint_not_found", "/deliveries/resend"),
        {"endpoint": "we_unknown"},
    ),
    ("get_checklist", "webhook_endpoint_not_found", "/checklist?exclude_endpoint=we_1", None),
    ("pay_payment", "invalid_method", "{pending}/pay", {"method": "cash"}),
    ("pay_payment", "payment_not_payable", "{paid}/pay", PHONE),
    ("answer_payment", "invalid_state_transition", "{pending}/answer", {"answer": "approve"}),
    ("cancel_payment", "invalid_state_transition", "{paid}/cancel", None),
    *(
        ("transition_payment", code, "{pending}/transition", body)
        for code, body in (
            ("invalid_method", {"status": "processing", "method": "cash"}),
            ("invalid_reason", {"status": "processing", "reason": "timeout"}),
            ("invalid_state_transition", {"status": "completed"}),
        )
    ),
    ("place_scenario", "scenario_not_found", "{pending}/scenario", {"name": "unknown"}),
    ("rotate_webhook_secret", "invalid_secret", "{endpoint}/rotate", {"secret": "whsec_c2hvcnQ="}),
    ("run_scenario", "scenario_has_no_script", "/scenarios/no-script/run", None),
    ("delete_scenario", "scenario_is_permanent", "/scenarios/banks", None),
    ("list_requests", "invalid_before", "/requests?before=req_unknown", None),
    ("save_snapshot", "invalid_name", "/snapshots/-", None),
    ("get_document", "route_not_found", "/openapi/v2.json", None),
    ("set_checkout_url", "missing_parameter", "/checkout_url", {}),
)
# The call, the code, the headers, the query and the body.
OF_EVERY_CALL: tuple[tuple[str, str, dict[str, str], str, str], ...] = (
    ("get_clock", "missing_api_key", {"Authorization": "Basic dGVzdA=="}, "", ""),
    ("get_clock", "invalid_api_key", {"Authorization": "Bearer test_unknown_key"}, "", ""),
    ("get_clock", "forbidden_origin", {"Origin": "https://shop.example"}, "", ""),
    ("get_clock", "invalid_mode", {}, "?mode=sandbox", ""),
    ("advance_clock", "duplicate_parameter", JSON, "", '{"seconds": 1, "seconds": 2}'),
    ("advance_clock", "invalid_json", JSON, "", '{"seconds": 1,}'),
    ("advance_clock", "invalid_request_body", JSON, "", "[]"),
    ("advance_clock", "unsupported_content_type", {"Content-Type": "text/plain"}, "", "seconds=1"),
)
# The call, the code, the number of calls that are accepted, the path and the body.
TOO_MANY: tuple[tuple[str, str, int, str, Any], ...] = (
    ("save_snapshot", "too_many_snapshots", MAX_SNAPSHOTS, "/snapshots/s{}", None),
    (
        *("create_webhook_endpoint", "too_many_webhook_endpoints", MAX_ENDPOINTS),
        *("/webhook_endpoints", ENDPOINT),
    ),
    ("add_fault", "too_many_faults", MAX_FAULTS, "/faults", FAULT),
    ("put_scenario", "too_many_scenarios", MAX_SCENARIOS, "/scenarios/s{}", {}),
)


async def assert_refused(
    emulator: World, document: dict[str, Any], call: str, code: str, path: str, **request: Any
) -> None:
    operation = operation_of(document, call)
    response = await emulator.api.request(operation.method.upper(), f"/_emulator{path}", **request)
    assert response.json()["error"]["code"] == code, (call, response.text)
    validate(document, operation, response)


def operation_of(document: dict[str, Any], call: str) -> Operation:
    return next(each for each in operations(document) if each.name == call)


async def test_a_refusal_is_as_described(control: dict[str, Any]) -> None:
    async with world() as emulator:
        pending, paid = [await emulator.create() for _ in range(2)]
        await emulator.control("POST", f"/payments/{paid['id']}/pay", PHONE)
        endpoint = await emulator.done("POST", "/webhook_endpoints", ENDPOINT)
        await emulator.done("PUT", "/scenarios/no-script", {})
        ping = await emulator.done("POST", f"/webhook_endpoints/{endpoint['id']}/ping")
        targets = {
            "ping": f"/deliveries/{ping['id']}",
            "pending": f"/payments/{pending['id']}",
            "paid": f"/payments/{paid['id']}",
            "endpoint": f"/webhook_endpoints/{endpoint['id']}",
        }
        for call, code, path, body in REFUSALS:
            await assert_refused(emulator, control, call, code, path.format(**targets), json=body)
        for call, code, headers, query, text in OF_EVERY_CALL:
            path = operation_of(control, call).path.removeprefix("/_emulator") + query
            request = {"headers": headers, "content": text}
            await assert_refused(emulator, control, call, code, path, **request)


@pytest.mark.deep
async def test_a_refusal_of_too_many_is_as_described(control: dict[str, Any]) -> None:
    async with world() as emulator:
        for call, code, accepted, path, body in TOO_MANY:
            method = operation_of(control, call).method.upper()
            await asyncio.gather(
                *(emulator.control(method, path.format(n), body) for n in range(accepted))
            )
            await assert_refused(emulator, control, call, code, path.format("_more"), json=body)
        payments = MAX_SCRIPT_STEPS // 2 + 1
        await asyncio.gather(*(emulator.create(OTHER_TEST_KEY) for _ in range(payments)))
        headers = {"Authorization": f"Bearer {OTHER_TEST_KEY}"}
        await assert_refused(
            emulator, control, "get_recording", "too_much_to_record", "/recording", headers=headers
        )


async def test_a_stopping_emulator_is_not_ready(emulator: World, control: dict[str, Any]) -> None:
    payment = await emulator.create()
    path = f"/payments/{payment['id']}/wait?status=completed"
    waiting = asyncio.create_task(
        assert_refused(emulator, control, "wait_for_payment", "not_ready", path)
    )
    emulator.app.engine.change_notifier.close()
    await waiting


def test_every_code_of_the_document_is_tested(control: dict[str, Any]) -> None:
    described = {
        code
        for operation in operations(control)
        for content in refusals(control, operation)
        for code in codes_of(content)
    }
    tables = (REFUSALS, OF_EVERY_CALL, TOO_MANY)
    tested = {code for table in tables for _, code, *_ in table}
    # Unknown resources: tests/server/control/test_resources.py.
    tested |= {code for code in described if code.endswith("_not_found")}
    tested |= {f"invalid_{name}" for _, name in QUERIES}
    for call, (_, bodies) in BODIES.items():
        tested |= {code for body in bodies for name in body for code in codes_of_member(call, name)}
    assert described <= tested | {"too_much_to_record", "not_ready"}
