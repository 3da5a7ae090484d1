"""Defines histories: what a customer does, what goes wrong, and in which order it happens.

A history is an outcome and a set of anomalies. Its steps are those of the outcome, changed by each
anomaly in the order of the table ANOMALY_KINDS.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, count, product
from operator import itemgetter
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from emulator import ids
from emulator.tools.explore.anomalies import ANOMALIES, Anomaly
from emulator.tools.explore.steps import (
    CHANGES,
    READ_FAULTS,
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
MAX_VAIN_DRAWS = 5_000
_TOGETHER = {Manner.WITH_RETURN: StepAction.RETURN, Manner.WITH_SETTLE: StepAction.SETTLE}


class HistoryName(Struct, frozen=True, kw_only=True):
    """A history in a file."""

    outcome: Outcome
    anomalies: tuple[str, ...] = ()


class History(Struct, frozen=True, kw_only=True):
    """A history: its steps are those of the outcome, changed by the anomalies."""

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
        return any(step.manner in (*READ_FAULTS, Manner.KILLED) for step in self.steps)

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
        steps = None if steps is None else anomaly.apply(steps, can)
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
            phase = history.waits, history.runs_alone, history.moves_clock
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
        outcome = list(Outcome)[draw(len(Outcome))]
        size = depth + 1 + draw(MAX_EXTRA_ANOMALIES)
        chosen = {ANOMALIES[draw(len(ANOMALIES))] for _ in range(size)}
        history = build_history(outcome, list(chosen), can) if len(chosen) == size else None
        vain += 1
        if history is not None and history.title not in seen:
            seen.add(history.title)
            vain = 0
            yield history


def normal_form(steps: Steps, reads: Mapping[str, int]) -> Steps:
    """The same steps for all histories that an application cannot distinguish.

    `reads` has the most reads of the payment while each event is handled. A fault on a read that
    does not occur is none. A change of the payment and the delivery of an event are independent
    where no event leads to a read. A lost event is independent of all.
    """
    ordered: list[HistoryStep] = []
    for step in steps:
        if step.action is StepAction.LOSE:
            continue
        does_fail = READ_FAULTS.get(step.manner, (0,))[0] <= reads.get(step.event, 0)
        index = len(ordered)
        while step.action in CHANGES and index and _is_unread(ordered[index - 1], reads):
            index -= 1
        ordered.insert(index, step if does_fail else replace(step, manner=Manner.USUAL))
    return tuple(ordered)


def _is_unread(step: HistoryStep, reads: Mapping[str, int]) -> bool:
    """Whether a step is the delivery of an event, and no event leads to a read."""
    is_usual = step.manner in (Manner.USUAL, Manner.AT_ONCE)
    return step.action is StepAction.DELIVER and is_usual and not any(reads.values())


def facts(steps: Steps) -> Steps:
    """What happens in a history, without its order."""
    parts = [replace(s, manner=Manner.USUAL) if s.manner in _TOGETHER else s for s in steps]
    parts += [HistoryStep(_TOGETHER[s.manner]) for s in steps if s.manner in _TOGETHER]
    return tuple(sorted(parts))
