"""The faults section: which requests go wrong and how, and what cannot go wrong together."""

from functools import partial

from emulator.domain.faults import (
    MAX_FAULT_STATUS,
    MIN_FAULT_STATUS,
    ApiRequest,
    Fault,
    Point,
)
from emulator.domain.instants import parse_duration_ms
from emulator.scenarios.conditions import (
    WHEN_ADVICE,
    note_exclusions,
    read_mode,
    read_rules,
    read_times,
)
from emulator.scenarios.entries import (
    Entry,
    Members,
    decimal_number,
    read_boolean,
    read_listed,
    read_members,
    read_positive_duration_ms,
    read_whole_number,
    read_word,
    whole_number,
)
from emulator.scenarios.nodes import Kind, MapNode, Node, ScalarNode, problems_in, read_tree
from emulator.scenarios.problems import Notes, ScenarioError
from emulator.scenarios.values import FaultRule, FaultWhen
from emulator.scenarios.vocabulary import (
    ANY_REQUEST,
    FAULT_COUNTS,
    FAULT_EXCLUSIONS,
    FAULT_RULE_KEYS,
    FAULT_THEN_KEYS,
    FAULT_WHEN_KEYS,
    MAX_LATENCY_MS,
    MAX_REQUESTS,
    MAX_RETRY_AFTER_S,
    RATE_LIMITED,
    RETRY_AFTER_S,
)

_read_count = partial(read_whole_number, at_most=MAX_REQUESTS)
_read_status = partial(read_whole_number, at_least=MIN_FAULT_STATUS, at_most=MAX_FAULT_STATUS)
_read_point = partial(read_word, words=Point)


def read_fault_rules(section: Entry) -> tuple[FaultRule, ...]:
    return read_rules(section, "a fault rule", read_fault_rule)


def read_fault_rule_text(text: str, source: str) -> FaultRule:
    """Read a rule that stands alone; without `when` it strikes every request.

    A member that is null is as good as absent. Raises ScenarioError with every problem of the text,
    which `source` is the name of.
    """
    notes = Notes(source)
    tree = read_tree(text, notes, holds="a fault rule")
    if tree is None:
        raise ScenarioError(notes.problems)
    if isinstance(tree, MapNode):
        said = tuple(pair for pair in tree.pairs if not _is_null(pair[1]))
        tree = MapNode(line=tree.line, column=tree.column, pairs=said)
    entry = Entry(node=tree, label="a fault rule", notes=notes)
    rule = read_fault_rule(entry, needs_when=False)
    if rule is None or notes.problems:
        raise ScenarioError(problems_in(tree, notes))
    return rule


def _is_null(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.kind is Kind.NULL


def read_fault_rule(entry: Entry, *, needs_when: bool = True) -> FaultRule | None:
    rule = read_members(entry, FAULT_RULE_KEYS)
    if rule is None:
        return None
    if needs_when or "when" in rule.known:
        when = rule.need("when", _read_when, WHEN_ADVICE)
    else:
        when = FaultWhen()
    then = rule.need("then", _read_then, "what goes wrong, such as {status: 500}")
    times = rule.get("times", read_times)
    if when is None or then is None:
        return None
    return FaultRule(when=when, then=then, times=times)


def _read_when(entry: Entry) -> FaultWhen | None:
    members = read_members(entry, FAULT_WHEN_KEYS)
    if members is None:
        return None
    first, *others = [key for key in members.known if key in FAULT_COUNTS] or [""]
    for key in others:
        members.known[key].note(
            f"'{key}' makes no sense beside '{first}': "
            "each of them alone says which requests are struck"
        )
    return FaultWhen(
        mode=members.get("mode", read_mode),
        request=members.get("request", _read_request),
        nth=members.get("nth", _read_count),
        every=members.get("every", _read_count),
        chance=members.get("chance", _read_chance),
    )


def _read_request(entry: Entry) -> ApiRequest | None:
    found = read_listed(entry, [*ApiRequest, ANY_REQUEST])
    return None if found in (None, ANY_REQUEST) else ApiRequest(found)


def _read_chance(entry: Entry) -> float | None:
    whole = whole_number(entry.node)
    chance = decimal_number(entry.node) if whole is None else float(whole)
    if chance is not None and 0 < chance <= 1:
        return chance
    entry.refuse("a number above 0 and at most 1, such as 0.3")
    return None


def _read_then(entry: Entry) -> Fault | None:
    then = read_members(entry, FAULT_THEN_KEYS)
    if then is None:
        return None
    status = then.get("status", _read_status)
    retry_after_s = then.get("retry_after", _read_retry_after_s)
    latency_ms = then.get("latency", _read_latency_ms)
    switches = {key: then.get(key, read_boolean) for key in ("drop", "truncate")}
    point = then.get("point", _read_point)
    # `drop: false` is as good as no `drop`.
    said = {key: member for key, member in then.known.items() if switches.get(key) is not False}
    on = {key for key, is_on in switches.items() if is_on}
    if not said.keys() - {"point"} and not then.has_stray_keys:
        entry.note("then must say what goes wrong: status, latency, drop or truncate")
    note_exclusions(said, on, FAULT_EXCLUSIONS)
    if "retry_after" in said and "status" not in said and "drop" not in on:
        said["retry_after"].note(
            "'retry_after' is a header of an answer, so it needs 'status' beside it"
        )
    if status == RATE_LIMITED and "retry_after" not in said:
        retry_after_s = RETRY_AFTER_S
    return Fault(
        status=status,
        retry_after_s=retry_after_s,
        latency_ms=latency_ms or 0,
        drop="drop" in on,
        truncate="truncate" in on,
        point=_point(then, point, halves_the_truth=on == {"truncate"} and "status" not in said),
    )


def _point(then: Members, point: Point | None, *, halves_the_truth: bool) -> Point:
    """Where it strikes; a true answer that is to be cut in half has to be there first."""
    if not halves_the_truth:
        return point or Point.BEFORE_COMMIT
    if point is Point.BEFORE_COMMIT:
        then.known["point"].note(
            f"'truncate' without 'status' needs 'point: {Point.AFTER_COMMIT}', "
            "since half a body needs a true answer to be half of"
        )
    return Point.AFTER_COMMIT


def _read_retry_after_s(entry: Entry) -> int | None:
    node = entry.node
    seconds = whole_number(node)
    if seconds is None and isinstance(node, ScalarNode):
        seconds = _whole_seconds(node.text)
    if seconds is not None and 1 <= seconds <= MAX_RETRY_AFTER_S:
        return seconds
    entry.refuse(f"whole seconds from 1 to {MAX_RETRY_AFTER_S:,}, such as 30 or 30s")
    return None


def _whole_seconds(text: str) -> int | None:
    try:
        seconds, rest_ms = divmod(parse_duration_ms(text), 1_000)
    except ValueError:
        return None
    return seconds if rest_ms == 0 else None


def _read_latency_ms(entry: Entry) -> int | None:
    latency_ms = read_positive_duration_ms(entry)
    if latency_ms is not None and latency_ms > MAX_LATENCY_MS:
        entry.note("latency must not be longer than 5m, since it is real time")
        return None
    return latency_ms
