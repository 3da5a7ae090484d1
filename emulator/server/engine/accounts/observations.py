"""What the emulator stored of a merchant's integration, from which the checklist is judged."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from emulator.domain.payment import Event, Payment
from emulator.server.engine.delivery.deliveries import DeliveryDetail
from emulator.server.engine.state.journal import AttemptSpan, Departure, JournalEntry

COLLECTION = "/v1/payments"
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
    departures: Sequence[Departure]
    attempts: Mapping[str | None, Sequence[AttemptSpan]]
    """By payment."""
    attempts_since_ms: float
    """Earlier attempts are not known."""
    now_ms: float


def grouped(values: Iterable[_T], key: Callable[[_T], Hashable]) -> list[list[_T]]:
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
