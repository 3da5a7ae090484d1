"""Converts the deliveries of a history into webhook rules that reproduce their order.

An event that arrived after the next event of its payment is held; one that arrived later still is
delayed, and the script advances the clock to it. Repetitions of an event follow it at once.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from emulator.domain.durations import duration_text
from emulator.domain.payment import Event
from emulator.domain.transitions import DueKey
from emulator.domain.webhooks import Attempt, DeliveryState
from emulator.server.engine.recording.yaml_writer import Json
from emulator.server.storage.deliveries import Delivery

MAX_RECORDED_DELIVERIES = 1_000
_STEP_MS = 1_000
# Rules are used up in order, so an event without a fault needs one that changes nothing.
_NO_FAULT: dict[str, Json] = {"copies": 1}


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
        copies = self.then.get("copies", 1)
        return copies if isinstance(copies, int) else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryRules:
    """The rules; the time that the script has to advance for the last delay; the arrivals.

    `arrivals` are the types of the webhooks of each payment, by its position, in order.
    """

    rules: list[Json]
    wait_ms: int
    arrivals: Mapping[int, list[Json]]


def delivery_rules(
    events: Sequence[Event], stored: Iterable[tuple[Delivery, Sequence[Attempt]]]
) -> DeliveryRules:
    """The rules for events, oldest first, with their deliveries and attempts."""
    rows: dict[int | None, list[tuple[Delivery, Sequence[Attempt]]]] = {}
    for delivery, attempts in stored:
        rows.setdefault(delivery.event, []).append((delivery, attempts))
    sent = [
        _event_delivery(event, rows[event.position]) for event in events if event.position in rows
    ]
    wait_ms = 0
    arrivals: dict[int, list[Json]] = {}
    by_payment: dict[int, list[EventDelivery]] = {}
    for each in sent:
        by_payment.setdefault(each.event.payment, []).append(each)
    for payment, of_payment in by_payment.items():
        wait_ms = max(wait_ms, _reorder(of_payment))
        if all(each.is_dropped or each.arrived is not None for each in of_payment):
            arrivals[payment] = [
                each.event.type for each in _by_arrival(of_payment) for _ in range(each.copies)
            ]
    return DeliveryRules(rules=_rules(sent), wait_ms=wait_ms, arrivals=arrivals)


def _event_delivery(
    event: Event, rows: Sequence[tuple[Delivery, Sequence[Attempt]]]
) -> EventDelivery:
    endpoint = min(delivery.endpoint for delivery, _ in rows)
    rows = [row for row in rows if row[0].endpoint == endpoint]
    arrivals = [
        (attempt.at, delivery.sequence)
        for delivery, attempts in rows
        for attempt in attempts
        if attempt.result.has_succeeded
    ]
    is_dropped = all(delivery.state is DeliveryState.DROPPED for delivery, _ in rows)
    each = EventDelivery(
        event=event, arrived=min(arrivals, default=None), is_dropped=is_dropped and not arrivals
    )
    if each.is_dropped:
        each.then["drop"] = True
    if len(arrivals) > 1:
        each.then["copies"] = len(arrivals)
    tamper = rows[0][0].tamper
    if tamper is not None:
        each.then["tamper"] = tamper.value
    return each


def _by_arrival(sent: Iterable[EventDelivery]) -> list[EventDelivery]:
    arrived = ((each.arrived, each) for each in sent)
    return [
        each for key, each in sorted((a for a in arrived if a[0]), key=lambda a: a[0] or (0, 0))
    ]


def _reorder(sent: Sequence[EventDelivery]) -> int:
    """Hold or delay what arrived late; returns how long after the last event it arrives."""
    order = {id(each): place for place, each in enumerate(_by_arrival(sent))}
    ordered = [each for each in sent if id(each) in order]
    wait_ms = 0
    for each in sorted(ordered, key=lambda each: order[id(each)]):
        later = ordered[ordered.index(each) + 1 :]
        passed = [other for other in later if order[id(other)] < order[id(each)]]
        if wait_ms == 0 and not passed:
            continue
        is_next = passed == later[:1] and sent[sent.index(each) + 1 :][:1] == passed
        if wait_ms == 0 and is_next and "hold" not in passed[0].then:
            each.then["hold"] = True
        else:
            # Also what arrived after a delayed event.
            wait_ms += _STEP_MS
            each.then["delay"] = duration_text(sent[-1].event.at - each.event.at + wait_ms)
    return wait_ms


def _rules(sent: Sequence[EventDelivery]) -> list[Json]:
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
