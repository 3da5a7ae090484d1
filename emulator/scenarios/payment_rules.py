"""Declares the sections `outcomes`, `expiry` and `checkout`: the rules about payments."""

from collections.abc import Collection
from dataclasses import replace

from emulator.domain.effects import (
    MAX_REDIRECT_WAIT_MS,
    MAX_SUBMITS,
    CancelEffect,
    CheckoutEffect,
    Handset,
    Outcome,
    RedirectMoment,
    Scripted,
    Step,
    replaces_submit,
)
from emulator.domain.payment import Status
from emulator.domain.transitions import TRANSITIONS, Edge
from emulator.files import ScalarNode
from emulator.scenarios.conditions import (
    OUTCOME_WHEN,
    REASON,
    REASON_RULE,
    WHEN,
    list_of_rules,
    rule_of,
)
from emulator.scenarios.entries import Entry, listed, read_items
from emulator.scenarios.kinds import Boolean, Duration, JsonSchema, Kind, WholeNumber, Word
from emulator.scenarios.mappings import (
    DeclaredRule,
    Key,
    MappingOf,
    Members,
    excludes,
    implies,
    is_given,
    is_one_of,
    needs_one,
)
from emulator.scenarios.values import CheckoutRule, ExpiryRule, Json, OutcomeRule

HANDSET = "handset"
MAX_STEPS = 100

_EXPECTED = f"a list of steps, or {HANDSET}"

REASON_KEY = Key(
    REASON, "Why the payment failed; only with `status: failed`.", default_text="`provider_error`"
)

UNUSUAL = "Permits every change to another status, such as `completed` after `failed`."
STEP = MappingOf(
    Step,
    {
        "after": Key(
            Duration(),
            "The time since the submit, not less than in the step before.",
        ),
        "status": Key(
            Word(Status),
            "The new status. The status before must permit this change.",
            required="what the payment becomes",
        ),
        "reason": REASON_KEY,
        "unusual": Key(
            Boolean(),
            f"{UNUSUAL} A first step with it and without `after` starts from `pending`, not from "
            "`processing`. A step that the present status does not permit is left out.",
        ),
    },
    REASON_RULE,
)


class _Outcome(Kind[Outcome]):
    """A list of steps, or HANDSET: the customer or a test answers."""

    def read(self, entry: Entry) -> Outcome | None:
        if isinstance(entry.node, ScalarNode) and entry.node.text == HANDSET:
            return Handset()
        entries = read_items(entry, _EXPECTED, "a step")
        if entries is None:
            return None
        if len(entries) > MAX_STEPS:
            entry.note(f"then must not have more than {MAX_STEPS} steps, but has {len(entries)}")
            return None
        return Scripted(steps=_read_steps(entries))

    def schema(self) -> JsonSchema:
        step = STEP.schema()
        step["allOf"] = [*step["allOf"], _ordinary_or_unusual({to for _, to in _ORDINARY})]
        steps = {
            "type": "array",
            "items": step,
            "maxItems": MAX_STEPS,
            "allOf": [{"prefixItems": [_ordinary_or_unusual(_ordinary(Status.PROCESSING))]}],
        }
        return {"anyOf": [{"const": HANDSET}, steps]}

    def write(self, value: Outcome) -> Json:
        match value:
            case Handset():
                return HANDSET
            case Scripted(steps=steps):
                return [STEP.write(step) for step in steps]


_ORDINARY = [change for change, edge in TRANSITIONS.items() if edge is Edge.ORDINARY]


def _ordinary(since: Status) -> list[Status]:
    """The statuses that need no `unusual`, in the order of the table of transitions."""
    return [to for before, to in _ORDINARY if before is since]


def _ordinary_or_unusual(ordinary: Collection[Status]) -> JsonSchema:
    """The JSON Schema of a step to one of these statuses, or with `unusual`."""
    return {"anyOf": [is_one_of("unusual", True), is_one_of("status", *sorted(ordinary))]}


OUTCOME = _Outcome()
OUTCOME_RULE = rule_of(
    OutcomeRule,
    OUTCOME_WHEN,
    Key(
        OUTCOME,
        f"A list of steps, or `{HANDSET}`: the customer or a test answers.",
        required=_EXPECTED,
    ),
)
OUTCOMES = list_of_rules(OUTCOME_RULE, "an outcome rule")


def _read_steps(entries: list[Entry]) -> tuple[Step, ...]:
    """The steps, each of them legal after the one before; the submit leads to processing."""
    steps: list[Step] = []
    since: Status | None = Status.PROCESSING
    for number, entry in enumerate(entries):
        members = STEP.members(entry)
        earlier_ms = steps[-1].after_ms if steps else 0
        step = None if members is None else _read_step(members, earlier_ms)
        if members is None or step is None:
            since = None  # what may follow a step that cannot be read is unknown
            continue
        if number == 0 and replaces_submit(step):
            since = Status.PENDING
        if since is not None:
            since = _follow(since, step, members)
        steps.append(step)
    return tuple(steps)


