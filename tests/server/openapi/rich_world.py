"""An emulator in which every member of the responses of the control API has a value."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from tests.server.webhooks.receiver import HANG_UP, Receiver, Reply, receiving, replies
from tests.world import World, headers, order, world

# The actions on each payment; together they reach all statuses.
LIVES: tuple[tuple[dict[str, Any], ...], ...] = (
    (),
    ({"method": "bank_transfer", "bank": "fidel_test"},),
    ({"method": "telebirr", "phone": "0911111111"},),
    ({"method": "telebirr", "phone": "0900000001"},),
    ({"method": "mpesa", "phone": "0700000002"},),
    ({"status": "expired"}, {"status": "completed", "unusual": True}),
    ({"method": "telebirr", "phone": "0900000001"}, {"status": "refunded"}),
    ({"status": "expired"},),
)
ODD = {
    "outcomes": [{"when": {"amount": {"gte": 1}, "metadata": {"a": "b"}}, "then": []}],
    "expiry": [{"when": {"amount": 7}, "then": {"after": "5m"}, "times": 1}],
    "webhooks": [
        {"when": {"event": "payment.completed"}, "then": {"copies": 2, "delay": "1s"}},
        {"when": {"event": "payment.failed"}, "then": {"drop": True}},
        {"when": {"event": "payment.refunded"}, "then": {"hold": True, "tamper": "body"}},
        {"when": {"event": "payment.expired"}, "then": {"tamper": "signature"}, "times": 1},
        {"when": {"mode": "test", "event": "payment.created"}, "then": {"before_response": True}},
    ],
}
FAULTS = (
    {"when": {"request": "list_payments", "nth": 1}, "then": {"status": 429}, "times": 3},
    {"when": {"request": "list_payments", "every": 2}, "then": {"drop": True}},
    {"when": {"mode": "live", "chance": 0.5}, "then": {"truncate": True}},
    {"when": {"request": "retrieve_payment"}, "then": {"status": 500, "point": "after_commit"}},
)


@dataclass(frozen=True, kw_only=True)
class RichWorld:
    """The emulator, and the existing values of each path parameter."""

    emulator: World
    values: dict[str, list[str]] = field(default_factory=dict)

    def paths_of(self, template: str) -> list[str]:
        """The paths of existing resources, with a query where one is required."""
        if template.endswith("deliveries/wait"):
            return [
                f"{template}?event=payment.{event}&timeout=0" for event in ("failed", "expired")
            ]
        if template.endswith("/wait"):
            [paths] = [self.paths_of(template.removesuffix("/wait"))]
            return [f"{path}/wait?status=completed&timeout=0" for path in paths]
        before, brace, after = template.partition("{")
        if not brace:
            return [template]
        kind = before.split("/")[2]
        name, _, rest = after.partition("}")
        return [f"{before}{value}{rest}" for value in self.values[kind if name == "name" else name]]


@asynccontextmanager
async def rich_world() -> AsyncIterator[RichWorld]:
    async with world() as emulator, receiving() as receiver:
        await _add_endpoints(emulator, receiver)
        for life in LIVES:
            await _act(emulator, await emulator.create(metadata={"ዕቃ": "ቡና"}), life)
        await emulator.advance(10)
        await _send_requests(emulator)
        await emulator.control("PUT", "/snapshots/now")
        rich = RichWorld(emulator=emulator)
        rich.values["openapi"] = ["v1.json", "control"]
        for kind, parameter in (
            *(("accounts", "account_id"), ("webhook_endpoints", "endpoint_id")),
            *(("deliveries", "delivery_id"), ("requests", "request_id")),
            *(("scenarios", "scenarios"), ("snapshots", "snapshots")),
        ):
            found = (await emulator.shown(f"/{kind}"))["data"]
            rich.values[parameter] = [one.get("id", one.get("name")) for one in found]
        found = (await emulator.shown("/events"))["data"]
        rich.values["event_id"] = [event["id"] for event in found]
        rich.values["payment_id"] = sorted({event["data"]["id"] for event in found})
        yield rich


async def _add_endpoints(emulator: World, receiver: Receiver) -> None:
    """Adds endpoints that succeed, fail, do not respond and are disabled; and webhook faults."""
    receiver.answer = replies(Reply(), HANG_UP, Reply(status=503), Reply(body=b"\xff\x00"))
    for url in (receiver.url, "http://127.0.0.1:1/hook", "http://unknown.invalid/"):
        endpoint = {"url": url, "profile": "standard", "events": ["payment.expired"]}
        whole = {"url": url} if url == receiver.url else endpoint
        made = await emulator.done("POST", "/webhook_endpoints", whole)
        await emulator.control("POST", f"/webhook_endpoints/{made['id']}/ping")
    await emulator.control("PATCH", f"/webhook_endpoints/{made['id']}", {"enabled": False})
    await emulator.control("PUT", "/scenarios/odd", ODD)


async def _act(emulator: World, payment: dict[str, Any], life: tuple[Any, ...]) -> None:
    at = f"/payments/{payment['id']}"
    await emulator.control("PUT", f"{at}/scenario", {"name": "telebirr-test-numbers"})
    for body in life:
        action = "transition" if "status" in body else "pay"
        response = await emulator.control("POST", f"{at}/{action}", body)
        assert response.status_code == 200, response.text


async def _send_requests(emulator: World) -> None:
    """Sends requests that are refused, replayed, truncated, get a warning or meet a fault."""
    for fault in FAULTS:
        response = await emulator.control("POST", "/faults", fault)
        assert response.status_code == 201, response.text
    bodies = [order(amount=1), order(idempotency_key="a"), order(idempotency_key="a")]
    bodies += [order(expires_in=30, metdata={}), order(metadata={"note": "x" * 20_000})]
    for body in bodies:
        await emulator.api.post("/v1/payments", json=body, headers=headers())
    payment = await emulator.create()
    await emulator.api.get(f"/v1/payments/{payment['id']}", headers=headers())
    for _ in range(3):
        # A fault may cut the connection.
        with suppress(ConnectionResetError):
            await emulator.api.get("/v1/payments?limit=1&limit=2", headers=headers())
    await emulator.api.get("/v1/payments/pay_%F0%9F%92%B0?q=ü", headers=headers())
