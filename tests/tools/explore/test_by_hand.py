"""What each wrong shop of the zoo loses, shown without `explore`: by requests to the shop in order.

`by_hand` of a shop in `shops.yaml` has the steps. `&` is between requests that are sent at the same
moment, `>` before what happens while the shop waits for its request to the service; `|` is between
two orders whose ends differ. A correct shop loses nothing by the same steps. The words:

- `start` and `tampered` start an order; `again`, `change` and `job` are the requests of the file;
  `return`, `cancel` and `return-foreign` open a page; `first` continues with the first order, and
  `twelve` is `start submit approve`, twelve times.
- `submit`, `approve`, `decline`, `succeed`, `expire`, `refund` and `reverse` change the payment;
  `wait` and `pass-expiry` are ten seconds before it expires, and five after.
- The name of an event delivers it, once more where the response is not 2xx; `pretty:completed` and
  the like in another form, `cut:completed` with a client that leaves before the first response.
- `forged`, `malformed`, `stale`, `unsigned`, `untrue`, `live` and `unknown` deliver a false
  `completed`, `forged-order` one with the payment of the first order, and `foreign` the event of
  another payment that names the order.
- A number, `cut` or `slow` is what happens to the next request of the shop to the service.
- `kill` ends the shop and starts it again; `later-1h`, `later-3d` and `night` move its clock.
"""

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from select import select
from typing import Any

import pytest

from emulator.clock import RealClock
from emulator.domain.instants import format_instant, parse_instant
from emulator.domain.payment import Status
from emulator.domain.webhooks import SecretFormat, Tamper
from emulator.http.webhook_messages import Message, foreign_secret, webhook_request
from emulator.scenarios.webhook_form_file import load_webhook_form
from emulator.tools.explore.shop_process import ShopTime, faketime_library, instant_after
from emulator.tools.explore.steps import Manner
from tests.cli.processes import (
    HANGS_AFTER_S,
    SHARED_HANGS_AFTER_S,
    Server,
    free_port,
    listens,
    serving,
    wait_for,
)
from tests.tools.explore.small_shop import SECRET
from tests.tools.explore.zoo.exploration import start_shop
from tests.tools.explore.zoo.integration import integration
from tests.tools.explore.zoo.table import WRONG_SHOPS, Shop
from tests.world import order

Json = dict[str, Any]
HandRequest = tuple[str, str] | tuple[str, str, bytes, dict[str, str]]
SECRETS = {SecretFormat.BASE64: SECRET, SecretFormat.TEXT: "a secret", SecretFormat.HEX: "0a" * 32}
FALSE = ("forged", "malformed", "forged-order", "stale", "unsigned", "untrue", "live", "unknown")
TAMPERS = dict.fromkeys(("forged", "forged-order"), Tamper.SIGNATURE)
TAMPERS |= {"unsigned": Tamper.UNSIGNED, "stale": Tamper.STALE}
FAULTS: dict[str, Json] = {
    "500": {"status": 500},
    "429": {"status": 429, "retry_after": 1},
    "404": {"status": 404},
    "cut": {"drop": True, "point": "after_commit"},
    "500-after": {"status": 500, "point": "after_commit"},
    "second-500": {"status": 500},
    "slow": {"latency": "3s", "point": "after_commit"},
}
CHANGES: dict[str, tuple[str, Json]] = {
    "submit": ("pay", {"method": "telebirr", "phone": "0911000000"}),
    "approve": ("answer", {"answer": "approve"}),
    "decline": ("answer", {"answer": "cancel"}),
    "succeed": ("transition", {"status": "completed", "unusual": True}),
    "reverse": ("transition", {"status": "failed", "unusual": True}),
    "expire": ("transition", {"status": "expired", "unusual": True}),
    "refund": ("transition", {"status": "refunded"}),
}
PRICE = 15_000
TWELVE = " ".join(["start submit approve"] * 12)
SINCE_EXPIRY_MS = {"wait": -10_000, "pass-expiry": 5_000}
TIMES = {"later-1h": Manner.AN_HOUR, "later-3d": Manner.THREE_DAYS, "night": Manner.NIGHT}
_dumps = partial(json.dumps, ensure_ascii=False, separators=(",", ":"))
BYTES: dict[str, Callable[[Json], str]] = {
    "pretty": partial(json.dumps, ensure_ascii=False, indent=2),
    "escaped": lambda event: _dumps(event).replace("/", r"\/"),
    "reversed": lambda event: _dumps(dict(reversed(event.items()))),
    "amharic": lambda event: _dumps({**event, "note": "ሰላም"}),
}


