"""Converts recorded traffic into a scenario file that reproduces it, without private data.

The statuses of the payments and their instants come from the responses and the webhooks. These do
not contain what the customer did, so the script changes each status directly.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from emulator.domain.durations import duration_text
from emulator.domain.instants import Instant
from emulator.domain.payment import DEFAULT_EXPIRES_IN_S, EVENT_TYPES, Event, Status
from emulator.domain.payment_methods import DEFAULT_METHODS
from emulator.domain.transitions import TRANSITIONS, Edge
from emulator.domain.user_error import UserError
from emulator.files.yaml_writer import yaml_text
from emulator.reporting import counted
from emulator.scenarios import values
from emulator.scenarios.history_script import (
    NOWHERE,
    EventDelivery,
    HistoryScript,
    arrival_steps,
    arrived_types,
    by_arrival,
    excess,
    method_lines,
    payment_names,
    webhook_rules,
)
from emulator.scenarios.scenario_file import VERSION, step_json
from emulator.tools.recorded_traffic import (
    RecordedPayment,
    RecordedTraffic,
    instant_of,
    payments_in,
)

Json = Mapping[str, Any]

# Each status can only follow those before it.
_ORDER = tuple(map(Status, ("pending", "processing", "failed", "expired", "completed", "refunded")))
_PENDING, _PROCESSING, _FAILED, _EXPIRED, _COMPLETED, _REFUNDED = _ORDER
_PAID = (_PROCESSING, _FAILED, _COMPLETED, _REFUNDED)
# The network causes a shorter delay, unless webhooks arrived in another order.
_MIN_DELAY_MS = 1_000


class ImportedScript(NamedTuple):
    """A scenario file, and the facts that it needs and the recording does not have.

    `too_much` is the limit of a file that it exceeds.
    """

    text: str
    missing: list[str]
    too_much: str | None


def import_traffic(
    traffic: RecordedTraffic,
    *,
    name: str,
    keep: Collection[str],
    form: Json,
    base_url: str | None = None,
) -> list[ImportedScript]:
    """The script, or with too many steps several scripts, which share out the payments.

    `keep` are the names of the metadata that stay, `form` is the form of the webhooks. Raises
    UserError.
    """
    payments, ignored = payments_in(traffic, form, base_url)
    writer = _Writer(traffic, keep, ignored)
    groups = list(writer.groups(payments))
    names = [name] if len(groups) == 1 else [f"{name[:58]}-{n}" for n in range(1, 1 + len(groups))]
    return [
        writer.script(group, each, is_first=group is groups[0])
        for each, group in zip(names, groups, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes scenario files; `ignored` is the number of webhooks without a payment."""

    traffic: RecordedTraffic
    keep: Collection[str]
    ignored: int
    pseudonyms: dict[str, dict[str, str]] = field(default_factory=dict)

    def groups(self, payments: Sequence[RecordedPayment]) -> Iterator[Sequence[RecordedPayment]]:
        """The payments by file, in their order: as few files as halving gives.

        Raises UserError.
        """
        too_much = self.script(payments, "", is_first=True).too_much
        if too_much is None:
            yield payments
        elif len(payments) == 1:
            raise UserError(f"a payment does not fit into a file. {too_much}")
        else:
            middle = len(payments) // 2
            yield from self.groups(payments[:middle])
            yield from self.groups(payments[middle:])

    def script(
        self, payments: Sequence[RecordedPayment], name: str, *, is_first: bool
    ) -> ImportedScript:
        """The file of these payments."""
        traffic, keep = self.traffic, self.keep
        named = dict(zip(payment_names(len(payments)), payments, strict=True))
        importer = _Importer(named, keep, self.pseudonyms)
        script, rules = importer.build(has_webhooks=bool(traffic.webhooks))
        missing = importer.missing
        missing += [] if traffic.webhooks else ["the webhooks, their order and their delays"]
        if self.ignored and is_first:
            missing.append(f"the payment of {counted(self.ignored, 'webhook')}")
        document = {
            "version": VERSION,
            "name": name,
            "description": "Imported from recorded traffic.",
            "checkout": importer.checkout_rules,
            "webhooks": rules,
            "script": [step_json(step) for step in script],
        }
        document = {key: value for key, value in document.items() if value != []}
        kept = f", except metadata {', '.join(sorted(keep))}" if keep else ""
        lines = [
            f"Imported from {counted(len(traffic.exchanges), 'exchange')} and"
            f" {counted(len(traffic.webhooks), 'webhook')}.",
            f"Ids, keys, phone numbers, names, metadata and URLs are replaced{kept}.",
            "",
            "To replay it:  payments-emulator replay FILE",
            "To also send its webhooks to your endpoints, add:  --url URL --key KEY",
            *method_lines(importer.offered),
            *(["", "Missing:"] if missing else []),
            *(f"- {each}" for each in missing),
        ]
        text = "".join(f"# {line}".rstrip() + "\n" for line in lines) + yaml_text(document)
        return ImportedScript(text, missing, excess(document, text))


