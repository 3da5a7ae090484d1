"""The section `checkout` of scenarios: attempts, the cancel button, completion after the return."""

from typing import Any

import pytest

from tests.server.control import refusal
from tests.world import World

AGAIN = {"attempts": 3}
FAILS = {"cancel": "fails"}
EARLY = {"redirect": "before_completed", "delay": "40s"}
NO_BALANCE, TIMES_OUT, COMPLETES, ASKED = "0900000002", "0900000003", "0900000001", "0911223344"
CREATED, PROCESSING, FAILED = "payment.created", "payment.processing", "payment.failed"


async def rules(emulator: World, *then: dict[str, Any], **scenario: Any) -> None:
    rule = {"checkout": [{"when": {}, **each} for each in then]}
    await emulator.done("PUT", "/scenarios/page", {"version": 1, "name": "page"} | rule | scenario)


async def act(emulator: World, payment: dict[str, Any], verb: str, **body: Any) -> dict[str, Any]:
    return dict(await emulator.done("POST", f"/payments/{payment['id']}/{verb}", body or None))


async def detail(emulator: World, payment: dict[str, Any]) -> Any:
    return await emulator.shown(f"/payments/{payment['id']}")


async def types(emulator: World) -> list[str]:
    return [event["type"] for event in (await emulator.shown("/events"))["data"]][::-1]


def changes(shown: Any) -> list[tuple[str, str | None, str | None, str | None]]:
    return [
        (each["status"], each["type"], each["method"], each["reason"])
        for each in shown["timeline"][1:]
    ]


@pytest.mark.clause("3.2", "3.4")
@pytest.mark.parametrize(
    ("phone", "answer", "seconds", "reason", "cause"),
    [
        (NO_BALANCE, None, 0, "insufficient_balance", "scenario telebirr-test-numbers, rule 2"),
        (ASKED, "wrong_pin", 0, "wrong_pin", "the customer answered on the phone"),
        (ASKED, "cancel", 0, "user_cancelled", "the customer answered on the phone"),
        (ASKED, None, 30, "timeout", "no answer for 30 s"),
        (TIMES_OUT, None, 30, "timeout", "scenario telebirr-test-numbers, rule 3"),
    ],
)
async def test_a_failed_attempt_offers_the_methods_again(
    emulator: World, phone: str, answer: str | None, seconds: int, reason: str, cause: str
) -> None:
    await rules(emulator, {"then": AGAIN})
    payment = await emulator.create()
    await emulator.pay(payment, phone)
    if answer:
        await act(emulator, payment, "answer", answer=answer)
    advanced = await emulator.advance(seconds)
    # Exactly as it was created.
    assert await emulator.retrieve(payment["id"]) == payment
    shown = await detail(emulator, payment)
    assert (shown["phone"], shown["reason"], shown["next"]["kind"]) == (None, None, "expiry")
    attempt = ("pending", None, "telebirr", reason)
    failed = shown["timeline"][-1]
    assert (await emulator.control("GET", f"/events/{failed['id']}")).status_code == 404
    assert failed["text"] == cause
    assert changes(shown) == [("processing", PROCESSING, "telebirr", None), attempt]
    assert await types(emulator) == [CREATED, PROCESSING]
    if seconds:
        [effect] = advanced["effects"]
        assert (effect["type"], effect["status"], effect["reason"]) == (None, "pending", reason)
    paid = await emulator.pay(payment, "0700000001", "mpesa")
    assert (paid["status"], paid["method"]) == ("completed", "mpesa")


@pytest.mark.clause("3.4")
async def test_the_last_attempt_is_final_for_each_payment(emulator: World) -> None:
    await rules(emulator, {"then": {"attempts": 2}, "times": 1})
    first, second = await emulator.create(), await emulator.create()
    statuses = [
        (await emulator.pay(payment, NO_BALANCE))["status"] for payment in (first, first, second)
    ]
    assert statuses == ["pending", "failed", "failed"]


async def test_the_steps_after_a_failed_attempt_do_not_happen(emulator: World) -> None:
    steps = [
        {"after": "5s", "status": "failed"},
        {"after": "10s", "status": "completed", "unusual": True},
    ]
    await rules(emulator, {"then": AGAIN}, outcomes=[{"when": {}, "then": steps}])
    payment = await emulator.create(expires_in=20)
    await emulator.pay(payment, ASKED)
    effects = (await emulator.advance(60))["effects"]
    assert [(effect["at"][17:19], effect["status"]) for effect in effects] == [
        ("05", "pending"),
        ("20", "expired"),
    ]


async def test_an_attempt_that_fails_after_the_expiry_is_the_last(emulator: World) -> None:
    await rules(emulator, {"then": AGAIN})
    payment = await emulator.create(expires_in=30)
    await emulator.pay(payment, TIMES_OUT)
    await emulator.advance(30)
    assert (await emulator.retrieve(payment["id"]))["status"] == "failed"


