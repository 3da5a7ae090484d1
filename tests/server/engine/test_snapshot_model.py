"""A restore after arbitrary actions gives the saved state, which behaves the same."""

from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.depth import usually
from tests.server.webhooks.receiver import Received, Receiver, Reply, receiving
from tests.world import LIVE_KEY, OTHER_TEST_KEY, TEST_KEY, World, headers, order, world

KEYS = (TEST_KEY, LIVE_KEY)
MODES = st.sampled_from(KEYS)
WHICH = st.integers(0, 2)
SHOWN = (
    *("/clock", "/events", "/deliveries", "/webhook_endpoints", "/scenarios", "/faults"),
    *("/requests", "/recording"),
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
NAMES = ("a", "b", "late-success")
CREATED = [
    ("create", TEST_KEY, {"amount": 100, "expires_in": 1800}),
    ("create", LIVE_KEY, {"amount": 102, "expires_in": 30}),
    ("create", TEST_KEY, {"amount": 101, "expires_in": 30}),
]
SPANS = [{"seconds": seconds} for seconds in (0.001, 0.999, 1, 5, 30, 1_800)]


def one_of_bodies(key: str, *values: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.sampled_from([{key: value} for value in values])


def calls(method: str, path: str | st.SearchStrategy[str], body: Any = None) -> Any:
    """Calls of the control API; `path` and `body` are values or strategies."""
    return st.tuples(st.just("call"), st.just(method), strategy(path), strategy(body))


def strategy(value: Any) -> st.SearchStrategy[Any]:
    return value if isinstance(value, st.SearchStrategy) else st.just(value)


def actions(verb: str, body: st.SearchStrategy[Any], method: str = "POST") -> Any:
    """Calls about a payment."""
    return st.tuples(st.just("act"), MODES, WHICH, st.just(method), st.just(verb), body)


MONEY = st.one_of(
    st.tuples(
        st.just("create"),
        MODES,
        st.fixed_dictionaries(
            {"amount": st.integers(100, 103), "expires_in": st.sampled_from([1, 30, 1800])}
        )
        | st.fixed_dictionaries(
            {"amount": st.integers(100, 101), "idempotency_key": st.sampled_from("ab")}
        ),
    ),
    actions("pay", st.sampled_from([{"method": "telebirr", "phone": phone} for phone in PHONES])),
    actions("answer", one_of_bodies("answer", "approve", "cancel")),
    actions("transition", one_of_bodies("status", "refunded", "expired")),
    st.tuples(st.just("look"), MODES, WHICH),
)
TIME = st.one_of(
    calls("POST", "/clock/advance", st.sampled_from([*SPANS, {"to": "next"}])),
    calls("PUT", "/clock", one_of_bodies("frozen", True, False)),
)
WEBHOOKS = st.one_of(
    st.tuples(st.just("subscribe"), MODES),
    st.tuples(st.just("end_subscription"), MODES, WHICH, st.sampled_from(["PATCH", "DELETE"])),
    st.tuples(st.just("rotate"), MODES, WHICH),
    st.tuples(st.just("resend"), MODES, WHICH),
)
RULES = st.one_of(
    calls("PUT", st.sampled_from(["/scenarios/a", "/scenarios/b"]), st.sampled_from(SCENARIOS)),
    calls("DELETE", st.sampled_from([f"/scenarios/{name}" for name in NAMES])),
    calls(
        "PUT",
        st.sampled_from([f"/scenarios/{name}/enabled" for name in NAMES]),
        one_of_bodies("enabled", True, False),
    ),
    actions("scenario", one_of_bodies("name", *NAMES), "PUT"),
    calls("POST", "/faults", st.sampled_from(FAULTS)),
    calls("DELETE", "/faults"),
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
        if not path.startswith("/v1"):  # All accounts share these ids.
            sent = [pair for pair in sent if pair[0] != b"request-id"]
        self.answers.append((method, path, response.status_code, sent, response.content))
        return response

    async def call(self, method: str, path: str, body: Any = None, key: str = TEST_KEY) -> Any:
        return await self.ask(method, f"/_emulator{path}", body, key)

    async def take(self, step: str, *arguments: Any) -> None:
        await getattr(self, step)(*arguments)
        # What is due is attempted, so that it never depends on who is first.
        await self.call("POST", "/clock/advance", {"seconds": 0})

    async def create(self, key: str, changes: dict[str, Any]) -> None:
        response = await self.ask("POST", "/v1/payments", order(**changes), key)
        if response.status_code == 201:
            self.payments[key].append(response.json()["id"])

    async def act(self, key: str, which: int, method: str, verb: str, body: Any) -> None:
        for payment in self.payments[key][which : which + 1]:
            await self.call(method, f"/payments/{payment}/{verb}", body, key)

    async def look(self, key: str, which: int) -> None:
        for payment in self.payments[key][which : which + 1]:
            await self.ask("GET", f"/v1/payments/{payment}", key=key)
        await self.ask("GET", "/v1/payments?limit=3&status=pending", key=key)

    async def subscribe(self, key: str) -> None:
        await self.call("POST", "/webhook_endpoints", {"url": self.receiver.url}, key)

    async def end_subscription(self, key: str, which: int, method: str) -> None:
        body = {"enabled": False} if method == "PATCH" else None
        for endpoint in (await self._endpoints(key))[which : which + 1]:
            await self.call(method, f"/webhook_endpoints/{endpoint['id']}", body, key)

    async def rotate(self, key: str, which: int) -> None:
        for endpoint in (await self._endpoints(key))[which : which + 1]:
            await self.call("POST", f"/webhook_endpoints/{endpoint['id']}/rotate", key=key)

    async def resend(self, key: str, which: int) -> None:
        deliveries = (await self.call("GET", "/deliveries", key=key)).json()["data"]
        for delivery in deliveries[which : which + 1]:
            await self.call("POST", f"/deliveries/{delivery['id']}/resend", key=key)

    async def _endpoints(self, key: str) -> list[dict[str, Any]]:
        response = await self.call("GET", "/webhook_endpoints", key=key)
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


@settings(max_examples=usually(2, deep=8))
@given(before=STEPS, after=STEPS)
async def test_a_restored_account_has_the_same_state_and_the_same_future(
    before: list[tuple[Any, ...]], after: list[tuple[Any, ...]]
) -> None:
    async with world() as emulator, receiving(answer) as receiver:
        other = await emulator.create(OTHER_TEST_KEY)
        client = Client(emulator, receiver)
        await client.take("subscribe", TEST_KEY)
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
