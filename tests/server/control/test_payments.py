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
    ("changes", "body", "expected"),
    [
        ({"methods": ["mpesa"]}, {"bank": "walia_test"}, (400, "invalid_method", "method")),
        ({}, {"method": ""}, (400, "invalid_method", "method")),
        ({}, {"method": "cash"}, (400, "invalid_method", "method")),
        ({"methods": ["mpesa"]}, TELEBIRR, (400, "invalid_method", "method")),
        ({}, {**TELEBIRR, "phone": "0700000001"}, (400, "invalid_phone", "phone")),
        ({}, {"method": "mpesa", "phone": HANDSET}, (400, "invalid_phone", "phone")),
        ({}, {**TELEBIRR, "bank": "walia_test"}, (400, "invalid_bank", "bank")),
    ],
)
async def test_a_wrong_submission_is_refused_and_changes_nothing(
    emulator: World, changes: Any, body: Any, expected: tuple[int, str, str]
) -> None:
    payment = await emulator.create(**changes)
    assert refusal(await do(emulator, payment, "pay", body)) == expected
    assert await emulator.retrieve(payment["id"]) == payment


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


@pytest.mark.clause("3.4")
@pytest.mark.parametrize(
    ("phone", "status"), [(HANDSET, "processing"), (NO_BALANCE, "failed"), (None, "expired")]
)
async def test_the_first_submit_wins_and_an_ended_payment_cannot_be_paid(
    emulator: World, phone: str | None, status: str
) -> None:
    payment = await emulator.create(expires_in=60)
    if phone is None:
        await emulator.advance(60)
    else:
        await changed(emulator, payment, "pay", {"method": "telebirr", "phone": phone})
    before = await emulator.retrieve(payment["id"])
    assert before["status"] == status
    assert refusal(await do(emulator, payment, "pay", BANK)) == (409, "payment_not_payable", None)
    assert await emulator.retrieve(payment["id"]) == before


@pytest.mark.clause("4.4.7")
@pytest.mark.parametrize(
    ("answer", "status", "reason"),
    [
        ("approve", "completed", None),
        ("wrong_pin", "failed", "wrong_pin"),
        ("insufficient_balance", "failed", "insufficient_balance"),
        ("cancel", "failed", "user_cancelled"),
    ],
)
async def test_the_handset_answers(
    emulator: World, answer: str, status: str, reason: str | None
) -> None:
    payment = await emulator.create()
    await changed(emulator, payment, "pay", TELEBIRR)
    await emulator.advance(1)
    answered = await changed(emulator, payment, "answer", {"answer": answer})
    assert answered["status"] == status
    assert answered["completed_at"] == (
        "2026-01-01T00:00:01.000Z" if status == "completed" else None
    )
    seen = await detail(emulator, payment)
    assert (seen["reason"], seen["next"]) == (reason, None)


async def test_an_answer_that_does_not_fit_the_method_is_a_conflict(emulator: World) -> None:
    payment = await emulator.create()
    await changed(emulator, payment, "pay", TELEBIRR)
    response = await do(emulator, payment, "answer", {"answer": "decline"})
    assert refusal(response) == (409, "invalid_state_transition", "answer")


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


@pytest.mark.clause("4.4.7", "8.6")
async def test_an_unanswered_handset_times_out_after_thirty_seconds(emulator: World) -> None:
    payment = await emulator.create()
    await changed(emulator, payment, "pay", TELEBIRR)
    assert (await emulator.advance(29.999))["effects"] == []
    assert (await emulator.advance(0.001))["effects"][0]["reason"] == "timeout"
    response = await do(emulator, payment, "answer", {"answer": "approve"})
    assert refusal(response) == (409, "invalid_state_transition", None)


async def test_the_pages_cancel_button_leaves_the_payment_pending(emulator: World) -> None:
    payment = await emulator.create()
    assert await changed(emulator, payment, "cancel") == payment
    await changed(emulator, payment, "pay", TELEBIRR)
    assert refusal(await do(emulator, payment, "cancel")) == (409, "invalid_state_transition", None)


async def test_a_payment_makes_each_legal_transition(emulator: World) -> None:
    payment = await emulator.create(methods=["mpesa", "telebirr"])
    steps: list[tuple[dict[str, Any], str | None]] = [
        ({"status": "processing"}, None),
        ({"status": "failed"}, "provider_error"),
        ({"status": "completed", "unusual": True}, None),
        ({"status": "refunded"}, None),
    ]
    for body, reason in steps:
        await emulator.advance(1)
        result = await changed(emulator, payment, "transition", body)
        assert (result["status"], result["method"]) == (body["status"], "mpesa")
        assert (await detail(emulator, payment))["reason"] == reason
    assert result["completed_at"] == "2026-01-01T00:00:03.000Z"


