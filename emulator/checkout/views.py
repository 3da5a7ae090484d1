"""Which page a customer gets: decided by the payment as it is, and by how they came here."""

from collections.abc import Hashable, Mapping
from enum import StrEnum
from types import MappingProxyType

import msgspec

from emulator.checkout.test_numbers import minutes
from emulator.domain.payment import DEFAULT_REASON, Payment, Reason, Status
from emulator.domain.payment_methods import (
    BANK_TRANSFER,
    BANKS,
    PHONE_METHODS,
    mask_phone,
    normalise_phone,
)
from emulator.domain.timers import is_asked
from emulator.engine.payments.checkouts import Checkout, TestNumber
from emulator.engine.payments.customer import PhoneAnswer

# How often a page looks again by itself where no script does.
WAITING_REFRESH_S = 1
# A page with buttons is left alone for longer: a reload takes the keyboard's focus away.
ANSWERING_REFRESH_S = 5

BANK_ANSWERS = {
    PhoneAnswer.APPROVE: "approve",
    PhoneAnswer.INSUFFICIENT_BALANCE: "insufficient_answer",
    PhoneAnswer.DECLINE: "decline",
    PhoneAnswer.CANCEL: "cancel",
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
_HINT_OF_METHOD = {"telebirr": "phone_hint_telebirr", "mpesa": "phone_hint_mpesa"}
_PREFIX_OF_METHOD = {"telebirr": "phone_need_09", "mpesa": "phone_need_07"}
_MAX_INPUT_CHARACTERS = 32
_NOTHING: Mapping[str, str] = MappingProxyType({})
_CLOSED_MENU = {"menu": "closed"}


class Screen(StrEnum):
    """What the simulated phone beside the page shows."""

    IDLE = "idle"
    ASKING = "asking"
    IGNORED = "ignored"
    SCRIPTED = "scripted"


class View(msgspec.Struct, frozen=True, kw_only=True):
    """A page to be rendered: its template, and the key of its heading in the catalogue.

    `leaf` and `query` are the address below `/c/{token}` under which a GET shows the same page,
    and None where there is no such. `values` decide what the page looks like; `texts` are filled
    in, and nothing depends on them. Where no script does, the page looks again by itself every
    `refresh_s`. Beside the page are the test `numbers` that its form can be filled in with, and
    the simulated phone; without a `handset` there is none.
    """

    page: str
    heading: str
    status: int = 200
    leaf: str | None = ""
    query: Mapping[str, str] = _NOTHING
    values: Mapping[str, Hashable] = _NOTHING
    texts: Mapping[str, str] = _NOTHING
    refresh_s: int | None = None
    numbers: tuple[TestNumber, ...] = ()
    handset: Screen | None = None


class WrongPhone(msgspec.Struct, frozen=True, kw_only=True):
    """A refused phone number, as the address of the form tells it: why (a key), what was typed."""

    problem: str
    typed: str

    @property
    def query(self) -> dict[str, str]:
        return {"problem": self.problem, "phone": self.typed}


def opened(
    checkout: Checkout, *, asked: Mapping[str, str], numbers: tuple[TestNumber, ...] = ()
) -> View:
    """The page of `/c/{token}`: it tells the present state, and never leaves by itself.

    `asked` is the query: which method's form, and what was wrong with it when it was sent;
    `numbers` are the test numbers that the form of that method offers.
    """
    payment = checkout.payment
    if payment.status is Status.PENDING:
        return _offer(payment, asked, numbers)
    if payment.status is Status.PROCESSING:
        return at_bank(checkout) or _waiting(checkout, asked)
    return _ended(payment)


def followed(checkout: Checkout, *, asked: Mapping[str, str]) -> View | None:
    """The page of a customer who has submitted: it leaves when all is done.

    None while nothing was submitted.
    """
    payment = checkout.payment
    if payment.status is Status.PENDING:
        return None
    if payment.status is Status.PROCESSING:
        return _waiting(checkout, asked)
    if payment.status is Status.COMPLETED:
        return _leaving("success", payment.terms.success_url, is_paid=True)
    if payment.reason is Reason.USER_CANCELLED:
        return leaving_cancelled(payment)
    return _ended(payment)


def at_bank(checkout: Checkout) -> View | None:
    """The bank's simulated page; None where no bank waits for an answer."""
    payment = checkout.payment
    if payment.method != BANK_TRANSFER or not is_asked(checkout.scheduled):
        return None
    return View(
        page="bank",
        heading="bank_page",
        leaf="bank",
        values={"bank": _bank_name(payment), "answers": tuple(BANK_ANSWERS.items())},
        refresh_s=ANSWERING_REFRESH_S,
    )


def leaving_cancelled(payment: Payment) -> View:
    """The page that takes a customer who has cancelled back to the merchant."""
    return _leaving("cancelled", payment.terms.cancel_url, is_paid=False)


def phone_method(payment: Payment, asked: Mapping[str, str]) -> str | None:
    """The method whose phone form `/c/{token}` shows, if it shows one."""
    method = _form_method(payment, asked) if payment.status is Status.PENDING else None
    return method if method in PHONE_METHODS else None


def left_ms(checkout: Checkout) -> int | None:
    """How long the customer has to answer; None where nobody counts."""
    due = [timer.due_at for timer in checkout.scheduled if timer.change.reason is Reason.TIMEOUT]
    return max(0, due[0] - checkout.now) if due else None


def wrong_phone(phone: str, method: str) -> WrongPhone:
    """What is wrong with a phone number that a method does not take."""
    try:
        normalise_phone(phone)
    except ValueError:
        problem = _PHONE_INVALID
    else:
        problem = _PREFIX_OF_METHOD[method]
    return WrongPhone(problem=problem, typed=phone[:_MAX_INPUT_CHARACTERS])


def problem(
    heading: str,
    sentence: str | None,
    *,
    status: int,
    token: str | None = None,
    detail: str | None = None,
) -> View:
    """A page that says why something was not done; `token` is the checkout to go back to.

    `detail` is for whoever runs the emulator.
    """
    return View(
        page="problem",
        heading=heading,
        status=status,
        leaf=None,
        values={
            "sentence": sentence,
            "has_checkout": token is not None,
            "has_detail": detail is not None,
        },
        texts={"token": token or "", "detail": detail or ""},
    )


def _has_others(payment: Payment) -> bool:
    return len(payment.methods) > 1


def _form_method(payment: Payment, asked: Mapping[str, str]) -> str | None:
    method = asked.get("method") if _has_others(payment) else payment.methods[0]
    return method if method in payment.methods else None


def _offer(payment: Payment, asked: Mapping[str, str], numbers: tuple[TestNumber, ...]) -> View:
    method = _form_method(payment, asked)
    if method is not None:
        return _method_form(payment, method, asked, numbers)
    takes_phone = not PHONE_METHODS.isdisjoint(payment.methods)
    return View(
        page="choose",
        heading="choose_method",
        values={"methods": payment.methods},
        handset=Screen.IDLE if takes_phone else None,
    )


def _method_form(
    payment: Payment, method: str, asked: Mapping[str, str], numbers: tuple[TestNumber, ...]
) -> View:
    common = {"method": method, "has_others": _has_others(payment)}
    if method == BANK_TRANSFER:
        return View(
            page="bank-choice",
            heading="choose_bank",
            query={"method": method},
            values=common,
        )
    takes_phone = method in PHONE_METHODS
    wrong = _told_wrong(method, asked)
    phone = asked.get("phone", "")[:_MAX_INPUT_CHARACTERS]
    is_filled = phone != "" and wrong is None
    filled = {"phone": phone} if is_filled else {}
    return View(
        page="method-form",
        heading="payment_method",
        query={"method": method, **(wrong.query if wrong else filled)},
        values={
            **common,
            "takes_phone": takes_phone,
            "hint": _HINT_OF_METHOD.get(method),
            "problem": wrong and wrong.problem,
            "is_filled": is_filled,
        },
        texts={"phone": phone},
        numbers=numbers,
        handset=Screen.IDLE if takes_phone else None,
    )


def _told_wrong(method: str, asked: Mapping[str, str]) -> WrongPhone | None:
    problem = asked.get("problem", "")
    # Anybody can write an address: only what we would say of this method is shown.
    if method not in PHONE_METHODS or problem not in (_PHONE_INVALID, _PREFIX_OF_METHOD[method]):
        return None
    return WrongPhone(problem=problem, typed=asked.get("phone", "")[:_MAX_INPUT_CHARACTERS])


def _waiting(checkout: Checkout, asked: Mapping[str, str]) -> View:
    payment = checkout.payment
    asks = is_asked(checkout.scheduled)
    is_on_phone = payment.method in PHONE_METHODS
    has_ignored = is_on_phone and asks and asked.get("menu") == _CLOSED_MENU["menu"]
    has_phone = payment.phone is not None
    left = left_ms(checkout)
    return View(
        page="waiting",
        heading="check_phone" if is_on_phone else "processing",
        leaf="wait",
        query=_CLOSED_MENU if has_ignored else {},
        values={
            "is_on_phone": is_on_phone,
            "has_phone": has_phone,
            "bank": _bank_name(payment) if asks and not is_on_phone else None,
            "has_left": left is not None,
            "is_flowing": checkout.is_flowing,
        },
        texts={
            "masked_phone": "" if payment.phone is None else mask_phone(payment.phone),
            "left_ms": str(left),
            "left": "" if left is None else minutes(left),
        },
        refresh_s=WAITING_REFRESH_S,
        handset=_screen(asks=asks, has_ignored=has_ignored) if is_on_phone and has_phone else None,
    )


def _screen(*, asks: bool, has_ignored: bool) -> Screen:
    if not asks:
        return Screen.SCRIPTED
    return Screen.IGNORED if has_ignored else Screen.ASKING


def _bank_name(payment: Payment) -> str | None:
    return None if payment.bank is None else BANKS[payment.bank]


def _leaving(heading: str, destination: str, *, is_paid: bool) -> View:
    return View(
        page="leaving",
        heading=heading,
        leaf=None,
        values={"is_leaving": True, "is_paid": is_paid},
        texts={"destination": destination},
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
    sentence = _SENTENCE_OF_REASON[payment.reason or DEFAULT_REASON]
    return _result("not_completed", sentence, back=terms.cancel_url)


def _result(heading: str, sentence: str | None = None, *, back: str, status: int = 200) -> View:
    return View(
        page="result",
        heading=heading,
        status=status,
        values={"sentence": sentence},
        texts={"back": back},
    )
