"""Judges a merchant's integration by ten items, from the stored requests and deliveries."""

import asyncio
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import msgspec

from emulator.domain.payment import Event, Payment, Status
from emulator.domain.webhooks import Attempt, DeliveryState
from emulator.engine.delivery.deliveries import Deliveries, DeliveryDetail, DeliveryFilter
from emulator.engine.payments.payment_history import PaymentHistory
from emulator.engine.state.account import Owner
from emulator.engine.state.journal import (
    MAX_ATTEMPTS,
    AttemptSpan,
    Departure,
    Journal,
    JournalEntry,
)

MAX_DELIVERIES = 5_000
MAX_EVENTS = 20_000
MAX_OPEN_PAYMENTS = 100
MAX_EVIDENCE = 100
MIN_RETRY_DELAY_MS = 100
MIN_POLL_INTERVAL_MS = 1_000
# How long a handler may go on after its answer.
MAX_HANDLING_MS = 1_000
MAX_READS_OF_PAID = 3
MAX_VERIFICATION_DELAY_MS = 30_000
# The timers of merchants may end this much too early.
TIMER_TOLERANCE_MS = 20

_COLLECTION = "/v1/payments"
_OPEN = {Status.PENDING, Status.PROCESSING, Status.COMPLETED}
_PAID = {Status.COMPLETED, Status.REFUNDED}
_T = TypeVar("_T")


