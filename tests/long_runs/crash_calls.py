"""Draws the calls of a merchant: creates, payments, clock advances, snapshots and resets."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random  # noqa: TID251 - drawn from a seed
from typing import Any

from emulator.domain.instants import format_instant, parse_instant
from tests.cli.processes import Answer
from tests.world import START_MS, order

PAYMENTS = "/v1/payments"
ADVANCE = "/_emulator/clock/advance"
SNAPSHOTS = "/_emulator/snapshots"
ENDPOINTS = "/_emulator/webhook_endpoints"
METHODS = ("telebirr", "mpesa")
# The last one waits for an answer; the third one fails after 30 seconds of the account's clock.
PHONES = ("0900000001", "0900000002", "0900000003", "0900000004", "0911223344", "0911223344")
ANSWERS = ("approve", "wrong_pin", "insufficient_balance", "cancel")
STATUSES = ("refunded", "refunded", "completed", "failed", "expired")
NAMES = ("first", "second")
MAX_IN_USE = 20


@dataclass(frozen=True, kw_only=True)
class Call:
    """A request; one that `repeats` has the same result when it is sent again."""

    method: str
    path: str
    body: Any = None
    repeats: bool = False


RESET = Call(method="POST", path="/_emulator/reset", body={}, repeats=True)


class Calls:
    """The calls of one account, drawn from a seed; `now_ms` is what its clock showed last.

    An account that `keeps` its state is never saved, restored or reset.
    """

    def __init__(self, seed: int, name: str, urls: tuple[str, ...], *, keeps: bool) -> None:
        self.now_ms = START_MS
        self._chance = Random(f"{seed} {name}")  # noqa: S311 - no secret
        self._urls = urls
        self._payments: list[str] = []
        self._saved: dict[str, list[str]] = {}
        self._bodies: list[dict[str, Any]] = []
        self._waiting = [self._register(url) for url in urls]
        self._kinds: list[tuple[Callable[[], Call], int]] = [
            (self._create, 30),
            (self._create_with_key, 20),
            (self._create_again, 10),
            (self._pay, 20),
            (self._answer, 10),
            (self._transition, 10),
            (self._advance, 12),
        ]
        if not keeps:
            self._kinds += [(self._save, 6), (self._restore, 6)]
            self._kinds += [(lambda: RESET, 2)]

    def draw(self) -> Call:
        if self._waiting:
            return self._waiting[0]
        kinds, weights = zip(*self._kinds, strict=True)
        kind: Callable[[], Call] = self._chance.choices(kinds, weights)[0]
        return kind()

    def note(self, call: Call, answer: Answer) -> None:
        """Learn from an answer what later calls can use."""
        if self._waiting and call == self._waiting[0]:
            del self._waiting[0]
        if answer.status >= 400:
            return
        name = call.path.split("/")[3] if call.path.startswith(SNAPSHOTS) else ""
        if call.path == PAYMENTS:
            self._payments = [*self._payments, answer.json["id"]][-MAX_IN_USE:]
        elif call.path == ADVANCE:
            self.now_ms = parse_instant(answer.json["now"])
        elif call.path.endswith("/restore"):
            self._payments = self._saved.get(name, [])
            self.now_ms = parse_instant(answer.json["clock"]["now"])
        elif name and call.method == "PUT":
            self._saved[name] = self._payments
        elif call == RESET:
            self._payments, self._saved, self.now_ms = [], {}, START_MS
            self._waiting = [self._register(url) for url in self._urls]

    def _register(self, url: str) -> Call:
        return Call(method="POST", path=ENDPOINTS, body={"url": url})

    def _create(self) -> Call:
        changes = {"amount": self._chance.randint(100, 10**6)}
        if self._chance.random() < 0.5:
            changes["expires_in"] = self._chance.randint(60, 5_000)
        return Call(method="POST", path=PAYMENTS, body=order(**changes))

    def _create_with_key(self) -> Call:
        body = {**self._create().body, "idempotency_key": f"order-{len(self._bodies)}"}
        self._bodies.append(body)
        return Call(method="POST", path=PAYMENTS, body=body, repeats=True)

    def _create_again(self) -> Call:
        """Use a former key again, sometimes with other parameters."""
        if not self._bodies:
            return self._create_with_key()
        body = self._chance.choice(self._bodies[-MAX_IN_USE:])
        if self._chance.random() < 0.2:
            body = {**body, "metadata": {"changed": "yes"}}
        return Call(method="POST", path=PAYMENTS, body=body, repeats=True)

    def _pay(self) -> Call:
        choose = self._chance.choice
        return self._act("pay", {"method": choose(METHODS), "phone": choose(PHONES)})

    def _answer(self) -> Call:
        return self._act("answer", {"answer": self._chance.choice(ANSWERS)})

    def _transition(self) -> Call:
        return self._act("transition", {"status": self._chance.choice(STATUSES)})

    def _act(self, action: str, body: dict[str, Any]) -> Call:
        if not self._payments:
            return self._create()
        path = f"/_emulator/payments/{self._chance.choice(self._payments)}/{action}"
        return Call(method="POST", path=path, body=body)

    def _advance(self) -> Call:
        """By one second to one hour."""
        until_ms = self.now_ms + int(1_000 * 3_600 ** self._chance.random())
        body = {"until": format_instant(until_ms)}
        return Call(method="POST", path=ADVANCE, body=body, repeats=True)

    def _save(self) -> Call:
        path = f"{SNAPSHOTS}/{self._chance.choice(NAMES)}"
        return Call(method="PUT", path=path, repeats=True)

    def _restore(self) -> Call:
        path = f"{SNAPSHOTS}/{self._chance.choice(NAMES)}/restore"
        return Call(method="POST", path=path, repeats=True)
