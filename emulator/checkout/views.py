"""Which page a customer gets: decided by the payment as it is, and by how they came here."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from emulator.domain.banks import BANKS
from emulator.domain.instants import Instant
from emulator.domain.payment import BANK_TRANSFER, PHONE_METHODS, Payment, Reason, Status
from emulator.domain.phones import mask_phone, normalise_phone
from emulator.domain.timers import TimerKind
from emulator.engine.checkouts import Checkout
from emulator.engine.customer import Answer

WAITING_REFRESH_S = 2
# A page with buttons is left alone for longer: a reload takes the keyboard's focus away.
BANK_REFRESH_S = 5

BANK_ANSWERS = {
    Answer.APPROVE: "approve",
    Answer.INSUFFICIENT_BALANCE: "insufficient_answer",
    Answer.DECLINE: "decline",
    Answer.CANCEL: "cancel",
}

_SENTENCE_OF_REASON = {
    Reason.INSUFFICIENT_BALANCE: "insufficient",
    Reason.USER_CANCELLED: "user_cancelled",
    Reason.TIMEOUT: "timed_out",
    Reason.WRONG_PIN: "wrong_pin",
    Reason.BANK_DECLINED: "declined",
    Reason.LIMIT_EXCEEDED: "limit_exceeded",
    Reason.PROVIDER_ERROR: "provider_error",
}


_PHONE_INVALID = "phone_invalid"
_PREFIX_OF_METHOD = {"telebirr": "phone_need_09", "mpesa": "phone_need_07"}
_LONGEST_TYPED = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A page to be rendered: its template, and keys of the catalogue as heading and sentence.

    `leaf` and `query` are the address below `/c/{token}` under which a GET shows the same page,
    and None where there is no such.
    """

    page: str
    heading: str
    status: int = 200
    leaf: str | None = ""
    query: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongPhone:
    """A refused phone number, as the address of the form tells it: why (a key), what was typed."""

    problem: str
    typed: str

    @property
    def query(self) -> dict[str, str]:
        return {"problem": self.problem, "typed": self.typed}


def opened(checkout: Checkout, *, asked: Mapping[str, str]) -> View:
    """The page of `/c/{token}`: it tells the present state, and never leaves by itself.

    `asked` is the query: which method's form, and what was wrong with it when it was sent.
    """
    payment = checkout.payment
    if payment.status is Status.PENDING:
        return _offer(payment, asked)
    if payment.status is Status.PROCESSING:
        return _in_progress(checkout)
    return _ended(payment)


def followed(checkout: Checkout) -> View | None:
    """The page of a customer who has submitted: it leaves when all is done.

    None while nothing was submitted.
    """
    payment = checkout.payment
    if payment.status is Status.PENDING:
        return None
    if payment.status is Status.PROCESSING:
        return _in_progress(checkout)
    if payment.status is Status.COMPLETED:
        return _leaving("success", payment.terms.success_url, is_paid=True)
    if payment.reason is Reason.USER_CANCELLED:
        return leaving_cancelled(payment)
    return _ended(payment)


def leaving_cancelled(payment: Payment) -> View:
    """The page that takes a customer who has cancelled back to the merchant."""
    return _leaving("cancelled", payment.terms.cancel_url, is_paid=False)


def wrong_phone(phone: str, method: str) -> WrongPhone:
    """What is wrong with a phone number that a method does not take."""
    try:
        normalise_phone(phone)
    except ValueError:
        problem = _PHONE_INVALID
    else:
        problem = _PREFIX_OF_METHOD[method]
    return WrongPhone(problem=problem, typed=phone[:_LONGEST_TYPED])


def problem(heading: str, sentence: str | None, *, status: int, token: str | None = None) -> View:
    """A page that says why something was not done; `token` is the checkout to go back to."""
    return View(
        page="problem",
        heading=heading,
        status=status,
        leaf=None,
        values={"sentence": sentence, "token": token},
    )


def _has_others(payment: Payment) -> bool:
    return len(payment.methods) > 1


