"""Records a history as a scenario file: a heading, the rules that reproduce it, and a script.

The file contains the rules that it needs, whatever scenarios the account had. It is played in test
mode, with the shipped scenarios that are on at start; where these do the same, it needs no rule.
"""

import asyncio
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import NamedTuple, TypeVar

from emulator.domain.accounts import Mode
from emulator.domain.effects import CancelEffect, CheckoutEffect, Outcome, Scripted, Step
from emulator.domain.errors import TooMuchToRecord
from emulator.domain.instants import Instant, format_instant
from emulator.domain.payment import (
    DEFAULT_EXPIRES_IN_S,
    MAX_EXPIRES_IN_S,
    OPTIONAL_TERMS,
    Event,
    Payment,
    Status,
)
from emulator.domain.payment_methods import (
    BANK_TRANSFER,
    DEFAULT_METHODS,
    PHONE_METHODS,
    local_phone,
)
from emulator.domain.transitions import TRANSITIONS, Edge
from emulator.files import MAX_FILE_BYTES
from emulator.files.yaml_writer import yaml_text
from emulator.scenarios import values
from emulator.scenarios.history_script import (
    NOWHERE,
    HistoryScript,
    excess,
    expect,
    method_lines,
)
from emulator.scenarios.loader import load_paths
from emulator.scenarios.rules import DEFAULT_OUTCOME, NO_PAST, choose_expiry, choose_outcome
from emulator.scenarios.scenario_file import SCENARIO, VERSION
from emulator.scenarios.script import MAX_SCRIPT_STEPS
from emulator.scenarios.values import (
    CheckoutRule,
    ExpiryRule,
    Json,
    OutcomeRule,
    Scenario,
    When,
)
from emulator.server.engine.payments.scheduler import EngineService
from emulator.server.engine.state.account import Owner
from emulator.server.engine.state.rule_choice import payment_facts
from emulator.server.storage import deliveries, events, payments
from emulator.server.storage.batch import Transaction
from emulator.server.storage.database import reads
from emulator.server.storage.events import (
    Action,
    Answered,
    Cancelled,
    Paid,
    PaymentAction,
    Transitioned,
)
from emulator.settings import data_directory

NAME = "recording"
# In JSON: in YAML, which needs fewer quotes and shorter escapes, that exceeds a file as well.
MAX_METADATA_BYTES = 2 * MAX_FILE_BYTES

T = TypeVar("T")


class AccountHistory(NamedTuple):
    """An account's payments with their idempotency keys, events and actions, oldest first.

    No timer is due at `now`. `attempt_limits` are by the positions of the payments, and
    `left_early` are the positions of those whose pages have redirected before the completion.
    """

    payments: list[tuple[Payment, str | None]]
    events: list[Event]
    actions: list[Action]
    now: Instant
    attempt_limits: Mapping[int, int]
    left_early: Collection[int]


class Recorder(EngineService):
    """Reads a history in one transaction, and writes it as a file."""

    async def record(self, owner: Owner, payment_id: str | None = None) -> str:
        """The history of an owner, or of one payment, as a scenario file.

        Raises UnknownPayment, TooMuchToRecord, InvalidApiKey.
        """
        await self._scheduler.fire_due(owner.account)
        history = await self._read(owner, payment_id)
        name = owner.account.profile.id
        return await asyncio.to_thread(recording_file, history, account_id=name, mode=owner.mode)

    @reads(is_long=True)
    def _read(self, tx: Transaction, owner: Owner, payment_id: str | None) -> AccountHistory:
        account, number = owner.account, owner.number
        account.check_open()
        only = None if payment_id is None else payments.find(tx, number, payment_id).position
        if only is None:
            _check_extent(tx, number)
        happened = events.of_owner(tx, number) if only is None else events.of_payment(tx, only)
        done = (
            events.actions_of_owner(tx, number)
            if only is None
            else events.actions_of_payment(tx, only)
        )
        return AccountHistory(
            payments=payments.of_owner(tx, number, only=only),
            # No step causes another event.
            events=[event for event in happened if event.is_change],
            actions=done,
            # A flowing clock may have passed a timer that `fire_due` did not fire.
            now=min(account.clock.now(), account.due_at - 1),
            attempt_limits=events.attempt_limits(tx, number),
            left_early=deliveries.left_early(tx, number),
        )


