"""Performs the customer's actions and the control API's status changes.

Each action is stored with what a recording needs to reproduce it.
"""

from collections.abc import Callable
from enum import StrEnum
from functools import partial
from typing import NamedTuple

import msgspec

from emulator.domain.effects import (
    CancelEffect,
    Outcome,
    Scripted,
    answer_due_at,
)
from emulator.domain.errors import (
    IllegalTransition,
    InvalidField,
    MissingParameter,
    PaymentNotPayable,
)
from emulator.domain.instants import Instant
from emulator.domain.message_text import not_accepted, received
from emulator.domain.payment import Payment, Reason, Status
from emulator.domain.payment_methods import (
    BANK_TRANSFER,
    BANKS,
    PHONE_METHODS,
    method_of_phone,
    methods_of_phone,
    normalise_phone,
)
from emulator.domain.transitions import Change, TimerKind, is_asked, not_offered
from emulator.server.engine.payments.scheduler import EngineService
from emulator.server.engine.state.account import Owner
from emulator.server.engine.state.rule_choice import checkout_effect, outcome_of, payer_of
from emulator.server.storage import events, payments, timers
from emulator.server.storage.batch import Transaction
from emulator.server.storage.database import writes
from emulator.server.storage.events import (
    Action,
    Answered,
    Cancelled,
    Paid,
    PaymentAction,
    Transitioned,
)


class _ActionContext(NamedTuple):
    """The payment that a customer acts on, in a transaction at an instant."""

    tx: Transaction
    owner: Owner
    payment: Payment
    now: Instant


_Done = tuple[Payment, PaymentAction]


class PhoneAnswer(StrEnum):
    """A choice on the phone's menu or on the bank's page."""

    APPROVE = "approve"
    WRONG_PIN = "wrong_pin"
    INSUFFICIENT_BALANCE = "insufficient_balance"
    CANCEL = "cancel"
    DECLINE = "decline"


# Why the customer is not asked to confirm a payment.
_WITHOUT_ANSWER = {
    Status.PENDING: "submit a payment method first, on the page or with POST …/pay",
    Status.PROCESSING: "a scenario decides the outcome",
}
_CHANGE_OF_ANSWER = {
    PhoneAnswer.APPROVE: Change(to=Status.COMPLETED),
    PhoneAnswer.WRONG_PIN: Change(to=Status.FAILED, reason=Reason.WRONG_PIN),
    PhoneAnswer.INSUFFICIENT_BALANCE: Change(to=Status.FAILED, reason=Reason.INSUFFICIENT_BALANCE),
    PhoneAnswer.CANCEL: Change(to=Status.FAILED, reason=Reason.USER_CANCELLED),
    PhoneAnswer.DECLINE: Change(to=Status.FAILED, reason=Reason.BANK_DECLINED),
}
ANSWERS_OF_A_PHONE = frozenset(PhoneAnswer) - {PhoneAnswer.DECLINE}
ANSWERS_OF_A_BANK = frozenset(PhoneAnswer) - {PhoneAnswer.WRONG_PIN}


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """The method that the customer submits, with the phone or the bank of the account.

    With `is_completed`, what is None is chosen so that the payment succeeds, where possible.
    """

    method: str | None
    phone: str | None = None
    bank: str | None = None
    is_completed: bool = False