def _offer(payment: Payment, asked: Mapping[str, str]) -> View:
    method = asked.get("method") if _has_others(payment) else payment.methods[0]
    if method in payment.methods:
        return _method_form(payment, method, asked)
    return View(page="choose", heading="pay_to", values={"methods": payment.methods})


def _method_form(payment: Payment, method: str, asked: Mapping[str, str]) -> View:
    if method == BANK_TRANSFER:
        return View(
            page="bank-choice",
            heading="choose_bank",
            query={"method": method},
            values={"method": method, "banks": BANKS, "has_others": _has_others(payment)},
        )
    wrong = _told_wrong(method, asked)
    return View(
        page="method-form",
        heading="pay_to",
        query={"method": method, **(wrong.query if wrong else {})},
        values={
            "method": method,
            "takes_phone": method in PHONE_METHODS,
            "has_others": _has_others(payment),
            "typed": wrong.typed if wrong else "",
            "problem": wrong.problem if wrong else None,
        },
    )


def _told_wrong(method: str, asked: Mapping[str, str]) -> WrongPhone | None:
    problem = asked.get("problem", "")
    # Anybody can write an address: only what we would say of this method is shown.
    if method not in PHONE_METHODS or problem not in (_PHONE_INVALID, _PREFIX_OF_METHOD[method]):
        return None
    return WrongPhone(problem=problem, typed=asked.get("typed", "")[:_LONGEST_TYPED])


def _in_progress(checkout: Checkout) -> View:
    payment = checkout.payment
    is_asked = any(timer.kind is TimerKind.HANDSET_TIMEOUT for timer in checkout.scheduled)
    if payment.method == BANK_TRANSFER and is_asked:
        return View(
            page="bank",
            heading="bank_page",
            leaf="wait",
            values={
                "refresh_s": BANK_REFRESH_S,
                "bank_name": None if payment.bank is None else BANKS[payment.bank],
                "answers": BANK_ANSWERS,
            },
        )
    is_on_phone = payment.method in PHONE_METHODS
    return View(
        page="waiting",
        heading="check_phone" if is_on_phone else "processing",
        leaf="wait",
        values={
            "refresh_s": WAITING_REFRESH_S,
            "is_on_phone": is_on_phone,
            "masked_phone": None if payment.phone is None else mask_phone(payment.phone),
            "time_left": _time_left(checkout),
        },
    )


def _time_left(checkout: Checkout) -> str | None:
    """How long the customer has to answer, as `0:30`; None where nobody counts."""
    due = [timer.due_at for timer in checkout.scheduled if timer.change.reason is Reason.TIMEOUT]
    return _minutes(due[0] - checkout.now) if due else None


def _minutes(duration_ms: Instant) -> str:
    minutes, seconds = divmod(max(0, -(-duration_ms // 1000)), 60)
    return f"{minutes}:{seconds:02}"


def _leaving(heading: str, destination: str, *, is_paid: bool) -> View:
    return View(
        page="leaving",
        heading=heading,
        leaf=None,
        values={"destination": destination, "is_paid": is_paid},
    )


def _ended(payment: Payment) -> View:
    terms = payment.terms
    if payment.status is Status.COMPLETED:
        return _result("already_paid", back=terms.success_url)
    if payment.status is Status.REFUNDED:
        return _result("refunded", back=terms.success_url)
    if payment.status is Status.EXPIRED:
        return _result("expired", "expired_body", back=terms.cancel_url, status=410)
    if payment.reason is Reason.USER_CANCELLED and payment.method not in PHONE_METHODS:
        return _result("cancelled", back=terms.cancel_url)
    sentence = _SENTENCE_OF_REASON[payment.reason or Reason.PROVIDER_ERROR]
    return _result("not_completed", sentence, back=terms.cancel_url)


def _result(heading: str, sentence: str | None = None, *, back: str, status: int = 200) -> View:
    return View(
        page="result",
        heading=heading,
        status=status,
        values={"sentence": sentence, "back": back},
    )