@pytest.mark.parametrize("final", ["completed", "failed"])
async def test_a_status_that_is_set_directly_is_final(emulator: World, final: str) -> None:
    await rules(emulator, {"then": AGAIN}, {"then": FAILS}, {"then": EARLY})
    payment = await emulator.create()
    await emulator.transition(payment, "processing", final)
    assert (await emulator.retrieve(payment["id"]))["status"] == final
    recording = (await emulator.control("GET", "/recording")).text
    assert "checkout:" not in recording
    assert f"status: {final}" in recording


@pytest.mark.parametrize(
    ("before", "status", "setting"),
    [([], "failed", "cancel: fails"), (["processing"], "pending", "attempts: 2")],
)
async def test_a_status_that_a_rule_sets_is_refused_without_unusual(
    emulator: World, before: list[str], status: str, setting: str
) -> None:
    await rules(emulator, {"then": AGAIN}, {"then": FAILS})
    payment = await emulator.create()
    await emulator.transition(payment, *before)
    path = f"/payments/{payment['id']}/transition"
    response = await emulator.control("POST", path, {"status": status})
    assert refusal(response) == (409, "invalid_state_transition", "status")
    end = f"has '{setting}', or with 'unusual': true."
    assert response.json()["error"]["message"].endswith(end)


@pytest.mark.clause("3.3")
async def test_the_cancel_button_ends_a_payment_without_a_method(emulator: World) -> None:
    await rules(emulator, {"then": {"cancel": "stays_pending"}, "times": 1}, {"then": FAILS})
    payment = await emulator.create()
    assert (await act(emulator, payment, "cancel"))["status"] == "pending"
    failed = await act(emulator, payment, "cancel")
    assert failed == {**payment, "status": "failed"}
    shown = await detail(emulator, payment)
    assert changes(shown) == [("failed", FAILED, None, "user_cancelled")]
    assert shown["timeline"][-1]["text"] == "the customer cancelled on the page"
    assert [each["event"] for each in shown["actions"]] == [None, shown["timeline"][-1]["id"]]
    assert await types(emulator) == [CREATED, FAILED]


async def test_an_approved_payment_completes_after_the_delay(emulator: World) -> None:
    await rules(emulator, {"then": EARLY})
    payment = await emulator.create()
    await emulator.pay(payment, ASKED)
    await emulator.advance(29)
    assert (await act(emulator, payment, "answer", answer="approve"))["status"] == "processing"
    path = f"/payments/{payment['id']}/answer"
    assert (await emulator.control("POST", path, {"answer": "cancel"})).status_code == 409
    [scheduled] = (await detail(emulator, payment))["scheduled"]
    assert (scheduled["kind"], scheduled["at"][14:19]) == ("outcome", "01:09")
    effects = (await emulator.advance(100))["effects"]
    assert [effect["status"] for effect in effects] == ["completed"]
    completed = await emulator.retrieve(payment["id"])
    assert completed["completed_at"] == scheduled["at"]
    shown = await detail(emulator, payment)
    assert shown["timeline"][-1]["text"] == "the customer answered on the phone"


@pytest.mark.parametrize("after", ["0s", "5s"])
async def test_later_steps_move_with_a_completion_after_the_redirect(
    emulator: World, after: str
) -> None:
    steps = [{"after": after, "status": "completed"}, {"after": after, "status": "refunded"}]
    await rules(
        emulator, {"then": EARLY, "times": 1}, outcomes=[{"when": {"phone": ASKED}, "then": steps}]
    )
    payment, other = await emulator.create(), await emulator.create()
    assert (await emulator.pay(payment, ASKED))["status"] == "processing"
    effects = (await emulator.advance(60))["effects"]
    seconds = 40 + int(after[0])
    expected = [(f"{seconds}", "completed"), (f"{seconds}", "refunded")]
    assert [(effect["at"][17:19], effect["status"]) for effect in effects] == expected
    assert (await emulator.pay(other, COMPLETES))["status"] == "completed"


async def test_attempts_survive_a_snapshot(emulator: World) -> None:
    await rules(emulator, {"then": {"attempts": 2}, "times": 1})
    payment = await emulator.create()
    await emulator.pay(payment, NO_BALANCE)
    await emulator.done("PUT", "/snapshots/again")
    for _ in range(2):
        assert (await emulator.pay(payment, NO_BALANCE))["status"] == "failed"
        await emulator.done("POST", "/snapshots/again/restore")
    assert len((await detail(emulator, payment))["timeline"]) == 3


async def test_an_idempotent_create_returns_the_first_body_after_attempts(emulator: World) -> None:
    await rules(emulator, {"then": AGAIN})
    payment = await emulator.create(idempotency_key="k")
    await emulator.pay(payment, NO_BALANCE)
    assert await emulator.create(idempotency_key="k") == payment
