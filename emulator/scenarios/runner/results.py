"""Results of a replay: the steps of each case, its failure, and what the emulator recorded.

An expected and an actual value are compared side by side.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import zip_longest
from pathlib import Path

from msgspec import Struct, field

from emulator.domain.payment import Status
from emulator.scenarios.values import Json, Place, RuleSection, Scenario, Step
from emulator.summaries import PaymentSummary

MAX_COLUMN_WIDTH = 48
# The number of equal entries that are shown before and after a difference.
_CONTEXT = 2
# The number of characters that are shown before the first difference of a long text.
_LEAD = 16


class Explanation(str):
    """Why there is no value; shown in parentheses."""

    __slots__ = ()


class RowMark(StrEnum):
    """The relation of the two sides of a row, in the notation of `diff --side-by-side`."""

    SAME = " "
    CHANGED = "|"
    MISSING = "<"
    UNEXPECTED = ">"
    LEFT_OUT = "·"


class Row(Struct, frozen=True, kw_only=True):
    """An expected and an actual line; one of them may be missing."""

    mark: RowMark
    expected: str = ""
    seen: str = ""


class Case(Struct, frozen=True, kw_only=True):
    """A file with a script: `source` is the path as the user gave it, `text` the content."""

    source: str
    path: Path
    text: str
    scenario: Scenario

    @property
    def name(self) -> str:
        return self.scenario.name

    @property
    def has_rules(self) -> bool:
        return any(getattr(self.scenario, section) for section in RuleSection)


class Mismatch(Struct, frozen=True, kw_only=True):
    """A difference between an expected and an actual value; `note` may explain it."""

    place: Place
    subject: str
    rows: tuple[Row, ...]
    note: str | None = None


class Failure(Struct, frozen=True, kw_only=True):
    """Why a case ended at a step."""

    place: Place
    message: str
    mismatches: tuple[Mismatch, ...] = ()


class PlayedStep(Struct, frozen=True, kw_only=True):
    """A step that was played: `number` counts the steps of the case, `at` is virtual time.

    `payment` is the id of its payment, `outcome` a short description, `status` the response's
    status, 0 without a response. `is_replay` is whether the response repeated an earlier one.
    """

    step: Step
    number: int
    text: str
    outcome: str
    at: str
    payment: str | None = None
    status: int = 0
    is_refused: bool = False
    is_replay: bool = False
    failure: Failure | None = None


class TracedEvent(Struct, frozen=True, kw_only=True):
    """A change of a payment's status."""

    id: str
    at: str
    type: str
    payment: str
    reason: str | None = None


class TracedWebhook(Struct, frozen=True, kw_only=True):
    """A received webhook: `at` is when it was sent, `step` the number of the step at that time."""

    step: int
    at: str
    type: str
    payment: str | None
    id: str
    timestamp: str
    signature: str
    body: str
    is_genuine: bool


def copy_texts(webhooks: Sequence[TracedWebhook]) -> list[str]:
    """`copy 1 of 2` for each webhook that arrived several times, otherwise an empty text."""
    totals = Counter(webhook.id for webhook in webhooks)
    arrived: Counter[str] = Counter()
    texts = []
    for webhook in webhooks:
        arrived[webhook.id] += 1
        total = totals[webhook.id]
        texts.append(f"copy {arrived[webhook.id]} of {total}" if total > 1 else "")
    return texts


class TracedRequest(Struct, frozen=True, kw_only=True):
    """A request from the journal; without a status the connection was cut."""

    id: str
    at: str
    method: str
    path: str
    query: str
    status: int | None
    request_body: str
    response_body: str
    warnings: tuple[str, ...] = ()
    error: Json = None
    fault: Mapping[str, Json] | None = None


class Trace(Struct, frozen=True, kw_only=True):
    """What the emulator recorded of a case, the oldest first.

    `transitions` are the changes of statuses, also without an event, and `reasons` the reasons
    of failed attempts too. `redirects` are the moments that checkout rules determined.
    `payments` are the newest 10 of the case.
    `webhook_faults` are those that deliveries had, in the form of the rules. `is_cut` is whether
    the emulator recorded more than it returned.
    """

    events: tuple[TracedEvent, ...] = ()
    payments: tuple[PaymentSummary, ...] = ()
    transitions: tuple[tuple[Status, Status], ...] = ()
    reasons: tuple[str, ...] = ()
    redirects: tuple[str, ...] = ()
    webhooks: tuple[TracedWebhook, ...] = ()
    requests: tuple[TracedRequest, ...] = ()
    webhook_faults: tuple[Mapping[str, Json], ...] = ()
    is_cut: bool = False


