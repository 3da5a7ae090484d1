"""The status transitions of a payment (contract, section 3)."""

from itertools import permutations, product

import pytest

from emulator.domain.errors import IllegalTransition, InvalidField
from emulator.domain.payment import Reason, Status
from emulator.domain.transitions import Change, decide
from tests.domain.sample_payments import sample_payment
from tests.world import START_MS

ORDINARY = {
    *(("pending", "processing"), ("pending", "expired"), ("processing", "completed")),
    *(("processing", "failed"), ("completed", "refunded")),
}
UNUSUAL = {pair for pair in permutations(map(str, Status), 2) if pair not in ORDINARY}
LATER = START_MS + 5_000


@pytest.mark.clause("3.1", "3.2")
@pytest.mark.parametrize("unusual", [False, True])
@pytest.mark.parametrize(("before", "after"), list(product(Status, Status)))
def test_unusual_transitions_are_permitted_only_on_request(
    before: Status, after: Status, unusual: bool
) -> None:
    """The unusual ones are all others between two different statuses."""
    change = Change(to=after, unusual=unusual)
    if before is not after and (unusual or (before, after) in ORDINARY):
        assert decide(sample_payment(before), change, now=LATER).status is after
        return
    with pytest.raises(IllegalTransition) as refusal:
        decide(sample_payment(before), change, now=LATER)
    assert refusal.value.param == "status"


def test_a_change_keeps_the_terms() -> None:
    before = sample_payment(Status.PROCESSING, method="mpesa")
    after = decide(before, Change(to=Status.COMPLETED), now=LATER)
    assert after == before._replace(status=Status.COMPLETED, completed_at=LATER)


class TestMethod:
    """2.1: null until the customer selects one."""

    @pytest.mark.parametrize(
        ("chosen", "taken"), [("telebirr", "telebirr"), ("mpesa", "mpesa"), (None, "mpesa")]
    )
    def test_the_submit_sets_the_method(self, chosen: str | None, taken: str) -> None:
        change = Change(to=Status.PROCESSING, method=chosen)
        assert decide(sample_payment(), change, now=LATER).method == taken

    @pytest.mark.parametrize("method", ["bank_transfer", "", "Telebirr"])
    def test_a_method_that_is_not_offered_is_refused(self, method: str) -> None:
        with pytest.raises(InvalidField) as refusal:
            decide(sample_payment(), Change(to=Status.PROCESSING, method=method), now=LATER)
        assert refusal.value.param == "method"

    @pytest.mark.clause("2.1.6")
    def test_a_method_does_not_change(self) -> None:
        before = sample_payment(Status.PROCESSING, method="telebirr")
        for status in (Status.COMPLETED, Status.FAILED):
            assert decide(before, Change(to=status), now=LATER).method == "telebirr"
            same = Change(to=status, method="telebirr")
            assert decide(before, same, now=LATER).method == "telebirr"
            with pytest.raises(InvalidField):
                decide(before, Change(to=status, method="mpesa"), now=LATER)

    def test_an_expired_payment_has_no_method_until_a_late_success(self) -> None:
        expired = decide(sample_payment(), Change(to=Status.EXPIRED), now=LATER)
        assert expired.method is None
        with pytest.raises(InvalidField):
            decide(sample_payment(), Change(to=Status.EXPIRED, method="mpesa"), now=LATER)
        late = decide(expired, Change(to=Status.COMPLETED, unusual=True), now=LATER)
        assert late.method == "mpesa"


@pytest.mark.parametrize("reason", [None, *Reason])
def test_a_failure_has_a_reason(reason: Reason | None) -> None:
    before = sample_payment(Status.PROCESSING, method="mpesa")
    after = decide(before, Change(to=Status.FAILED, reason=reason), now=LATER)
    assert after.reason is (reason or Reason.PROVIDER_ERROR)


@pytest.mark.parametrize(
    ("before", "after"), sorted(pair for pair in ORDINARY | UNUSUAL if pair[1] != "failed")
)
def test_no_other_status_accepts_a_reason(before: str, after: str) -> None:
    change = Change(to=Status(after), reason=Reason.TIMEOUT, unusual=True)
    with pytest.raises(InvalidField) as refusal:
        decide(sample_payment(Status(before)), change, now=LATER)
    assert refusal.value.param == "reason"


def test_a_late_success_removes_the_reason() -> None:
    before = sample_payment(Status.FAILED, method="mpesa", reason=Reason.TIMEOUT)
    after = decide(before, Change(to=Status.COMPLETED, unusual=True), now=LATER)
    assert (after.reason, after.completed_at) == (None, LATER)


@pytest.mark.clause("2.1.14")
@pytest.mark.parametrize(("before", "after"), sorted(ORDINARY | UNUSUAL))
def test_only_success_sets_completed_at(before: str, after: str) -> None:
    completed_at = START_MS if before == "completed" else None
    change = Change(to=Status(after), unusual=True)
    decided = decide(sample_payment(Status(before), completed_at=completed_at), change, now=LATER)
    assert decided.completed_at == (LATER if after == "completed" else completed_at)
    confirmed = sample_payment(Status(before), completed_at=START_MS)
    assert decide(confirmed, change, now=LATER).completed_at == START_MS


def test_a_change_keeps_the_payer() -> None:
    submit = Change(to=Status.PROCESSING, method="mpesa", phone="+251700000001")
    submitted = decide(sample_payment(), submit, now=LATER)
    assert (submitted.phone, submitted.bank) == ("+251700000001", None)
    assert decide(submitted, Change(to=Status.FAILED), now=LATER).phone == "+251700000001"