async def test_the_method_and_the_reason_can_be_chosen(emulator: World) -> None:
    payment = await emulator.create()
    moved = await changed(
        emulator, payment, "transition", {"status": "processing", "method": "bank_transfer"}
    )
    assert moved["method"] == "bank_transfer"
    await changed(emulator, payment, "transition", {"status": "failed", "reason": "bank_declined"})
    assert (await detail(emulator, payment))["reason"] == "bank_declined"


async def test_a_payment_expires_early_by_hand(emulator: World) -> None:
    payment = await emulator.create()
    await emulator.advance(5)
    expired = await changed(emulator, payment, "transition", {"status": "expired"})
    assert (expired["status"], expired["method"]) == ("expired", None)
    assert expired["expires_at"] == payment["expires_at"]
    assert (await emulator.advance(1800))["effects"] == []


async def test_a_late_success_must_be_declared_unusual(emulator: World) -> None:
    for ending in ("failed", "expired"):
        payment = await emulator.create()
        if ending == "failed":
            await changed(emulator, payment, "transition", {"status": "processing"})
        await changed(emulator, payment, "transition", {"status": ending})
        response = await do(emulator, payment, "transition", {"status": "completed"})
        assert refusal(response) == (409, "invalid_state_transition", "status")
        assert "unusual" in response.json()["error"]["message"]
        body = {"status": "completed", "unusual": True}
        assert (await changed(emulator, payment, "transition", body))["status"] == "completed"


LEGAL = {
    *(("pending", "processing"), ("pending", "expired"), ("processing", "completed")),
    *(("processing", "failed"), ("completed", "refunded")),
}
PATHS: dict[str, list[str]] = {
    "pending": [],
    "processing": ["processing"],
    "completed": ["processing", "completed"],
    "failed": ["processing", "failed"],
    "expired": ["expired"],
    "refunded": ["processing", "completed", "refunded"],
}


@pytest.mark.clause("3.2")
@pytest.mark.parametrize("before", PATHS)
async def test_other_transitions_are_refused(emulator: World, before: str) -> None:
    for after in PATHS:
        payment = await emulator.create()
        for status in PATHS[before]:
            await changed(emulator, payment, "transition", {"status": status})
        response = await do(emulator, payment, "transition", {"status": after})
        if (before, after) in LEGAL:
            assert response.json()["status"] == after
        else:
            assert refusal(response) == (409, "invalid_state_transition", "status")
            assert (await emulator.retrieve(payment["id"]))["status"] == before


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        ({"status": "processing", "reason": "timeout"}, "invalid_reason", "reason"),
        ({"status": "expired", "method": "telebirr"}, "invalid_method", "method"),
    ],
)
async def test_a_change_accepts_only_matching_members(
    emulator: World, body: Any, code: str, param: str
) -> None:
    payment = await emulator.create()
    assert refusal(await do(emulator, payment, "transition", body)) == (400, code, param)
    assert await emulator.retrieve(payment["id"]) == payment


@pytest.mark.parametrize(
    ("action", "phone", "body"),
    [
        ("transition", TIMES_OUT, {"status": "completed"}),
        ("transition", HANDSET, {"status": "completed"}),
        ("answer", HANDSET, {"answer": "approve"}),
    ],
)
async def test_a_change_cancels_scheduled_changes(
    emulator: World, action: str, phone: str, body: Any
) -> None:
    payment = await emulator.create()
    await changed(emulator, payment, "pay", {"method": "telebirr", "phone": phone})
    completed = await changed(emulator, payment, action, body)
    seen = await detail(emulator, payment)
    assert (seen["next"], seen["scheduled"]) == (None, [])
    assert (await emulator.advance(86_400))["effects"] == []
    assert await emulator.retrieve(payment["id"]) == completed


@pytest.mark.clause("2.1.8")
async def test_a_payment_in_processing_does_not_expire(emulator: World) -> None:
    payment = await emulator.create(expires_in=10)
    await changed(emulator, payment, "transition", {"status": "processing"})
    assert (await emulator.advance(60))["effects"] == []
    assert (await emulator.retrieve(payment["id"]))["status"] == "processing"


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