LOSSES: dict[str, Callable[["Hand"], bool]] = {
    "paid-without-money": lambda hand: hand.is_paid and not hand.money,
    "forged-accepted": lambda hand: hand.is_paid and not hand.money,
    "money-without-paid": lambda hand: hand.money > 0 and not hand.is_paid,
    "not-fulfilled": lambda hand: hand.is_paid and hand.state["shipments"] == 0,
    "fulfilled-twice": lambda hand: hand.state["shipments"] > 1,
    "charged-twice": lambda hand: hand.charges > len(hand.orders),
    "not-closed": lambda hand: not hand.charges and hand.state["status"] == "pending",
    "never-acknowledged": lambda hand: not 200 <= hand.last_status < 300,
    "request-failed": lambda hand: hand.last_status >= 500,
    "wrong-amount": lambda hand: hand.is_paid and hand.money < max(PRICE, hand.state["price"]),
    "done-twice": lambda hand: len(hand.state["mails"]) > 1 or hand.state["gifts"] > 1,
    "account-wrong": lambda hand: hand.state["credited"] != hand.money,
    "payment-shared": lambda hand: len({o["payments"][0] for o in hand.orders}) < len(hand.orders),
    "cannot-pay-again": lambda hand: not hand.charges,
    "confluence": lambda hand: len(set(hand.points)) > 1,
}


