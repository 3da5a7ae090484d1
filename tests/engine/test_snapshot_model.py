"""A restore after arbitrary actions gives the saved state, which behaves the same."""

from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.depth import usually
from tests.webhooks.receiver import Received, Receiver, Reply, receiving
from tests.world import LIVE_KEY, OTHER_TEST_KEY, TEST_KEY, World, headers, order, world

KEYS = (TEST_KEY, LIVE_KEY)
MODES = st.sampled_from(KEYS)
WHICH = st.integers(0, 2)
SHOWN = (
    "/clock",
    "/events",
    "/deliveries",
    "/webhook_endpoints",
    "/scenarios",
    "/faults",
    "/requests",
    "/recording",
)
PHONES = ("0900000001", "0900000002", "0900000003", "0911111111")
SCENARIOS: list[dict[str, Any]] = [
    {
        "outcomes": [
            {
                "when": {"amount": 100},
                "then": [{"after": "3s", "status": "failed", "reason": "limit_exceeded"}],
                "times": 2,
            }
        ],
        "expiry": [{"when": {"amount": 101}, "after": "20s", "times": 1}],
        "webhooks": [
            {
                "when": {"event": "payment.created"},
                "then": {"copies": 2, "delay": "1s"},
                "times": 2,
            },
            {"when": {"event": "payment.processing"}, "then": {"hold": True}},
        ],
    },
    {"outcomes": [{"when": {}, "then": [{"after": "8s", "status": "completed"}]}]},
    {"faults": [{"when": {"every": 3}, "then": {"status": 429, "retry_after": "7s"}}]},
]
FAULTS = [
    {"when": {"request": "create_payment", "nth": 2}, "then": {"status": 500}},
    {"when": {"chance": 0.5}, "then": {"status": 500, "point": "after_commit"}, "times": 2},
]
NAMES = st.sampled_from(["a", "b", "late-success"])
CREATED = [
    ("create", TEST_KEY, 100, 1800),
    ("create", LIVE_KEY, 102, 30),
    ("create", TEST_KEY, 101, 30),
]
MONEY = st.one_of(
    st.tuples(st.just("create"), MODES, st.integers(100, 103), st.sampled_from([1, 30, 1800])),
    st.tuples(st.just("create_with_key"), MODES, st.sampled_from("ab"), st.integers(100, 101)),
    st.tuples(st.just("pay"), MODES, WHICH, st.sampled_from(PHONES)),
    st.tuples(st.just("answer"), MODES, WHICH, st.sampled_from(["approve", "cancel"])),
    st.tuples(st.just("transition"), MODES, WHICH, st.sampled_from(["refunded", "expired"])),
    st.tuples(st.just("look"), MODES, WHICH),
)
TIME = st.one_of(
    st.tuples(st.just("advance"), st.sampled_from([1, 999, 1_000, 5_000, 30_000, 1_800_000])),
    st.tuples(st.just("next")),
    st.tuples(st.just("clock"), st.booleans()),
)
WEBHOOKS = st.one_of(
    st.tuples(st.just("tell"), MODES),
    st.tuples(st.just("tell_no_more"), MODES, WHICH, st.sampled_from(["PATCH", "DELETE"])),
    st.tuples(st.just("rotate"), MODES, WHICH),
    st.tuples(st.just("resend"), MODES, WHICH),
)
RULES = st.one_of(
    st.tuples(st.just("put"), st.sampled_from("ab"), st.sampled_from(SCENARIOS)),
    st.tuples(st.just("remove"), NAMES),
    st.tuples(st.just("switch"), NAMES, st.booleans()),
    st.tuples(st.just("place"), MODES, WHICH, NAMES),
    st.tuples(st.just("fault"), st.sampled_from(FAULTS)),
    st.tuples(st.just("no_fault")),
)
STEPS = st.lists(MONEY | MONEY | TIME | WEBHOOKS | RULES, min_size=3, max_size=12)


def answer(received: Received) -> Reply:
    """The same for the same event, so that a second time is as the first."""
    return Reply(status=(200, 200, 500, 410)[crc32(received.headers["webhook-id"].encode()) % 4])


