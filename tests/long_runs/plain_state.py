"""The state of the plain model: accounts, payments, events, deliveries and rules, in memory."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import yaml

from emulator.domain.instants import format_instant
from tests.cli.processes import REPOSITORY
from tests.world import START_MS

Json = dict[str, Any]
METHODS = ("telebirr", "mpesa", "bank_transfer")
STATUSES = ("pending", "processing", "completed", "failed", "expired", "refunded")
MEMBERS = (
    *("id", "object", "amount", "currency", "status", "method", "checkout_url", "success_url"),
    *("cancel_url", "metadata", "created_at", "expires_at", "completed_at"),
)
UNLIMITED = 1 << 62

KNOWN = (
    *("cancel-fails", "late-success", "several-attempts", "stuck-in-processing"),
    *("banks", "mpesa-test-numbers", "telebirr-test-numbers"),
)


@cache
def shipped() -> dict[str, Json]:
    """The shipped scenarios that the model knows, the strongest first."""
    texts = {name: REPOSITORY / f"scenarios/{name}.yaml" for name in KNOWN}
    return {name: yaml.safe_load(file.read_text(encoding="utf-8")) for name, file in texts.items()}


def text(at: int | None) -> str | None:
    return None if at is None else format_instant(at)


@dataclass
class Due:
    """A change that happens by itself."""

    at: int
    sequence: int
    kind: str
    status: str
    reason: str | None = None


@dataclass
class Payment:
    """A payment; an entry of its timeline has no type of event for a failed attempt."""

    id: str
    url: str
    order: Json
    created_at: int
    expires_at: int = 0
    expiry: int = 0
    status: str = "pending"
    method: str | None = None
    phone: str | None = None
    bank: str | None = None
    reason: str | None = None
    completed_at: int | None = None
    attempts: int | None = None
    scenario: str | None = None
    steps: list[Due] = field(default_factory=list)
    timeline: list[tuple[str | None, ...]] = field(default_factory=list)

    @property
    def due(self) -> list[Due]:
        expiry = Due(self.expires_at, self.expiry, "expiry", "expired")
        due = [*self.steps, expiry] if self.status == "pending" else self.steps
        return sorted(due, key=lambda each: (each.at, each.sequence))

    @property
    def is_asked(self) -> bool:
        return any(each.kind == "handset_timeout" for each in self.steps)

    @property
    def methods(self) -> list[str]:
        return list(dict.fromkeys(self.order["methods"]))

    def shown(self) -> Json:
        """The payment object."""
        order, at = self.order, (self.created_at, self.expires_at, self.completed_at)
        values = (self.id, "payment", order["amount"], "ETB", self.status, self.method, self.url)
        urls = (order["success_url"], order["cancel_url"], order.get("metadata") or {})
        return dict(zip(MEMBERS, (*values, *urls, *map(text, at)), strict=True))


@dataclass
class Endpoint:
    id: str
    url: str
    events: list[str]
    profile: str
    enabled: bool = True
    is_deleted: bool = False


@dataclass
class Delivery:
    endpoint: Endpoint
    event: Json
    created_at: int
    due_at: int | None
    sequence: int
    status: str = "pending"
    is_postponed: bool = False
    tries: int = 0
    attempts: list[tuple[int, str, int | None]] = field(default_factory=list)

    @property
    def payment(self) -> str | None:
        return self.event["data"].get("id")


@dataclass
class Owner:
    """What one mode of an account has; events are bodies without an id."""

    mode: str
    state: "State"
    payments: list[Payment] = field(default_factory=list)
    events: list[Json] = field(default_factory=list)
    endpoints: list[Endpoint] = field(default_factory=list)
    deliveries: list[Delivery] = field(default_factory=list)
    keys: dict[str, tuple[Json, int, Payment]] = field(default_factory=dict)
    requests: Counter[str] = field(default_factory=Counter)
    calls: int = 0

    def matches(self, when: Json, payment: Payment, method: str | None = None) -> bool:
        """Whether the condition of a rule matches; without a method, any offered one counts."""
        methods = [method] if method else payment.methods
        return (
            when.get("mode", self.mode) == self.mode
            and when.get("method", methods[0]) in methods
            and when.get("phone", payment.phone) == payment.phone
            and when.get("bank", payment.bank) == payment.bank
            and when.get("amount", payment.order["amount"]) == payment.order["amount"]
        )


@dataclass
class State:
    """What a snapshot saves of an account."""

    now: int
    is_frozen: bool = True
    rate: float = 1
    scenarios: dict[str, Json] = field(default_factory=dict)
    switches: dict[str, bool] = field(default_factory=dict)
    faults: dict[str, Json] = field(default_factory=dict)
    uses: Counter[tuple[str, str, int]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.owners = (Owner("test", self), Owner("live", self))

    def listed(self) -> list[tuple[str, Json, bool]]:
        """All scenarios with whether they are on, the strongest first."""
        own = list(self.scenarios.items())[::-1]
        others = [(name, rules) for name, rules in shipped().items() if name not in self.scenarios]
        return [
            (name, rules, self.switches.get(name, rules.get("enabled", True)))
            for name, rules in (*own, *others)
        ]

    def in_force(self, placed: str | None) -> Iterator[tuple[str, Json]]:
        """The scenarios of a payment: the one that was placed on it, then those that are on."""
        listed = self.listed()
        yield from ((name, rules) for name, rules, _ in listed if name == placed)
        yield from ((name, rules) for name, rules, is_on in listed if is_on)

    def choose(self, section: str, placed: str | None, applies: Callable[[Json], bool]) -> Any:
        """The effect of the first rule that applies, whose use is counted."""
        for name, rules in self.in_force(placed):
            for index, rule in enumerate(rules.get(section, ())):
                place = (name, section, index)
                if applies(rule) and self.uses[place] < rule.get("times", UNLIMITED):
                    self.uses[place] += "times" in rule
                    return rule["after"] if section == "expiry" else rule["then"]
        return None

    def forget_uses(self, name: str) -> None:
        for place in [place for place in self.uses if place[0] == name]:
            del self.uses[place]


@dataclass
class Account:
    """An account, and what a reset or a restore gives it."""

    id: str
    test_key: str
    live_key: str
    initial_now: int = START_MS
    snapshots: dict[str, State] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.state = State(self.initial_now)
