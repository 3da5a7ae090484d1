"""How the rules of each section of a scenario file are read and what they must make sense of."""

from functools import partial

from emulator.domain.accounts import Mode
from emulator.domain.banks import BANKS
from emulator.domain.outcomes import Handset, Outcome, Scripted, Step
from emulator.domain.payment import (
    BANK_TRANSFER,
    DEFAULT_METHODS,
    LARGEST_AMOUNT_MINOR,
    PHONE_METHODS,
    Reason,
    Status,
)
from emulator.domain.phones import method_of_phone, normalise_phone
from emulator.domain.transitions import TRANSITIONS, Edge
from emulator.scenarios.entries import (
    Entry,
    Members,
    listed,
    read_boolean,
    read_duration_ms,
    read_items,
    read_listed,
    read_members,
    read_pairs,
    read_positive_integer,
    read_text,
    read_word,
    whole_number,
)
from emulator.scenarios.nodes import MapNode, ScalarNode
from emulator.scenarios.problems import hint_nearest
from emulator.scenarios.values import AmountRange, ExpiryRule, OutcomeRule, When
from emulator.scenarios.vocabulary import (
    AMOUNT_KEYS,
    EXPIRY_RULE_KEYS,
    EXPIRY_THEN_KEYS,
    HANDSET,
    METHOD_PATTERN,
    MOST_STEPS,
    MOST_TIMES,
    OUTCOME_RULE_KEYS,
    STEP_KEYS,
    WHEN_KEYS,
    followers,
    statuses_after_submit,
)

_WHEN_ADVICE = "what must match; {} matches everything"
_read_amount_minor = partial(read_positive_integer, at_most=LARGEST_AMOUNT_MINOR)
_read_times = partial(read_positive_integer, at_most=MOST_TIMES)


def read_outcome_rules(section: Entry) -> tuple[OutcomeRule, ...]:
    entries = read_items(section, "a list of rules", "an outcome rule") or []
    return tuple(rule for entry in entries if (rule := _read_outcome_rule(entry)))


def read_expiry_rules(section: Entry) -> tuple[ExpiryRule, ...]:
    entries = read_items(section, "a list of rules", "an expiry rule") or []
    return tuple(rule for entry in entries if (rule := _read_expiry_rule(entry)))


def _read_outcome_rule(entry: Entry) -> OutcomeRule | None:
    rule = read_members(entry, OUTCOME_RULE_KEYS)
    if rule is None:
        return None
    when = rule.need("when", _read_when, _WHEN_ADVICE)
    then = rule.need("then", _read_outcome, f"a list of steps, or {HANDSET}")
    times = rule.get("times", _read_times)
    if when is None or then is None:
        return None
    return OutcomeRule(when=when, then=then, times=times)


def _read_expiry_rule(entry: Entry) -> ExpiryRule | None:
    rule = read_members(entry, EXPIRY_RULE_KEYS)
    if rule is None:
        return None
    when = rule.need("when", _read_when, _WHEN_ADVICE)
    if "then" in rule.known and "after" in rule.known:
        rule.known["then"].note("'after' must be given once: beside 'when', or inside 'then'")
    if "then" in rule.known:
        after_ms = rule.get("then", _read_expiry_then)
    else:
        after_ms = rule.need("after", _read_positive_duration_ms, "a duration such as 5s")
    times = rule.get("times", _read_times)
    if when is None or after_ms is None:
        return None
    return ExpiryRule(when=when, after_ms=after_ms, times=times)


def _read_expiry_then(entry: Entry) -> int | None:
    then = read_members(entry, EXPIRY_THEN_KEYS)
    if then is None:
        return None
    return then.need("after", _read_positive_duration_ms, "a duration such as 5s")


def _read_positive_duration_ms(entry: Entry) -> int | None:
    duration_ms = read_duration_ms(entry)
    if duration_ms == 0:
        entry.note(f"{entry.label} must be longer than nothing")
        return None
    return duration_ms


def _read_when(entry: Entry) -> When | None:
    members = read_members(entry, WHEN_KEYS)
    if members is None:
        return None
    when = When(
        mode=members.get("mode", partial(read_word, words=Mode)),
        method=members.get("method", _read_method),
        phone=members.get("phone", _read_phone),
        bank=members.get("bank", partial(read_listed, words=BANKS)),
        amount=members.get("amount", _read_amount),
        metadata=members.get("metadata", _read_metadata) or (),
    )
    _note_contradictions(when, members)
    return when


def _note_contradictions(when: When, members: Members) -> None:
    """A rule that can never match is a mistake that nobody would notice otherwise."""
    if when.phone is not None:
        phone = members.known["phone"]
        owner = method_of_phone(when.phone)
        if when.method in PHONE_METHODS - {owner}:
            phone.note(f"{when.phone} is a number of {owner}, so it never pays by {when.method}")
        elif when.method == BANK_TRANSFER:
            phone.note(f"a {BANK_TRANSFER} has a bank and no phone, so this never matches")
    if when.bank is not None:
        bank = members.known["bank"]
        if when.method in PHONE_METHODS:
            bank.note(f"{when.method} has a phone and no bank, so this never matches")
        elif when.phone is not None:
            bank.note("no payment has both a phone and a bank, so this never matches")


def _read_method(entry: Entry) -> str | None:
    method = read_text(entry)
    if method is None or METHOD_PATTERN.fullmatch(method):
        return method
    known = f"a word such as {listed(DEFAULT_METHODS, 'or')}"
    entry.refuse(known, hint_nearest(method, DEFAULT_METHODS))
    return None


def _read_phone(entry: Entry) -> str | None:
    text = read_text(entry)
    if text is None:
        return None
    try:
        return normalise_phone(text)
    except ValueError as error:
        entry.note(str(error))
        return None


def _read_amount(entry: Entry) -> AmountRange | None:
    if isinstance(entry.node, MapNode):
        return _read_amount_range(entry)
    # A list or a text gets told of both forms; a number out of bounds, of the bounds.
    if whole_number(entry.node) is None:
        entry.refuse("an amount in ETB cents, or {gte: …, lte: …}")
        return None
    amount_minor = _read_amount_minor(entry)
    return None if amount_minor is None else AmountRange(gte=amount_minor, lte=amount_minor)


def _read_amount_range(entry: Entry) -> AmountRange | None:
    members = read_members(entry, AMOUNT_KEYS)
    if members is None:
        return None
    if not members.known:
        entry.note("amount must have 'gte' or 'lte' or both")
    gte = members.get("gte", _read_amount_minor)
    lte = members.get("lte", _read_amount_minor)
    if gte is not None and lte is not None and gte > lte:
        entry.note(f"gte must not be above lte: no amount is from {gte} to {lte}")
    return AmountRange(gte=gte, lte=lte)


def _read_metadata(entry: Entry) -> tuple[tuple[str, str], ...]:
    pairs = read_pairs(entry) or {}
    return tuple(
        (key, text) for key, (_, value) in pairs.items() if (text := read_text(value)) is not None
    )


def _read_outcome(entry: Entry) -> Outcome | None:
    if isinstance(entry.node, ScalarNode) and entry.node.text == HANDSET:
        return Handset()
    entries = read_items(entry, f"a list of steps, or {HANDSET}", "a step")
    if entries is None:
        return None
    if len(entries) > MOST_STEPS:
        entry.note(f"then must not have more than {MOST_STEPS} steps, but has {len(entries)}")
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
