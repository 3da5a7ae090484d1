"""The outcomes section: what happens after the submit, step by step, each of them legal."""

from functools import partial

from emulator.domain.outcomes import Handset, Outcome, Scripted, Step
from emulator.domain.payment import Reason, Status
from emulator.domain.transitions import TRANSITIONS, Edge
from emulator.scenarios.conditions import WHEN_ADVICE, read_rules, read_times, read_when
from emulator.scenarios.entries import (
    Entry,
    Members,
    listed,
    read_boolean,
    read_duration_ms,
    read_items,
    read_listed,
    read_members,
    read_word,
)
from emulator.scenarios.nodes import ScalarNode
from emulator.scenarios.values import OutcomeRule
from emulator.scenarios.vocabulary import (
    HANDSET,
    MAX_STEPS,
    OUTCOME_RULE_KEYS,
    STEP_KEYS,
    followers,
    statuses_after_submit,
)


def read_outcome_rules(section: Entry) -> tuple[OutcomeRule, ...]:
    return read_rules(section, "an outcome rule", _read_outcome_rule)


def _read_outcome_rule(entry: Entry) -> OutcomeRule | None:
    rule = read_members(entry, OUTCOME_RULE_KEYS)
    if rule is None:
        return None
    when = rule.need("when", read_when, WHEN_ADVICE)
    then = rule.need("then", _read_outcome, f"a list of steps, or {HANDSET}")
    times = rule.get("times", read_times)
    if when is None or then is None:
        return None
    return OutcomeRule(when=when, then=then, times=times)


def _read_outcome(entry: Entry) -> Outcome | None:
    if isinstance(entry.node, ScalarNode) and entry.node.text == HANDSET:
        return Handset()
    entries = read_items(entry, f"a list of steps, or {HANDSET}", "a step")
    if entries is None:
        return None
    if len(entries) > MAX_STEPS:
        entry.note(f"then must not have more than {MAX_STEPS} steps, but has {len(entries)}")
        return None
    return Scripted(steps=_read_steps(entries))


def _read_steps(entries: list[Entry]) -> tuple[Step, ...]:
    """The steps, each of them legal after the one before; the submit leads to processing."""
    steps: list[Step] = []
    since: Status | None = Status.PROCESSING
    for entry in entries:
        members = read_members(entry, STEP_KEYS)
        earlier_ms = steps[-1].after_ms if steps else 0
        step = None if members is None else _read_step(members, earlier_ms)
        if members is None or step is None:
            since = None  # what may follow a step that cannot be read, nobody knows
            continue
        if since is not None:
            since = _follow(since, step, members)
        steps.append(step)
    return tuple(steps)


def _read_step(members: Members, earlier_ms: int) -> Step | None:
    after_ms = members.get("after", read_duration_ms) if "after" in members.known else 0
    status = members.need("status", _read_status, "what the payment becomes")
    reason = members.get("reason", partial(read_word, words=Reason))
    unusual = members.get("unusual", read_boolean)
    if after_ms is not None and after_ms < earlier_ms:
        members.known.get("after", members.entry).note(
            "after counts from the submit, so it must not be less than in the step above"
        )
        after_ms = None
    if status is None:
        return None
    if "reason" in members.known and status is not Status.FAILED:
        members.known["reason"].note(f"reason belongs to 'status: {Status.FAILED}' alone")
    return Step(
        status=status,
        # Neither a wrong time nor a wrong word is to be complained about twice.
        after_ms=earlier_ms if after_ms is None else after_ms,
        unusual="unusual" in members.known if unusual is None else unusual,
        reason=reason,
    )


def _read_status(entry: Entry) -> Status | None:
    found = read_listed(entry, list(Status), offered=statuses_after_submit())
    return None if found is None else Status(found)


def _follow(since: Status, step: Step, members: Members) -> Status | None:
    """The status after a step, or None after noting that it cannot be reached like this."""
    edge = TRANSITIONS.get((since, step.status))
    if edge is None:
        members.known["status"].note(_what_can_follow(since, step.status))
        return None
    if edge is Edge.UNUSUAL and not step.unusual:
        members.known["status"].note(
            f"{step.status} after {since} is unusual, so it needs 'unusual: true' beside it"
        )
    return step.status


def _what_can_follow(since: Status, status: Status) -> str:
    possible = [
        f"{to} (with unusual: true)" if TRANSITIONS[since, to] is Edge.UNUSUAL else to.value
        for to in followers(since)
    ]
    if not possible:
        return f"{status} cannot follow {since}: {since} is the end of a payment"
    return f"{status} cannot follow {since}; after {since} can come {listed(possible, 'or')}"
