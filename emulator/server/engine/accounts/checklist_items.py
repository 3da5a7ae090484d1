"""The ten items of the checklist, each judged by what the emulator observed."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple, TypeVar

import msgspec

from emulator.domain.payment import REPLAYED_FINAL, Event, Payment, Status
from emulator.domain.webhooks import Attempt, DeliveryState
from emulator.server.engine.delivery.deliveries import DeliveryDetail
from emulator.server.engine.state.journal import AttemptSpan, JournalEntry

COLLECTION = "/v1/payments"
MAX_OPEN_PAYMENTS = 100
MAX_EVIDENCE = 100
MAX_SHOWN_ANSWERS = 10
MIN_RETRY_DELAY_MS = 100
MIN_POLL_INTERVAL_MS = 1_000
# How long a handler may go on after its answer.
MAX_HANDLING_MS = 1_000
MAX_READS_OF_PAID = 3
MAX_VERIFICATION_DELAY_MS = 30_000
# The timers of merchants may end this much too early.
TIMER_TOLERANCE_MS = 20

_OPEN = {Status.PENDING, Status.PROCESSING, Status.COMPLETED}
_PAID = {Status.COMPLETED, Status.REFUNDED}
_T = TypeVar("_T")


class JournalledRequest:
    """A request of the merchant; `body` and `reply` are its JSON objects, or None."""

    def __init__(self, entry: JournalEntry) -> None:
        self.entry = entry
        self.id = entry.id.decode()
        self.path = entry.path.decode("utf-8", "replace")
        self.started_ms = entry.ended_ms - entry.duration_ms
        self.body = _object(entry.request_body)
        reply = _object(entry.response_body)
        self.is_create = entry.method == "POST" and self.path == COLLECTION
        # What was cut off is not JSON.
        has_reply = reply is not None or entry.is_cut or entry.status >= 300
        self.has_failed = entry.status == 0 or entry.status >= 500 or not has_reply
        key = (self.body or {}).get("idempotency_key") if self.is_create else None
        self.key = key if key and isinstance(key, str) else None
        self.identity = entry.method, self.path, key or (entry.query, entry.request_body)
        is_read = entry.method == "GET" and self.path.startswith(f"{COLLECTION}/")
        self.read_status = (
            reply.get("status") if is_read and reply and entry.status == 200 else None
        )

    @property
    def order(self) -> bytes:
        """The body without its key, in which all creates for an order are equal."""
        members = (self.body or {}).items()
        order = {name: value for name, value in members if name != "idempotency_key"}
        return msgspec.json.encode(order, order="sorted")


class Observations(NamedTuple):
    """What occurred in an account and mode, each in order of time; `now_ms` is monotonic."""

    requests: Sequence[JournalledRequest]
    deliveries: Sequence[DeliveryDetail]
    changes: Sequence[tuple[Event, Payment]]
    departures: Mapping[str, float]
    """When the customers left for `success_url`, by payment."""
    attempts: Mapping[str | None, Sequence[AttemptSpan]]
    """By payment."""
    attempts_since_ms: float
    """Earlier attempts are not known."""
    now_ms: float


class Finding(NamedTuple):
    """Whether the integration behaved as expected at one place, and what shows it.

    `ids` are the ids of requests and deliveries, or of a payment; `seen` says what they did.
    """

    is_good: bool
    ids: tuple[str, ...]
    seen: str


class Item(NamedTuple):
    """An item of the checklist; the title continues "The integration"."""

    id: str
    title: str
    exercise: str
    findings: Callable[[Observations], Iterator[Finding]]


def _acknowledged(observed: Observations) -> Iterator[Finding]:
    for delivery in observed.deliveries:
        attempts = _genuine(delivery)
        has_succeeded = any(attempt.has_succeeded for attempt in attempts)
        # Without a response in less than 15 s, nothing is known.
        has_time = "timeout" not in (delivery.job.delivery.fault or {})
        has_failed = _state(delivery) is DeliveryState.FAILED and (
            any(attempt.status for attempt in attempts) or has_time
        )
        if has_succeeded or (attempts and has_failed):
            yield Finding(has_succeeded, (delivery.id,), _answers(delivery))


def _signature(observed: Observations) -> Iterator[Finding]:
    for delivery in observed.deliveries:
        for attempt in delivery.attempts if delivery.form.is_signed else ():
            status = attempt.status
            if attempt.tamper is not None and status is not None:
                seen = f"answered {status} to a message with tamper: {attempt.tamper}"
                yield Finding(400 <= status <= 499, (delivery.id,), seen)


def _duplicate(observed: Observations) -> Iterator[Finding]:
    """After the first success, each further delivery of the event succeeds in the end."""
    for copies in grouped(observed.deliveries, lambda each: (each.endpoint_id, each.job.event_id)):
        attempts = [
            (attempt.at, index, attempt.number, attempt.has_succeeded)
            for index, delivery in enumerate(copies)
            for attempt in _genuine(delivery)
        ]
        attempts.sort()
        first = next((place for place, each in enumerate(attempts) if each[-1]), len(attempts))
        for index, is_good in {index: good for _, index, _, good in attempts[first + 1 :]}.items():
            if is_good or _state(copies[index]) is not DeliveryState.PENDING:
                yield Finding(is_good, (copies[index].id,), _answers(copies[index]))


def _order(observed: Observations) -> Iterator[Finding]:
    """A delivery after the first attempt of a newer event succeeds in the end."""
    of_endpoint = grouped(observed.deliveries, lambda each: (each.endpoint_id, each.job.payment_id))
    for deliveries in of_endpoint:
        first = [
            (_event(each), attempts[0].at) for each in deliveries if (attempts := _genuine(each))
        ]
        for delivery in deliveries:
            newer_at = min((at for event, at in first if event > _event(delivery)), default=None)
            if newer_at is None:
                continue
            # A postponed delivery follows the newer one at the same instant.
            is_postponed = "hold" in (delivery.job.delivery.fault or {})
            late = [each for each in _genuine(delivery) if each.at > newer_at - is_postponed]
            is_good = bool(late) and late[-1].has_succeeded
            if is_good or (late and _state(delivery) is not DeliveryState.PENDING):
                yield Finding(is_good, (delivery.id,), f"{_answers(delivery)}, after a newer event")


def _idempotent(observed: Observations) -> Iterator[Finding]:
    for request in observed.requests:
        if request.is_create and request.body is not None:
            seen = "without an idempotency_key" if request.key is None else "with a key"
            yield Finding(request.key is not None, (request.id,), seen)


def _retried(observed: Observations) -> Iterator[Finding]:
    creates = [request for request in observed.requests if request.is_create]
    following = {
        request.id: later
        for equal in grouped(creates, lambda request: request.order)
        for request, later in pairwise(equal)
    }
    for before, request, after in _repetitions(creates):
        if not request.has_failed or request.body is None:
            continue
        if request.key is None:
            yield Finding(False, (request.id,), "sent without an idempotency_key")
        elif after is not None:
            delay_ms = after.started_ms - request.entry.ended_ms
            is_good = _is_at_least(delay_ms, MIN_RETRY_DELAY_MS)
            seen = f"sent again {delay_ms:,.0f} ms after {request.id}"
            yield Finding(is_good, (request.id, after.id), seen)
        elif before is None and (other := following.get(request.id)) is not None:
            seen = f"sent again with another key than {request.id}"
            yield Finding(False, (request.id, other.id), seen)
        elif before is None:
            yield Finding(False, (request.id,), "not sent again")


def _retry_after(observed: Observations) -> Iterator[Finding]:
    for _, request, after in _repetitions(observed.requests):
        entry = request.entry
        if entry.retry_after and after is not None:
            waited_ms = max(after.started_ms - entry.ended_ms, after.entry.at - entry.at)
            is_good = _is_at_least(waited_ms, int(entry.retry_after) * 1000)
            seen = f"{waited_ms:,.0f} ms after {request.id}, which says {int(entry.retry_after)} s"
            yield Finding(is_good, (request.id, after.id), seen)


def _polling(observed: Observations) -> Iterator[Finding]:
    reads = [request for request in observed.requests if request.read_status is not None]
    for of_payment in grouped(reads, lambda request: request.path):
        yield Finding(True, (of_payment[0].id,), f"read {len(of_payment)} times")
        attempts = observed.attempts.get(of_payment[0].path.rpartition("/")[2], ())
        counted = _counted(of_payment, attempts, observed.attempts_since_ms)
        for earlier, later in pairwise(counted):
            business_ms = later.entry.at - earlier.entry.at
            interval_ms = max(later.started_ms - earlier.started_ms, business_ms)
            if not _is_at_least(interval_ms, MIN_POLL_INTERVAL_MS):
                seen = f"read {interval_ms:,.0f} ms after {earlier.id}"
                yield Finding(False, (earlier.id, later.id), seen)
        for equal in grouped(counted, lambda request: request.read_status):
            if equal[0].read_status in _PAID and len(equal) > MAX_READS_OF_PAID:
                seen = f"read {len(equal)} times as {equal[0].read_status}"
                yield Finding(False, tuple(each.id for each in equal[:MAX_EVIDENCE]), seen)


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
    for request in observed.requests:
        if REPLAYED_FINAL in request.entry.warnings:
            yield Finding(False, (request.id,), "sent again after its payment had ended")
    statuses: dict[int, Status] = {}
    orders: dict[Hashable, list[Event]] = {}
    findings: list[Finding] = []
    for event, payment in observed.changes:
        if event.is_creation:
            metadata = payment.terms.metadata
            order = tuple(sorted(metadata.items()))
            opened = [each for each in orders.get(order, ()) if statuses[each.payment] in _OPEN]
            orders[order] = [*opened[-MAX_OPEN_PAYMENTS:], event]
            if metadata:
                ids = (each.request_id or payment.id for each in (*opened[:1], event))
                seen = "created without another open payment of the order"
                if opened:
                    seen = f"created while one with equal metadata is {statuses[opened[0].payment]}"
                findings.append(Finding(not opened, tuple(ids), seen))
        statuses[event.payment] = event.status
    # Equal metadata of all payments do not name an order.
    if len(orders) > 1 or len(statuses) <= 2:
        yield from findings


def _verified(observed: Observations) -> Iterator[Finding]:
    reads = [request for request in observed.requests if request.read_status in _PAID]
    for payment_id, left_ms in observed.departures.items():
        if observed.now_ms - left_ms < MAX_VERIFICATION_DELAY_MS:
            continue
        path = f"{COLLECTION}/{payment_id}"
        proofs = [
            request.id
            for request in reads
            if request.path == path
            and request.entry.ended_ms - left_ms <= MAX_VERIFICATION_DELAY_MS
        ]
        proofs += [
            attempt.proof
            for attempt in observed.attempts.get(payment_id, ())
            if attempt.proof and attempt.began_ms - left_ms <= MAX_VERIFICATION_DELAY_MS
        ]
        verified = f"verified {len(proofs)} times in time"
        seen = verified if proofs else "no retrieve and no acknowledged payment.completed"
        yield Finding(bool(proofs), tuple(proofs[:MAX_EVIDENCE]) or (payment_id,), seen)


def _genuine(delivery: DeliveryDetail) -> list[Attempt]:
    return [attempt for attempt in delivery.attempts if attempt.tamper is None]


def _answers(delivery: DeliveryDetail) -> str:
    attempts = _genuine(delivery)[-MAX_SHOWN_ANSWERS:]
    texts = (str(each.status or each.error) for each in attempts)
    counts = ((text, len([*equal])) for text, equal in groupby(texts))
    shown = ", ".join(f"{text} ×{count}" if count > 1 else text for text, count in counts)
    return f"{'answered' if any(each.status for each in attempts) else 'not answered:'} {shown}"


def _state(delivery: DeliveryDetail) -> DeliveryState:
    return delivery.job.delivery.state


def _event(delivery: DeliveryDetail) -> int:
    return delivery.job.delivery.event or 0


def _is_at_least(duration_ms: float, minimum_ms: int) -> bool:
    return duration_ms >= minimum_ms - TIMER_TOLERANCE_MS


def _repetitions(
    requests: Iterable[JournalledRequest],
) -> Iterator[tuple[JournalledRequest | None, JournalledRequest, JournalledRequest | None]]:
    """Each request between the previous and the next one that repeat it."""
    for equal in grouped(requests, lambda request: request.identity):
        yield from zip([None, *equal[:-1]], equal, [*equal[1:], None], strict=True)


def grouped(values: Iterable[_T], key: Callable[[_T], Hashable]) -> list[list[_T]]:
    """The values with equal keys, in their order."""
    groups: dict[Hashable, list[_T]] = {}
    for value in values:
        groups.setdefault(key(value), []).append(value)
    return list(groups.values())


def _object(text: bytes) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return value if isinstance(value, dict) else None


ITEMS = (
    Item(
        "webhook-acknowledged",
        "answers each genuine delivery with 2xx within the 15 s of an attempt, in the end",
        "register the address of your handler, and pay a payment",
        _acknowledged,
    ),
    Item(
        "webhook-signature",
        "refuses a forged, stale or unsigned delivery with 4xx",
        "enable the scenario forged-webhooks, and pay a payment; webhooks in a format without a"
        " signature do not count",
        _signature,
    ),
    Item(
        "webhook-duplicate",
        "answers a repeated delivery with 2xx",
        "enable the scenario duplicate-webhooks, and pay a payment",
        _duplicate,
    ),
    Item(
        "webhook-order",
        "answers deliveries that arrive out of order with 2xx",
        "enable the scenario out-of-order-webhooks, and pay a payment",
        _order,
    ),
    Item(
        "create-idempotent",
        "sends an idempotency_key with each create",
        "create a payment",
        _idempotent,
    ),
    Item(
        "create-retried",
        "after a 5xx or a lost response sends the same key again, 100 ms later or more",
        "enable the scenario lost-answer, and create a payment",
        _retried,
    ),
    Item(
        "retry-after",
        "waits as long as a 429 says",
        "enable the scenario too-many-requests, and create a payment",
        _retry_after,
    ),
    Item(
        "polling",
        "reads a payment at most once a second, and a completed one at most three times, apart from"
        " reads while its webhook is handled",
        "retrieve a payment",
        _polling,
    ),
    Item(
        "one-payment",
        "creates one payment at a time for an order, and repeats no create after the payment's end",
        "create payments of several orders, with the order's number in the metadata",
        _one_payment,
    ),
    Item(
        "verified-before-paid",
        "verifies a completed payment within 30 s after the customer leaves for success_url",
        "pay on the checkout page, open success_url, and request the checklist 30 s later",
        _verified,
    ),
)