def _read_step(members: Members, earlier_ms: int) -> Step | None:
    after_ms = members.values["after"]
    if after_ms is not None and after_ms < earlier_ms:
        members.known.get("after", members.entry).note(
            "after counts from the submit, so it must not be less than in the step above"
        )
        after_ms = None
    # A wrong value has been noted already, so it causes no second problem.
    if after_ms is None:
        members.values["after"] = earlier_ms
    if members.values["unusual"] is None:
        members.values["unusual"] = True
    return STEP.build(members)


def _follow(since: Status, step: Step, members: Members) -> Status | None:
    """The status after a step, or None after noting that it is the status before."""
    edge = TRANSITIONS.get((since, step.status))
    if edge is None:
        members.known["status"].note(f"{step.status} cannot follow {since}: it changes nothing")
        return None
    if edge is not Edge.ORDINARY and not step.unusual:
        ordinary = _ordinary(since)
        usual = f"; {listed(ordinary, 'or')} can follow without it" if ordinary else ""
        members.known["status"].note(
            f"{step.status} after {since} is unusual, so it needs 'unusual: true'{usual}"
        )
    return step.status


_ADVICE = "a duration such as 5s"
_AFTER = Key(
    Duration(at_least=1),
    "The time from the creation of the payment to the expiry of its checkout.",
)


def _after_ms(after_ms: int) -> int:
    return after_ms


def _use_form(members: Members) -> None:
    if "then" in members.known:
        members.values["after"] = members.values["then"]


EXPIRY_RULE = rule_of(
    ExpiryRule,
    WHEN,
    Key(
        MappingOf(_after_ms, {"after": replace(_AFTER, required=_ADVICE)}),
        "The same as `after`, in another form: `then: {after: 5s}`.",
        field=None,
    ),
    needs_one("after", "then"),
    excludes("after", "then"),
    _use_form,
    after=_AFTER,
)
EXPIRY = list_of_rules(EXPIRY_RULE, "an expiry rule")

_MAX_WAIT = f"{MAX_REDIRECT_WAIT_MS // 1_000}s"
_DELAYS = {
    RedirectMoment.BEFORE_WEBHOOK: Duration(at_most=MAX_REDIRECT_WAIT_MS),
    RedirectMoment.BEFORE_COMPLETED: Duration(at_least=1),
}


def _check_delay(members: Members) -> None:
    known, values = members.known, members.values
    if "delay" not in known or ("redirect" in known and values["redirect"] is None):
        return
    kind = _DELAYS.get(values["redirect"])
    if kind is None:
        words = listed([f"'redirect: {moment}'" for moment in _DELAYS], "or")
        known["delay"].note(f"'delay' belongs to {words} alone")
    elif values["delay"] is not None:
        values["delay"] = kind.read(known["delay"])


CHECKOUT_EFFECT = MappingOf(
    CheckoutEffect,
    {
        "redirect": Key(
            Word(RedirectMoment),
            "When the page redirects. "
            f"`after_webhook`: when the first attempts have ended, after {_MAX_WAIT} at most. "
            "`before_webhook`: the first attempts follow the redirect; without a page, they are "
            f"made after {_MAX_WAIT} or with the next `advance`. `before_completed`: the page "
            "redirects while the payment is still in `processing`, and it completes later. "
            "`never`: the customer closes the tab.",
            default_text="at once, when the payment has completed",
        ),
        "delay": Key(
            Duration(examples=["500ms", "2s"]),
            "For `before_webhook`: the real time from the redirect to the first attempts, "
            f"{_MAX_WAIT} at most. For `before_completed`: the time by the account's clock from "
            "the approval to the completion, by which later steps of the outcome are postponed.",
        ),
        "attempts": Key(
            WholeNumber(at_most=MAX_SUBMITS),
            "How often the customer may try to pay before `expires_at`. After a failed attempt "
            "before the last, the payment is `pending` again, without an event, and the page "
            "offers the methods.",
            default_text="`1`",
        ),
        "cancel": Key(
            Word(CancelEffect),
            "What the cancel button of the page does. `fails`: the payment fails with "
            "`user_cancelled`.",
            default_text="`stays_pending`",
        ),
    },
    needs_one("redirect", "attempts", "cancel"),
    excludes("redirect", "attempts", "cancel"),
    excludes("attempts", "cancel"),
    DeclaredRule(
        _check_delay,
        implies(is_given("delay"), is_one_of("redirect", *_DELAYS)),
        *(
            implies(is_one_of("redirect", moment), {"properties": {"delay": kind.schema()}})
            for moment, kind in _DELAYS.items()
        ),
    ),
)
CHECKOUT_RULE = rule_of(
    CheckoutRule,
    WHEN,
    Key(
        CHECKOUT_EFFECT,
        "What the page does: one of `redirect`, `attempts` and `cancel`.",
        required="what the page does, such as {redirect: after_webhook}",
    ),
)
CHECKOUT = list_of_rules(CHECKOUT_RULE, "a checkout rule")
