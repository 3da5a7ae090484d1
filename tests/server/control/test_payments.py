"""The actions on a payment and its details."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from emulator.domain.payment_methods import BANKS
from tests.server.control import refusal
from tests.server.engine.scenario_world import scenario_world
from tests.world import LIVE_KEY, METHODS, TEST_KEY, World, headers, order, world

COMPLETES = "0900000001"
NO_BALANCE = "+251 90-000-0002"
TIMES_OUT = "251900000003"
CANCELS = "00251900000004"
HANDSET = "0911223344"

TELEBIRR = {"method": "telebirr", "phone": HANDSET}
BANK = {"method": "bank_transfer", "bank": "walia_test"}
PHONES, OR_BANK = ["telebirr", "mpesa"], ["telebirr", "bank_transfer"]


async def do(
    emulator: World,
    payment: dict[str, Any],
    action: str,
    body: Any = None,
    key: str = "test_demo_key",
) -> httpx.Response:
    return await emulator.control("POST", f"/payments/{payment['id']}/{action}", body, key)


async def changed(emulator: World, payment: dict[str, Any], action: str, body: Any = None) -> Any:
    """A call that succeeds, and answers the payment exactly as the contract does."""
    response = await do(emulator, payment, action, body)
    assert response.status_code == 200, response.text
    assert response.json() == await emulator.retrieve(payment["id"])
    return response.json()


async def detail(emulator: World, payment: dict[str, Any], key: str = "test_demo_key") -> Any:
    return await emulator.shown(f"/payments/{payment['id']}", key)


@pytest.mark.clause("4.4.1", "4.4.2", "4.4.3", "4.4.4", "4.4.5", "8.6")
@pytest.mark.parametrize(
    ("phone", "status", "reason"),
    [
        (COMPLETES, "completed", None),
        (NO_BALANCE, "failed", "insufficient_balance"),
        (TIMES_OUT, "processing", None),
        (CANCELS, "failed", "user_cancelled"),
        (HANDSET, "processing", None),
    ],
)
async def test_paying_has_the_outcome_of_the_number(
    emulator: World, phone: str, status: str, reason: str | None
) -> None:
    payment = await emulator.create()
    paid = await changed(emulator, payment, "pay", {"method": "telebirr", "phone": phone})
    assert (paid["status"], paid["method"]) == (status, "telebirr")
    assert (await detail(emulator, payment))["reason"] == reason


@pytest.mark.clause("4.4.1")
async def test_test_numbers_have_no_effect_in_live_mode(emulator: World) -> None:
    payment = await emulator.create(LIVE_KEY)
    body = {"method": "telebirr", "phone": COMPLETES}
    assert (await do(emulator, payment, "pay", body, LIVE_KEY)).json()["status"] == "processing"
    assert (await detail(emulator, payment, LIVE_KEY))["next"]["kind"] == "handset_timeout"


@pytest.mark.parametrize(
    ("methods", "body", "status", "payer"),
    [
        (PHONES, None, "completed", ("telebirr", "+251900000001", None)),
        (["mpesa", "telebirr"], {}, "completed", ("mpesa", "+251700000001", None)),
        (["bank_transfer"], {}, "processing", ("bank_transfer", None, "walia_test")),
        (["chapa", "telebirr"], {}, "processing", ("chapa", None, None)),
        (PHONES, {"method": "mpesa"}, "completed", ("mpesa", "+251700000001", None)),
        (OR_BANK, {"method": "bank_transfer"}, "processing", ("bank_transfer", None, "walia_test")),
        (["telebirr", "chapa"], {"method": "chapa"}, "processing", ("chapa", None, None)),
        (PHONES, {"phone": "0711223344"}, "processing", ("mpesa", "+251711223344", None)),
        (OR_BANK, {"bank": "fidel_test"}, "failed", ("bank_transfer", None, "fidel_test")),
    ],
)
async def test_what_a_submission_leaves_out_is_chosen_so_that_the_payment_succeeds(
    methods: list[str], body: Any, status: str, payer: tuple[str | None, ...]
) -> None:
    async with world(methods=(*METHODS, "chapa")) as emulator:
        payment = await emulator.create(methods=methods)
        assert (await changed(emulator, payment, "pay", body))["status"] == status
        found = await detail(emulator, payment)
        assert (found["payment"]["method"], found["phone"], found["bank"]) == payer


RULES_ABOUT_PAYERS = """
outcomes:
  - when: {phone: "0900000001"}
    then: [{status: failed, reason: limit_exceeded}]
  - when: {phone: "0922000000", mode: live}
    then: [{status: completed}]
  - when: {phone: "0933000000"}
    then: [{after: 1m, status: completed}]
  - when: {bank: walia_test}
    then: [{status: failed, reason: provider_error}]
  - when: {bank: semien_test}
    then: [{status: completed}]
