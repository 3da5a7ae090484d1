"""Decides which page a customer gets, from the state of the payment and the request."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import msgspec

from emulator.domain.payment import DEFAULT_REASON, Payment, Reason, Status
from emulator.domain.payment_methods import (
    BANK_TRANSFER,
    PHONE_METHODS,
    method_of_phone,
    methods_of_phone,
    normalise_phone,
)
from emulator.domain.transitions import is_asked
from emulator.server.engine.payments.checkouts import Checkout
from emulator.server.engine.payments.customer import PhoneAnswer

# How often a page without a script reloads itself.
WAITING_REFRESH_S = 1
# A page with buttons reloads more rarely: a reload removes the keyboard focus.
ANSWERING_REFRESH_S = 5

CUSTOMER_ANSWERS = {PhoneAnswer.APPROVE: "approve", PhoneAnswer.CANCEL: "cancel"}
"""The answers of the customer on the bank's page, and their labels."""
BANK_ANSWERS = {
    PhoneAnswer.DECLINE: "decline",
    PhoneAnswer.INSUFFICIENT_BALANCE: "insufficient_answer",
}
"""The simulated answers of the bank, which are not part of its page, and their labels."""

TEXTS_OF_REASON = {
    Reason.INSUFFICIENT_BALANCE: ("insufficient", "insufficient_answer"),
    Reason.USER_CANCELLED: ("user_cancelled", "number_cancels"),
    Reason.TIMEOUT: ("timed_out", "number_times_out"),
    Reason.WRONG_PIN: ("wrong_pin", "wrong_pin_answer"),
    Reason.BANK_DECLINED: ("declined", "number_declined"),
    Reason.LIMIT_EXCEEDED: ("limit_exceeded", "number_over_limit"),
    Reason.PROVIDER_ERROR: ("provider_error", "number_unavailable"),
}
"""The keys of the sentence on a failed payment's page, and of the label of a test number."""

# The sentences of the other reasons have it, or the money may still leave the account.
_NO_MONEY_LEFT = frozenset({Reason.USER_CANCELLED, Reason.WRONG_PIN, Reason.BANK_DECLINED})

LEAVING = "leaving"
"""The page that redirects to the merchant."""
MAX_SHOWN_MS = 86_400_000
_MAX_INPUT_CHARACTERS = 32
_EMPTY: Mapping[str, Any] = MappingProxyType({})
_CLOSED_MENU = {"menu": "closed"}


class Screen(StrEnum):
    """The content of the simulated phone beside the page."""

    IDLE = "idle"
    ASKING = "asking"
    IGNORED = "ignored"
    SCRIPTED = "scripted"
    PAID = "paid"


class PageView(msgspec.Struct, frozen=True, kw_only=True):
    """A page to be rendered: its template, and the key of its heading in the catalogue.

    `leaf` and `query` are the address below `/c/{token}` at which a GET shows the same page;
    `leaf` is None where there is none. `values` are the variables of the template. Without a script
    the page reloads itself every `refresh_s`. `handset` is the simulated phone beside the page.
    """

    page: str
    heading: str
    status: int = 200
    leaf: str | None = ""
    query: Mapping[str, str] = _EMPTY
    values: Mapping[str, object] = _EMPTY
    refresh_s: int | None = None
    handset: Screen | None = None


def opened(checkout: Checkout, *, query: Mapping[str, str]) -> PageView:
    """The page of `/c/{token}`: it shows the present state and never redirects.

    `query` selects the form of a method, and has the phone number of its last submit.
    """
    payment = checkout.payment
    if payment.status is Status.PENDING:
        return _offer(payment, query)
    if payment.status is Status.PROCESSING:
        return at_bank(checkout) or _waiting(checkout, query)
    return _ended(payment)


def followed(
    checkout: Checkout, *, query: Mapping[str, str], redirects: bool = True
) -> PageView | None:
    """The page after the submit, which redirects at the end; None before the submit.

    Without `redirects`, the page of a completed payment stays.
    """
    payment = checkout.payment
    if payment.status is Status.PENDING:
        return None
    if checkout.is_leaving_early:
        return _leaving("processing", payment.terms.success_url)
    if payment.status is Status.PROCESSING:
        return _waiting(checkout, query)
    if payment.status is Status.COMPLETED and redirects:
        return _leaving("success", payment.terms.success_url, handset=_message(payment))
    if payment.reason is Reason.USER_CANCELLED:
        return leaving_cancelled(payment)
    return _ended(payment)


def at_bank(checkout: Checkout) -> PageView | None:
    """The bank's simulated page; None where no bank waits for an answer."""
    payment = checkout.payment
    if payment.method != BANK_TRANSFER or not is_asked(checkout.scheduled):
        return None
    return PageView(page="bank", heading="bank_page", leaf="bank", refresh_s=ANSWERING_REFRESH_S)


def leaving_cancelled(payment: Payment) -> PageView:
    """The page that redirects a customer who has cancelled to the merchant."""
    return _leaving("cancelled", payment.terms.cancel_url)


def phone_method(payment: Payment, query: Mapping[str, str]) -> str | None:
    """The method whose phone form `/c/{token}` shows, if any."""
    method = _form_method(payment, query) if payment.status is Status.PENDING else None
    return method if method in PHONE_METHODS else None


def open_ms(checkout: Checkout) -> int | None:
    """The time until a pending payment expires; None for another payment, or for days."""
    left = checkout.payment.expires_at - checkout.now
    return left if checkout.payment.status is Status.PENDING and left < MAX_SHOWN_MS else None