class ItemResult(StrEnum):
    """The result of an item."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_EXERCISED = "not_exercised"
    """Nothing occurred by which the item can be judged."""


class JournalledRequest:
    """A request of the merchant; `body` and `reply` are its JSON objects, or None."""

    def __init__(self, entry: JournalEntry) -> None:
        self.entry = entry
        self.id = entry.id.decode()
        self.path = entry.path.decode("utf-8", "replace")
        self.started_ms = entry.ended_ms - entry.duration_ms
        self.body = _object(entry.request_body)
        reply = _object(entry.response_body)
        self.is_create = entry.method == "POST" and self.path == _COLLECTION
        # What was cut off is not JSON.
        has_reply = reply is not None or entry.is_cut or entry.status >= 300
        self.has_failed = entry.status == 0 or entry.status >= 500 or not has_reply
        key = (self.body or {}).get("idempotency_key") if self.is_create else None
        self.key = key if key and isinstance(key, str) else None
        self.identity = entry.method, self.path, key or (entry.query, entry.request_body)
        is_read = entry.method == "GET" and self.path.startswith(f"{_COLLECTION}/")
        self.read_status = (
            reply.get("status") if is_read and reply and entry.status == 200 else None
        )


class Observations(NamedTuple):
    """What occurred in an account and mode, each in order of time; `now_ms` is monotonic."""

    requests: Sequence[JournalledRequest]
    deliveries: Sequence[DeliveryDetail]
    changes: Sequence[tuple[Event, Payment]]
    departures: Sequence[Departure]
    attempts: Mapping[str | None, Sequence[AttemptSpan]]
    """By payment."""
    attempts_since_ms: float
    """Earlier attempts are not known."""
    now_ms: float


Finding = tuple[bool, tuple[str, ...]]
"""Whether the integration behaved as expected at one place, and the ids that show it."""


class Item(NamedTuple):
    """An item of the checklist; the title continues "The integration"."""

    id: str
    title: str
    findings: Callable[[Observations], Iterator[Finding]]


class JudgedItem(NamedTuple):
    """The result of an item, with the ids of the requests and deliveries that show it."""

    item: Item
    result: ItemResult
    evidence: list[str]


async def judge_owner(
    owner: Owner,
    history: PaymentHistory,
    deliveries: Deliveries,
    *,
    excluded_endpoint: str | None,
    now_ms: float,
) -> list[JudgedItem]:
    """Judge the items for an account and mode; `now_ms` is monotonic real time."""
    journal = owner.journal.copy()
    newest = await deliveries.newest(owner, DeliveryFilter(limit=MAX_DELIVERIES))
    merchants = [
        delivery
        for delivery in reversed(newest)
        if delivery.job.payment_id and delivery.endpoint_id != excluded_endpoint
    ]
    changes = await history.changes(owner, limit=MAX_EVENTS)
    # A full journal takes about a second.
    return await asyncio.to_thread(_judge, journal, merchants, changes, excluded_endpoint, now_ms)


def _judge(
    journal: Journal,
    deliveries: Sequence[DeliveryDetail],
    changes: Sequence[tuple[Event, Payment]],
    excluded_endpoint: str | None,
    now_ms: float,
) -> list[JudgedItem]:
    requests = [JournalledRequest(entry) for entry in journal.newest_first()][::-1]
    requests.sort(key=lambda request: request.started_ms)
    attempts = [each for each in journal.attempts if each.endpoint_id != excluded_endpoint]
    is_full = len(journal.attempts) == MAX_ATTEMPTS
    observed = Observations(
        requests,
        deliveries,
        changes,
        journal.departures,
        {of_payment[0].payment_id: of_payment for of_payment in _by(attempts, _payment_id)},
        journal.attempts[0].began_ms if is_full else 0.0,
        now_ms,
    )
    return [_judged(item, list(item.findings(observed))) for item in ITEMS]


def _judged(item: Item, findings: Sequence[Finding]) -> JudgedItem:
    failures = [ids for is_good, ids in findings if not is_good]
    result = (
        ItemResult.FAILED
        if failures
        else ItemResult.PASSED
        if findings
        else ItemResult.NOT_EXERCISED
    )
    shown = failures or [ids for _, ids in findings]
    evidence = dict.fromkeys(each for ids in shown for each in ids)
    return JudgedItem(item, result, list(evidence)[:MAX_EVIDENCE])


def _acknowledged(observed: Observations) -> Iterator[Finding]:
    for delivery in observed.deliveries:
        results = [attempt.result for attempt in _genuine(delivery)]
        has_succeeded = any(result.has_succeeded for result in results)
        # Without a response in less than 15 s, nothing is known.
        has_time = '"timeout"' not in (delivery.job.delivery.oddity or "")
        has_failed = _state(delivery) is DeliveryState.FAILED and (
            any(result.response for result in results) or has_time
        )
        if has_succeeded or (results and has_failed):
            yield has_succeeded, (delivery.id,)


def _signature(observed: Observations) -> Iterator[Finding]:
    for delivery in observed.deliveries:
        for attempt in delivery.attempts:
            response = attempt.result.response
            if attempt.tamper is not None and response is not None:
                yield 400 <= response.status <= 499, (delivery.id,)


def _duplicate(observed: Observations) -> Iterator[Finding]:
    """After the first success, each further delivery of the event succeeds in the end."""
    for copies in _by(observed.deliveries, lambda each: (each.endpoint_id, each.job.event_id)):
        attempts = [
            (attempt.at, index, attempt.number, attempt.result.has_succeeded)
            for index, delivery in enumerate(copies)
            for attempt in _genuine(delivery)
        ]
        attempts.sort()
        first = next((place for place, each in enumerate(attempts) if each[-1]), len(attempts))
        for index, is_good in {index: good for _, index, _, good in attempts[first + 1 :]}.items():
            if is_good or _state(copies[index]) is not DeliveryState.PENDING:
                yield is_good, (copies[index].id,)


def _order(observed: Observations) -> Iterator[Finding]:
    """A delivery after the first attempt of a newer event succeeds in the end."""
    of_endpoint = _by(observed.deliveries, lambda each: (each.endpoint_id, each.job.payment_id))
    for deliveries in of_endpoint:
        first = [
            (_event(each), attempts[0].at) for each in deliveries if (attempts := _genuine(each))
        ]
        for delivery in deliveries:
            newer_at = min((at for event, at in first if event > _event(delivery)), default=None)
            if newer_at is None:
                continue
            # A held delivery follows the newer one at the same instant.
            is_held = '"hold"' in (delivery.job.delivery.oddity or "")
            late = [each for each in _genuine(delivery) if each.at > newer_at - is_held]
            is_good = bool(late) and late[-1].result.has_succeeded
            if is_good or (late and _state(delivery) is not DeliveryState.PENDING):
                yield is_good, (delivery.id,)


def _idempotent(observed: Observations) -> Iterator[Finding]:
    for request in observed.requests:
        if request.is_create and request.body is not None:
            yield request.key is not None, (request.id,)


def _retried(observed: Observations) -> Iterator[Finding]:
    for before, request, after in _repetitions(observed.requests):
        if not (request.is_create and request.has_failed and request.body is not None):
            continue
        if request.key is not None and after is not None:
            delay_ms = after.started_ms - request.entry.ended_ms
            yield _is_at_least(delay_ms, MIN_RETRY_DELAY_MS), (request.id, after.id)
        elif request.key is None or before is None:
            yield False, (request.id,)


def _retry_after(observed: Observations) -> Iterator[Finding]:
    for _, request, after in _repetitions(observed.requests):
        entry = request.entry
        if entry.retry_after and after is not None:
            waited_ms = max(after.started_ms - entry.ended_ms, after.entry.at - entry.at)
            yield _is_at_least(waited_ms, int(entry.retry_after) * 1000), (request.id, after.id)


def _polling(observed: Observations) -> Iterator[Finding]:
    reads = [request for request in observed.requests if request.read_status is not None]
    for of_payment in _by(reads, lambda request: request.path):
        yield True, (of_payment[0].id,)
        attempts = observed.attempts.get(of_payment[0].path.rpartition("/")[2], ())
        counted = _counted(of_payment, attempts, observed.attempts_since_ms)
        for earlier, later in pairwise(counted):
            business_ms = later.entry.at - earlier.entry.at
            interval_ms = max(later.started_ms - earlier.started_ms, business_ms)
            if not _is_at_least(interval_ms, MIN_POLL_INTERVAL_MS):
                yield False, (earlier.id, later.id)
        for equal in _by(counted, lambda request: request.read_status):
            if equal[0].read_status in _PAID and len(equal) > MAX_READS_OF_PAID:
                yield False, tuple(request.id for request in equal)


def _counted(
    reads: Iterable[JournalledRequest], attempts: Sequence[AttemptSpan], since_ms: float
) -> list[JournalledRequest]:
    """The reads since an instant that no handler of a webhook begins, as it should."""
    counted: list[JournalledRequest] = []
    handled_until_ms, following = since_ms, 0
    for read in reads:
        while following < len(attempts) and attempts[following].began_ms <= read.started_ms:
            ended_ms = attempts[following].ended_ms
            handled_until_ms = max(handled_until_ms, ended_ms + MAX_HANDLING_MS)
            following += 1
        if read.started_ms > handled_until_ms:
            counted.append(read)
    return counted


def _one_payment(observed: Observations) -> Iterator[Finding]:
    statuses: dict[int, Status] = {}
    orders: dict[Hashable, list[Event]] = {}
    findings: list[Finding] = []
    for event, payment in observed.changes:
        if event.status is Status.PENDING:
            metadata = payment.terms.metadata
            order = tuple(sorted(metadata.items()))
            opened = [each for each in orders.get(order, ()) if statuses[each.payment] in _OPEN]
            orders[order] = [*opened[-MAX_OPEN_PAYMENTS:], event]
            if metadata:
                ids = (each.request_id or payment.id for each in (*opened[:1], event))
                findings.append((not opened, tuple(ids)))
        statuses[event.payment] = event.status
    # Equal metadata of all payments do not name an order.
    if len(orders) > 1 or len(statuses) <= 2:
        yield from findings


def _verified(observed: Observations) -> Iterator[Finding]:
    reads = [request for request in observed.requests if request.read_status in _PAID]
    for payment_id, left_ms, system_ms in observed.departures:
        if observed.now_ms - left_ms < MAX_VERIFICATION_DELAY_MS:
            continue
        path = f"{_COLLECTION}/{payment_id}"
        proofs = [
            request.id
            for request in reads
            if request.path == path
            and request.entry.ended_ms - left_ms <= MAX_VERIFICATION_DELAY_MS
        ]
        last_s = (system_ms + MAX_VERIFICATION_DELAY_MS) // 1000
        proofs += [
            delivery.id
            for delivery in observed.deliveries
            if delivery.job.payment_id == payment_id
            if delivery.job.event_type == "payment.completed"
            for attempt in _genuine(delivery)
            if attempt.result.has_succeeded
            if int(dict(attempt.headers)["webhook-timestamp"]) <= last_s
        ]
        yield bool(proofs), tuple(proofs) or (payment_id,)


def _genuine(delivery: DeliveryDetail) -> list[Attempt]:
    return [attempt for attempt in delivery.attempts if attempt.tamper is None]


def _payment_id(attempt: AttemptSpan) -> str | None:
    return attempt.payment_id


def _state(delivery: DeliveryDetail) -> DeliveryState:
    return delivery.job.delivery.state


def _event(delivery: DeliveryDetail) -> int:
    """The place of the event among those of its account."""
    return delivery.job.delivery.event or 0


def _is_at_least(duration_ms: float, minimum_ms: int) -> bool:
    return duration_ms >= minimum_ms - TIMER_TOLERANCE_MS


def _repetitions(
    requests: Iterable[JournalledRequest],
) -> Iterator[tuple[JournalledRequest | None, JournalledRequest, JournalledRequest | None]]:
    """Each request between the previous and the next one that repeat it."""
    for equal in _by(requests, lambda request: request.identity):
        yield from zip([None, *equal[:-1]], equal, [*equal[1:], None], strict=True)


def _by(values: Iterable[_T], key: Callable[[_T], Hashable]) -> list[list[_T]]:
    """The values with equal keys, in their order."""
    groups: dict[Hashable, list[_T]] = {}
    for value in values:
        groups.setdefault(key(value), []).append(value)
    return list(groups.values())


def _object(text: bytes) -> dict[str, Any] | None:
    """The JSON object of a body; None where it has none."""
    try:
        value = msgspec.json.decode(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


ITEMS = (
    Item(
        "webhook-acknowledged",
        "answers each genuine delivery with 2xx within the 15 s of an attempt, in the end",
        _acknowledged,
    ),
    Item("webhook-signature", "refuses a forged, stale or unsigned delivery with 4xx", _signature),
    Item("webhook-duplicate", "answers a repeated delivery with 2xx", _duplicate),
    Item("webhook-order", "answers deliveries that arrive out of order with 2xx", _order),
    Item("create-idempotent", "sends an idempotency_key with each create", _idempotent),
    Item(
        "create-retried",
        "after a 5xx or a lost response sends the same key again, 100 ms later or more",
        _retried,
    ),
    Item("retry-after", "waits as long as a 429 says", _retry_after),
    Item(
        "polling",
        "reads a payment at most once a second, and a completed one at most three times, apart from"
        " reads while its webhook is handled",
        _polling,
    ),
    Item(
        "one-payment",
        "creates no second payment for an order while the first is open or completed",
        _one_payment,
    ),
    Item(
        "verified-before-paid",
        "verifies a completed payment within 30 s after the customer leaves for success_url",
        _verified,
    ),
)
