"""Results of a replay: the steps of each case, its failure, and what the emulator recorded."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import unified_diff
from pathlib import Path

from msgspec import Struct, field

from emulator.domain.payment import Status
from emulator.scenarios.values import Json, Place, RuleSection, Scenario, Step
from emulator.summaries import PaymentSummary

# The number of equal entries that are shown before and after a difference.
_CONTEXT = 2


class Explanation(str):
    """Why there is no value; shown in parentheses."""

    __slots__ = ()


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
    expected: Json
    seen: Json
    note: str | None = None

    @property
    def diff(self) -> list[str]:
        """A unified diff, with a line for each entry or member; `@@` begins a part of a list."""
        before, after = _lines(self.expected), _lines(self.seen)
        if not (before or after):  # an empty list beside an empty object
            before, after = [text_of(self.expected)], [text_of(self.seen)]
        _, _, place, *lines = unified_diff(before, after, n=_CONTEXT, lineterm="")
        return lines if len(before) == len(after) == 1 else [place, *lines]


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
    return [text_of(value)]
