"""Defines histories: what a customer does, what goes wrong, and in which order it happens.

A history is an outcome and a set of anomalies. Its steps are the outcome's steps, changed by each
anomaly in the order of the table ANOMALY_KINDS.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations, count, product
from operator import itemgetter
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from emulator import ids
from emulator.tools.explore.anomalies import ANOMALIES, Anomaly
from emulator.tools.explore.steps import (
    KILLS,
    READ_FAULTS,
    REPEATING,
    SIMULTANEOUS,
    WAITING,
    Capabilities,
    HistoryStep,
    Manner,
    Outcome,
    StepAction,
    Steps,
    base_steps,
    outcomes,
)

# Random histories have up to this number of anomalies more than `--depth`.
MAX_EXTRA_ANOMALIES = 3
# Draws that yield no new history, after which there is probably none left.
MAX_VAIN_DRAWS = 5_000
_AT_ONCE = {Manner.WITH_RETURN: StepAction.RETURN, Manner.WITH_SETTLE: StepAction.SETTLE}
_ORDERS = (*_AT_ONCE, Manner.TOGETHER, Manner.OVERLAPPING)
"""The manners that change the order of facts only."""


class HistoryName(Struct, frozen=True, kw_only=True):
    """A history in a file."""

    outcome: Outcome
    anomalies: tuple[str, ...] = ()


class History(Struct, frozen=True, kw_only=True):
    """A history: its steps are the outcome's steps, changed by the anomalies."""

    outcome: Outcome
    anomalies: tuple[Anomaly, ...]
    steps: Steps

    @property
    def name(self) -> HistoryName:
        return HistoryName(outcome=self.outcome, anomalies=tuple(a.name for a in self.anomalies))

    @property
    def title(self) -> str:
        """The history in one line."""
        return ", ".join((self.outcome.value, *self.name.anomalies))

    @property
    def waits(self) -> bool:
        """Whether a step waits in real time."""
        return any(step.manner in WAITING for step in self.steps)

    @property
    def is_race(self) -> bool:
        """Whether requests arrive at the same moment."""
        return any(step.manner in SIMULTANEOUS for step in self.steps)

    @property
    def moves_clock(self) -> bool:
        """Whether a step moves the clock, which all payments share."""
        return self.passes_time or any(s.action is StepAction.PASS_EXPIRY for s in self.steps)

    @property
    def passes_time(self) -> bool:
        """Whether a step moves the clock of the application."""
        return any(step.action is StepAction.PASS_TIME for step in self.steps)

    @property
    def runs_alone(self) -> bool:
        """Whether no other history can run meanwhile: reads fail, the shop ends, or time passes."""
        return self.passes_time or any(step.manner in (*READ_FAULTS, *KILLS) for step in self.steps)

    def contains(self, other: "History") -> bool:
        """Whether another history is a part of this one."""
        return self.outcome is other.outcome and set(other.anomalies) <= set(self.anomalies)


def build_history(
    outcome: Outcome, anomalies: Sequence[Anomaly], can: Capabilities
) -> History | None:
    """The history with these anomalies, or None where they do not fit together."""
    ordered = tuple(sorted(anomalies, key=ANOMALIES.index))
    kinds = [each.kind for each in ordered]
    does_fit = all(outcome in kind.outcomes for kind in kinds) and outcome in outcomes(can)
    does_fit &= len(kinds) == 1 or all(kind.is_combined for kind in kinds)
    steps: Steps | None = base_steps(outcome, can) if does_fit else None
    for anomaly in ordered:
        steps = None if steps is None else anomaly.apply(steps, can)
    if steps is None:
        return None
    sent = tuple(step for step in steps if can.form.sends(step.event))
    return History(outcome=outcome, anomalies=ordered, steps=sent)


def histories_of_size(size: int, can: Capabilities) -> list[History]:
    """All histories with this number of anomalies.

    Histories of each outcome, with and without a fault at the start, are spread evenly. Histories
    that move the clock come later, then histories that run alone, then histories that wait, and
    last the histories of many orders.
    """
    groups = defaultdict[tuple[Any, ...], list[History]](list)
    for outcome, chosen in product(outcomes(can), combinations(ANOMALIES, size)):
        history = build_history(outcome, chosen, can)
        if history is not None:
            has_many = any(step.order > 1 for step in history.steps)
            phase = has_many, history.waits, history.runs_alone, history.moves_clock
            groups[phase, outcome, history.steps[0].manner is Manner.USUAL].append(history)
    places = [(key[0], i / len(g), h) for key, g in groups.items() for i, h in enumerate(g)]
    return [history for *_, history in sorted(places, key=itemgetter(0, 1))]


def random_histories(seed: int, depth: int, can: Capabilities) -> Iterator[History]:
    """Histories with more anomalies than `depth`, without end or until no new one is found."""
    key = ids.stream_key(seed, "explore")
    chances = (ids.chance(key, "history", number) for number in count(1))
    seen, vain = set[str](), 0

    def draw(choices: int) -> int:
        return int(next(chances) * choices)

    while vain < MAX_VAIN_DRAWS:
        outcome = outcomes(can)[draw(len(outcomes(can)))]
        size = depth + 1 + draw(MAX_EXTRA_ANOMALIES)
        chosen = {ANOMALIES[draw(len(ANOMALIES))] for _ in range(size)}
        history = build_history(outcome, list(chosen), can) if len(chosen) == size else None
        vain += 1
        if history is not None and history.title not in seen:
            seen.add(history.title)
            vain = 0
            yield history


def facts(steps: Steps) -> Steps:
    """What happens in a history, without its order."""
    parts = [replace(s, manner=Manner.USUAL) if s.manner in _ORDERS else s for s in steps]
    parts += [
        HistoryStep(_AT_ONCE[s.manner], order=s.order, payment=s.payment)
        for s in steps
        if s.manner in _AT_ONCE
    ]
    return tuple(sorted(parts))


def without_repetitions(steps: Steps) -> Steps:
    """The same steps, where each event and each page arrives once, and the job runs in the end."""
    parts = (
        replace(step, manner=Manner.USUAL) if step.manner in REPEATING else step
        for step in steps
        if step.action not in (StepAction.SETTLE, StepAction.PASS_TIME)
    )
    return tuple(dict.fromkeys(parts))
