"""Builds the script and the webhook rules that reproduce a history of payments and webhooks.

A scheduled change (an expiry, a timeout, a later step of an outcome) needs no step of its own: the
clock is advanced to its instant. Repetitions of a webhook follow it at once.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from emulator.domain.durations import MAX_DURATION_MS
from emulator.domain.instants import Instant
from emulator.domain.payment import Event
from emulator.domain.payment_methods import DEFAULT_METHODS
from emulator.domain.transitions import DueKey
from emulator.files import MAX_FILE_BYTES, MAX_NODES
from emulator.scenarios import values
from emulator.scenarios.script import MAX_SCRIPT_STEPS
from emulator.scenarios.values import Json, Step

# The most events that the control API returns; a longer list is not expected.
MAX_EXPECTED_EVENTS = 1_000
NOWHERE = values.Place(line=1, column=1)
# Rules are used up in order, so an event without a fault needs one that changes nothing.
_NO_FAULT: dict[str, Json] = {"copies": 1}


@dataclass(slots=True, kw_only=True)
class _PaymentSteps:
    """A payment, as the steps so far have changed it."""

    name: str
    latest: Event
    types: list[str]
    shown_method: str | None = None

    def apply(self, event: Event) -> None:
        self.latest = event
        if not event.is_return:
            self.types.append(event.type)

    def expected(self) -> dict[str, Json]:
        """The checks of its present status that no earlier step has made."""
        checks: dict[str, Json] = {"status": self.latest.status.value}
        method = None if self.latest.is_failed_attempt else self.latest.method
        if method != self.shown_method:
            checks["method"] = self.shown_method = method
        if self.latest.reason is not None and not self.latest.is_return:
            checks["reason"] = self.latest.reason.value
        return checks


class HistoryScript:
    """Adds the steps of each event, oldest first, and advances the clock to it.

    After the last event of an instant, the status of each payment that changed is expected.
    `names` are the names of the payments, by their positions.
    """

    def __init__(self, payment_count: int) -> None:
        self.names: dict[int, str] = {}
        self._new_names = iter(payment_names(payment_count))
        self._payments: dict[int, _PaymentSteps] = {}
        # Those that changed at the present instant, in the order of their last changes.
        self._changed: dict[int, _PaymentSteps] = {}
        self._now: Instant | None = None
        self._types: list[str] = []
        self._steps: list[Step] = []

    def add_create(self, event: Event, members: Mapping[str, Json]) -> None:
        self.names[event.payment] = name = next(self._new_names)
        self._payments[event.payment] = _PaymentSteps(name=name, latest=event, types=[])
        create = values.Create(place=NOWHERE, name=name, members=tuple(members.items()))
        self.add_event(event, create)

    def add_event(self, event: Event, step: Step | None) -> None:
        """Add an event with the step that causes it, or None for a scheduled change."""
        self.add_step(event.at, step)
        self._payments[event.payment].apply(event)
        if not event.is_return:
            self._types.append(event.type)
        self._changed.pop(event.payment, None)
        self._changed[event.payment] = self._payments[event.payment]

    def add_step(self, at: Instant, step: Step | None) -> None:
        """Advance the clock to an instant, after the checks of the instant before."""
        if self._now is None:
            self._now = at
        span_ms = at - self._now
        if span_ms > 0:
            for payment in self._changed.values():
                self._steps.append(expect(payment.name, payment.expected()))
            self._changed.clear()
            self._now = at
        while span_ms > 0:
            by_ms = min(span_ms, MAX_DURATION_MS)
            self._steps.append(values.AdvanceStep(place=NOWHERE, by_ms=by_ms))
            span_ms -= by_ms
        self._steps += () if step is None else (step,)

    def end(self, now: Instant, *, is_whole_account: bool = True) -> tuple[Step, ...]:
        """The script, with checks of all events, and of the order of an account's events."""
        self.add_step(now, None)
        for payment in self._payments.values():
            checks = {**payment.expected(), "events": payment.types}
            self._steps.append(expect(payment.name, checks))
        types = self._types
        if is_whole_account and len(self._payments) > 1 and len(types) <= MAX_EXPECTED_EVENTS:
            self._steps.append(expect(None, {"events": types}))
        return tuple(self._steps)


def payment_names(count: int) -> list[str]:
    """The names of the payments, in the order of their creation."""
    return ["order"] if count == 1 else [f"order_{n}" for n in range(1, count + 1)]


def method_lines(offered: Collection[str]) -> list[str]:
    """Lines of a heading, where a script needs an emulator with other methods."""
    unknown = sorted(set(offered) - set(DEFAULT_METHODS))
    if not unknown:
        return []
    return [
        "The script needs an emulator with these methods:",
        f"  payments-emulator serve --methods {','.join((*DEFAULT_METHODS, *unknown))}",
        "  payments-emulator replay --url http://127.0.0.1:8080 case.yaml",
    ]


def expect(name: str | None, checks: dict[str, Json]) -> Step:
    return values.Expect(
        place=NOWHERE,
        payment=name,
        checks=tuple(
            values.FieldCheck(place=NOWHERE, key=key, expected=expected)
            for key, expected in checks.items()
        ),
    )


def arrival_steps(names: Mapping[int, str], arrivals: Mapping[int, list[Json]]) -> tuple[Step, ...]:
    """The steps that expect the webhooks of each payment."""
    return tuple(
        expect(name, {"webhooks": arrivals[payment]})
        for payment, name in names.items()
        if payment in arrivals
    )


@dataclass(slots=True, kw_only=True)
class EventDelivery:
    """What happened to an event at the first endpoint that it was sent to.

    `arrived` orders arrivals; it is None for an event that was dropped, or is pending.
    """

    event: Event
    arrived: DueKey | None
    is_dropped: bool
    then: dict[str, Json] = field(default_factory=dict)

    @property
    def copies(self) -> int:
        return int(self.then.get("copies", 1))


def by_arrival(sent: Iterable[EventDelivery]) -> list[EventDelivery]:
    arrived = (each for each in sent if each.arrived)
    return sorted(arrived, key=lambda each: each.arrived or (0, 0))


def arrived_types(sent: Iterable[EventDelivery]) -> list[Json]:
    """The types of the webhooks that arrived, in order."""
    return [each.event.type for each in by_arrival(sent) for _ in range(each.copies)]


def webhook_rules(sent: Sequence[EventDelivery]) -> list[Json]:
    """The rules that have these effects on the events, which are in their order."""
    rules: list[Json] = []
    for event_type in dict.fromkeys(each.event.type for each in sent):
        effects = [each.then for each in sent if each.event.type == event_type]
        runs = [(effect, len(list(run))) for effect, run in groupby(effects)]
        if not runs[-1][0]:
            runs.pop()
        for effect, times in runs:
            rule: dict[str, Json] = {"when": {"event": event_type}, "then": effect or _NO_FAULT}
            rules.append({**rule, "times": times})
    return rules


def excess(document: Mapping[str, Json], text: str) -> str | None:
    """The limit of a scenario file that a document exceeds, as a sentence."""
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