@dataclass(kw_only=True)
class Hand:
    """Sends the requests of customers, of the service and of the job to one shop.

    In the end: the state and the money of the order, and the payments of all orders that a customer
    has completed or may complete.
    """

    shop: Shop
    server: Server
    directory: Path
    port: int = field(default_factory=free_port)
    orders: list[Json] = field(default_factory=list)
    points: list[int | None] = field(default_factory=list)
    foreign: str = ""
    cookie: str = ""
    last_status: int = 0
    ahead_ms: int = 0

    def __post_init__(self) -> None:
        self.key = self.server.request("POST", "/_emulator/accounts", {}).json["test_key"]
        self.form = load_webhook_form(self.shop.form)
        self.secret = SECRETS[self.form.signature.secret]
        self.document = integration(self.shop, self.directory, self.port)
        self.time: ShopTime | None = None
        if "clock" in self.shop.ways:
            library = faketime_library()
            assert library is not None, "libfaketime is not on this machine"
            self.time = ShopTime(library, self.directory / "clock")
            self.time.move(0)

    def loses(self) -> bool:
        """Whether the shop loses something by the steps of its row."""
        self.start_shop()
        try:
            for steps in self.shop.by_hand.split("|"):
                for step in steps.replace("twelve", TWELVE).split():
                    words, _, meanwhile = step.partition(">")
                    self.do(words, meanwhile)
                self.look()
        finally:
            self.kill()
        return LOSSES[self.shop.verdict](self)

    def start_shop(self) -> None:
        variables = self.time.variables if self.time else {}
        command = self.document["run"]["command"]
        self.process = start_shop(command, self.server, self.key, self.secret, **variables)
        wait_for(self.process, lambda: listens(self.port))

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)  # with the workers of the server of PHP
        self.process.wait()

    def look(self) -> None:
        [(_, self.state)] = self.exchange(("GET", f"/orders/{self.order['id']}"))
        self.is_paid = self.state.get("status") == "paid"
        self.points.append(self.state.get("points"))
        payments = self.control("GET", "/payments?limit=100")["data"]
        paid = [p for p in payments if p["status"] == Status.COMPLETED]
        self.money = sum(p["amount"] for p in paid if p["id"] in self.order["payments"])
        has_failed = (Status.FAILED, Status.EXPIRED, Status.REFUNDED)
        live = [p for p in payments if p["status"] not in has_failed and p["id"] != self.foreign]
        self.charges = len(live)

    def do(self, word: str, meanwhile: str = "") -> None:
        if self.orders and self.order["id"] is None:
            return  # The shop has refused the order.
        if word in CHANGES:
            call, body = CHANGES[word]
            self.control("POST", f"/payments/{self.payment}/{call}", body)
        elif word in FAULTS:
            when = {"request": "any", **({"nth": 2} if word == "second-500" else {})}
            self.control("POST", "/faults", {"when": when, "then": FAULTS[word], "times": 1})
        elif word in TIMES or word in SINCE_EXPIRY_MS:
            self.move_clocks(word)
        elif word == "first":
            self.order = self.orders[0]
        elif word == "kill":
            self.kill()
            self.start_shop()
        else:
            self.send(word.split("&"), meanwhile)

    def move_clocks(self, word: str) -> None:
        if word in TIMES:
            now_ms = parse_instant(self.control("GET", "/clock")["now"])
            until_ms = instant_after(TIMES[word], now_ms)
        else:
            payment = self.control("GET", f"/payments/{self.payment}")["payment"]
            until_ms = parse_instant(payment["expires_at"]) + SINCE_EXPIRY_MS[word]
        self.control("POST", "/clock/advance", {"until": format_instant(until_ms)})
        if self.time:
            self.ahead_ms = until_ms - RealClock().system_ms()
            self.time.move(self.ahead_ms)

    def send(self, words: list[str], meanwhile: str) -> None:
        """Send requests at the same moment, and webhooks once more that are not acknowledged."""

        def before_the_responses(first: HTTPConnection) -> None:
            if meanwhile:
                wait_for(self.process, lambda: self.has_met_fault_or_answered(first))
                self.do(meanwhile)
            if words[0].startswith("cut:"):
                for _ in range(
                    2
                ):  # The shop has begun to handle the webhook when it answers these.
                    self.exchange(("GET", "/health"))
                first.close()

        requests = [self.request(word) for word in words]
        answers = self.exchange(*requests, before=before_the_responses)
        for request, (status, answer) in zip(requests, answers, strict=True):
            self.last_status = status
            if request[1] == "/webhooks" and not 200 <= status < 300:
                [(self.last_status, _)] = self.exchange(request)
            elif request[1] == "/orders":
                self.order = {"id": answer.get("id"), "payments": [answer.get("payment_id")]}
                self.orders.append(self.order)
            elif request[1].endswith("/pay"):
                self.order["payments"].append(answer["payment_id"])

    def has_met_fault_or_answered(self, connection: HTTPConnection) -> bool:
        """Whether the shop's own request has met the fault; a correct shop may send none."""
        is_used = self.control("GET", "/faults")["data"][0]["used"] == 1
        return is_used or bool(select([connection.sock], [], [], 0)[0])

    def request(self, word: str) -> HandRequest:
        """The method, the path, the body and the headers of a request to the shop."""
        if word in ("start", "tampered"):
            body = self.document["start"]["json" if word == "start" else "tamper"]
            return "POST", "/orders", _dumps(body).encode(), {"cookie": self.cookie}
        order = self.order["id"] if self.orders else ""
        if word in ("return", "cancel"):
            return "GET", f"/{word}?order={order}"
        if word == "return-foreign":
            return "GET", f"/return?order={order}&payment_id={self.foreign_payment()}"
        posts = {"again": f"/orders/{order}/pay", "change": f"/cart/{order}"}
        posts["job"] = "/jobs" if self.shop.is_money else f"/jobs/{order}"
        if word in posts:
            return "POST", posts[word]
        manner, _, name = f":{word}".rpartition(":")
        return self.webhook(manner.strip(":"), name)

    def webhook(self, manner: str, name: str) -> HandRequest:
        """An event as it is, or `payment.completed` of a payment that is not."""
        payment = self.foreign_payment() if name == "foreign" else self.payment
        genuine = {"foreign": "completed", **dict.fromkeys(FALSE, "created")}.get(name, name)
        events = self.control("GET", "/events")["data"]
        is_it = (f"payment.{genuine}", payment)
        event = next(each for each in events if (each["type"], each["data"]["id"]) == is_it)
        if name in FALSE:
            event |= {"type": f"payment.{'disputed' if name == 'unknown' else 'completed'}"}
            event |= {"id": f"{event['id']}{name}", "mode": "live" if name == "live" else "test"}
            event["data"]["status"] = "completed"
        if name == "forged-order":
            event["data"]["id"] = self.orders[0]["payments"][0]
        body = BYTES.get(manner, _dumps)(event).encode()
        timestamp_s = (RealClock().system_ms() + self.ahead_ms) // 1_000
        secrets = [foreign_secret(self.secret, self.form)] * (manner == "rotated") + [self.secret]
        sent = webhook_request(
            Message(event_id=event["id"], timestamp_s=timestamp_s, body=body),
            form=self.form,
            url=self.document["webhook"],
            secrets=secrets,
            tamper=TAMPERS.get(name),
        )
        headers = dict(sent.headers)
        if name == "malformed":
            headers["webhook-signature"] = "v1,"
        return "POST", "/webhooks", sent.body, headers

    @property
    def payment(self) -> str:
        """The last payment of the order, or the newest one where no start has been answered."""
        if self.orders:
            return str(self.order["payments"][-1])
        return str(self.control("GET", "/payments/latest")["payment"]["id"])

    def foreign_payment(self) -> str:
        """A completed payment of another amount, which names the order."""
        if not self.foreign:
            body = order(amount=100, metadata={"order": self.order["id"]})
            created = self.server.request("POST", "/v1/payments", body, self.key)
            self.foreign = created.json["id"]
            for word in ("submit", "approve"):
                call, change = CHANGES[word]
                self.control("POST", f"/payments/{self.foreign}/{call}", change)
        return self.foreign

    def exchange(
        self, *requests: HandRequest, before: Callable[[HTTPConnection], None] = lambda _: None
    ) -> list[tuple[int, Json]]:
        """Send requests on connections that are all open before; the status is 0 without one."""
        answers = list[tuple[int, Json]]()
        connections = [
            HTTPConnection("127.0.0.1", self.port, timeout=HANGS_AFTER_S) for _ in requests
        ]
        for connection in connections:
            connection.connect()
        for connection, request in zip(connections, requests, strict=True):
            connection.request(*request)
        before(connections[0])
        for connection in connections:
            with closing(connection), suppress(OSError, HTTPException):
                response = connection.getresponse()
                self.cookie = self.cookie or response.getheader("Set-Cookie", "").partition(";")[0]
                answers.append((response.status, json.loads(response.read() or b"{}")))
                continue
            answers.append((0, {}))
        return answers

    def control(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.server.request(method, f"/_emulator{path}", body, self.key)
        assert answer.status < 300, answer.body
        return answer.json


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    options = ("--allow-http-localhost", "--clock=frozen")
    logs = tmp_path_factory.mktemp("serve")
    with serving(*options, logs=logs, hangs_after_s=SHARED_HANGS_AFTER_S) as server:
        yield server


@pytest.mark.interop
@pytest.mark.parametrize("shop", WRONG_SHOPS, ids=lambda shop: shop.name)
def test_a_wrong_shop_loses_what_a_correct_one_keeps(
    shop: Shop, server: Server, tmp_path: Path
) -> None:
    correct = tmp_path / "correct"
    correct.mkdir()
    assert Hand(shop=shop, server=server, directory=tmp_path).loses()
    assert not Hand(shop=replace(shop, bug=""), server=server, directory=correct).loses()