@dataclass
class Client:
    """Does things to an account and keeps what it was answered."""

    emulator: World
    receiver: Receiver
    payments: dict[str, list[str]] = field(default_factory=lambda: {key: [] for key in KEYS})
    answers: list[object] = field(default_factory=list)

    async def ask(self, method: str, path: str, body: Any = None, key: str = TEST_KEY) -> Any:
        """A request whose answer is to be the same the second time, to the last byte."""
        response = await self.emulator.api.request(method, path, json=body, headers=headers(key))
        sent = response.headers.raw
        if not path.startswith("/v1"):  # Calls of ours are counted together, whoever's they are.
            sent = [pair for pair in sent if pair[0] != b"request-id"]
        self.answers.append((method, path, response.status_code, sent, response.content))
        return response

    async def control(self, method: str, path: str, body: Any = None, key: str = TEST_KEY) -> Any:
        return await self.ask(method, f"/_emulator{path}", body, key)

    async def take(self, step: str, *arguments: Any) -> None:
        await getattr(self, f"_{step}")(*arguments)
        # What is due is attempted, so that it never depends on who is first.
        await self.control("POST", "/clock/advance", {"seconds": 0})

    async def _create(self, key: str, amount: int, expires_in: int) -> None:
        body = order(amount=amount, expires_in=expires_in)
        response = await self.ask("POST", "/v1/payments", body, key)
        if response.status_code == 201:
            self.payments[key].append(response.json()["id"])

    async def _create_with_key(self, key: str, idempotency_key: str, amount: int) -> None:
        body = order(amount=amount, idempotency_key=idempotency_key)
        response = await self.ask("POST", "/v1/payments", body, key)
        if response.status_code == 201:
            self.payments[key].append(response.json()["id"])

    async def _do(self, key: str, which: int, verb: str, body: Any) -> None:
        for payment in self.payments[key][which : which + 1]:
            await self.control("POST", f"/payments/{payment}/{verb}", body, key)

    async def _pay(self, key: str, which: int, phone: str) -> None:
        await self._do(key, which, "pay", {"method": "telebirr", "phone": phone})

    async def _answer(self, key: str, which: int, answer: str) -> None:
        await self._do(key, which, "answer", {"answer": answer})

    async def _transition(self, key: str, which: int, status: str) -> None:
        await self._do(key, which, "transition", {"status": status})

    async def _look(self, key: str, which: int) -> None:
        for payment in self.payments[key][which : which + 1]:
            await self.ask("GET", f"/v1/payments/{payment}", key=key)
        await self.ask("GET", "/v1/payments?limit=3&status=pending", key=key)

    async def _advance(self, by_ms: int) -> None:
        await self.control("POST", "/clock/advance", {"seconds": by_ms / 1000})

    async def _next(self) -> None:
        await self.control("POST", "/clock/advance", {"to": "next"})

    async def _clock(self, frozen: bool) -> None:
        await self.control("PUT", "/clock", {"frozen": frozen})

    async def _tell(self, key: str) -> None:
        await self.control("POST", "/webhook_endpoints", {"url": self.receiver.url}, key)

    async def _tell_no_more(self, key: str, which: int, method: str) -> None:
        body = {"enabled": False} if method == "PATCH" else None
        for endpoint in (await self._endpoints(key))[which : which + 1]:
            await self.control(method, f"/webhook_endpoints/{endpoint['id']}", body, key)

    async def _rotate(self, key: str, which: int) -> None:
        for endpoint in (await self._endpoints(key))[which : which + 1]:
            await self.control("POST", f"/webhook_endpoints/{endpoint['id']}/rotate", key=key)

    async def _resend(self, key: str, which: int) -> None:
        deliveries = (await self.control("GET", "/deliveries", key=key)).json()["data"]
        for delivery in deliveries[which : which + 1]:
            await self.control("POST", f"/deliveries/{delivery['id']}/resend", key=key)

    async def _put(self, name: str, scenario: dict[str, Any]) -> None:
        await self.control("PUT", f"/scenarios/{name}", {"version": 1, "name": name, **scenario})

    async def _remove(self, name: str) -> None:
        await self.control("DELETE", f"/scenarios/{name}")

    async def _switch(self, name: str, enabled: bool) -> None:
        await self.control("PUT", f"/scenarios/{name}/enabled", {"enabled": enabled})

    async def _place(self, key: str, which: int, name: str) -> None:
        for payment in self.payments[key][which : which + 1]:
            await self.control("PUT", f"/payments/{payment}/scenario", {"name": name}, key)

    async def _fault(self, fault: dict[str, Any]) -> None:
        await self.control("POST", "/faults", fault)

    async def _no_fault(self) -> None:
        await self.control("DELETE", "/faults")

    async def _endpoints(self, key: str) -> list[dict[str, Any]]:
        response = await self.control("GET", "/webhook_endpoints", key=key)
        return list(response.json()["data"])

    async def observe(self) -> list[bytes]:
        """All that can be seen of the account without changing what it counts."""
        seen = []
        for key in KEYS:
            known = [f"/payments/{payment}" for payment in self.payments[key]]
            for path in (*SHOWN, *known):
                response = await self.emulator.control("GET", path, key=key)
                assert response.status_code == 200, response.text
                seen.append(response.content)
        return seen


@settings(max_examples=usually(4, deep=12))
@given(before=STEPS, after=STEPS)
async def test_restored_all_is_as_it_was_and_goes_the_same_way(
    before: list[tuple[Any, ...]], after: list[tuple[Any, ...]]
) -> None:
    async with world() as emulator, receiving(answer) as receiver:
        other = await emulator.create(OTHER_TEST_KEY)
        client = Client(emulator, receiver)
        await client.take("tell", TEST_KEY)
        for step in (*CREATED, *before):
            await client.take(*step)
        seen = await client.observe()
        assert (await emulator.control("PUT", "/snapshots/here")).status_code == 201

        async def go_on() -> tuple[list[object], list[bytes]]:
            known = {key: list(payments) for key, payments in client.payments.items()}
            again = Client(emulator, receiver, known)
            for step in after:
                await again.take(*step)
            return again.answers, await again.observe()

        first = await go_on()
        assert (await emulator.control("POST", "/snapshots/here/restore")).status_code == 200
        assert await client.observe() == seen
        assert await go_on() == first
        assert await emulator.retrieve(other["id"], OTHER_TEST_KEY) == other
