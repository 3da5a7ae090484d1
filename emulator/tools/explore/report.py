"""Writes an exploration for a terminal, as HTML and JUnit, and failed histories for `--replay`.

A failed history is drawn as a sequence diagram, with the handlers of the shop as bars.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote
from urllib.parse import urlsplit

import yaml
from msgspec.structs import replace

from emulator.diagrams import (
    CUSTOMER,
    MIDDLE,
    SHOP,
    Diagram,
    Line,
    Mark,
    TimedLine,
    sequence,
    with_bars,
)
from emulator.domain.message_text import escape_controls
from emulator.domain.payment import EVENT_TYPES, Status
from emulator.domain.webhooks import WebhookForm
from emulator.reporting import PLAIN, JUnitCase, Paint, html_report, junit_file, progress_bar
from emulator.scenarios.scenario_file import VERSION
from emulator.scenarios.values import Json
from emulator.settings import data_directory
from emulator.summaries import PaymentSummary, moment_text, payment_summary, summary_html
from emulator.tools.explore.anomalies import ANOMALY_BY_NAME
from emulator.tools.explore.exploration import Exploration, Result
from emulator.tools.explore.histories import History, HistoryName, build_history
from emulator.tools.explore.integration import Integration, State
from emulator.tools.explore.integration_file import INTEGRATION
from emulator.tools.explore.judgement import HistoryFailure, places_of
from emulator.tools.explore.observation import Observation, ObservedOrder, TracedStep
from emulator.tools.explore.steps import CHANGES, Capabilities, Manner, StepAction
from emulator.tools.explore.verdicts import ADVICE, Verdict
from emulator.tools.json_results import ExploredHistory, ExploreResults, digest

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
    ran, equivalent = len(exploration.results), exploration.equivalent
    seconds, others = exploration.duration_ms / 1000, exploration.containing_failure
    failed, held = f"{len(exploration.failures) or 'none'} failed", exploration.held_alone
    failed += f", {held:,} held alone" if held else ""
    failed += ", 1 failed and was not repeated" * exploration.failed_once
    time = f"{ran:,} ran in {seconds:.1f} s"
    if equivalent:
        time += f", {equivalent:,} have the same steps as one of them"
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
    """One line where fewer histories ran than are required; what to allow if a limit ended them."""
    depth = exploration.limits.required_depth
    missing = sum(exploration.existing[size] - exploration.done[size] for size in range(depth + 1))
    if exploration.is_sufficient:
        return []
    has_failed = len(exploration.failures) >= exploration.limits.max_failures
    more = "failures with --max-failures" if has_failed else "time with --max-time"
    advice = f"; allow more {more}" * exploration.is_over
    return [
        f"not complete: {missing:,} histories up to --require-depth {depth} did not run{advice}"
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
    new = (at for at in paid if before.get(at) in (0, [], None))
    effects = [at for at in new if type(paid[at]) in (int, bool) and paid[at] == 1]
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


def _is_in(value: Json, units: Mapping[Json, str]) -> bool:
    return type(value) in (int, float, str) and value in units


def _changed(before: Mapping[str, Json], after: Mapping[str, Json], when: str) -> list[str]:
    """The texts and Booleans that have another value after an outcome."""
    changed = ((at, value) for at, value in after.items() if before.get(at) != value)
    return [f"`{at}` is {value!r} {when}" for at, value in changed if type(value) in (str, bool)]


# Who acts, and on whom; other steps are texts.
_SENDERS = {
    StepAction.START: (CUSTOMER, SHOP),
    StepAction.BETWEEN: (CUSTOMER, SHOP),
    StepAction.AGAIN: (CUSTOMER, SHOP),
    StepAction.RETURN: (CUSTOMER, SHOP),
    StepAction.CANCEL: (CUSTOMER, SHOP),
    StepAction.SETTLE: (MIDDLE, SHOP),
    StepAction.SUBMIT: (CUSTOMER, MIDDLE),
    StepAction.APPROVE: (CUSTOMER, MIDDLE),
    StepAction.DECLINE: (CUSTOMER, MIDDLE),
    StepAction.LOSE: (MIDDLE, SHOP),
}


def failure_lines(failure: HistoryFailure, paint: Paint) -> list[str]:
    """The history as steps, with what was expected and seen after one of them."""
    trace, verdict = failure.observation.trace, failure.verdict.id
    head = f"{paint('red', verdict)}: {escape_controls(failure.observation.history.title)}"
    lines = [f"  {summary.text}" for summary in _payments(failure)]
    width = len(str(len(trace)))
    outcome = (f"expected: {failure.expected}", f"seen: {failure.seen}")
    for number, step in enumerate(trace, 1):
        lines.append(f"  {number:>{width}}  {_step_text(step)}")
        if number == min(failure.step, len(trace)):
            lines += (f"{'':{width + 4}}{line}" for line in outcome)
    notes = [f"  {failure.runs}"] if failure.runs else []
    first, *others = ADVICE[verdict]
    advice = [f"  what to do: {first}", *(f"    {line}" for line in others)]
    return [head, *map(escape_controls, lines), *notes, *advice]


def _payments(failure: HistoryFailure) -> list[PaymentSummary]:
    return [
        payment_summary({**payment, "status": order.statuses[payment["id"]]})
        for order in failure.observation.orders
        for payment in order.payments
    ]


def _step_text(step: TracedStep) -> str:
    return f"{step.text} → {step.result}" if step.result else step.text


def report(name: str, exploration: Exploration, saved: Mapping[str, str]) -> bytes:
    """The HTML file: each failure, and how often histories with each anomaly failed, by verdict.

    `saved` has the files of the failures by the titles of their histories.
    """
    rows = [
        (anomaly, result.failure)
        for result in exploration.results
        for anomaly in result.history.name.anomalies or ("no anomaly",)
    ]
    failed = Counter((anomaly, each.verdict) for anomaly, each in rows if each is not None)
    first, *counts = summary_lines(exploration)
    return html_report(
        "explore",
        {"quote": quote, "moment": moment_text, "summary": summary_html},
        name=name,
        summary=first,
        counts=counts,
        failures=[
            (each, _payments(each), failure_diagram(each), what_to_do(each.verdict))
            for each in exploration.failures
        ],
        saved=saved,
        ran=Counter(anomaly for anomaly, _ in rows),
        failed=failed,
        verdicts=[each for each in Verdict if any(each is verdict for _, verdict in failed)],
    )


def results(
    integrations: Sequence[Integration],
    seed: int,
    entries: Sequence[ExploredHistory],
    exploration: Exploration | None = None,
    *,
    is_complete: bool,
) -> ExploreResults:
    """The results for `--json`: of an exploration, or of saved histories."""
    found = [replace(each, history=None, reference=None, before=()) for each in integrations]
    inputs = [INTEGRATION.write(each) for each in found]
    return ExploreResults(
        is_complete=is_complete,
        is_sufficient=exploration is None or exploration.is_sufficient,
        seed=seed,
        digest=digest(inputs, seed, [entry.history for entry in entries]),
        complete_size=None if exploration is None else exploration.complete_size,
        results=entries,
    )


def explored(file: Path, result: Result, saved: Mapping[str, str] | None = None) -> ExploredHistory:
    """A result for `--json`; `saved` has files by titles, without it the history was saved."""
    failure, title = result.failure, result.history.title
    entry = ExploredHistory(
        file=str(file),
        history=title,
        result="fixed" if saved is None else "passed",
        duration_ms=round(result.duration_ms),
        what_to_do=None,
    )
    if failure is None:
        return entry
    return replace(
        entry,
        result="failed",
        verdict=failure.verdict.id,
        expected=failure.expected,
        seen=failure.seen,
        steps=[_step_text(step) for step in failure.observation.trace],
        saved=(saved or {}).get(title),
        what_to_do=what_to_do(failure.verdict),
    )


def not_judged(file: Path, integration: Integration, reason: str) -> ExploredHistory:
    """A saved history that could not be replayed."""
    name = integration.history
    title = "" if name is None else ", ".join((name.outcome, *name.anomalies))
    return ExploredHistory(
        file=str(file), history=title, result="not_judged", duration_ms=0, what_to_do=reason
    )


def what_to_do(verdict: Verdict) -> str:
    """The advice about a verdict, in one line."""
    return " ".join(ADVICE[verdict.id])


def junit(name: str, exploration: Exploration) -> bytes:
    """The JUnit file: a test case for each history."""
    cases = [
        JUnitCase(
            name=result.history.title,
            class_name=name,
            duration_ms=result.duration_ms,
            failure=None if (failure := result.failure) is None else failure.seen,
            failure_type="" if failure is None else failure.verdict.id,
            failure_lines=() if failure is None else failure_lines(failure, PLAIN),
        )
        for result in exploration.results
    ]
    if not (exploration.is_sufficient or exploration.failures):
        title, (message,) = "all required histories", insufficient_lines(exploration)
        case = JUnitCase(name=title, class_name=name, duration_ms=0, failure=message)
        cases.append(replace(case, is_error=True))
    return junit_file("explore", cases, duration_ms=exploration.duration_ms)


def saved_file(integration: Integration, failure: HistoryFailure) -> str:
    """The text of the file."""
    history, reference = failure.observation.history.name, failure.reference
    saved = replace(integration, history=history, before=failure.before)
    document = INTEGRATION.write(replace(saved, reference=reference and reference.name))
    comment = "".join(f"# {line}\n" for line in failure_lines(failure, PLAIN))
    document = {"version": VERSION, **document}
    # Lists without lists are in one line.
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, default_flow_style=None)
    return f"{comment}\n{text}"


def saved_name(integration: Integration, failure: HistoryFailure) -> str:
    """The name of the file: equal for equal failures."""
    history = failure.observation.history.name
    words = (integration.name, failure.verdict.id, history.outcome, *history.anomalies)
    return f"{'-'.join(words).replace(' ', '-').replace('.', '-')}.yaml"


def named(name: HistoryName | None, integration: Integration, form: WebhookForm) -> History | None:
    """The history with a name; None without a name, and where the history does not fit."""
    if name is None:
        return None
    known = [ANOMALY_BY_NAME[each] for each in name.anomalies]
    return build_history(name.outcome, known, Capabilities(integration.keys, form))


def failure_diagram(failure: HistoryFailure) -> Diagram:
    """The diagram; times are those since the begin of the history."""
    observation = failure.observation
    begin = observation.trace[0].span[0]
    parts = [part for step in observation.trace for part in _step_parts(step, begin)]
    for sent in observation.sent:
        result = Mark(sent.response.text, not sent.response.is_success)
        title = sent.title or f"{sent.method} {urlsplit(sent.url).path}"
        line = Line(text=f"`{title}`", at=sent.began_ms - begin, target=SHOP)
        parts.append(TimedLine(line, sent.ended_ms - begin, result))
    lines = with_bars(parts)
    # A webhook that is never acknowledged is not a failure of the order.
    step = None if failure.verdict is Verdict.NEVER_ACKNOWLEDGED else failure.step
    for sample in (sample for order in observation.orders for sample in order.samples):
        number = _last_line(lines, observation, sample.step)
        lines[number] = replace(lines[number], state=Mark(sample.text, sample.step == step))
    number = _last_line(lines, observation, failure.step)
    lines[number + 1 : number + 1] = [
        Line(text=f"expected: {failure.expected}"),
        Line(text=f"seen: {failure.seen}", is_failed=True),
    ]
    title = f"Order {', '.join(order.id for order in observation.orders)}"
    return sequence(lines, state_title=title, has_instants=False)


def _step_parts(traced: TracedStep, begin: float) -> list[Line | TimedLine]:
    step, (began_ms, ended_ms) = traced.step, traced.span
    # Its webhook says the same.
    if step.action is StepAction.DELIVER and step.manner is Manner.USUAL:
        return []
    source, target = _SENDERS.get(step.action, (MIDDLE, MIDDLE))
    at = began_ms - begin
    is_lost = step.action is StepAction.LOSE
    line = Line(text=traced.text, at=at, source=source, target=target, is_failed=is_lost)
    if target == SHOP and not is_lost:
        # The rest names the order and its payment.
        result = re.split("[,;]", traced.result)[0]
        return [TimedLine(line, ended_ms - begin, Mark(result, not result.startswith(("2", "3"))))]
    status = CHANGES.get(step.action)
    if status is None:
        return [line]
    changed = Line(text="", at=ended_ms - begin, status=Status(status))
    return [replace(changed, text=traced.text)] if source == target else [line, changed]


def _last_line(lines: list[Line], observation: Observation, step: int) -> int:
    """The index of the last line of a step, from 1; those without a time belong to the one before.

    The retries of webhooks at the end belong to the last step.
    """
    if step >= len(observation.trace):
        return len(lines) - 1
    until = observation.trace[max(step, 1) - 1].span[1] - observation.trace[0].span[0]
    return max(number for number, line in enumerate(lines) if (line.at or 0) <= until)