class _Change(NamedTuple):
    """A status that a payment gets; `step` is its cause, None for the expiry."""

    at: Instant
    status: Status
    method: str | None = None
    step: values.Step | None = None


@dataclass(slots=True)
class _Importer:
    """Builds a script; `missing` are the facts that the recording does not have."""

    payments: Mapping[str, RecordedPayment]
    keep: Collection[str]
    pseudonyms: dict[str, dict[str, str]]
    missing: list[str] = field(default_factory=list)
    offered: set[str] = field(default_factory=set)
    checkout_rules: list[Any] = field(default_factory=list)

    def build(self, *, has_webhooks: bool) -> tuple[tuple[values.Step, ...], list[Any]]:
        """The script and the webhook rules."""
        orders = {name: self._order(name, payment) for name, payment in self.payments.items()}
        changes = {
            (name, position): self._changes(name, payment, orders[name])
            for position, (name, payment) in enumerate(self.payments.items())
        }
        end = max(each.at for of_payment in changes.values() for each in of_payment)
        for payment in self.payments.values():
            late = [at for arrivals in payment.arrivals.values() for at, _ in arrivals]
            end = max((end, *payment.seen.values(), *late))
        for (name, _), of_payment in changes.items():
            expires_at = of_payment[0].at + _lifetime_ms(orders[name])
            if of_payment[-1].status is _PENDING and expires_at <= end:
                self._miss(name, "whether it expired")
                of_payment.append(_Change(expires_at, _EXPIRED))
        script, sent = HistoryScript(len(changes)), []
        history = sorted(
            ((each, *key) for key, of_payment in changes.items() for each in of_payment),
            key=lambda each: (each[0].at, each[2]),
        )
        for number, (change, name, position) in enumerate(history):
            at, status, method, step = change
            event = Event(number, position, at, EVENT_TYPES[status], status, method, None, None)
            if status is _PENDING:
                script.add_create(event, orders[name])
            else:
                script.add_event(event, step)
            if has_webhooks:
                sent.append(self._delivery(name, event))
        end = max(end, _add_delays(sent))
        arrivals = {
            position: arrived_types(each for each in sent if each.event.payment == position)
            for position in {each.event.payment for each in sent}
        }
        steps = script.end(end, is_whole_account=False)
        return steps + arrival_steps(script.names, arrivals), webhook_rules(sent)

    def _miss(self, name: str, fact: str) -> None:
        self.missing.append(f"{name}: {fact}")

    def _pseudonym(self, kind: str, value: object) -> str:
        known = self.pseudonyms.setdefault(kind, {})
        return known.setdefault(str(value), f"{kind}_{len(known) + 1}")

    def _method(self, method: object) -> str:
        """A method of the emulator, or the pseudonym of another one."""
        word = str(method) if method in DEFAULT_METHODS else self._pseudonym("method", method)
        self.offered.add(word)
        return word

    def _order(self, name: str, payment: RecordedPayment) -> dict[str, Any]:
        """The members of the create step."""
        fields, sent = payment.fields, payment.order
        order: dict[str, Any] = {}
        if isinstance(amount := fields.get("amount"), int):
            order["amount"] = amount
        else:
            self._miss(name, "its amount")
        methods = sent.get("methods")
        if not (methods and isinstance(methods, list)):
            self._miss(name, "the methods that it offers")
            used = fields.get("method")
            methods = DEFAULT_METHODS if used in (None, *DEFAULT_METHODS) else [used]
        if tuple(methods) != DEFAULT_METHODS:
            order["methods"] = [self._method(method) for method in methods]
        if isinstance(metadata := fields.get("metadata"), dict) and metadata:
            order["metadata"] = dict(self._pair(*pair) for pair in metadata.items())
        if (key := sent.get("idempotency_key")) is not None:
            order["idempotency_key"] = self._pseudonym("key", key)
        expires_in_s = self._expires_in_s(name, payment)
        if expires_in_s != DEFAULT_EXPIRES_IN_S:
            order["expires_in"] = expires_in_s
        return order

    def _pair(self, name: str, value: object) -> tuple[str, object]:
        if name in self.keep:
            return name, value
        return self._pseudonym("name", name), self._pseudonym("value", value)

    def _expires_in_s(self, name: str, payment: RecordedPayment) -> int:
        """The recorded lifetime, or a longer one if the payment was paid later."""
        expires_at, created_at = instant_of(payment.fields.get("expires_at")), payment.created_at
        if expires_at is None:
            self._miss(name, "when it expires")
            return DEFAULT_EXPIRES_IN_S
        paid = [payment.began.get(each, at) for each, at in payment.seen.items()]
        paid = [at for each, at in zip(payment.seen, paid, strict=True) if each in _PAID]
        open_ms = min(paid, default=created_at) - created_at
        return max(1, open_ms // 1_000 + 1, round((expires_at - created_at) / 1_000))

    def _changes(self, name: str, payment: RecordedPayment, order: Json) -> list[_Change]:
        """The recorded statuses, with those between them that a payment cannot skip."""
        changes = [_Change(payment.created_at, _PENDING)]
        is_cancelled = payment.fields.get("method", ...) is None and _PROCESSING not in payment.seen
        for status in _ORDER[1:]:
            latest, path = changes[-1].status, [status] if status in payment.seen else []
            if path and status is _REFUNDED and latest is not _COMPLETED:
                path.insert(0, _COMPLETED)
            if path and latest is _PENDING and status in _PAID[1:] and not is_cancelled:
                path.insert(0, _PROCESSING)
            for number, each in enumerate(path):
                if TRANSITIONS.get((changes[-1].status, each), Edge.UNUSUAL) is Edge.UNUSUAL:
                    self._miss(name, f"how it became {each} after {changes[-1].status}")
                    break
                if each not in {*payment.began, _EXPIRED}:
                    self._miss(name, f"when it became {each}")
                known = [payment.began[later] for later in path[number:] if later in payment.began]
                at = max([*known, payment.seen[status]][0], changes[-1].at)
                changes.append(self._change(name, payment, order, changes[-1], _Change(at, each)))
        return changes

    def _change(
        self, name: str, payment: RecordedPayment, order: Json, latest: _Change, change: _Change
    ) -> _Change:
        """The change with its method, and the step that causes it."""
        at, status, method = change.at, change.status, latest.method
        expires_at = payment.created_at + _lifetime_ms(order)
        has_expired = status is _EXPIRED and at >= expires_at - _MIN_DELAY_MS
        if has_expired and latest.status is _PENDING:
            return _Change(expires_at, status)
        edge = TRANSITIONS[latest.status, status]
        if edge is Edge.SETTING:
            self.checkout_rules = [{"when": {}, "then": {"cancel": "fails"}}]
            return _Change(at, status, None, values.Cancel(place=NOWHERE, payment=name))
        if status is _FAILED:
            self._miss(name, "why it failed")
        if method is None and status is not _EXPIRED:
            used = payment.fields.get("method")
            if used is None:
                self._miss(name, "its method")
            offered = order.get("methods", DEFAULT_METHODS)
            method = offered[0] if used is None else self._method(used)
        step = values.Transition(
            place=NOWHERE,
            payment=name,
            status=status,
            method=None if method == latest.method else method,
            unusual=edge is not Edge.ORDINARY,
        )
        return _Change(at, status, method, step)

    def _delivery(self, name: str, event: Event) -> EventDelivery:
        """The webhook of an event: dropped, if none was recorded."""
        arrivals = self.payments[name].arrivals.get(event.status, [])
        if not arrivals:
            self._miss(name, f"a webhook of {event.type}")
            return EventDelivery(event=event, arrived=None, is_dropped=True, then={"drop": True})
        if arrivals[-1][0] - arrivals[0][0] >= _MIN_DELAY_MS:
            self._miss(name, f"the time between the copies of {event.type}: sent at once")
        then = {"copies": len(arrivals)} if arrivals[1:] else {}
        return EventDelivery(event=event, arrived=arrivals[0], is_dropped=False, then=then)


def _lifetime_ms(order: Json) -> int:
    return 1_000 * int(order.get("expires_in", DEFAULT_EXPIRES_IN_S))


def _add_delays(sent: Sequence[EventDelivery]) -> Instant:
    """Delay the webhooks that arrived late; exactly, where that is what orders them.

    Returns when the last one is due.
    """
    arrived = by_arrival(sent)
    late = [max(each.arrived[0], each.event.at) if each.arrived else 0 for each in arrived]
    due = [
        (at if at >= each.event.at + _MIN_DELAY_MS else each.event.at, each.event.position)
        for each, at in zip(arrived, late, strict=True)
    ]
    if due != sorted(due):
        due = [(late[0], arrived[0].event.position)]
        for each, at in zip(arrived[1:], late[1:], strict=True):
            (previous, position), mine = due[-1], each.event.position
            due.append((max(at, previous + (position > mine)), mine))
    for each, (at, _) in zip(arrived, due, strict=True):
        each.then |= {"delay": duration_text(at - each.event.at)} if at > each.event.at else {}
    return max((at for at, _ in due), default=0)
