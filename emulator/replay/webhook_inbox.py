"""A case's webhooks in an order that is the same in every run."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from emulator.replay.client import Connection
from emulator.replay.receiver import Arrival, Inbox
from emulator.replay.results import Webhook
from emulator.replay.step_executor import CONTROL, Performer
from emulator.scenarios.steps import Json

MAX_DELIVERIES = 1_000


class WebhookInbox:
    """What has arrived for one case, once all that is due has been sent."""

    def __init__(self, connection: Connection, performer: Performer, inbox: Inbox) -> None:
        self._connection = connection
        self._performer = performer
        self._inbox = inbox
        self.deliveries: Sequence[Mapping[str, Json]] = ()

    @classmethod
    async def register(
        cls, connection: Connection, performer: Performer, inbox: Inbox
    ) -> "WebhookInbox | str":
        """A mailbox that the emulator knows as an endpoint, or why it takes none."""
        url = {"url": inbox.url}
        answer = await connection.ask_json("POST", f"{CONTROL}/webhook_endpoints", url)
        if answer.is_refusal:
            return str(answer.error.get("message") or answer.lost)
        inbox.secret = str(answer.member("secret"))
        return cls(connection, performer, inbox)

    async def settle(self) -> None:
        """Wait for what is due now. Raises Impossible, Unreachable."""
        await self._performer.advance(0)

    def at_step(self, number: int) -> None:
        """What arrives from here on belongs to this step."""
        self._inbox.step = number

    async def webhooks(self) -> list[Webhook]:
        """What has arrived by now, in the order of arrival.

        To one endpoint several attempts are under way at a time: those of different payments that
        one step has made due at one instant arrive in any order, and here in that of the payments.
        """
        await self.settle()
        answer = await self._connection.ask("GET", f"{CONTROL}/deliveries?limit={MAX_DELIVERIES}")
        self.deliveries = list(reversed(answer.member("data") or ()))
        return in_order(self._inbox.arrivals, self.deliveries)

    def trouble(self) -> str | None:
        """Why webhooks may be missing: what the emulator tells of an attempt that failed."""
        for delivery in self.deliveries:
            for attempt in delivery["attempts"]:
                if attempt["error"] is not None:
                    told = ". ".join(filter(None, (attempt["error"], attempt["cause"])))
                    return f"the emulator could not deliver {delivery['type']}: {told}"
        return None


def in_order(
    arrivals: Sequence[Arrival], deliveries: Sequence[Mapping[str, Json]]
) -> list[Webhook]:
    """The arrivals of one inbox; of `deliveries`, the oldest first, come the instants."""
    instants: dict[str, list[str]] = defaultdict(list)
    ranks: dict[str | None, int] = {}
    for delivery in deliveries:
        ranks.setdefault(delivery["payment"], len(ranks))
        instants[delivery["event"]] += [attempt["at"] for attempt in delivery["attempts"]]
    left = {event: iter(sorted(ats)) for event, ats in instants.items()}
    webhooks = [_webhook(arrival, next(left.get(arrival.id, iter(())), "")) for arrival in arrivals]
    return sorted(webhooks, key=lambda one: (one.step, one.at, ranks.get(one.payment, len(ranks))))


def _webhook(arrival: Arrival, at: str) -> Webhook:
    return Webhook(
        step=arrival.step,
        at=at,
        type=arrival.type,
        payment=arrival.payment_id,
        id=arrival.id,
        timestamp=arrival.timestamp,
        signature=arrival.signature,
        body=arrival.body.decode("utf-8", "replace"),
        is_genuine=arrival.is_genuine,
    )