class Customer(EngineService):
    """Performs the actions, in one transaction each.

    `by_control` is whether a call of the control API acts, in place of the customer on the page.
    """

    async def pay(
        self, owner: Owner, payment_id: str, submission: Submission, *, by_control: bool = False
    ) -> Payment:
        """Submit a method, as the customer does on the page.

        Raises UnknownPayment, InvalidField (`method`, `phone`, `bank`), MissingParameter,
        PaymentNotPayable.
        """
        perform = partial(self._pay, submission=submission)
        return await self._perform(owner, payment_id, perform, by_control)

    async def answer(
        self, owner: Owner, payment_id: str, answer: PhoneAnswer, *, by_control: bool = False
    ) -> Payment:
        """Answer on the phone or the bank's page.

        Raises UnknownPayment, and IllegalTransition where no answer is pending or the answer does
        not fit the method.
        """
        perform = partial(self._answer, answer=answer)
        return await self._perform(owner, payment_id, perform, by_control)

    async def cancel(self, owner: Owner, payment_id: str, *, by_control: bool = False) -> Payment:
        """Press the page's cancel button: the payment stays pending, or fails by a checkout rule.

        Raises UnknownPayment, and IllegalTransition once a method was submitted.
        """
        return await self._perform(owner, payment_id, self._cancel, by_control)

    async def transition(self, owner: Owner, payment_id: str, change: Change) -> Payment:
        """Change a status along any legal edge; scheduled changes are cancelled.

        Raises UnknownPayment, IllegalTransition, InvalidField.
        """
        perform = partial(self._transition, change=change)
        return await self._perform(owner, payment_id, perform, True)

    async def _perform(
        self,
        owner: Owner,
        payment_id: str,
        perform: Callable[[_ActionContext], _Done],
        by_control: bool,
    ) -> Payment:
        await self._scheduler.fire_due(owner.account)
        payment = await self._decide(owner, payment_id, perform, by_control)
        self._scheduler.reschedule(owner.account)
        return payment

    @writes()
    def _decide(
        self,
        tx: Transaction,
        owner: Owner,
        payment_id: str,
        perform: Callable[[_ActionContext], _Done],
        by_control: bool,
    ) -> Payment:
        now = self._status_writer.fire_due(tx, owner.account)
        payment = payments.find(tx, owner.number, payment_id)
        event = events.next_position(tx, owner.number)
        after, action = perform(_ActionContext(tx, owner, payment, now))
        detail = msgspec.structs.replace(action, by_control=by_control)
        events.insert_action(tx, owner.number, Action(now, payment.position, event, detail))
        return after

    def _pay(self, context: _ActionContext, *, submission: Submission) -> _Done:
        tx, owner, payment, _ = context
        if submission.is_completed:
            submission = _completed(tx, owner, payment, submission)
        method, phone, bank = _checked(submission, payment)
        if payment.status is not Status.PENDING:
            raise PaymentNotPayable(f"A payment that is {payment.status} cannot be paid.")
        change = Change(to=Status.PROCESSING, method=method, phone=phone, bank=bank)
        outcome, rule = outcome_of(tx, owner, payment, change)
        timers.cancel(tx, payment.position)
        steps = outcome.steps if isinstance(outcome, Scripted) else None
        scenario, number = (rule.scenario, rule.place + 1) if rule else (None, None)
        action = Paid(
            method=method, phone=phone, bank=bank, steps=steps, scenario=scenario, number=number
        )
        return self._apply_outcome(context, change, outcome), action

    def _apply_outcome(self, context: _ActionContext, submit: Change, outcome: Outcome) -> Payment:
        """Apply a submit and the immediate steps of its outcome, and schedule the others.

        After a failure that is not the last attempt, the others do not occur.
        """
        tx, owner, payment, now = context
        starts_pending = isinstance(outcome, Scripted) and outcome.starts_pending
        if not starts_pending:
            payment = self._apply(context, submit)
        schedule = partial(self._status_writer.schedule, tx, owner.account, payment)
        if not isinstance(outcome, Scripted):
            due_at = answer_due_at(payment.method, submitted_at=now, expires_at=payment.expires_at)
            timeout = Change(to=Status.FAILED, reason=Reason.TIMEOUT)
            schedule(TimerKind.HANDSET_TIMEOUT, timeout, due_at=due_at)
            return payment
        postponed_ms = 0
        for number, step in enumerate(outcome.steps):
            first = submit if number == 0 and starts_pending else Change(to=step.status)
            change = first._replace(to=step.status, reason=step.reason, unusual=step.unusual)
            if step.after_ms == 0 and postponed_ms == 0:
                payment, postponed_ms = self._conclude(context._replace(payment=payment), change)
                if payment.status is Status.PENDING is not step.status:
                    break
            if step.after_ms or postponed_ms:
                schedule(TimerKind.OUTCOME, change, due_at=now + step.after_ms + postponed_ms)
        return payment

    def _answer(self, context: _ActionContext, *, answer: PhoneAnswer) -> _Done:
        payment = context.payment
        scheduled = timers.of_payment(context.tx, payment.position)
        if not is_asked(scheduled):
            reason = _WITHOUT_ANSWER.get(payment.status, "the payment has ended")
            raise IllegalTransition(
                f"The payment is {payment.status}, and the customer has no question to answer:"
                f" {reason}."
            )
        is_bank = payment.method == BANK_TRANSFER
        if answer not in (ANSWERS_OF_A_BANK if is_bank else ANSWERS_OF_A_PHONE):
            raise IllegalTransition(
                f"'{answer}' is not an answer {'at a bank' if is_bank else 'on a phone'}.",
                param="answer",
            )
        change = _CHANGE_OF_ANSWER[answer]
        timers.cancel(context.tx, payment.position)
        answered, postponed_ms = self._conclude(context, change)
        if postponed_ms:
            account, due_at = context.owner.account, context.now + postponed_ms
            self._status_writer.schedule(
                context.tx, account, payment, TimerKind.OUTCOME, change, due_at=due_at
            )
        return answered, Answered(answer=answer, is_postponed=postponed_ms > 0)

    def _cancel(self, context: _ActionContext) -> _Done:
        tx, owner, payment, _ = context
        if payment.status is not Status.PENDING:
            raise IllegalTransition(
                f"The payment is {payment.status}: on the page it can be cancelled only"
                " while it is pending."
            )
        effect = checkout_effect(tx, owner, payment, "cancel")
        if effect is None or effect.cancel is not CancelEffect.FAILS:
            return payment, Cancelled()
        change = Change(to=Status.FAILED, reason=Reason.USER_CANCELLED, by_setting=True)
        return self._change(context, change), Cancelled(fails=True)

    def _transition(self, context: _ActionContext, *, change: Change) -> _Done:
        action = Transitioned(
            status=change.to, method=change.method, reason=change.reason, unusual=change.unusual
        )
        return self._change(context, change), action

    def _change(self, context: _ActionContext, change: Change) -> Payment:
        changed = self._apply(context, change)
        timers.cancel(context.tx, context.payment.position)
        return changed

    def _apply(self, context: _ActionContext, change: Change) -> Payment:
        return self._status_writer.apply(
            context.tx, context.owner, context.payment, change, now=context.now
        )

    def _conclude(self, context: _ActionContext, change: Change) -> tuple[Payment, int]:
        return self._status_writer.conclude(
            context.tx, context.owner, context.payment, change, now=context.now
        )


