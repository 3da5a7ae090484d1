"""`payments_account`: its operations and its lists."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from http.client import RemoteDisconnected
from pathlib import Path
from typing import Any

import pytest
from etb_payments_emulator_pytest import (
    PaymentsAccount,
    PaymentsEmulator,
    PaymentsEmulatorError,
)

from emulator.pytest_plugin.failure_report import failure_report
from tests.pytest_plugin.merchant import create, request, retrieve
from tests.world import START, order

START_TIME = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_new_account_is_empty_and_its_clock_is_frozen(payments_account: PaymentsAccount) -> None:
    assert request(payments_account, "GET", "/v1/payments").json["data"] == []
    assert payments_account.payments == []
    assert payments_account.events == []
    assert payments_account.webhooks == []
    assert payments_account.deliveries == []
    assert payments_account.now == START_TIME
    assert payments_account.control("GET", "/clock")["frozen"] is True
    assert payments_account.live_key.startswith("live_")


@pytest.mark.parametrize("turn", [1, 2])
def test_every_test_has_its_own_account(payments_account: PaymentsAccount, turn: int) -> None:
    create(payments_account)
    assert len(request(payments_account, "GET", "/v1/payments").json["data"]) == 1, turn


def test_an_account_is_deleted_after_its_test(payments_emulator: PaymentsEmulator) -> None:
    with payments_emulator.account() as account:
        assert request(account, "GET", "/v1/payments").status == 200
    assert request(account, "GET", "/v1/payments").status == 401


def test_an_account_with_a_name_has_the_same_ids_in_every_run(
    payments_emulator: PaymentsEmulator,
) -> None:
    def values() -> list[Any]:
        with payments_emulator.account("of this test") as account:
            endpoint = account.deliver_to("http://127.0.0.1:9/hook", events=["payment.refunded"])
            create(account)
            return [account.test_key, account.live_key, endpoint, account.events[0]["id"]]

    assert values() == values()


def test_accounts_with_different_names_have_nothing_in_common(
    payments_emulator: PaymentsEmulator,
) -> None:
    with payments_emulator.account("one") as one, payments_emulator.account("two") as two:
        assert create(one) != create(two)
        assert {one.id, one.test_key, one.webhook_secret}.isdisjoint(
            {two.id, two.test_key, two.webhook_secret}
        )


def test_an_account_with_the_name_of_another_run_has_another_key(
    payments_emulator: PaymentsEmulator,
) -> None:
    with payments_emulator.account("taken") as one, payments_emulator.account("taken") as two:
        assert one.test_key != two.test_key
        create(two)
        assert len(two.events) == 1
        assert one.events == []


def test_an_account_can_have_another_clock(payments_emulator: PaymentsEmulator) -> None:
    with payments_emulator.account(clock="frozen@2027-03-04T05:06:07Z") as account:
        assert account.now == datetime(2027, 3, 4, 5, 6, 7, tzinfo=UTC)
    with payments_emulator.account(clock="real") as account:
        assert account.control("GET", "/clock")["frozen"] is False


def test_a_test_can_delete_its_account(
    payments_emulator: PaymentsEmulator,
) -> None:
    with payments_emulator.account() as account:
        account.control("DELETE", f"/accounts/{account.id}")


@pytest.mark.parametrize(
    ("by", "seconds"),
    [
        ("30s", 30),
        ("1.5h", 5_400),
        ("250ms", 0.25),
        (90, 90),
        (0.005, 0.005),
        (timedelta(minutes=2), 120),
    ],
)
def test_time_passes_by_any_duration(
    payments_account: PaymentsAccount, by: str | float | timedelta, seconds: float
) -> None:
    payments_account.advance(by)
    assert payments_account.now == START_TIME + timedelta(seconds=seconds)


@pytest.mark.parametrize("until", ["2026-01-01T00:10:00Z", START_TIME + timedelta(minutes=10)])
def test_time_passes_until_an_instant(
    payments_account: PaymentsAccount, until: str | datetime
) -> None:
    assert payments_account.advance(until=until) == []
    assert payments_account.now == START_TIME + timedelta(minutes=10)


def test_an_advance_returns_its_effects(payments_account: PaymentsAccount) -> None:
    payment_id = create(payments_account)
    [effect] = payments_account.advance("30m")
    assert effect["type"] == "payment.expired"
    assert effect["payment"] == payment_id


def test_next_is_the_next_change_of_a_payment(
    payments_account: PaymentsAccount,
) -> None:
    payment_id = create(payments_account)
    payments_account.pay(payment_id, phone="0900000003")
    [effect] = payments_account.advance("next")
    assert (effect["type"], effect["reason"]) == ("payment.failed", "timeout")
    assert payments_account.now == START_TIME + timedelta(seconds=30)
    assert payments_account.advance("next") == []


@pytest.mark.parametrize("wrong", ["thirty seconds", "30", "-1s"])
def test_a_text_that_is_not_a_duration_is_refused(
    payments_account: PaymentsAccount, wrong: str
) -> None:
    with pytest.raises(ValueError, match="is not a number and one of ms, s, m, h, d"):
        payments_account.advance(wrong)


def test_an_advance_takes_one_argument(payments_account: PaymentsAccount) -> None:
    for arguments in ({}, {"by": "1s", "until": START}, {"by": "next", "until": START}):
        with pytest.raises(TypeError, match="either a duration or until="):
            payments_account.advance(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("phone", "status", "reason", "method"),
    [
        ("0900000001", "completed", None, "telebirr"),
        ("+251 900 000 002", "failed", "insufficient_balance", "telebirr"),
        ("0700000004", "failed", "user_cancelled", "mpesa"),
    ],
)
def test_a_customer_pays_by_phone(
    payments_account: PaymentsAccount, phone: str, status: str, reason: str | None, method: str
) -> None:
    payment_id = create(payments_account)
    paid = payments_account.pay(payment_id, phone=phone)
    assert paid == retrieve(payments_account, payment_id)
    assert (paid["status"], paid["method"]) == (status, method)
    assert payments_account.history(payment_id)["reason"] == reason


def test_the_default_phone_pays(payments_account: PaymentsAccount) -> None:
    assert payments_account.pay(create(payments_account))["status"] == "completed"


def test_a_customer_pays_at_a_bank(payments_account: PaymentsAccount) -> None:
    payment_id = create(payments_account)
    assert payments_account.pay(payment_id, bank="walia_test")["method"] == "bank_transfer"
    assert payments_account.answer(payment_id, "approve")["status"] == "completed"


def test_a_method_can_be_named(payments_account: PaymentsAccount) -> None:
    with pytest.raises(PaymentsEmulatorError, match="invalid_phone") as refused:
        payments_account.pay(create(payments_account), phone="0900000001", method="mpesa")
    assert (refused.value.status, refused.value.param) == (400, "phone")


@pytest.mark.parametrize(
    ("submitted", "refusal"),
    [
        (
            {"phone": "0900000001", "bank": "walia_test"},
            'invalid_bank: telebirr takes a phone, not a bank (got "walia_test").',
        ),
        (
            {"phone": "0700000001", "bank": "walia_test"},
            'invalid_bank: mpesa takes a phone, not a bank (got "walia_test").',
        ),
        (
            {"phone": "0900000001", "bank": "walia_test", "method": "bank_transfer"},
            'invalid_phone: A bank transfer takes a bank, not a phone (got "0900000001").',
        ),
        ({"method": "bank_transfer"}, "missing_parameter: The parameter 'bank' is required."),
        ({"method": ""}, "invalid_method: "),
    ],
)
def test_contradictory_arguments_are_refused_by_the_emulator(
    payments_account: PaymentsAccount, submitted: dict[str, str], refusal: str
) -> None:
    payment_id = create(payments_account)
    with pytest.raises(PaymentsEmulatorError) as refused:
        payments_account.pay(payment_id, **submitted)
    assert str(refused.value).startswith(refusal)
    assert payments_account.payment(payment_id)["status"] == "pending"


@pytest.mark.parametrize(
    ("do", "status"),
    [
        (lambda account, payment_id: account.cancel(payment_id), "pending"),
        (lambda account, payment_id: account.transition(payment_id, "expired"), "expired"),
        (
            lambda account, payment_id: account.transition(
                payment_id, "processing", method="mpesa"
            ),
            "processing",
        ),
        (
            lambda account, payment_id: account.pay(payment_id) and account.refund(payment_id),
            "refunded",
        ),
    ],
    ids=["cancelled", "expired", "processing", "refunded"],
)
def test_a_status_can_be_set(
    payments_account: PaymentsAccount,
    do: Callable[[PaymentsAccount, str], dict[str, Any]],
    status: str,
) -> None:
    payment_id = create(payments_account)
    assert do(payments_account, payment_id)["status"] == status
    assert payments_account.payment(payment_id)["status"] == status


def test_reading_a_payment_is_not_a_request_of_the_merchant(
    payments_account: PaymentsAccount,
) -> None:
    payment_id = create(payments_account)
    assert payments_account.payment(payment_id) == retrieve(payments_account, payment_id)
    journal = [(one["method"], one["path"], one["status"]) for one in payments_account.requests]
    assert journal == [
        ("POST", "/v1/payments", 201),
        ("GET", f"/v1/payments/{payment_id}", 200),
    ]


def test_payments_are_listed_in_order_and_in_their_present_state(
    payments_account: PaymentsAccount,
) -> None:
    first, second = create(payments_account), create(payments_account, metadata={"order": "2"})
    payments_account.pay(first)
    listed = payments_account.payments
    assert listed == [retrieve(payments_account, payment_id) for payment_id in (first, second)]
    assert [payment["status"] for payment in listed] == ["completed", "pending"]


def test_a_fault_applies_once_by_default(payments_account: PaymentsAccount) -> None:
    payments_account.fault("list_payments", status=429, retry_after=7)
    statuses = [request(payments_account, "GET", "/v1/payments").status for _ in range(2)]
    assert statuses == [429, 200]
    payments_account.fault(status=500, times=None)
    statuses = [request(payments_account, "GET", "/v1/payments").status for _ in range(3)]
    assert statuses == [500, 500, 500]


def test_a_response_can_be_lost_after_the_payment_is_created(
    payments_account: PaymentsAccount,
) -> None:
    payments_account.fault("create_payment", drop=True, point="after_commit")
    with pytest.raises(RemoteDisconnected):
        request(payments_account, "POST", "/v1/payments", order())
    assert [event["type"] for event in payments_account.events] == ["payment.created"]
    [request_] = payments_account.requests
    assert request_["fault"]["instead_of"] == 201


def test_a_fault_can_count_requests(payments_account: PaymentsAccount) -> None:
    payments_account.fault("list_payments", when={"every": 2}, times=None, status=500)
    statuses = [request(payments_account, "GET", "/v1/payments").status for _ in range(4)]
    assert statuses == [200, 500, 200, 500]


def test_the_request_of_a_fault_is_given_once(payments_account: PaymentsAccount) -> None:
    payments_account.fault(when={"request": "list_payments"}, status=500)
    with pytest.raises(TypeError, match="either by its name or in when="):
        payments_account.fault("create_payment", when={"request": "list_payments"}, status=500)
    [rule] = payments_account.control("GET", "/faults")["data"]
    assert rule["when"] == {"request": "list_payments"}


NOBODY_ANSWERS = """\
version: 1
name: nobody-answers
description: Every payment stays in processing.
outcomes:
  - when: {}
    then: []
