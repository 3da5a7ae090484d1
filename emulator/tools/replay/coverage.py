"""Computes which transitions, reasons and faults a run has exercised, of all that exist."""

from collections.abc import Iterable

from msgspec import Struct

from emulator.domain.effects import RedirectMoment
from emulator.domain.payment import EVENT_TYPES, Reason, Status
from emulator.domain.transitions import TRANSITIONS, Edge
from emulator.scenarios.faults import FAULT_THEN
from emulator.scenarios.runner.results import Trace
from emulator.scenarios.webhook_faults import WEBHOOK_THEN

NONE = "(none)"
_CREATED = EVENT_TYPES[Status.PENDING]


class Group(Struct, frozen=True, kw_only=True):
    """Names of one kind, such as reasons, in display order, and which were exercised."""

    title: str
    names: tuple[str, ...]
    exercised: frozenset[str]

    @property
    def count(self) -> int:
        return sum(name in self.exercised for name in self.names)


class Coverage(Struct, frozen=True, kw_only=True):
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


# By the title of their group.
NAMES: dict[str, tuple[str, ...]] = {
    "Transitions": (
        edge(None, Status.PENDING),
        *(edge(*pair) for pair, kind in TRANSITIONS.items() if kind is not Edge.UNUSUAL),
    ),
    "Reasons": tuple(Reason),
    "Faults": FAULT_THEN.coverage_names,
    "Webhooks": WEBHOOK_THEN.coverage_names,
    "Redirects": tuple(RedirectMoment),
}


def coverage_of(traces: Iterable[Trace]) -> Coverage:
    """What these cases have exercised together."""
    exercised: dict[str, set[str]] = {title: set() for title in NAMES}
    for trace in traces:
        exercised["Transitions"].update(edge(*transition) for transition in trace.transitions)
        if any(event.type == _CREATED for event in trace.events):
            exercised["Transitions"].add(edge(None, Status.PENDING))
        exercised["Reasons"].update(trace.reasons)
        exercised["Redirects"].update(trace.redirects)
        for request in trace.requests:
            then = (request.fault or {}).get("then") or {}
            exercised["Faults"].update(FAULT_THEN.exercised(then))
        for then in trace.webhook_faults:
            exercised["Webhooks"].update(WEBHOOK_THEN.exercised(then))
    return Coverage(
        groups=tuple(
            Group(title=title, names=names, exercised=frozenset(exercised[title]))
            for title, names in NAMES.items()
        )
    )
