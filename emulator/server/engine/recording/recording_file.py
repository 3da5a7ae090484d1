"""Writes a history as a scenario file: a heading, the rules that reproduce it, and a script.

The file contains the rules that it needs, whatever scenarios the account had. It is played in test
mode, with the shipped scenarios that are on at start; where these do the same, it needs no rule.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import TypeVar

from emulator.domain.accounts import Mode
from emulator.domain.errors import TooMuchToRecord
from emulator.domain.instants import format_instant
from emulator.domain.outcomes import Outcome
from emulator.domain.payment import MAX_EXPIRES_IN_S, Payment
from emulator.domain.payment_methods import BANK_TRANSFER, DEFAULT_METHODS, PHONE_METHODS
from emulator.files import MAX_FILE_BYTES, MAX_NODES
from emulator.scenarios.loader import load_paths
from emulator.scenarios.rules import (
    DEFAULT_OUTCOME,
    PaymentFacts,
    RuleKey,
    choose_expiry,
    choose_outcome,
)
from emulator.scenarios.scenario_file import VERSION, expiry_rule_json, outcome_rule_json, step_json
from emulator.scenarios.script import MAX_SCRIPT_STEPS
from emulator.scenarios.values import ExpiryRule, OutcomeRule, Scenario, When
from emulator.server.engine.payments.customer import Paid, payment_action
from emulator.server.engine.recording.delivery_rules import MAX_RECORDED_DELIVERIES, DeliveryRules
from emulator.server.engine.recording.script_builder import AccountHistory, arrival_steps, script_of
from emulator.server.engine.recording.yaml_writer import Json, yaml_text
from emulator.settings import data_directory

NAME = "recording"
# In JSON: in YAML, which needs fewer quotes and shorter escapes, that exceeds a file as well.
MAX_METADATA_BYTES = 2 * MAX_FILE_BYTES

T = TypeVar("T")


def check_extent(payments: int, actions: int, *, metadata_bytes: Callable[[], int]) -> None:
    """Raises TooMuchToRecord where there is too much to be read."""
    # The creation and the final status of each payment.
    steps, excess = 2 * payments + actions, ""
    if steps > MAX_SCRIPT_STEPS:
        excess = f"That takes {steps:,} steps at least; a file can have {MAX_SCRIPT_STEPS:,}."
    elif (size := metadata_bytes()) > MAX_METADATA_BYTES:
        excess = f"Its metadata has {size:,} bytes; a file can have {MAX_FILE_BYTES:,}."
    if excess:
        raise TooMuchToRecord(payments=payments, actions=actions, excess=excess)


def check_deliveries(history: AccountHistory, count: int) -> None:
    """Raises TooMuchToRecord where there are too many deliveries to be read."""
    if count > MAX_RECORDED_DELIVERIES:
        raise TooMuchToRecord(
            payments=len(history.payments),
            actions=len(history.actions),
            excess=f"It has more than {MAX_RECORDED_DELIVERIES:,} deliveries.",
        )


def recording_file(
    history: AccountHistory,
    *,
    account_id: str,
    mode: Mode,
    webhooks: DeliveryRules | None = None,
) -> str:
    """The file. Raises TooMuchToRecord where `check` would refuse it."""
    payments = [payment for payment, _ in history.payments]
    outcomes = _outcome_rules(history)
    expiry = _expiry_rules(payments)
    script = script_of(history, sets_expiry=not expiry)
    if webhooks is not None:
        script += arrival_steps(history, webhooks.arrivals, wait_ms=webhooks.wait_ms)
    document = {
        "version": VERSION,
        "name": NAME,
        "description": f"Recorded from {account_id} in {mode} mode.",
        "outcomes": [outcome_rule_json(rule) for rule in outcomes],
        "expiry": [expiry_rule_json(rule) for rule in expiry],
        "webhooks": [] if webhooks is None else webhooks.rules,
        "script": [step_json(step) for step in script],
    }
    document = {key: value for key, value in document.items() if value != []}
    text = _heading(history, account_id, mode) + yaml_text(document)
    excess = _excess(document, text)
    if excess is not None:
        raise TooMuchToRecord(payments=len(payments), actions=len(history.actions), excess=excess)
    return text


def _excess(document: Mapping[str, Json], text: str) -> str | None:
    """The limit that the file would exceed, as a sentence."""
    for size, limit, unit in (
        (len(document["script"]), MAX_SCRIPT_STEPS, "steps"),
        (_nodes(document), MAX_NODES, "nodes"),
        (len(text.encode()), MAX_FILE_BYTES, "bytes"),
    ):
        if size > limit:
            return f"That takes {size:,} {unit}; a file can have {limit:,}."
    return None


def _nodes(value: Json) -> int:
    """The number of YAML nodes, as a reader counts them."""
    if isinstance(value, dict):
        return 1 + sum(1 + _nodes(inner) for inner in value.values())
    return 1 + sum(map(_nodes, value)) if isinstance(value, list) else 1


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
    offered = {method for payment, _ in history.payments for method in payment.methods}
    unknown = sorted(offered - set(DEFAULT_METHODS))
    if unknown:
        needed = ",".join((*DEFAULT_METHODS, *unknown))
        lines += [
            "The script needs an emulator with these methods:",
            f"  payments-emulator serve --methods {needed}",
            "  payments-emulator replay --url http://127.0.0.1:8080 case.yaml",
        ]
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
    payments = {payment.position: payment for payment, _ in history.payments}
    outcomes: dict[When, list[Outcome]] = {}
    unusual: set[When] = set()
    for stored in history.actions:
        action = payment_action(stored)
        if isinstance(action, Paid):
            when = _when(action)
            outcomes.setdefault(when, []).append(action.outcome)
            if action.outcome != _usual_outcome(payments[stored.payment], action):
                unusual.add(when)
    return tuple(
        OutcomeRule(when=when, then=outcome, times=times)
        for when, submitted in outcomes.items()
        if when in unusual
        for outcome, times in _runs(submitted)
    )


def _when(action: Paid) -> When:
    """The properties that distinguish a submit; of an unknown method only the method."""
    return When(
        method=action.method,
        phone=action.phone if action.method in PHONE_METHODS else None,
        bank=action.bank if action.method == BANK_TRANSFER else None,
    )


def _usual_outcome(payment: Payment, action: Paid) -> Outcome | None:
    subject = PaymentFacts(
        mode=Mode.TEST,
        methods=payment.methods,
        amount_minor=payment.amount_minor,
        method=action.method,
        phone=action.phone,
        bank=action.bank,
        metadata=payment.terms.metadata,
    )
    chosen = choose_outcome(_shipped(), subject, _no_uses)
    if chosen is None:
        return DEFAULT_OUTCOME
    return None if chosen.counts else chosen.rule.then


def _expiry_rules(payments: Sequence[Payment]) -> tuple[ExpiryRule, ...]:
    """How long each checkout stays open, if `expires_in` cannot express it for all."""
    if all(map(_is_expressible, payments)):
        return ()
    lifetimes = [payment.expires_at - payment.created_at for payment in payments]
    return tuple(ExpiryRule(after_ms=after_ms, times=times) for after_ms, times in _runs(lifetimes))


def _is_expressible(payment: Payment) -> bool:
    """Whether `expires_in` can express the lifetime, and no shipped rule overrides it."""
    lifetime_ms = payment.expires_at - payment.created_at
    lifetime_s, rest_ms = divmod(lifetime_ms, 1000)
    if rest_ms or not 1 <= lifetime_s <= MAX_EXPIRES_IN_S:
        return False
    subject = PaymentFacts(
        mode=Mode.TEST,
        methods=payment.methods,
        amount_minor=payment.amount_minor,
        metadata=payment.terms.metadata,
    )
    chosen = choose_expiry(_shipped(), subject, _no_uses)
    return chosen is None or (chosen.rule.after_ms == lifetime_ms and not chosen.counts)


def _runs(values: Iterable[T]) -> list[tuple[T, int | None]]:
    """Runs of equal values with their lengths; a single run needs no length."""
    runs = [(value, len(list(run))) for value, run in groupby(values)]
    return [(value, times if len(runs) > 1 else None) for value, times in runs]


def _no_uses(_: RuleKey) -> int:
    return 0


@cache
def _shipped() -> tuple[Scenario, ...]:
    """The shipped scenarios that are on at start, whatever this account has switched."""
    shipped = load_paths([data_directory("scenarios")])
    return tuple(scenario for scenario in shipped if scenario.enabled)
