"""`payments_account`: its operations and its lists."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from http.client import RemoteDisconnected
from pathlib import Path
from typing import Any

import pytest
from etb_payments_emulator_pytest import PaymentsAccount, PaymentsEmulator, PaymentsEmulatorError

from emulator.pytest_plugin.account import failure_report
from tests.pytest_plugin.merchant import create, request, retrieve
from tests.pytest_plugin.runs import PAYMENT_STAYS
from tests.tables import rows
from tests.world import START, order

START_TIME = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_new_account_is_empty_and_its_clock_is_frozen(account: PaymentsAccount) -> None:
    assert request(account, "GET", "/v1/payments").json["data"] == []
    assert account.payments == []
    assert account.events == []
    assert account.webhooks == []
    assert account.deliveries == []
    assert account.now == START_TIME
    assert account.control("GET", "/clock")["frozen"] is True
    assert account.live_key.startswith("live_")


@pytest.mark.parametrize("turn", [1, 2])
def test_every_test_has_its_own_account(account: PaymentsAccount, turn: int) -> None:
    create(account)
    assert len(request(account, "GET", "/v1/payments").json["data"]) == 1, turn


def test_an_account_is_deleted_after_its_test(payments_emulator: PaymentsEmulator) -> None:
    with payments_emulator.account() as account:
        assert request(account, "GET", "/v1/payments").status == 200
    assert request(account, "GET", "/v1/payments").status == 401
    with payments_emulator.account() as account:
        account.control("DELETE", f"/accounts/{account.id}")


def test_an_account_with_a_name_has_the_same_ids_in_every_run(
    payments_emulator: PaymentsEmulator,
) -> None:
    def values() -> list[Any]:
        with payments_emulator.account("of this test") as account:
            endpoint = account.deliver_to("http://127.0.0.1:9/hook", events=["payment.refunded"])
            create(account)
            return [account.test_key, account.live_key, endpoint, account.events[0]["id"]]

    assert values() == values()


@pytest.mark.parametrize("name", ["taken", "another"])
def test_accounts_with_the_same_and_with_different_names_have_nothing_in_common(
    payments_emulator: PaymentsEmulator, name: str
) -> None:
    with payments_emulator.account("taken") as one, payments_emulator.account(name) as two:
        values = {one.id, one.test_key, one.webhook_secret}
        assert values.isdisjoint({two.id, two.test_key, two.webhook_secret})
        create(two)
        assert (len(two.events), one.events) == (1, [])
        assert create(one) not in {payment["id"] for payment in two.payments}


def test_an_account_can_have_another_clock(payments_emulator: PaymentsEmulator) -> None:
    with payments_emulator.account(clock="frozen@2027-03-04T05:06:07Z") as account:
        assert account.now == datetime(2027, 3, 4, 5, 6, 7, tzinfo=UTC)
    with payments_emulator.account(clock="real") as account:
        assert account.control("GET", "/clock")["frozen"] is False


@pytest.mark.parametrize(
    ("target", "seconds"),
    [
        ({"by": "30s"}, 30),
        ({"by": "1.5h"}, 5_400),
        ({"by": "250ms"}, 0.25),
        ({"by": 90}, 90),
        ({"by": 0.005}, 0.005),
        ({"by": timedelta(minutes=2)}, 120),
        ({"until": "2026-01-01T00:10:00Z"}, 600),
        ({"until": START_TIME + timedelta(minutes=10)}, 600),
    ],
)
def test_time_passes_by_a_duration_or_until_an_instant(
    account: PaymentsAccount, target: dict[str, Any], seconds: float
) -> None:
    assert account.advance(**target) == []
    assert account.now == START_TIME + timedelta(seconds=seconds)


def test_an_advance_returns_its_effects(account: PaymentsAccount) -> None:
    payment_id = create(account)
    [effect] = account.advance("30m")
    assert effect["type"] == "payment.expired"
    assert effect["payment"] == payment_id


def test_next_is_the_next_change_of_a_payment(account: PaymentsAccount) -> None:
    payment_id = create(account)
    account.pay(payment_id, phone="0900000003")
    [effect] = account.advance("next")
    assert (effect["type"], effect["reason"]) == ("payment.failed", "timeout")
    assert account.now == START_TIME + timedelta(seconds=30)
    assert account.advance("next") == []


WRONG: Any = {"id": "pay_1"}
NO_DURATION = "is not a number and one of ms, s, m, h, d"
ONE_TARGET = "either a duration or until="


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda account: account.advance("thirty seconds"), ValueError, NO_DURATION),
        (lambda account: account.advance("30"), ValueError, "write 30s"),
        (lambda account: account.advance("1.5 Minutes"), ValueError, "write 90s"),
        (lambda account: account.advance("-1s"), ValueError, NO_DURATION),
        (lambda account: account.advance(), TypeError, ONE_TARGET),
        (lambda account: account.advance("1s", until=START), TypeError, ONE_TARGET),
        (lambda account: account.advance("next", until=START), TypeError, ONE_TARGET),
        (lambda account: account.pay(WRONG), TypeError, "expected the id of a payment"),
        (lambda account: account.use_scenario(WRONG), TypeError, "an object with a name"),
        (lambda account: account.control("GET", "clock"), ValueError, "a path such as /clock"),
    ],
)
def test_wrong_arguments_are_refused_before_any_call(
    account: PaymentsAccount,
    call: Callable[[PaymentsAccount], object],
    error: type[Exception],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        call(account)


@pytest.mark.parametrize(("phone", "status", "reason", "method"), rows(__file__, "phones"))
def test_a_customer_pays_by_phone(
    account: PaymentsAccount, phone: str | None, status: str, reason: str | None, method: str
) -> None:
    payment_id = create(account)
    paid = account.pay(payment_id, phone=phone)
    assert paid == retrieve(account, payment_id)
    assert (paid["status"], paid["method"]) == (status, method)
    assert account.history(payment_id)["reason"] == reason


@pytest.mark.parametrize(("submitted", "method", "status"), rows(__file__, "methods"))
def test_the_emulator_chooses_a_phone_or_a_bank_that_pays(
    account: PaymentsAccount, submitted: dict[str, str], method: str, status: str
) -> None:
    paid = account.pay(create(account, methods=["mpesa", "telebirr", "bank_transfer"]), **submitted)
    assert (paid["method"], paid["status"]) == (method, status)


def test_a_customer_pays_at_a_bank(account: PaymentsAccount) -> None:
    payment_id = create(account)
    assert account.pay(payment_id, bank="walia_test")["method"] == "bank_transfer"
    assert account.answer(payment_id, "approve")["status"] == "completed"


@pytest.mark.parametrize(("submitted", "refusal"), rows(__file__, "contradictions"))
def test_contradictory_arguments_are_refused_by_the_emulator(
    account: PaymentsAccount, submitted: dict[str, Any], refusal: str
) -> None:
    payment_id = create(account)
    with pytest.raises(PaymentsEmulatorError) as refused:
        account.pay(payment_id, **submitted)
    assert str(refused.value).startswith(refusal)
    assert account.payment(payment_id)["status"] == "pending"


def test_a_status_can_be_set(account: PaymentsAccount) -> None:
    first, second = create(account), create(account)
    for payment_id, change, status in (
        (first, account.cancel, "pending"),
        (first, partial(account.transition, status="expired"), "expired"),
        (second, partial(account.transition, status="processing", method="mpesa"), "processing"),
        (second, partial(account.transition, status="completed"), "completed"),
        (second, account.refund, "refunded"),
    ):
        assert change(payment_id)["status"] == account.payment(payment_id)["status"] == status


def test_reading_a_payment_is_not_a_request_of_the_merchant(account: PaymentsAccount) -> None:
    payment_id = create(account)
    assert account.payment(payment_id) == retrieve(account, payment_id)
    journal = [(entry["method"], entry["path"], entry["status"]) for entry in account.requests]
    assert journal == [("POST", "/v1/payments", 201), ("GET", f"/v1/payments/{payment_id}", 200)]


def test_payments_are_listed_in_order_and_in_their_present_state(account: PaymentsAccount) -> None:
    first, second = create(account), create(account, metadata={"order": "2"})
    account.pay(first)
    listed = account.payments
    assert listed == [retrieve(account, payment_id) for payment_id in (first, second)]
    assert [payment["status"] for payment in listed] == ["completed", "pending"]


@pytest.mark.parametrize(("fault", "statuses"), rows(__file__, "faults"))
def test_a_fault_applies_once_or_to_all_requests_that_it_selects(
    account: PaymentsAccount, fault: dict[str, Any], statuses: list[int]
) -> None:
    account.fault(**fault)
    found = [request(account, "GET", "/v1/payments").status for _ in statuses]
    assert found == statuses


def test_a_response_can_be_lost_after_the_payment_is_created(account: PaymentsAccount) -> None:
    account.fault("create_payment", drop=True, point="after_commit")
    with pytest.raises(RemoteDisconnected):
        request(account, "POST", "/v1/payments", order())
    assert [event["type"] for event in account.events] == ["payment.created"]
    [request_] = account.requests
    assert request_["fault"]["instead_of"] == 201


def test_the_request_of_a_fault_is_given_once(account: PaymentsAccount) -> None:
    account.fault(when={"request": "list_payments"}, status=500)
    with pytest.raises(TypeError, match="either by its name or in when="):
        account.fault("create_payment", when={"request": "list_payments"}, status=500)
    [rule] = account.control("GET", "/faults")["data"]
    assert rule["when"] == {"request": "list_payments"}


def test_a_scenario_is_a_name_a_file_or_an_object(account: PaymentsAccount, tmp_path: Path) -> None:
    assert account.use_scenario("refund")["enabled"] is True
    file = tmp_path / "stays-in-processing.yaml"
    file.write_text(PAYMENT_STAYS)
    assert account.use_scenario(file)["origin"] == "control"
    assert account.pay(create(account))["status"] == "processing"
    rule = {"when": {}, "then": [{"status": "failed", "reason": "limit_exceeded"}]}
    account.use_scenario({"name": "too-much", "outcomes": [rule]})
    assert account.pay(create(account))["status"] == "failed"


def test_a_wrong_scenario_is_refused_with_its_line(
    account: PaymentsAccount, tmp_path: Path
) -> None:
    file = tmp_path / "stays-in-processing.yaml"
    file.write_text(PAYMENT_STAYS.replace("then", "than"))
    with pytest.raises(PaymentsEmulatorError, match=r"invalid_scenario: .*line 6"):
        account.use_scenario(file)


def test_a_refusal_has_the_message_of_the_control_api(account: PaymentsAccount) -> None:
    with pytest.raises(PaymentsEmulatorError) as refused:
        account.pay("pay_unknown")
    assert str(refused.value).startswith("payment_not_found: ")
    assert (refused.value.status, refused.value.code) == (404, "payment_not_found")
    with pytest.raises(PaymentsEmulatorError) as refused:
        account.pay(create(account), phone="1")
    assert (refused.value.status, refused.value.param) == (400, "phone")
    with pytest.raises(PaymentsEmulatorError, match="Did you mean 'duplicate-webhooks'"):
        account.use_scenario("duplicate-webhook")


def test_a_reset_restores_the_account_and_keeps_receiving_webhooks(
    account: PaymentsAccount,
) -> None:
    account.advance("1h")
    account.fault(status=500)
    account.reset()
    assert account.now == START_TIME
    assert account.webhooks == []
    create(account)
    assert [webhook.is_verified for webhook in account.webhooks] == [True]


def test_a_failed_payment_is_reported_with_its_reason(account: PaymentsAccount) -> None:
    account.pay(create(account), phone="0900000002")
    assert failure_report(account).splitlines()[-1].endswith(", insufficient_balance")


def test_the_report_of_a_failed_test_names_the_variants(
    payments_emulator: PaymentsEmulator,
) -> None:
    with payments_emulator.account(vary="charset,long-ids") as account:
        create(account)
        assert "POST /v1/payments  201  (variants: charset, long-ids)" in failure_report(account)


def test_the_checklist_ignores_the_webhooks_of_the_test(account: PaymentsAccount) -> None:
    create(account)
    results = {item["id"]: item["result"] for item in account.checklist()}
    assert results["create-idempotent"] == "failed"
    assert results["webhook-acknowledged"] == "not_exercised"
