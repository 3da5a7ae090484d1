"""Defines histories: what a customer does, what goes wrong, and in which order it happens.

A history is an outcome and a set of anomalies. Its steps are those of the outcome, changed by each
anomaly in the order of the table ANOMALY_KINDS.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, count, product
from operator import itemgetter
from typing import Any

from emulator import ids
from emulator.tools.explore.anomalies import ANOMALIES, Anomaly
from emulator.tools.explore.steps import (
    CHANGES,
    READ_NUMBERS,
    WAITING,
    Capabilities,
    HistoryStep,
    Manner,
    Outcome,
    StepAction,
    Steps,
    base_steps,
)

# Random histories have up to this number of anomalies more than `--depth`.
MAX_EXTRA_ANOMALIES = 3
# Draws that yield no new history, after which there is probably none left.
MAX_VAIN_DRAWS = 200
_TOGETHER = {Manner.WITH_RETURN: StepAction.RETURN, Manner.WITH_SETTLE: StepAction.SETTLE}


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryName:
    """A history in a file."""

    outcome: Outcome
    anomalies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A history; `number` counts the histories of an exploration from 1."""

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
    def moves_clock(self) -> bool:
        """Whether a step moves the clock, which all payments share."""
        return any(step.action is StepAction.PASS_EXPIRY for step in self.steps)

    @property
    def runs_alone(self) -> bool:
        """Whether no other history can run meanwhile: reads fail, or the shop is killed."""
        return any(step.manner in (*READ_NUMBERS, Manner.KILLED) for step in self.steps)

    @property
    def phase(self) -> tuple[bool, bool, bool]:
        """When it runs, among those of its size."""
        return self.waits, self.runs_alone, self.moves_clock

    def contains(self, other: "History") -> bool:
        """Whether another history is a part of this one."""
        return self.outcome is other.outcome and set(other.anomalies) <= set(self.anomalies)


def build_history(
    outcome: Outcome, anomalies: Sequence[Anomaly], can: Capabilities
) -> History | None:
    """The history with these anomalies, or None where they do not fit together."""
    ordered = tuple(sorted(anomalies, key=ANOMALIES.index))
    steps: Steps | None = base_steps(outcome, can)
    for anomaly in ordered:
        if steps is None or (anomaly.kind.needs and not getattr(can, anomaly.kind.needs)):
            return None
        if not can.form.sends(anomaly.event):
            return None
        steps = anomaly.apply(steps)
    if steps is None:
        return None
    sent = tuple(step for step in steps if can.form.sends(step.event))
    return History(outcome=outcome, anomalies=ordered, steps=sent)


def histories_of_size(size: int, can: Capabilities) -> list[History]:
    """All histories with this number of anomalies.

    Those of each outcome, with and without a fault at the start, are spread evenly. Those that move
    the clock come later, then those that run alone, and last those that wait.
    """
    groups = defaultdict[tuple[Any, ...], list[History]](list)
    for outcome, chosen in product(Outcome, combinations(ANOMALIES, size)):
        history = build_history(outcome, chosen, can)
        if history is not None:
            is_faulty = history.steps[0].manner is not Manner.USUAL
            groups[history.phase, outcome, is_faulty].append(history)
    places = [(key[0], i / len(g), h) for key, g in groups.items() for i, h in enumerate(g)]
    return [history for *_, history in sorted(places, key=itemgetter(0, 1))]


def random_histories(seed: int, depth: int, can: Capabilities) -> Iterator[History]:
    """Histories with more anomalies than `depth`, without end or until no new one is found."""
    key = ids.stream_key(seed, "explore")
    chances = (ids.chance(key, "history", number) for number in count(1))
    seen: set[tuple[Outcome, tuple[Anomaly, ...]]] = set()

    def draw(choices: int) -> int:
        return int(next(chances) * choices)

    vain = 0
    while vain < MAX_VAIN_DRAWS:
        outcome = list(Outcome)[draw(len(Outcome))]
        size = depth + 1 + draw(MAX_EXTRA_ANOMALIES)
        chosen = {ANOMALIES[draw(len(ANOMALIES))] for _ in range(size)}
        history = build_history(outcome, list(chosen), can) if len(chosen) == size else None
        if history is None or (outcome, history.anomalies) in seen:
            vain += 1
            continue
        vain = 0
        seen.add((outcome, history.anomalies))
        yield history


def normal_form(steps: Steps, reads: Mapping[str, int]) -> Steps:
    """The same steps for all histories that an application cannot distinguish.

    `reads` has the most reads of the payment while each event is handled. A fault on a read that
    does not occur is none. A change of the payment and the delivery of an event are independent
    where no event leads to a read. A lost event is independent of all.
    """
    ordered = [
        replace(step, manner=Manner.USUAL)
        if READ_NUMBERS.get(step.manner, 0) > reads.get(step.event, 0)
        else step
        for step in steps
        if step.action is not StepAction.LOSE
    ]
    if any(reads.values()):
        return tuple(ordered)
    for end in range(1, len(ordered)):
        index = end
        while index > 0 and _are_exchangeable(ordered[index - 1], ordered[index]):
            ordered[index - 1], ordered[index] = ordered[index], ordered[index - 1]
            index -= 1
    return tuple(ordered)


def _are_exchangeable(first: HistoryStep, second: HistoryStep) -> bool:
    is_usual = first.manner in (Manner.USUAL, Manner.AT_ONCE)
    return first.action is StepAction.DELIVER and is_usual and second.action in CHANGES


def facts(steps: Steps) -> Steps:
    """What happens in a history, without its order."""
    together = [step for step in steps if step.manner in _TOGETHER]
    others = [step for step in steps if step.manner not in _TOGETHER]
    others += [replace(step, manner=Manner.USUAL) for step in together]
    return tuple(sorted([*others, *(HistoryStep(_TOGETHER[step.manner]) for step in together)]))