"""


def test_a_scenario_is_a_name_a_file_or_an_object(
    payments_account: PaymentsAccount, tmp_path: Path
) -> None:
    assert payments_account.use_scenario("refund")["enabled"] is True
    file = tmp_path / "nobody-answers.yaml"
    file.write_text(NOBODY_ANSWERS)
    assert payments_account.use_scenario(file)["origin"] == "control"
    assert payments_account.pay(create(payments_account))["status"] == "processing"
    rule = {"when": {}, "then": [{"status": "failed", "reason": "limit_exceeded"}]}
    payments_account.use_scenario({"name": "too-much", "outcomes": [rule]})
    assert payments_account.pay(create(payments_account))["status"] == "failed"


def test_a_wrong_scenario_is_refused_with_its_line(
    payments_account: PaymentsAccount, tmp_path: Path
) -> None:
    file = tmp_path / "nobody-answers.yaml"
    file.write_text(NOBODY_ANSWERS.replace("then", "than"))
    with pytest.raises(PaymentsEmulatorError, match=r"invalid_scenario: .*line 6"):
        payments_account.use_scenario(file)


def test_a_refusal_has_the_message_of_the_control_api(payments_account: PaymentsAccount) -> None:
    with pytest.raises(PaymentsEmulatorError) as refused:
        payments_account.pay("pay_unknown")
    assert str(refused.value).startswith("payment_not_found: ")
    assert (refused.value.status, refused.value.code) == (404, "payment_not_found")


def test_a_reset_restores_the_account_and_keeps_receiving_webhooks(
    payments_account: PaymentsAccount,
) -> None:
    payments_account.advance("1h")
    payments_account.fault(status=500)
    payments_account.reset()
    assert payments_account.now == START_TIME
    assert payments_account.webhooks == []
    create(payments_account)
    assert [webhook.is_verified for webhook in payments_account.webhooks] == [True]


def test_a_failed_payment_is_reported_with_its_reason(payments_account: PaymentsAccount) -> None:
    payments_account.pay(create(payments_account), phone="0900000002")
    assert failure_report(payments_account).splitlines()[-1].endswith(", insufficient_balance")


def test_wrong_arguments_are_refused_before_any_call(
    payments_account: PaymentsAccount,
) -> None:
    wrong: Any = {"id": "pay_1"}
    for call in (
        lambda: payments_account.pay(wrong),
        lambda: payments_account.use_scenario(wrong),
        payments_account.advance,
    ):
        with pytest.raises(TypeError, match=r"expected the id|object with a name|takes either"):
            call()
    with pytest.raises(ValueError, match="expected a path such as /clock"):
        payments_account.control("GET", "clock")
