"""Computes which transitions, reasons and faults a run has exercised, of all that exist."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from emulator.domain.payment import EVENT_TYPES, Reason, Status
from emulator.domain.transitions import TRANSITIONS
from emulator.replay.results import Trace
from emulator.scenarios import faults, webhook_faults

NONE = "(none)"

_STATUSES = {event_type: status for status, event_type in EVENT_TYPES.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Things of one kind, in the order in which they are shown, and which were exercised."""

    title: str
    names: tuple[str, ...]
    exercised: frozenset[str]

    @property
    def count(self) -> int:
        return sum(name in self.exercised for name in self.names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """The groups, and how much of them all was exercised."""

    groups: tuple[Group, ...]

    @property
    def count(self) -> int:
        return sum(group.count for group in self.groups)

    @property
    def total(self) -> int:
        return sum(len(group.names) for group in self.groups)

    @property
    def percent(self) -> float:
        return 100 * self.count / self.total

    @property
    def percent_text(self) -> str:
        """With one decimal, rounded down, so that 100 means all."""
        return f"{self.count * 1000 // self.total / 10:.1f} %"


def edge(since: Status | None, to: Status) -> str:
    return f"{since or NONE} → {to}"


TRANSITION_NAMES = (
    edge(None, Status.PENDING),
    *(edge(since, to) for since, to in TRANSITIONS),
)
REASON_NAMES = tuple(Reason)
FAULT_NAMES = faults.COVERAGE_NAMES
DELIVERY_FAULT_NAMES = webhook_faults.COVERAGE_NAMES


def coverage_of(traces: Iterable[Trace]) -> Coverage:
    """What these cases have exercised together."""
    edges: set[str] = set()
    reasons: set[str] = set()
    request_faults: set[str] = set()
    delivery_faults: set[str] = set()
    for trace in traces:
        edges.update(_edges(trace))
        reasons.update(event.reason for event in trace.events if event.reason)
        for request in trace.requests:
            then = (request.fault or {}).get("then") or {}
            request_faults.update(faults.coverage_names_of(then))
        for then in trace.oddities:
            delivery_faults.update(webhook_faults.coverage_names_of(then))
    return Coverage(
        groups=(
            Group(title="Transitions", names=TRANSITION_NAMES, exercised=frozenset(edges)),
            Group(title="Reasons", names=REASON_NAMES, exercised=frozenset(reasons)),
            Group(title="Faults", names=FAULT_NAMES, exercised=frozenset(request_faults)),
            Group(
                title="Webhooks",
                names=DELIVERY_FAULT_NAMES,
                exercised=frozenset(delivery_faults),
            ),
        )
    )


def _edges(trace: Trace) -> Iterator[str]:
    latest: dict[str, Status] = {}
    for event in trace.events:
        status = _STATUSES.get(event.type)
        if status is not None:
            yield edge(latest.get(event.payment), status)
            latest[event.payment] = status
