"""The script section: a list of steps, each of them a mapping of its name to what it says."""

from collections.abc import Callable, Sequence
from functools import partial

from emulator.scenarios.actions import (
    read_advance,
    read_answer,
    read_cancel,
    read_fault,
    read_pay,
    read_transition,
)
from emulator.scenarios.entries import (
    Entry,
    listed,
    read_items,
    read_members,
    read_pairs,
    read_whole_number,
)
from emulator.scenarios.expectations import read_expect
from emulator.scenarios.names import Names
from emulator.scenarios.nodes import MapNode
from emulator.scenarios.problems import hint_nearest
from emulator.scenarios.requests import read_create, read_list, read_retrieve
from emulator.scenarios.steps import Place, Repeat, Step
from emulator.scenarios.vocabulary import (
    MAX_EXECUTED_STEPS,
    MAX_REPEAT_DEPTH,
    MAX_REPEATS,
    MAX_SCRIPT_STEPS,
    REPEAT_KEYS,
    SCRIPT_STEPS,
)

_REPEAT = "repeat"
_READERS: dict[str, Callable[[Entry, Place, Names], Step | None]] = {
    "create": read_create,
    "retrieve": read_retrieve,
    "list": read_list,
    "pay": read_pay,
    "answer": read_answer,
    "cancel": read_cancel,
    "transition": read_transition,
    "advance": read_advance,
    "fault": read_fault,
    "expect": read_expect,
}
_read_times = partial(read_whole_number, at_most=MAX_REPEATS)


def read_script(section: Entry) -> tuple[Step, ...]:
    reader = _Reader()
    steps: list[Step] = []
    played = 0
    for entry in read_items(section, "a list of steps", "a step") or []:
        step = reader.read(entry)
        if step is None:
            continue
        steps.append(step)
        before, played = played, played + steps_played([step])
        if before <= MAX_EXECUTED_STEPS < played:
            entry.note(
                f"a script must not play more than {MAX_EXECUTED_STEPS:,} steps, "
                f"but up to here it plays {played:,}"
            )
    return tuple(steps)


def steps_played(steps: Sequence[Step]) -> int:
    """How many steps there are when what is to be repeated is counted each time again."""
    return sum(
        step.times * steps_played(step.steps) if isinstance(step, Repeat) else 1 for step in steps
    )


class _Reader:
    """Reads the steps in their order, since each may use the names that those before it gave."""

    def __init__(self) -> None:
        self._names = Names()
        self._written = 0
        self._depth = 0

    def read(self, entry: Entry) -> Step | None:
        """The step, or None after noting why there is none."""
        self._written += 1
        if self._written == MAX_SCRIPT_STEPS + 1:
            entry.note(
                f"a script must not have more than {MAX_SCRIPT_STEPS:,} steps, "
                "those inside 'repeat' counted too"
            )
        if self._written > MAX_SCRIPT_STEPS:
            return None
        if not isinstance(entry.node, MapNode):
            entry.refuse("a mapping of its name to what it says, such as 'advance: 30s'")
            return None
        pairs = read_pairs(entry) or {}
        if not entry.node.pairs:
            entry.note(f"a step must have a name: {listed(SCRIPT_STEPS, 'or')}")
        if len(pairs) > 1:
            self._read_several(entry, pairs)
            return None
        return next((self._read_named(entry, *pair) for pair in pairs.items()), None)

    def _read_named(self, entry: Entry, name: str, said: tuple[Entry, Entry]) -> Step | None:
        key_entry, value = said
        place = Place(line=entry.node.line, column=entry.node.column)
        if name == _REPEAT:
            return self._read_repeat(value, place)
        if name in _READERS:
            return _READERS[name](value, place, self._names)
        hint = hint_nearest(name, SCRIPT_STEPS) or f"; there are {listed(SCRIPT_STEPS, 'and')}"
        key_entry.note(f"there is no step {name!r}{hint}")
        self._names.give_in(value.node)
        return None

    def _read_several(self, entry: Entry, pairs: dict[str, tuple[Entry, Entry]]) -> None:
        """Note what is too much in a step: the next one, or what should be inside the first."""
        first, second, *_ = pairs
        stray = next((name for name in pairs if name not in SCRIPT_STEPS), None)
        if stray is None:
            pairs[second][0].note(
                f"a step must have one name, so '{second}' must begin a step of its own"
            )
            for pair in pairs.items():
                self._read_named(entry, *pair)
            return
        if stray == first:
            self._read_named(entry, first, pairs[first])
        else:
            pairs[stray][0].note(
                f"a step must have one name; if {stray!r} belongs to '{first}', indent it deeper"
            )
        for node in (entry.node, *(value.node for _, value in pairs.values())):
            self._names.give_in(node)

    def _read_repeat(self, entry: Entry, place: Place) -> Repeat | None:
        if self._depth == MAX_REPEAT_DEPTH:
            entry.note(f"'repeat' must not be nested deeper than {MAX_REPEAT_DEPTH} levels")
        members = read_members(entry, REPEAT_KEYS)
        if members is None:
            return None
        times = members.need("times", _read_times, "how often, such as 3")
        self._depth += 1
        steps = members.need("steps", self._read_steps, "a list of steps")
        self._depth -= 1
        if times is None or steps is None:
            return None
        return Repeat(place=place, times=times, steps=steps)

    def _read_steps(self, entry: Entry) -> tuple[Step, ...] | None:
        entries = read_items(entry, "a list of steps", "a step")
        if entries is None:
            return None
        if not entries:
            entry.note("steps must have at least one step")
        return tuple(step for one in entries if (step := self.read(one)) is not None)