def left_ms(checkout: Checkout) -> int | None:
    """The time until the customer's answer times out; None where no timeout is scheduled."""
    due = [timer.due_at for timer in checkout.scheduled if timer.change.reason is Reason.TIMEOUT]
    return max(0, due[0] - checkout.now) if due else None


def shown_phone(text: str) -> str:
    """An input as its form shows it; the mark at the cut end keeps a longer one invalid."""
    is_long = len(text) > _MAX_INPUT_CHARACTERS
    return f"{text[: _MAX_INPUT_CHARACTERS - 1]}…" if is_long else text


def problem(
    heading: str,
    sentence: str | None,
    *,
    status: int,
    token: str | None = None,
    detail: str | None = None,
) -> PageView:
    """The page of a refusal; it links to the checkout of `token`.

    `detail` is for the operator of the emulator.
    """
    return PageView(
        page="problem",
        heading=heading,
        status=status,
        leaf=None,
        values={"sentence": sentence, "token": token, "detail": detail},
    )


def _form_method(payment: Payment, query: Mapping[str, str]) -> str | None:
    method = query.get("method") if len(payment.methods) > 1 else payment.methods[0]
    return method if method in payment.methods else None


def _offer(payment: Payment, query: Mapping[str, str]) -> PageView:
    method = _form_method(payment, query)
    if method is not None:
        return _method_form(payment, method, query)
    takes_phone = not PHONE_METHODS.keys().isdisjoint(payment.methods)
    return PageView(
        page="choose",
        heading="choose_method",
        handset=Screen.IDLE if takes_phone else None,
    )


def _method_form(payment: Payment, method: str, query: Mapping[str, str]) -> PageView:
    common = {"method": method, "has_others": len(payment.methods) > 1}
    if method == BANK_TRANSFER:
        return PageView(
            page="bank-choice", heading="choose_bank", query={"method": method}, values=common
        )
    takes_phone, is_given = method in PHONE_METHODS, "phone" in query
    phone = shown_phone(query.get("phone", ""))
    problem, phone_method = None, None
    if takes_phone and is_given:
        problem, phone_method = _phone_problem(phone, method, payment)
    return PageView(
        page="method-form",
        heading="payment_method",
        query={"method": method, **({"phone": phone} if is_given else {})},
        values={
            **common,
            "takes_phone": takes_phone,
            "problem": problem,
            "phone_method": phone_method,
            "is_filled": phone and problem is None,
            "phone": phone,
        },
        handset=Screen.IDLE if takes_phone else None,
    )


def _phone_problem(phone: str, method: str, payment: Payment) -> tuple[str | None, str | None]:
    """The key of the sentence on a number that the method refuses, and the number's own method."""
    try:
        normalised = normalise_phone(phone)
    except ValueError:
        return "phone_invalid", None
    if method in methods_of_phone(normalised):
        return None, None
    return f"phone_need_{method}", method_of_phone(normalised, payment.methods)


def _waiting(checkout: Checkout, query: Mapping[str, str]) -> PageView:
    payment = checkout.payment
    asks = is_asked(checkout.scheduled)
    is_on_phone = payment.method in PHONE_METHODS
    has_ignored = is_on_phone and asks and query.get("menu") == _CLOSED_MENU["menu"]
    screen = Screen.IGNORED if has_ignored else Screen.ASKING if asks else Screen.SCRIPTED
    return PageView(
        page="waiting",
        heading="check_phone" if is_on_phone else "processing",
        leaf="wait",
        query=_CLOSED_MENU if has_ignored else {},
        values={
            "is_on_phone": is_on_phone,
            "is_asked": asks,
        },
        refresh_s=WAITING_REFRESH_S,
        handset=screen if is_on_phone and payment.phone is not None else None,
    )


def _leaving(heading: str, destination: str, *, handset: Screen | None = None) -> PageView:
    values = {"destination": destination, "is_paid": heading == "success"}
    return PageView(page=LEAVING, heading=heading, leaf=None, values=values, handset=handset)


def _message(payment: Payment) -> Screen | None:
    """The message of a paid payment on the customer's phone."""
    return Screen.PAID if payment.method in PHONE_METHODS else None


def _ended(payment: Payment) -> PageView:
    terms = payment.terms
    if payment.status is Status.COMPLETED:
        return _result("already_paid", back=terms.success_url, handset=_message(payment))
    if payment.status is Status.REFUNDED:
        return _result("refunded", back=terms.success_url)
    if payment.status is Status.EXPIRED:
        return _result("expired", "expired_body", back=terms.cancel_url, status=410)
    no_money = "no_money_left" if payment.reason in _NO_MONEY_LEFT else None
    if payment.reason is Reason.USER_CANCELLED and payment.method not in PHONE_METHODS:
        return _result("cancelled", no_money=no_money, back=terms.cancel_url)
    sentence, _ = TEXTS_OF_REASON[payment.reason or DEFAULT_REASON]
    return _result("not_completed", sentence, no_money=no_money, back=terms.cancel_url)


def _result(
    heading: str,
    sentence: str | None = None,
    *,
    no_money: str | None = None,
    back: str,
    status: int = 200,
    handset: Screen | None = None,
) -> PageView:
    values = {"sentence": sentence, "no_money": no_money, "back": back}
    return PageView(page="result", heading=heading, status=status, values=values, handset=handset)