def _check_extent(tx: Transaction, owner: int) -> None:
    """Raises TooMuchToRecord where there is too much to be read."""
    payment_count, action_count = tx.row_count("payments", owner), tx.row_count("actions", owner)
    # The creation and the final status of each payment.
    steps, excess = 2 * payment_count + action_count, ""
    if steps > MAX_SCRIPT_STEPS:
        excess = f"That takes {steps:,} steps at least; a file can have {MAX_SCRIPT_STEPS:,}."
    elif (size := payments.metadata_bytes(tx, owner)) > MAX_METADATA_BYTES:
        excess = f"Its metadata has {size:,} bytes; a file can have {MAX_FILE_BYTES:,}."
    if excess:
        raise TooMuchToRecord(payments=payment_count, actions=action_count, excess=excess)


def recording_file(history: AccountHistory, *, account_id: str, mode: Mode) -> str:
    """The file. Raises TooMuchToRecord where `check` would refuse it."""
    outcomes = _outcome_rules(history)
    expiry = _expiry_rules([payment for payment, _ in history.payments])
    script = script_of(history, sets_expiry=not expiry)
    scenario = Scenario(
        name=NAME,
        description=f"Recorded from {account_id} in {mode} mode.",
        outcomes=tuple(outcomes),
        expiry=tuple(expiry),
        checkout=tuple(_checkout_rules(history)),
        script=tuple(script),
    )
    document = {"version": VERSION, **SCENARIO.write(scenario)}
    text = _heading(history, account_id, mode) + yaml_text(document)
    too_much = excess(document, text)
    if too_much is not None:
        counts = {"payments": len(history.payments), "actions": len(history.actions)}
        raise TooMuchToRecord(**counts, excess=too_much)
    return text


def _heading(history: AccountHistory, account_id: str, mode: Mode) -> str:
    lines = [
        f"The history of {account_id} in {mode} mode,",
        _span(history),
        "",
        "To replay it:  payments-emulator replay case.yaml",
        "To use it together with other scenarios, change its name.",
    ]
    if mode is Mode.LIVE:
        lines.append("The script runs in test mode, with the same result.")
    if any(payment.position in history.left_early for payment, _ in history.payments):
        lines.append(
            "A page that redirected before the completion is recorded as a later completion."
        )
    lines += method_lines({method for payment, _ in history.payments for method in payment.methods})
    return "".join(f"# {line}".rstrip() + "\n" for line in lines)


def _span(history: AccountHistory) -> str:
    if not history.events:
        return "in which nothing has happened yet."
    last = max(history.now, history.events[-1].at)
    return f"from {format_instant(history.events[0].at)} to {format_instant(last)}."


def _outcome_rules(history: AccountHistory) -> tuple[OutcomeRule, ...]:
    """The outcomes of the submits, where the shipped scenarios would do something else.

    A rule matches only submits with exactly its `when`, and it or its successor counts all of
    these: so each submit gets the outcome that it had.
    """
    by_position = {payment.position: payment for payment, _ in history.payments}
    outcomes: dict[When, list[Outcome]] = {}
    unusual: set[When] = set()
    postponed = _postponed_outcomes(history)
    for stored in history.actions:
        action = stored.detail
        if isinstance(action, Paid):
            when = _when(action)
            outcome = postponed.get(stored.event, action.outcome)
            outcomes.setdefault(when, []).append(outcome)
            if outcome != _usual_outcome(by_position[stored.payment], action):
                unusual.add(when)
    return tuple(
        OutcomeRule(when=when, then=outcome, times=times)
        for when, submitted in outcomes.items()
        if when in unusual
        for outcome, times in _runs(submitted)
    )


