"""A recording of arbitrary actions reproduces them (design 10, 12)."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.depth import DEPTH, usually
from tests.server.engine.recording_player import TEXTS, check_replay
from tests.server.engine.scenario_world import scenario_world
from tests.world import LIVE_KEY, METHODS, TEST_KEY, World, headers, order

SCENARIOS = """
outcomes:
  - when: {metadata: {case: late}}
    then:
      - {after: 10s, status: failed, reason: timeout}
      - {after: 1m, status: completed, unusual: true}
      - {after: 61001ms, status: refunded}
  - when: {metadata: {case: returns}}
    then:
      - {after: 10s, status: pending, unusual: true}
      - {after: 1m, status: completed, unusual: true}
  - when: {metadata: {case: stuck}}
    then: []
  - when: {metadata: {case: asked}}
    then: handset
  - when: {phone: "0911111111"}
    then: [{status: completed}, {status: refunded}]
    times: 2
  - when: {phone: "0911111111"}
    then: [{after: 2500ms, status: failed, reason: limit_exceeded}]
    times: 1
  - when: {bank: walia_test, amount: {gte: 20000}}
    then: [{after: 1800s, status: completed}]
  - when: {mode: live, phone: "0900000002"}
    then: [{after: 30s, status: failed, reason: timeout}]
expiry:
  - when: {metadata: {case: short}}
    after: 1500ms
  - when: {metadata: {case: late}}
    after: 30s
    times: 1
  - when: {mode: live, metadata: {case: asked}}
    after: 1ms
checkout:
  - when: {metadata: {case: again}}
    then: {attempts: 3}
    times: 3
  - when: {metadata: {case: again}, method: mpesa}
    then: {attempts: 2}
  - when: {metadata: {case: again}}
    then: {cancel: fails}
    times: 1
  - when: {metadata: {case: asked}}
    then: {redirect: before_completed, delay: 2500ms}
    times: 2
  - when: {metadata: {case: again}}
    then: {redirect: before_completed, delay: 40s}
  - when: {phone: "0911111111"}
    then: {redirect: before_completed, delay: 1ms}
  - when: {metadata: {case: none}}
    then: {cancel: fails}
"""
# It decides only where it is put on a payment.
PLACED = """
enabled: false
outcomes:
  - when: {method: telebirr}
    then:
      - {after: 1ms, status: failed, reason: limit_exceeded}
    times: 2
  - when: {}
    then: [{status: failed}]
