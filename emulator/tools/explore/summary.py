"""Writes what a run of `explore` means: which histories ran, and what it cannot know."""

import json
from collections.abc import Iterator, Mapping

from emulator.domain.payment import EVENT_TYPES
from emulator.reporting import progress_bar
from emulator.scenarios.values import Json
from emulator.settings import data_directory
from emulator.tools.explore.exploration import Exploration
from emulator.tools.explore.integration import State
from emulator.tools.explore.judgement import places_of
from emulator.tools.explore.observation import ObservedOrder

LIMITS_SECTION = "#what-explore-does-not-try"
BIRR = "the amount in birr"
_NUMBERS = ("no anomaly", "one anomaly", "two", "three", "four", "five")


def progress_text(exploration: Exploration) -> str:
    """A bar of the histories that are done."""
    done, existing = sum(exploration.done.values()), sum(exploration.existing.values())
    failed = len(exploration.failures)
    return f"{progress_bar(done, max(done, existing))} histories, {failed} failed"


def summary_lines(exploration: Exploration) -> list[str]:
    """The result, and what it does not include."""
    ran, equivalent = exploration.ran, exploration.equivalent
    seconds, others = exploration.duration_ms / 1000, exploration.containing_failure
    failed, held = f"{len(exploration.failures) or 'none'} failed", exploration.held_alone
    failed += f", {held:,} held alone" if held else ""
    time = f"{ran:,} ran in {seconds:.1f} s"
    if equivalent:
        time += f", {equivalent:,} differ from one of them only in the order of independent steps"
    time += f", {others:,} contain one that failed" if others else ""
    lines = [f"{', '.join(_counts(exploration))}: {failed}", time]
    lines += insufficient_lines(exploration)
    lines += _left_out(exploration)
    if not exploration.failures:
        lines += _undeclared(exploration)
        guide = data_directory("docs/guides") / "explore.md"
        lines.append(f"what explore does not try: {guide}{LIMITS_SECTION}")
    return lines


def insufficient_lines(exploration: Exploration) -> list[str]:
    """One line where fewer histories ran than are required."""
    depth = exploration.limits.required_depth
    missing = sum(exploration.existing[size] - exploration.done[size] for size in range(depth + 1))
    if exploration.is_sufficient:
        return []
    return [
        f"not complete: {missing:,} histories up to --require-depth {depth} did not run; allow more"
        " time with --max-time"
    ]


def _left_out(exploration: Exploration) -> Iterator[str]:
    for reason, names in exploration.left_out.items():
        yield f"left out: {', '.join(names)}; {reason}"
    if exploration.not_compared:
        yield f"not compared: {', '.join(exploration.not_compared)}; equal histories differ there"
    can = exploration.can
    unsent = [event for event in EVENT_TYPES.values() if not can.form.sends(event)]
    if unsent and "webhook" in can.keys:
        yield f"not sent in the form {can.form.name}: {', '.join(unsent)}"


def _counts(exploration: Exploration) -> Iterator[str]:
    """How many histories of each size are done; those without an anomaly belong to size 1."""
    depth, done, existing = exploration.limits.depth, exploration.done, exploration.existing
    if depth == 0:
        yield f"{done[0]} of {existing[0]} histories without an anomaly"
    else:
        first = f"{done[0] + done[1]:,} of {existing[0] + existing[1]:,}"
        yield f"{first} histories with at most one anomaly"
    for size in range(2, depth + 1):
        yield f"{done[size]:,} of {existing[size]:,} with {_NUMBERS[size]}"
    if larger := sum(number for size, number in done.items() if size > depth):
        yield f"{larger:,} larger ones"


def _undeclared(exploration: Exploration) -> Iterator[str]:
    """The keys of `state` that the file does not have, and the places that may be meant."""
    state, usual = exploration.integration.state, exploration.usual
    ends = {title: _places(each.orders[0], -1) for title, each in usual.items()}
    before, paid = {}, ends.get("paid", {})
    amount = 0
    if "paid" in usual:
        [order] = usual["paid"].orders
        before, amount = _places(order, 0), order.payments[0]["amount"]
    in_birr = f"{amount / 100:.2f}"
    units: dict[Json, str] = {amount: "the amount", **dict.fromkeys((amount / 100, in_birr), BIRR)}
    used = {str(value) for value in state.found_values.values()}
    effects = [at for at, value in paid.items() if _is_first(before.get(at), value)]
    candidates = {
        "amount": [f"`{at}` equals {units[v]}" for at, v in paid.items() if _is_in(v, units)],
        "fulfilled": [f"`{at}` changes when the order is paid" for at in effects],
        "once": [f"`{at}` changes when the order is paid" for at in effects if at not in used],
        "closed": _changed(before, ends.get("failed", {}), "after `failed`"),
        "refunded": _changed(paid, ends.get("refunded", {}), "after the refund"),
    }
    for key, places in candidates.items():
        if key in State.__struct_fields__ and not getattr(state, key):
            yield f"not declared: `{key}`{': ' * bool(places)}{'; or '.join(places)}"


def _places(order: ObservedOrder, number: int) -> dict[str, Json]:
    """The values of a state by their places, without the ids of the order."""
    places = places_of("$", json.loads(order.samples[number].state))
    return {at: value for at, value in places if str(value) not in order.own_ids}


def _is_first(before: Json, after: Json) -> bool:
    """Whether a count, or a Boolean, shows that something has happened for the first time."""
    return before in (0, [], None) and (type(after) in (int, bool) and after == 1)


def _is_in(value: Json, units: Mapping[Json, str]) -> bool:
    return type(value) in (int, float, str) and value in units


def _changed(before: Mapping[str, Json], after: Mapping[str, Json], when: str) -> list[str]:
    """The texts and Booleans that have another value after an outcome."""
    changed = ((at, value) for at, value in after.items() if before.get(at) != value)
    return [f"`{at}` is {value!r} {when}" for at, value in changed if type(value) in (str, bool)]