def _postponed_outcomes(history: AccountHistory) -> dict[int, Outcome]:
    """By the event of their submit: the outcomes after which pages redirected before completions.

    They have the steps that occurred, at their instants.
    """
    submits: dict[int, Event] = {}
    # By the event of the submit.
    steps: dict[int, tuple[Step, ...]] = {}
    caused = _caused_events(history)
    latest: dict[int, Event] = {}
    for event in history.events:
        payment, before = event.payment, latest.get(event.payment)
        if event.status is Status.PROCESSING and before and before.status is Status.PENDING:
            submits[payment] = event
            if payment in history.left_early:
                steps[event.position] = ()
        elif before and payment in submits and event.position not in caused:
            submit = submits[payment]
            edge = TRANSITIONS[before.status, event.status]
            step = Step(event.status, event.at - submit.at, event.reason, edge is not Edge.ORDINARY)
            if submit.position in steps:
                steps[submit.position] = (*steps[submit.position], step)
        if event.is_failed_attempt:
            steps.pop(submits.pop(payment).position, None)
        elif event.is_return:
            submits.pop(payment, None)
        latest[payment] = event
    return {position: Scripted(occurred) for position, occurred in steps.items()}


def _checkout_rules(history: AccountHistory) -> tuple[CheckoutRule, ...]:
    """The rules by which failed attempts were not the last, and cancelled payments have failed."""
    caused = _caused_events(history)
    expires_at = {payment.position: payment.expires_at for payment, _ in history.payments}
    limits: dict[int, int] = {}
    for event in history.events:
        is_last = event.status is Status.FAILED and event.position not in caused
        if event.is_failed_attempt or (is_last and event.at < expires_at[event.payment]):
            limits.setdefault(event.payment, history.attempt_limits.get(event.payment, 1))
    cancels = [
        CancelEffect.FAILS if each.detail.fails else CancelEffect.STAYS_PENDING
        for each in history.actions
        if isinstance(each.detail, Cancelled)
    ]
    attempts = limits.values() if max(limits.values(), default=1) > 1 else ()
    effects = [(CheckoutEffect(attempts=n), times) for n, times in _runs(attempts)]
    if CancelEffect.FAILS in cancels:
        effects += [(CheckoutEffect(cancel=effect), times) for effect, times in _runs(cancels)]
    return tuple(CheckoutRule(then=effect, times=times) for effect, times in effects)


def _caused_events(history: AccountHistory) -> set[int]:
    """The events that the control API caused, and a page where the customer has not submitted."""
    actions = ((stored.event, stored.detail) for stored in history.actions)
    return {
        event
        for event, action in actions
        if isinstance(action, Transitioned) or (isinstance(action, Cancelled) and action.fails)
    }


def _when(action: Paid) -> When:
    """The properties that distinguish a submit; of an unknown method only the method."""
    return When(
        method=action.method,
        phone=action.phone if action.method in PHONE_METHODS else None,
        bank=action.bank if action.method == BANK_TRANSFER else None,
    )


def _usual_outcome(payment: Payment, action: Paid) -> Outcome | None:
    facts = payment_facts(Mode.TEST, payment, action.method, action.phone, action.bank)
    chosen = choose_outcome(_shipped(), facts, NO_PAST)
    if chosen is None:
        return DEFAULT_OUTCOME
    return None if chosen.counts else chosen.rule.then


def _expiry_rules(created: Sequence[Payment]) -> tuple[ExpiryRule, ...]:
    """How long each checkout stays open, if `expires_in` cannot express it for all."""
    if all(map(_is_expressible, created)):
        return ()
    lifetimes = [payment.lifetime_ms for payment in created]
    return tuple(ExpiryRule(after_ms=after_ms, times=times) for after_ms, times in _runs(lifetimes))


