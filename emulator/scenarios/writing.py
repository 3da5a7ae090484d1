"""How the values of a scenario are written back, so that reading them gives the same values.

What is written is JSON, and as such YAML. What would be read without being said is left out.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any

from emulator.domain.faults import Fault, Point
from emulator.domain.instants import UNIT_MS
from emulator.domain.outcomes import Handset, Outcome, Scripted, Step
from emulator.domain.webhooks import DeliveryFault
from emulator.scenarios import steps
from emulator.scenarios.values import (
    AmountRange,
    ExpiryRule,
    FaultRule,
    FaultWhen,
    OutcomeRule,
    WebhookRule,
    WebhookWhen,
    When,
)
from emulator.scenarios.vocabulary import CREATE_MEMBERS, HANDSET, NEXT, RATE_LIMITED, RETRY_AFTER_S

JsonObject = dict[str, Any]

_DEFAULT_DELIVERY_FAULT = DeliveryFault()


def duration_text(span_ms: int) -> str:
    """A span of time in the largest unit that leaves no fraction, `30s`, or else in seconds."""
    seconds, rest_ms = divmod(span_ms, UNIT_MS["s"])
    if seconds and rest_ms:
        return f"{seconds}.{rest_ms:03}".rstrip("0") + "s"
    units = [unit for unit, unit_ms in UNIT_MS.items() if span_ms % unit_ms == 0]
    unit = units[-1] if span_ms else "s"
    return f"{span_ms // UNIT_MS[unit]}{unit}"


def outcome_json(outcome: Outcome) -> str | list[JsonObject]:
    match outcome:
        case Handset():
            return HANDSET
        case Scripted(steps=scripted):
            return [_outcome_step_json(step) for step in scripted]


def outcome_rule_json(rule: OutcomeRule) -> JsonObject:
    return _rule(_when_json(rule.when), rule.times, then=outcome_json(rule.then))


def expiry_rule_json(rule: ExpiryRule) -> JsonObject:
    return _rule(_when_json(rule.when), rule.times, after=duration_text(rule.after_ms))


def fault_rule_json(rule: FaultRule) -> JsonObject:
    return _rule(_fault_when_json(rule.when), rule.times, then=_fault_json(rule.then))


def webhook_rule_json(rule: WebhookRule) -> JsonObject:
    return _rule(_webhook_when_json(rule.when), rule.times, then=delivery_fault_json(rule.then))


def delivery_fault_json(oddity: DeliveryFault) -> JsonObject:
    if oddity == _DEFAULT_DELIVERY_FAULT:
        return {"copies": oddity.copies}  # something must be said
    return _said(
        copies=oddity.copies if oddity.copies != _DEFAULT_DELIVERY_FAULT.copies else None,
        delay=duration_text(oddity.delay_ms) if oddity.delay_ms else None,
        drop=oddity.drop or None,
        hold=oddity.hold or None,
        before_response=oddity.before_response or None,
        tamper=oddity.tamper,
    )


def step_json(step: steps.Step) -> JsonObject:
    """A step of a script: its name, and what it says."""
    name, said_by = _STEPS[type(step)]
    return {name: said_by(step)}


def _said(**members: object) -> JsonObject:
    """What there is to say, words as plain text; None is nothing."""
    return {
        key: value.value if isinstance(value, StrEnum) else value
        for key, value in members.items()
        if value is not None
    }


def _rule(when: JsonObject, times: int | None, **then: object) -> JsonObject:
    return {"when": when, **then, **_said(times=times)}


def _when_json(when: When) -> JsonObject:
    return _said(
        mode=when.mode,
        method=when.method,
        phone=when.phone,
        bank=when.bank,
        amount=None if when.amount is None else _amount_json(when.amount),
        metadata=dict(when.metadata) or None,
    )


def _amount_json(amount: AmountRange) -> int | JsonObject | None:
    if amount.gte == amount.lte:
        return amount.gte
    return _said(gte=amount.gte, lte=amount.lte)


def _outcome_step_json(step: Step) -> JsonObject:
    return _said(
        after=duration_text(step.after_ms) if step.after_ms else None,
        status=step.status,
        reason=step.reason,
        unusual=step.unusual or None,
    )


def _webhook_when_json(when: WebhookWhen) -> JsonObject:
    return _said(mode=when.mode, event=when.event)


def _fault_when_json(when: FaultWhen) -> JsonObject:
    return _said(
        mode=when.mode,
        request=when.request,
        nth=when.nth,
        every=when.every,
        chance=when.chance,
    )


def _fault_json(fault: Fault) -> JsonObject:
    halves_the_truth = fault.truncate and fault.status is None
    usual_point = Point.AFTER_COMMIT if halves_the_truth else Point.BEFORE_COMMIT
    usual_retry_after_s = RETRY_AFTER_S if fault.status == RATE_LIMITED else None
    retry_after_s = fault.retry_after_s
    return _said(
        status=fault.status,
        retry_after=None if retry_after_s == usual_retry_after_s else retry_after_s,
        latency=duration_text(fault.latency_ms) if fault.latency_ms else None,
        drop=fault.drop or None,
        truncate=fault.truncate or None,
        point=None if fault.point is usual_point else fault.point,
    )


def _create_json(create: steps.Create) -> JsonObject:
    """What the API does not know goes where a script says that this is meant."""
    known = {key: value for key, value in create.members if key in CREATE_MEMBERS}
    unknown = {key: value for key, value in create.members if key not in CREATE_MEMBERS}
    return {**_said(**{"as": create.name}), **known, **_said(unknown=unknown or None)}


def _retrieve_json(retrieve: steps.Retrieve) -> str | JsonObject:
    return retrieve.payment or {"id": retrieve.id}


def _list_json(step: steps.List) -> JsonObject:
    return {**dict(step.query), **_said(after=step.after)}


def _pay_json(pay: steps.Pay) -> JsonObject:
    return _said(payment=pay.payment, method=pay.method, phone=pay.phone, bank=pay.bank)


def _answer_json(answer: steps.Answer) -> JsonObject:
    return _said(payment=answer.payment, answer=answer.answer)


def _cancel_json(cancel: steps.Cancel) -> str:
    return cancel.payment


def _transition_json(transition: steps.Transition) -> JsonObject:
    return _said(
        payment=transition.payment,
        status=transition.status,
        method=transition.method,
        reason=transition.reason,
        unusual=transition.unusual or None,
    )


def _advance_json(advance: steps.Advance) -> str:
    return NEXT if advance.by_ms is None else duration_text(advance.by_ms)


def _add_fault_json(step: steps.AddFault) -> JsonObject:
    return fault_rule_json(step.rule)


def _expect_json(expect: steps.Expect) -> JsonObject:
    checks = {check.key: check.expected for check in expect.checks}
    return {**_said(payment=expect.payment), **checks}


def _repeat_json(repeat: steps.Repeat) -> JsonObject:
    return {"times": repeat.times, "steps": [step_json(step) for step in repeat.steps]}


_STEPS: dict[type[Any], tuple[str, Callable[[Any], steps.Json]]] = {
    steps.Create: ("create", _create_json),
    steps.Retrieve: ("retrieve", _retrieve_json),
    steps.List: ("list", _list_json),
    steps.Pay: ("pay", _pay_json),
    steps.Answer: ("answer", _answer_json),
    steps.Cancel: ("cancel", _cancel_json),
    steps.Transition: ("transition", _transition_json),
    steps.Advance: ("advance", _advance_json),
    steps.AddFault: ("fault", _add_fault_json),
    steps.Expect: ("expect", _expect_json),
    steps.Repeat: ("repeat", _repeat_json),
}