def _completed(
    tx: Transaction, owner: Owner, payment: Payment, submission: Submission
) -> Submission:
    """The submission with a method, and with a phone or a bank if one is known."""
    method, phone, bank = submission.method, submission.phone, submission.bank
    if method is None and phone is not None:
        method = method_of_phone(_checked_phone(phone), payment.methods)
    elif method is None:
        method = payment.methods[0] if bank is None else BANK_TRANSFER
    if phone is None and bank is None:
        payer = payer_of(tx, owner, payment, method)
        phone, bank = (payer.phone, payer.bank) if payer else (None, None)
    return Submission(method=method, phone=phone, bank=bank)


def _checked(submission: Submission, payment: Payment) -> tuple[str, str | None, str | None]:
    """The method, the normalised phone and the bank. Raises InvalidField, MissingParameter."""
    method, phone, bank = submission.method, submission.phone, submission.bank
    if method is None or method not in payment.methods:
        raise not_offered(method, payment)
    if method in PHONE_METHODS:
        if bank is not None:
            raise InvalidField(
                "bank", f"{method} takes a phone, not a bank (got {received(bank)})."
            )
        if phone is None:
            raise _nothing_known("phone", method)
    if method == BANK_TRANSFER:
        if phone is not None:
            raise InvalidField(
                "phone", f"A bank transfer takes a bank, not a phone (got {received(phone)})."
            )
        if bank is None:
            raise _nothing_known("bank", method)
    if bank is not None and bank not in BANKS:
        raise not_accepted("bank", bank, f"one of: {', '.join(BANKS)}")
    if phone is not None:
        phone = _checked_phone(phone, method)
    return method, phone, bank


def _nothing_known(param: str, method: str) -> MissingParameter:
    return MissingParameter(param, f"no {param} of {method} is known whose payments can succeed")


def _checked_phone(phone: str, method: str | None = None) -> str:
    try:
        normalised = normalise_phone(phone)
    except ValueError:
        raise not_accepted(
            "phone", phone, "an Ethiopian mobile number, such as 0900000001"
        ) from None
    if method in PHONE_METHODS and method not in methods_of_phone(normalised):
        raise not_accepted("phone", phone, f"a {method} number")
    return normalised