"""


@pytest.mark.parametrize(
    ("method", "mode", "payer"),
    [
        ("telebirr", TEST_KEY, ("+251933000000", None)),
        ("telebirr", LIVE_KEY, ("+251922000000", None)),
        ("bank_transfer", TEST_KEY, (None, "semien_test")),
    ],
)
async def test_the_rules_that_name_a_phone_or_a_bank_decide_which_is_chosen(
    tmp_path: Path, method: str, mode: str, payer: tuple[str | None, str | None]
) -> None:
    async with scenario_world(tmp_path, payers=RULES_ABOUT_PAYERS) as emulator:
        payment = await emulator.create(mode, methods=[method])
        await do(emulator, payment, "pay", {}, mode)
        found = await detail(emulator, payment, mode)
        assert (found["phone"], found["bank"]) == payer


async def test_in_live_mode_the_chosen_phone_waits_for_an_answer(emulator: World) -> None:
    payment = await emulator.create(LIVE_KEY)
    paid = await do(emulator, payment, "pay", {}, LIVE_KEY)
    assert (paid.json()["status"], paid.json()["method"]) == ("processing", "telebirr")
    answered = await do(emulator, payment, "answer", {"answer": "approve"}, LIVE_KEY)
    assert answered.json()["status"] == "completed"


async def test_a_rule_about_every_customer_decides_about_the_chosen_one(emulator: World) -> None:
    rule = {"when": {}, "then": [{"status": "failed", "reason": "limit_exceeded"}], "times": 1}
    await emulator.control("PUT", "/scenarios/poor", {"outcomes": [rule]})
    statuses = [
        (await changed(emulator, await emulator.create(), "pay", {}))["status"] for _ in "ab"
    ]
    assert statuses == ["failed", "completed"]


@pytest.mark.parametrize(
    ("method", "param", "rules"),
    [
        ("telebirr", "phone", []),
        (
            "bank_transfer",
            "bank",
            [
                {"when": {"bank": bank}, "then": [{"status": "failed", "reason": "bank_declined"}]}
                for bank in BANKS
            ],
        ),
    ],
)
async def test_a_submission_is_refused_where_no_payer_is_known(
    emulator: World, method: str, param: str, rules: list[Any]
) -> None:
    for name in ("telebirr-test-numbers", "mpesa-test-numbers"):
        await emulator.control("PUT", f"/scenarios/{name}/enabled", {"enabled": False})
    if rules:
        await emulator.control("PUT", "/scenarios/declined", {"outcomes": rules})
    payment = await emulator.create(methods=[method])
    response = await do(emulator, payment, "pay", {"method": method})
    assert refusal(response) == (400, "missing_parameter", param)
    assert response.json()["error"]["message"] == (
        f"The parameter '{param}' is required: no {param} of {method} is known whose payments can"
        " succeed."
    )
    assert await emulator.retrieve(payment["id"]) == payment


@pytest.mark.parametrize(
    ("phone", "reason"),
    [
        (
            None,
            "pending, and the customer has no question to answer: submit a payment method first",
        ),
        (COMPLETES, "completed, and the customer has no question to answer: the payment has ended"),
        (TIMES_OUT, "processing, and the customer has no question to answer: a scenario decides"),
    ],
)
async def test_an_answer_to_no_question_is_a_conflict_that_says_why(
    emulator: World, phone: str | None, reason: str
) -> None:
    payment = await emulator.create()
    if phone is not None:
        await changed(emulator, payment, "pay", {"method": "telebirr", "phone": phone})
    response = await do(emulator, payment, "answer", {"answer": "approve"})
    assert refusal(response) == (409, "invalid_state_transition", None)
    assert f"The payment is {reason}" in response.text


@pytest.mark.clause("2.1.8")
async def test_a_submitted_payment_does_not_expire(emulator: World) -> None:
    payment = await emulator.create(expires_in=10)
    await changed(emulator, payment, "pay", TELEBIRR)
    assert (await emulator.advance(29))["effects"] == []


def due(at: str, kind: str, payment: Any, status: str, reason: str | None) -> dict[str, Any]:
    return {"at": at, "kind": kind, "payment": payment["id"], "status": status, "reason": reason}


async def test_a_payment_has_a_timeline_and_scheduled_changes(emulator: World) -> None:
    payment = await emulator.create()
    seen = await detail(emulator, payment)
    expiry = due("2026-01-01T00:30:00.000Z", "expiry", payment, "expired", None)
    assert list(seen) == [
        *("payment", "reason", "mode", "methods", "phone", "bank", "scenario"),
        *("redirect", "timeline", "actions", "next", "scheduled"),
    ]
    assert seen["payment"] == payment
    assert (seen["phone"], seen["bank"]) == (None, None)
    assert (seen["reason"], seen["mode"]) == (None, "test")
    assert (seen["next"], seen["scheduled"]) == (expiry, [expiry])

    await emulator.advance(2)
    await changed(emulator, payment, "pay", {"method": "telebirr", "phone": TIMES_OUT})
    failure = due("2026-01-01T00:00:32.000Z", "outcome", payment, "failed", "timeout")
    seen = await detail(emulator, payment)
    assert (seen["phone"], seen["bank"]) == ("+251900000003", None)
    assert (seen["next"], seen["scheduled"]) == (failure, [failure])

    await emulator.advance(30)
    seen = await detail(emulator, payment)
    assert (seen["reason"], seen["next"], seen["scheduled"]) == ("timeout", None, [])
    request = seen["timeline"][0]["cause"]["request"]
    assert request.startswith("req_")
    timeline = [{**event, "id": event["id"][:4]} for event in seen["timeline"]]
    assert timeline == [
        {
            "id": "evt_",
            "at": at,
            "type": f"payment.{kind}",
            "status": status,
            "method": method,
            "reason": reason,
            "cause": cause,
            "text": text,
        }
        for at, kind, status, method, reason, cause, text in (
            (
                *("2026-01-01T00:00:00.000Z", "created", "pending", None, None),
                *({"by": "request", "request": request}, "the shop created it"),
            ),
            (
                *("2026-01-01T00:00:02.000Z", "processing", "processing", "telebirr", None),
                *({"by": "control"}, "the customer submitted telebirr"),
            ),
            (
                *("2026-01-01T00:00:32.000Z", "failed", "failed", "telebirr", "timeout"),
                {"by": "scenario", "scenario": "telebirr-test-numbers", "rule": 3},
                "scenario telebirr-test-numbers, rule 3",
            ),
        )
    ]


TELEBIRR: dict[str, Any] = {"method": "telebirr", "phone": HANDSET}
AT_BANK = {"method": "bank_transfer", "bank": "walia_test"}
SUBMITTED = "the customer submitted telebirr"
# What is done to a payment, what the customer did in words, and the causes of its statuses.
CAUSES: list[tuple[list[tuple[str, Any]], list[str], list[str]]] = [
    (
        [("pay", TELEBIRR), ("answer", {"answer": "wrong_pin"})],
        ["pays with telebirr +251911223344", "answers on the phone: wrong PIN"],
        [SUBMITTED, "the customer answered on the phone"],
    ),
    (
        [("pay", AT_BANK), ("answer", {"answer": "decline"})],
        ["pays with Bank transfer Walia Test Bank", "answers at the bank: decline"],
        ["the customer submitted Bank transfer", "the customer answered at the bank"],
    ),
    (
        [("pay", {**TELEBIRR, "phone": "+251900000002"})],
        ["pays with telebirr +251900000002"],
        [SUBMITTED, "scenario telebirr-test-numbers, rule 2"],
    ),
    (
        [("pay", TELEBIRR), ("advance", 30)],
        ["pays with telebirr +251911223344"],
        [SUBMITTED, "no answer for 30 s"],
    ),
    ([("cancel", {}), ("advance", 1800)], ["cancels on the page"], ["no payment within 30 min"]),
    ([("transition", {"status": "expired"})], [], ["a call of the control API"]),
]


@pytest.mark.parametrize(("steps", "actions", "causes"), CAUSES)
async def test_each_status_has_its_cause_in_words(
    emulator: World, steps: list[tuple[str, Any]], actions: list[str], causes: list[str]
) -> None:
    payment = await emulator.create(expires_in=1800)
    for name, body in steps:
        if name == "advance":
            await emulator.advance(body)
        else:
            await changed(emulator, payment, name, body)
    seen = await detail(emulator, payment)
    assert [each["text"] for each in seen["actions"]] == actions
    assert [each["text"] for each in seen["timeline"]] == ["the shop created it", *causes]
    by = {"no": "schedule", "scenario": "scenario"}
    kinds = [by.get(text.split()[0], "control") for text in causes]
    assert [each["cause"]["by"] for each in seen["timeline"]] == ["request", *kinds]
    caused = [each["event"] for each in seen["actions"] if each["event"]]
    assert caused == [each["id"] for each in seen["timeline"][1:]][: len(caused)]


async def test_the_event_of_a_creation_names_its_request(emulator: World) -> None:
    post = partial(emulator.api.post, "/v1/payments", headers=headers(), json=order())
    # They share one transaction.
    responses = await asyncio.gather(*(post() for _ in range(3)))
    requests = [response.headers["request-id"] for response in responses]
    assert len(set(requests)) == 3
    for response, request in zip(responses, requests, strict=True):
        timeline = (await detail(emulator, response.json()))["timeline"]
        assert [event["cause"]["request"] for event in timeline] == [request]


async def test_an_idempotent_replay_leaves_the_event_with_its_request(emulator: World) -> None:
    post = partial(
        emulator.api.post, "/v1/payments", headers=headers(), json=order(idempotency_key="once")
    )
    first, second = await post(), await post()
    assert second.headers["request-id"] != first.headers["request-id"]
    timeline = (await detail(emulator, first.json()))["timeline"]
    assert [event["cause"]["request"] for event in timeline] == [first.headers["request-id"]]


async def test_a_request_processes_due_changes(emulator: World) -> None:
    await emulator.control("PUT", "/clock", {"frozen": False})
    payment = await emulator.create(expires_in=60)
    emulator.wall.move(60_000)
    seen = await detail(emulator, payment)
    assert seen["payment"]["status"] == "expired"
    assert seen["timeline"][-1]["at"] == payment["expires_at"]