"""
CASES = st.sampled_from(["short", "late", "asked", "again", "stuck", "returns", "none"]).map(
    lambda case: {"case": case}
)
METADATA = CASES | CASES | st.dictionaries(TEXTS, TEXTS, max_size=3)
OFFERED = st.permutations(METHODS).flatmap(
    lambda methods: st.integers(1, 3).map(lambda count: methods[:count])
)
PAYERS = (
    *(("telebirr", f"090000000{n}") for n in (1, 2, 3, 4, 5)),
    ("telebirr", "+251 91 111 1111"),
    *(("mpesa", f"070000000{n}") for n in (1, 3, 9)),
    *(("bank_transfer", bank) for bank in ("walia_test", "gelada_test", "fidel_test")),
)
SPANS_MS = st.sampled_from([0, 1, 999, 1500, 2500, 10_000, 29_999, 30_000, 1_800_000, 86_400_000])
CREATION = st.fixed_dictionaries(
    {},
    optional={
        "amount": st.sampled_from([100, 20_000, 2**53 - 1]),
        "methods": OFFERED,
        "metadata": METADATA,
        "expires_in": st.sampled_from([1, 30, 60, 1800, 315_360_000]),
        "idempotency_key": st.sampled_from(["k", "007", "yes", "ቁልፍ: 1"]),
    },
)
ANSWERS = ("approve", "wrong_pin", "insufficient_balance", "cancel", "decline")
RETURN = {"status": "pending", "unusual": True}
EDGES = {
    "pending": ({"status": "processing"}, {"status": "expired"}),
    "processing": (
        {"status": "completed"},
        {"status": "failed"},
        {"status": "failed", "reason": "wrong_pin"},
        RETURN,
    ),
    "completed": (
        {"status": "refunded"},
        {"status": "refunded", "unusual": True},
        {"status": "failed", "unusual": True},
        RETURN,
    ),
    "failed": ({"status": "completed", "unusual": True}, RETURN),
    "expired": ({"status": "completed", "unusual": True, "method": "mpesa"}, RETURN),
    "refunded": ({"status": "completed"}, {"status": "processing", "unusual": True}),
}
WHICH = st.integers(0, 30)
# What is likely to happen comes more often.
DEEDS = st.one_of(
    *(st.tuples(st.just("create"), CREATION) for _ in range(5)),
    *(st.tuples(st.just("pay"), WHICH, WHICH) for _ in range(4)),
    *(st.tuples(st.just("answer"), WHICH, st.sampled_from(ANSWERS)) for _ in range(3)),
    st.tuples(st.just("cancel"), WHICH),
    st.tuples(st.just("transition"), WHICH, WHICH),
    st.tuples(st.just("place"), WHICH, st.sampled_from(["shop", "placed", "banks"])),
    st.tuples(st.just("switch"), st.sampled_from(["shop", "telebirr-test-numbers"]), st.booleans()),
    st.tuples(st.just("advance"), SPANS_MS | st.integers(0, 100_000)),
    st.tuples(st.just("next")),
    st.tuples(st.just("elsewhere"), WHICH),
    st.tuples(st.just("save")),
    st.tuples(st.just("restore")),
)


class Life:
    """Does at random what can be done, mostly where it can be, in an account and mode."""

    def __init__(self, emulator: World, key: str) -> None:
        self.emulator = emulator
        self.key = key
        self.offered: dict[str, list[str]] = {}

    async def do(self, deed: tuple[Any, ...]) -> None:
        await getattr(self, deed[0])(*deed[1:])

    async def create(self, changes: dict[str, Any]) -> None:
        body = order(**changes)
        response = await self.emulator.api.post(
            "/v1/payments", json=body, headers=headers(self.key)
        )
        if response.status_code == 201:
            self.offered[response.json()["id"]] = body["methods"]
        else:
            assert response.status_code == 409  # the idempotency key was of another order

    async def pay(self, which: int, how: int) -> None:
        payment = await self._some(which, status="pending")
        payers = [payer for payer in PAYERS if payer[0] in self.offered[payment["id"]]]
        method, account = payers[how % len(payers)]
        body = {"method": method, "bank" if method == "bank_transfer" else "phone": account}
        await self._do(payment, "pay", body)

    async def answer(self, which: int, answer: str) -> None:
        await self._do(await self._some(which, status="processing"), "answer", {"answer": answer})

    async def cancel(self, which: int) -> None:
        await self._do(await self._some(which, status="pending"), "cancel")

    async def transition(self, which: int, how: int) -> None:
        payment = await self._some(which)
        edges = EDGES[payment["status"]]
        await self._do(payment, "transition", edges[how % len(edges)])

    async def place(self, which: int, name: str) -> None:
        payment = await self._some(which, status="pending")
        path = f"/payments/{payment['id']}/scenario"
        response = await self.emulator.control("PUT", path, {"name": name}, self.key)
        assert response.status_code == 200, response.text

    async def switch(self, name: str, is_on: bool) -> None:
        path = f"/scenarios/{name}/enabled"
        response = await self.emulator.control("PUT", path, {"enabled": is_on}, self.key)
        assert response.status_code == 200, response.text

    async def save(self) -> None:
        await self.emulator.control("PUT", "/snapshots/then", key=self.key)

    async def restore(self) -> None:
        """What happened since is forgotten, if it was saved before."""
        await self.emulator.control("POST", "/snapshots/then/restore", key=self.key)

    async def elsewhere(self, how: int) -> None:
        """The other mode has the clock and the rules in common, and none of its history."""
        other = Life(self.emulator, LIVE_KEY if self.key == TEST_KEY else TEST_KEY)
        await other.create({"metadata": {"case": "late"}})
        await other.pay(0, how)

    async def _do(self, payment: dict[str, Any], verb: str, body: Any = None) -> None:
        await self.emulator.control("POST", f"/payments/{payment['id']}/{verb}", body, self.key)

    async def _some(self, which: int, *, status: str | None = None) -> dict[str, Any]:
        """A payment of this status if there is one, else any."""
        response = await self.emulator.api.get("/v1/payments?limit=100", headers=headers(self.key))
        found: list[dict[str, Any]] = response.json()["data"]
        fitting = [payment for payment in found if status in (None, payment["status"])] or found
        return fitting[which % len(fitting)]

    async def advance(self, span_ms: int) -> None:
        await self.emulator.advance(span_ms / 1000, self.key)

    async def next(self) -> None:
        await self.emulator.control("POST", "/clock/advance", {"to": "next"}, self.key)


async def live(deeds: list[tuple[Any, ...]], key: str) -> None:
    with TemporaryDirectory() as name:
        directory = Path(name)
        async with scenario_world(directory, shop=SCENARIOS, placed=PLACED) as emulator:
            life = Life(emulator, key)
            await life.create({})
            for deed in deeds:
                await life.do(deed)
            await check_replay(emulator, directory, key)


@settings(max_examples=usually(4, deep=12 * DEPTH))
@given(deeds=st.lists(DEEDS, min_size=15, max_size=30), key=st.sampled_from([TEST_KEY, LIVE_KEY]))
def test_a_replay_of_a_recording_has_the_same_history(
    deeds: list[tuple[Any, ...]], key: str
) -> None:
    asyncio.run(live(deeds, key))
