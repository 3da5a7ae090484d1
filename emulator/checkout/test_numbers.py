"""The test numbers beside a phone form: how each is written, and what it is said to do."""

from dataclasses import dataclass

from emulator.domain.outcomes import Handset, Outcome
from emulator.domain.payment import DEFAULT_REASON, Reason, Status
from emulator.domain.payment_methods import local_phone
from emulator.engine.payments.checkouts import TestNumber

_LABEL_OF_REASON = {
    Reason.INSUFFICIENT_BALANCE: "insufficient_answer",
    Reason.USER_CANCELLED: "number_cancels",
    Reason.TIMEOUT: "number_times_out",
    Reason.WRONG_PIN: "wrong_pin_answer",
    Reason.BANK_DECLINED: "number_declined",
    Reason.LIMIT_EXCEEDED: "number_over_limit",
    Reason.PROVIDER_ERROR: "number_unavailable",
}
_LABEL_OF_STATUS = {
    Status.COMPLETED: "number_completes",
    Status.REFUNDED: "number_refunded",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedNumber:
    """A number to fill in: `0900000001`, told as `0900 000 001`; where it leads (a key), and when.

    `after` is the business time from the submit on, as `0:30`; None when it is at once.
    """

    phone: str
    written: str
    label: str
    after: str | None


def offered(number: TestNumber) -> OfferedNumber:
    """What the page says of a number that a scenario names."""
    phone = local_phone(number.phone)
    steps = () if isinstance(number.outcome, Handset) else number.outcome.steps
    after_ms = steps[-1].after_ms if steps else 0
    return OfferedNumber(
        phone=phone,
        written=f"{phone[:4]} {phone[4:7]} {phone[7:]}",
        label=_label(number.outcome),
        after=minutes(after_ms) if after_ms else None,
    )


def minutes(duration_ms: int) -> str:
    """A length of time as `0:30`: begun seconds count."""
    whole_minutes, seconds = divmod(max(0, -(-duration_ms // 1000)), 60)
    return f"{whole_minutes}:{seconds:02}"


def _label(outcome: Outcome) -> str:
    if isinstance(outcome, Handset):
        return "number_asks"
    if not outcome.steps:
        return "number_stays"
    last = outcome.steps[-1]
    if last.status is Status.FAILED:
        return _LABEL_OF_REASON[last.reason or DEFAULT_REASON]
    return _LABEL_OF_STATUS[last.status]
