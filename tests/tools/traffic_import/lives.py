"""Random histories of payments with webhooks, as a merchant records them."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from emulator.domain.instants import parse_instant
from tests.server.engine.webhook_world import WebhookWorld
from tests.tools.recordings import PAYMENTS, RandomHistory, Recorder

# What goes wrong with webhooks; a replay may use other rules with the same effect.
ANOMALIES: tuple[dict[str, Any], ...] = (
    {"delay": "45s"},
    {"delay": "20m"},
    {"copies": 3},
    {"hold": True},
    {"copies": 2, "delay": "1500ms"},
)
NO_ANOMALIES: tuple[dict[str, Any], ...] = ()
DROP: dict[str, Any] = {"drop": True}
History = list[list[tuple[str, int]]]
"""For each payment, the types and the instants of its events or webhooks, from the first of all.

The payments are sorted, because some are created at one instant."""

TYPES = ("created", "processing", "completed", "failed", "expired", "refunded")


class Life(RandomHistory):
    """A history in which the merchant polls after each step, and webhooks go wrong."""

    def __init__(self, hooks: WebhookWorld, key: str, seed: int) -> None:
        super().__init__(Recorder(hooks.emulator, key), seed)
        self.hooks = hooks

    async def live(self, steps: int, anomalies: Sequence[dict[str, Any]]) -> None:
        if anomalies:
            rules = [
                {"when": {"event": f"payment.{self.draws.one_of(TYPES)}"}, "then": then, "times": 2}
                for then in (self.draws.one_of(anomalies) for _ in range(3))
            ]
            scenario = {"version": 1, "name": "late", "webhooks": rules}
            await self._control("PUT", "/scenarios/late", scenario)
        await self.create()
        deeds = (self.create, self.pay, self.pay, self.answer, self.refund, self.advance, self.stop)
        for _ in range(steps):
            await self.draws.one_of(deeds)()
            await self._control("POST", "/clock/advance", {"seconds": 0})
            for payment in self.payments:
                await self.recorder.send(path=f"{PAYMENTS}/{payment['id']}")
        # Everything that is delayed arrives.
        for _ in range(2):
            await self._control("POST", "/clock/advance", {"seconds": 3_600})
        for payment in self.payments:
            await self.recorder.send(path=f"{PAYMENTS}/{payment['id']}")

    async def _control(self, method: str, path: str, body: Any) -> Any:
        """A call that the state of a payment may refuse."""
        return await self.hooks.emulator.control(method, path, body, self.recorder.key)

    async def _act(self, action: str, **body: Any) -> None:
        payment = self.draws.one_of(self.payments)
        await self._control("POST", f"/payments/{payment['id']}/{action}", body)

    async def answer(self) -> None:
        await self._act("answer", answer=self.draws.one_of(("approve", "wrong_pin", "cancel")))

    async def refund(self) -> None:
        await self._act("transition", status="refunded")

    async def stop(self) -> None:
        await self._act("transition", status="expired")

    async def webhooks(self) -> list[dict[str, Any]]:
        """The webhooks in the order of arrival, as a merchant logs them."""
        path = "/deliveries?limit=100"
        listed = await self.hooks.emulator.done("GET", path, None, self.recorder.key)
        arrivals: defaultdict[str, list[str]] = defaultdict(list)
        for delivery in listed["data"][::-1]:
            for attempt in delivery["attempts"]:
                arrivals[attempt["request"]["headers"]["webhook-id"]].append(attempt["at"])
        for instants in arrivals.values():
            instants.sort(reverse=True)
        return [
            {
                "at": arrivals[received.headers["webhook-id"]].pop(),
                "headers": received.headers,
                "body": received.body.decode(),
            }
            for received in self.hooks.receiver.received
            if arrivals[received.headers["webhook-id"]]
        ]

    async def events(self) -> History:
        path = "/events?limit=100"
        listed = await self.hooks.emulator.done("GET", path, None, self.recorder.key)
        return history((event, event["timestamp"]) for event in listed["data"][::-1])


def history(events: Iterable[tuple[dict[str, Any], str]]) -> History:
    by_payment: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    begin: int | None = None
    for event, at in events:
        begin = parse_instant(at) if begin is None else begin
        by_payment[event["data"]["id"]].append((event["type"], parse_instant(at) - begin))
    return sorted(by_payment.values())
