"""Hypothesis strategies for the values of a scenario; all steps have one position."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from msgspec import structs

from emulator.domain.accounts import Mode
from emulator.domain.faults import ApiRequest, Point, RequestEffect
from emulator.domain.outcomes import Handset, Outcome, Redirect, RedirectMoment, Scripted
from emulator.domain.outcomes import Step as OutcomeStep
from emulator.domain.payment import Reason, Status
from emulator.domain.payment_methods import BANKS
from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER, DeliveryEffect, Tamper
from emulator.scenarios.expectations import PAYMENT_FIELDS
from emulator.scenarios.faults import FAULT_THEN
from emulator.scenarios.script_steps import ANSWERS, CREATE_MEMBERS, LIST
from emulator.scenarios.values import (
    AddFault,
    Advance,
    AmountRange,
    Cancel,
    CheckoutRule,
    Create,
    CustomerAnswer,
    Expect,
    ExpiryRule,
    Fault,
    FaultRule,
    FaultWhen,
    FieldCheck,
    List,
    OutcomeRule,
    Pay,
    Place,
    Repeat,
    Retrieve,
    Step,
    Transition,
    WebhookRule,
    WebhookWhen,
    When,
)
from emulator.scenarios.webhook_faults import WEBHOOK_THEN

NOWHERE = Place(line=1, column=1)
GIVEN = ("order", "other-1", "o_2")

# What JSON can escape without halves of a character, which YAML does not know.
TEXTS = st.text(
    st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"]), max_size=8
) | st.sampled_from(
    ["1e5", "08", "0700", "yes", "null", "2026-01-01", "=", "<<", "- a", "#", "1.5"]
)
SPANS_MS = st.integers(1, 3_650 * 86_400_000) | st.sampled_from([1_000, 60_000, 86_400_000])
TIMES = st.none() | st.integers(1, 1_000_000)
MODES = st.none() | st.sampled_from(Mode)
AMOUNTS = st.integers(1, 2**53 - 1)
PAIRS = st.dictionaries(TEXTS, TEXTS, max_size=3).map(lambda pairs: tuple(pairs.items()))
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)

# --- rules


def _range(bounds: list[int]) -> AmountRange:
    return AmountRange(gte=min(bounds), lte=max(bounds))


_AMOUNT_RANGES = (
    st.lists(AMOUNTS, min_size=1, max_size=2).map(_range)
    | st.builds(AmountRange, gte=AMOUNTS)
    | st.builds(AmountRange, lte=AMOUNTS)
)
_PAYERS = st.sampled_from(
    [
        {},
        {"method": "telebirr"},
        {"method": "mpesa", "phone": "+251700000001"},
        {"phone": "+251900000001"},
        {"bank": "walia_test"},
        {"method": "bank_transfer", "bank": "fidel_test"},
        {"method": "cbe_birr", "phone": "+251900000001"},
    ]
)
WHENS: st.SearchStrategy[When] = st.builds(
    lambda payer, **rest: When(**payer, **rest),
    _PAYERS,
    mode=MODES,
    amount=st.none() | _AMOUNT_RANGES,
    metadata=PAIRS,
)
_REASONS = st.none() | st.sampled_from(Reason)


def _in_order(steps: Sequence[OutcomeStep]) -> Scripted:
    spans_ms = sorted(step.after_ms for step in steps)
    return Scripted(
        steps=tuple(
            replace(step, after_ms=span_ms) for step, span_ms in zip(steps, spans_ms, strict=True)
        )
    )


_AFTER_MS = st.just(0) | SPANS_MS
_COMPLETED = st.builds(OutcomeStep, status=st.just(Status.COMPLETED), after_ms=_AFTER_MS)
_FAILED = st.builds(
    OutcomeStep,
    status=st.just(Status.FAILED),
    after_ms=_AFTER_MS,
    reason=_REASONS,
    unusual=st.booleans(),
)
_LATE = _COMPLETED.map(lambda step: replace(step, unusual=True))
_REFUNDED = st.builds(OutcomeStep, status=st.just(Status.REFUNDED), after_ms=_AFTER_MS)
OUTCOMES: st.SearchStrategy[Outcome] = st.just(Handset()) | st.one_of(
    st.tuples(),
    st.tuples(_COMPLETED),
    st.tuples(_COMPLETED, _REFUNDED),
    st.tuples(_FAILED),
    st.tuples(_FAILED, _LATE, _REFUNDED),
).map(_in_order)
OUTCOME_RULES = st.builds(OutcomeRule, when=WHENS, then=OUTCOMES, times=TIMES)
EXPIRY_RULES = st.builds(ExpiryRule, when=WHENS, after_ms=SPANS_MS, times=TIMES)
_REDIRECTS = st.builds(Redirect, moment=st.sampled_from(RedirectMoment)) | st.builds(
    Redirect, moment=st.just(RedirectMoment.BEFORE_WEBHOOK), delay_ms=st.integers(0, 15_000)
)
CHECKOUT_RULES = st.builds(CheckoutRule, when=WHENS, then=_REDIRECTS, times=TIMES)


def request_fault(**settings: Any) -> Fault[RequestEffect]:
    return FAULT_THEN.fault({key: value for key, value in settings.items() if value})


def delivery_fault(**settings: Any) -> Fault[DeliveryEffect]:
    return WEBHOOK_THEN.fault({key: value for key, value in settings.items() if value})


_LATENCIES_MS = st.integers(1, 300_000)
_LATENCIES_OR_NONE_MS = st.just(0) | _LATENCIES_MS
_POINTS = st.sampled_from(Point)
_RETRY_AFTERS_S = st.integers(1, 86_400)
_CUT: dict[str, Any] = {"latency": _LATENCIES_OR_NONE_MS}
_ERROR: dict[str, Any] = {**_CUT, "truncate": st.booleans(), "point": _POINTS}
FAULTS = st.one_of(
    st.builds(request_fault, latency=_LATENCIES_MS, point=_POINTS),
    st.builds(request_fault, drop=st.just(True), **_CUT, point=_POINTS),
    st.builds(request_fault, truncate=st.just(True), **_CUT, point=st.just(Point.AFTER_COMMIT)),
    st.builds(
        request_fault,
        status=st.integers(400, 599) | st.just(429),
        retry_after=st.none() | _RETRY_AFTERS_S,
        **_ERROR,
    ),
)
_COUNTS = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"nth": st.integers(1, 1_000_000)}),
    st.fixed_dictionaries({"every": st.integers(1, 1_000_000)}),
    st.fixed_dictionaries({"chance": st.floats(0, 1, exclude_min=True)}),
)
FAULT_RULES = st.builds(
    FaultRule,
    when=st.builds(
        lambda counts, **rest: FaultWhen(**counts, **rest),
        _COUNTS,
        mode=MODES,
        request=st.none() | st.sampled_from(ApiRequest),
    ),
    then=FAULTS,
    times=TIMES,
) | st.builds(
    FaultRule,
    when=st.builds(FaultWhen, request=st.sampled_from([*ApiRequest][1:])),
    then=st.builds(request_fault, hold=st.just("delivery"), **_ERROR | {"point": st.none()}),
    times=TIMES,
)

_COPIES = st.integers(1, 100)
_TAMPERS = st.none() | st.sampled_from(Tamper)
DELIVERY_FAULTS = st.one_of(
    st.just(delivery_fault(drop=True)),
    st.builds(delivery_fault, copies=_COPIES, tamper=_TAMPERS, delay=_AFTER_MS),
    st.builds(delivery_fault, copies=_COPIES, tamper=_TAMPERS, hold=st.just(True)),
    st.builds(delivery_fault, copies=st.integers(2, 100), concurrent=st.booleans()),
    st.builds(delivery_fault, timeout=st.integers(50, 15_000)),
)
_EVENTS = st.sampled_from(EVENT_TYPES_IN_ORDER)
WEBHOOK_RULES = st.builds(
    WebhookRule,
    when=st.builds(WebhookWhen, mode=MODES, event=st.none() | _EVENTS),
    then=DELIVERY_FAULTS,
    times=TIMES,
) | st.builds(
    WebhookRule,
    when=st.sampled_from([WebhookWhen(), WebhookWhen(event="payment.created")]),
    then=st.builds(delivery_fault, copies=_COPIES, tamper=_TAMPERS, before_response=st.just(True)),
    times=TIMES,
)

# --- scripts

_NAMES = st.sampled_from(GIVEN)
_NOWHERE = st.just(NOWHERE)


def _members(known: dict[str, Any], unknown: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    # What is unknown comes last, since it stands apart.
    return (*known.items(), *unknown.items())


_CREATES = st.builds(
    Create,
    place=_NOWHERE,
    name=st.none() | _NAMES,
    members=st.builds(
        _members,
        st.dictionaries(st.sampled_from(list(CREATE_MEMBERS)), JSON, max_size=4),
        st.dictionaries(TEXTS | st.sampled_from(["as", "unknown"]), JSON, max_size=2).map(
            lambda pairs: {key: pairs[key] for key in pairs if key not in CREATE_MEMBERS}
        ),
    ),
)
_RETRIEVES = st.builds(Retrieve, place=_NOWHERE, payment=_NAMES) | st.builds(
    Retrieve, place=_NOWHERE, id=TEXTS.filter(bool)
)
_LISTS = st.builds(
    List,
    place=_NOWHERE,
    query=st.dictionaries(
        st.sampled_from([key for key in LIST.keys if key != "after"]), TEXTS, max_size=5
    ).map(lambda query: tuple(query.items())),
    after=st.none() | _NAMES,
)
_PAYS: st.SearchStrategy[Pay] = st.one_of(
    st.builds(
        Pay,
        place=_NOWHERE,
        payment=_NAMES,
        method=st.sampled_from(["telebirr", "cbe_birr"]),
        phone=st.integers(0, 99_999_999).map(lambda number: f"+2519{number:08}"),
    ),
    st.builds(
        Pay,
        place=_NOWHERE,
        payment=_NAMES,
        method=st.just("bank_transfer"),
        bank=st.sampled_from(list(BANKS)),
    ),
    st.builds(Pay, place=_NOWHERE, payment=_NAMES, method=st.just("cbe_birr")),
)
_ANSWERS = st.builds(
    CustomerAnswer, place=_NOWHERE, payment=_NAMES, answer=st.sampled_from(ANSWERS)
)
_CANCELS = st.builds(Cancel, place=_NOWHERE, payment=_NAMES)
_TRANSITIONS = st.builds(
    Transition,
    place=_NOWHERE,
    payment=_NAMES,
    status=st.sampled_from([status for status in Status if status is not Status.PENDING]),
    method=st.none() | st.sampled_from(["telebirr", "cbe_birr"]),
    unusual=st.booleans(),
) | st.builds(
    Transition,
    place=_NOWHERE,
    payment=_NAMES,
    status=st.just(Status.FAILED),
    reason=_REASONS,
)
_ADVANCES = st.builds(Advance, place=_NOWHERE, by_ms=st.none() | _AFTER_MS)
_ADDED = st.builds(AddFault, place=_NOWHERE, rule=FAULT_RULES)

_EVENT_LISTS = st.lists(_EVENTS, max_size=3)
_OF_ANYTHING: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(PAYMENT_FIELDS, JSON),
    "status": st.sampled_from(Status).map(str),
    "method": st.none() | TEXTS,
    "reason": _REASONS.map(lambda reason: reason and reason.value),
    "events": _EVENT_LISTS,
    "webhooks": _EVENT_LISTS,
    "forged": _EVENT_LISTS,
}
_OF_AN_ANSWER: dict[str, st.SearchStrategy[Any]] = {
    **_OF_ANYTHING,
    "http_status": st.integers(100, 599),
    "code": st.none() | TEXTS,
    "param": st.none() | TEXTS,
    "retry_after": st.none() | st.integers(0, 86_400),
    "replayed": st.booleans(),
    "lost": st.booleans(),
    "has_more": st.booleans(),
    "payments": st.lists(_NAMES, max_size=3),
}
_OF_A_PAYMENT = {**_OF_ANYTHING, "same_as": _NAMES}


def _checks(shapes: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[tuple[FieldCheck, ...]]:
    keys = st.lists(st.sampled_from(list(shapes)), min_size=1, max_size=3, unique=True)
    return keys.flatmap(
        lambda drawn: st.tuples(
            *(
                st.builds(FieldCheck, place=_NOWHERE, key=st.just(key), expected=shapes[key])
                for key in drawn
            )
        )
    )


_EXPECTS = st.builds(Expect, place=_NOWHERE, checks=_checks(_OF_AN_ANSWER)) | st.builds(
    Expect, place=_NOWHERE, payment=_NAMES, checks=_checks(_OF_A_PAYMENT)
)
_SINGLE: st.SearchStrategy[Step] = st.one_of(
    _CREATES,
    _RETRIEVES,
    _LISTS,
    _PAYS,
    _ANSWERS,
    _CANCELS,
    _TRANSITIONS,
    _ADVANCES,
    _ADDED,
    _EXPECTS,
)


def _or_repeated(steps: st.SearchStrategy[Step]) -> st.SearchStrategy[Step]:
    bodies = st.lists(steps, min_size=1, max_size=2).map(tuple)
    return steps | st.builds(Repeat, place=_NOWHERE, times=st.integers(1, 10), steps=bodies)


STEPS = _or_repeated(_or_repeated(_or_repeated(_SINGLE)))
"""Steps that can follow `create` steps with the names GIVEN."""


def nowhere(step: Step) -> Step:
    """The step with the position of drawn steps."""
    if isinstance(step, Expect):
        checks = tuple(structs.replace(check, place=NOWHERE) for check in step.checks)
        return structs.replace(step, place=NOWHERE, checks=checks)
    if isinstance(step, Repeat):
        return structs.replace(
            step, place=NOWHERE, steps=tuple(nowhere(inner) for inner in step.steps)
        )
    return structs.replace(step, place=NOWHERE)
