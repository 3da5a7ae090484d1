"""What one client of the load does: calls of all kinds in an account, which is deleted after it."""

import random  # noqa: TID251 - a visit follows from the seed
from typing import TYPE_CHECKING, Any

from emulator.clock import pause
from emulator.domain.payment_methods import DEFAULT_ORDER
from emulator.http import emulator_calls as calls
from emulator.http.client import EmulatorClient
from emulator.http.emulator_calls import EmulatorCall
from emulator.http.received_webhooks import ReceivedRequest, WebhookReceiver
from tests.world import TEST_KEY

if TYPE_CHECKING:
    from tests.long_runs.soak import Soak

ACTIONS = 20
PHONES = ("0900000001", "0900000002", "0900000003", "0711223344")
READS = (
    *("/_emulator/payments", "/_emulator/events", "/_emulator/deliveries", "/_emulator/requests"),
    *("/v1/payments?limit=100", "/_emulator/checklist", "/_emulator/view/payments"),
)


class Visit:
    """One visit: an account with an endpoint, some random actions, and the end of the account."""

    def __init__(
        self, state: "Soak", chance: random.Random, receiver: WebhookReceiver, *, is_first: bool
    ) -> None:
        self._state, self._chance, self._receiver = state, chance, receiver
        self._is_first = is_first
        self._payments: list[str] = []
        self._client: EmulatorClient

    async def run(self) -> None:
        path = self._receiver.register(self._receive)
        async with self._state.client() as first:
            self._client = first
            key, account = TEST_KEY, ""
            if not self._is_first:
                clock = self._chance.choice(["real", "frozen", "frozen"])
                created = await self._call(calls.CREATE_ACCOUNT(body={"clock": clock}))
                key, account = created["test_key"], created["id"]
            async with self._state.client(key) as self._client:
                url = self._receiver.base_url + path
                await self._call(calls.CREATE_ENDPOINT(body={"url": url}))
                for _ in range(ACTIONS):
                    action = self._chance.choice(
                        (
                            *(self._create, self._create, self._pay, self._pay),
                            *(self._read, self._advance),
                        )
                    )
                    await action()
            self._client = first
            await self._call(calls.RESET if self._is_first else calls.DELETE_ACCOUNT(account))
        self._receiver.unregister(path)

    def _receive(self, _request: ReceivedRequest) -> None:
        self._state.webhooks += 1

    async def _call(self, call: EmulatorCall[Any]) -> Any:
        """The result of a call, at the fixed rate. Raises PaymentsEmulatorError for a refusal."""
        wall, every_ms = self._state.wall, self._state.load.call_every_ms
        started_ms = wall.monotonic_ms()
        result = await self._client.call(call)
        took_ms = wall.monotonic_ms() - started_ms
        self._state.count("calls")
        if took_ms < every_ms:
            await pause(wall, int(every_ms - took_ms))
        return result

    async def _create(self) -> None:
        """Half of them have a key, and are sent twice."""
        has_key = self._chance.random() < 0.5
        key = {"idempotency_key": f"{self._chance.random()}"} if has_key else {}
        create = calls.CREATE_PAYMENT(body={**DEFAULT_ORDER, **key})
        payment = await self._call(create)
        if has_key:
            assert await self._call(create) == payment
        self._payments.append(payment["id"])

    async def _pay(self) -> None:
        if self._payments:
            payment = self._payments.pop(0)
            await self._call(calls.PAY(payment, body={"phone": self._chance.choice(PHONES)}))
            await self._call(calls.PAYMENT(payment))

    async def _read(self) -> None:
        path = self._chance.choice(READS)
        await self._call(EmulatorCall("GET", path, lambda response: response.body))

    async def _advance(self) -> None:
        await self._call(calls.ADVANCE(body={"seconds": self._chance.randrange(60)}))