class CaseResult(Struct, frozen=True, kw_only=True):
    """A case that was played to its end or to its first failure.

    `names` are the payment ids by the names of the script. `kept_account` is the id of an account
    that was kept for the user. `duration_ms` is real time, the only value that differs between
    runs.
    """

    case: Case
    steps: tuple[PlayedStep, ...]
    names: Mapping[str, str] = field(default_factory=dict)
    began_at: str = ""
    trace: Trace = field(default_factory=Trace)
    kept_account: str | None = None
    duration_ms: float = 0.0
    failure: Failure | None = None

    @property
    def has_passed(self) -> bool:
        return self.failure is None

    def name_of(self, payment_id: str) -> str | None:
        """The latest name of a payment; None if it has none."""
        return latest_name(self.names, payment_id)


def latest_name(ids: Mapping[str, str], payment_id: str) -> str | None:
    """The name that was bound last to a payment; `ids` are the payments by their names."""
    names = [name for name, known_id in ids.items() if known_id == payment_id]
    return names[-1] if names else None


def is_same(expected: Json, seen: Json) -> bool:
    """Whether two JSON values are equal: 1, 1.0 and true differ, members have no order."""
    if isinstance(seen, Explanation):
        return False
    return _canonical(expected) == _canonical(seen)


def side_by_side(expected: Json, seen: Json) -> tuple[Row, ...]:
    """The rows of two different values, one for each list entry or member."""
    left, right = _lines(expected), _lines(seen)
    if not (left or right):  # an empty list beside an empty object
        left, right = [text_of(expected)], [text_of(seen)]
    rows: list[Row] = []
    for kind, a, b, c, d in SequenceMatcher(a=left, b=right, autojunk=False).get_opcodes():
        if kind == "equal":
            rows += [Row(mark=RowMark.SAME, expected=line, seen=line) for line in left[a:b]]
        else:
            rows += _differing(left[a:b], right[c:d])
    return tuple(_near_differences(rows))


def text_of(value: Json) -> str:
    """A value in one line; text has quotes only if it would be ambiguous without them."""
    if isinstance(value, Explanation):
        return f"({value})"
    if isinstance(value, str) and not _is_ambiguous(value):
        return value
    return json.dumps(value, ensure_ascii=False)


def _canonical(value: Json) -> str:
    return json.dumps(value, sort_keys=True)


def _is_ambiguous(text: str) -> bool:
    if text != text.strip() or not text.isprintable() or not text or text.startswith(("(", '"')):
        return True
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _lines(value: Json) -> list[str]:
    if isinstance(value, list):
        return [text_of(entry) for entry in value]
    if isinstance(value, dict):
        return [f"{name}: {text_of(value[name])}" for name in sorted(value)]
    if isinstance(value, Explanation):
        return [Explanation(text_of(value))]
    return [text_of(value)]


def _differing(left: Sequence[str], right: Sequence[str]) -> Iterator[Row]:
    for expected, seen in zip_longest(left, right):
        if expected is None:
            yield Row(mark=RowMark.UNEXPECTED, seen=_from_difference(seen, ""))
        elif seen is None:
            yield Row(mark=RowMark.MISSING, expected=_from_difference(expected, ""))
        else:
            yield Row(
                mark=RowMark.CHANGED,
                expected=_from_difference(expected, seen),
                seen=_from_difference(seen, expected),
            )


def _from_difference(text: str, other: str) -> str:
    """The part of a wide value around its first difference from the other value."""
    if len(text) <= MAX_COLUMN_WIDTH or isinstance(text, Explanation):
        return text
    same = next(
        (at for at, (one, two) in enumerate(zip(text, other, strict=False)) if one != two),
        min(len(text), len(other)),
    )
    start = min(max(0, same - _LEAD), len(text) - MAX_COLUMN_WIDTH)
    shown = text[start : start + MAX_COLUMN_WIDTH]
    if start:
        shown = f"…{shown[1:]}"
    return shown if start + MAX_COLUMN_WIDTH >= len(text) else f"{shown[:-1]}…"


def _near_differences(rows: Sequence[Row]) -> Iterator[Row]:
    """The rows that differ, and the rows near them."""
    differing = [at for at, row in enumerate(rows) if row.mark is not RowMark.SAME]
    left_out = 0
    for at, row in enumerate(rows):
        if any(abs(at - other) <= _CONTEXT for other in differing):
            if left_out:
                yield _left_out(left_out)
            left_out = 0
            yield row
        else:
            left_out += 1
    if left_out:
        yield _left_out(left_out)


def _left_out(count: int) -> Row:
    text = f"… {count} more that {'agrees' if count == 1 else 'agree'}"
    return Row(mark=RowMark.LEFT_OUT, expected=text, seen=text)