def _is_expressible(payment: Payment) -> bool:
    """Whether `expires_in` can express the lifetime, and no shipped rule overrides it."""
    lifetime_s, rest_ms = divmod(payment.lifetime_ms, 1000)
    if rest_ms or not 1 <= lifetime_s <= MAX_EXPIRES_IN_S:
        return False
    chosen = choose_expiry(_shipped(), payment_facts(Mode.TEST, payment), NO_PAST)
    return chosen is None or (chosen.rule.after_ms == payment.lifetime_ms and not chosen.counts)


def _runs(values: Iterable[T]) -> list[tuple[T, int | None]]:
    """Runs of equal values with their lengths; a single run needs no length."""
    runs = [(value, len(list(run))) for value, run in groupby(values)]
    return [(value, times if len(runs) > 1 else None) for value, times in runs]


def script_of(history: AccountHistory, *, sets_expiry: bool) -> tuple[values.Step, ...]:
    """The steps that reproduce a history, with an expectation for each status at its instant.

    `sets_expiry` is whether the create steps set how long a checkout stays open; else rules do.
    """
    if not history.payments:
        return (expect(None, {"events": []}),)
    script = HistoryScript(len(history.payments))
    stored = {payment.position: (payment, key) for payment, key in history.payments}
    cancels: deque[Action] = deque()
    performed: dict[int, PaymentAction] = {}
    for taken in history.actions:
        action = taken.detail
        if isinstance(action, Cancelled):
            cancels.append(taken)
        # The outcome of the submit reproduces a completion that was postponed.
        elif not (isinstance(action, Answered) and action.is_postponed):
            performed[taken.event] = action

    def add_cancel(action: Action) -> None:
        name = script.names[action.payment]
        script.add_step(action.at, values.Cancel(place=NOWHERE, payment=name))

    for event in history.events:
        while cancels and cancels[0].event <= event.position:
            add_cancel(cancels.popleft())
        if event.is_creation:
            members = _create_members(*stored[event.payment], sets_expiry=sets_expiry)
            script.add_create(event, members)
        else:
            name = script.names[event.payment]
            script.add_event(event, _step(name, performed.get(event.position)))
    for taken in cancels:
        add_cancel(taken)
    return script.end(history.now)


def _step(name: str, action: PaymentAction | None) -> values.Step | None:
    if isinstance(action, Paid):
        return values.Pay(
            place=NOWHERE,
            payment=name,
            method=action.method,
            phone=None if action.phone is None else local_phone(action.phone),
            # An unknown method may have both, but no step takes both.
            bank=action.bank if action.phone is None else None,
        )
    if isinstance(action, Answered):
        return values.CustomerAnswer(place=NOWHERE, payment=name, answer=action.answer)
    if isinstance(action, Transitioned):
        return values.Transition(
            place=NOWHERE,
            payment=name,
            status=action.status,
            method=action.method,
            reason=action.reason,
            unusual=action.unusual,
        )
    return None


def _create_members(
    payment: Payment, idempotency_key: str | None, *, sets_expiry: bool
) -> dict[str, Json]:
    members: dict[str, Json] = {"amount": payment.amount_minor}
    if payment.methods != DEFAULT_METHODS:
        members["methods"] = list(payment.methods)
    members |= {name: given for name in OPTIONAL_TERMS if (given := getattr(payment.terms, name))}
    if idempotency_key is not None:
        members["idempotency_key"] = idempotency_key
    expires_in_s = payment.lifetime_ms // 1000
    if sets_expiry and expires_in_s != DEFAULT_EXPIRES_IN_S:
        members["expires_in"] = expires_in_s
    return members


@cache
def _shipped() -> tuple[Scenario, ...]:
    """The shipped scenarios that are on at start, whatever this account has switched."""
    shipped = load_paths([data_directory("scenarios")])
    return tuple(scenario for scenario in shipped if scenario.enabled)
