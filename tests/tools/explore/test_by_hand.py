"""What wrong shops of the zoo lose, shown without `explore`: by requests to the shop in order.

The words of a row: `start`, `submit`, `approve`, `decline` and `refund` the payment; `return` and
`cancel` open a page of the shop; `job` runs its job; `read-…` is what happens to the next read of
the payment; `forged`, `stale` and `unsigned` deliver a false `payment.completed`; another word
delivers the event with this name.
"""

import os
import shlex
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from emulator.clock import RealClock
from emulator.domain.webhooks import Tamper
from emulator.http.webhook_messages import Message, webhook_request
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
from tests.tools.explore.zoo.integration import integration
from tests.tools.explore.zoo.table import SHOPS, WRONG_SHOPS

pytestmark = pytest.mark.interop
PAYMENT = {"method": "telebirr", "phone": "0911000000"}
PAID = "start created submit processing approve"
TAMPERS = {"forged": Tamper.SIGNATURE, "unsigned": Tamper.UNSIGNED, "stale": Tamper.STALE}
CHANGES = {"approve": "approve", "decline": "cancel"}
FAULTS: dict[str, dict[str, Any]] = {
    "read-500": {"status": 500},
    "read-429": {"status": 429, "retry_after": 1},
    "read-404": {"status": 404},
    "read-cut": {"drop": True},
}

# What happens, and what the shop has in the end: money without goods, goods without money, or both
# twice. The other shops need requests at one moment, a restart, or a failing create.
ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "trusts-redirect": ("start return", {"status": "paid", "shipments": 1}),
    "not-failed-is-paid": ("start return", {"status": "paid", "shipments": 1}),
    "last-event-wins": ("start submit approve completed processing", {"status": "pending"}),
    "needs-processing": ("start submit approve completed", {"status": "pending"}),
    "ships-on-both-paths": (f"{PAID} completed return", {"shipments": 2}),
    "relies-on-return": (f"{PAID} completed", {"status": "pending"}),
    "ignores-signature": ("start forged", {"status": "paid", "shipments": 1}),
    "processing-is-paid": ("start submit processing", {"status": "paid"}),
    "late-completion-pays": (f"{PAID} refund refunded completed", {"status": "paid"}),
    "ships-every-event": (f"{PAID} completed completed", {"shipments": 2}),
    "ignores-timestamp": ("start stale", {"status": "paid", "shipments": 1}),
    "ignores-refunds": (f"{PAID} completed refund refunded", {"status": "paid"}),
    "ignores-failure": ("start submit decline failed", {"status": "pending"}),
    "waits-for-processing": ("start submit approve completed", {"status": "pending"}),
    "created-resets-order": (f"{PAID} completed created", {"status": "pending"}),
    "ignores-only-parallel": (f"{PAID} completed completed", {"shipments": 2}),
    "ships-on-reload": (f"{PAID} completed return return", {"shipments": 2}),
    "ships-on-return": (f"{PAID} completed", {"status": "paid", "shipments": 0}),
    "cancels-pending": ("start job submit approve completed", {"status": "cancelled"}),
    "cancels-processing": ("start submit job approve completed", {"status": "cancelled"}),
    "accepts-any-signature": ("start forged", {"status": "paid", "shipments": 1}),
    "accepts-unsigned": ("start unsigned", {"status": "paid", "shipments": 1}),
    "pays-when-processing": ("start submit return", {"status": "paid"}),
    "cancel-page-cancels": ("start cancel submit approve completed", {"status": "cancelled"}),
    "cancel-page-cancels-paid": (f"{PAID} completed cancel", {"status": "cancelled"}),
    "remembers-before-read": (f"{PAID} read-500 completed completed", {"status": "pending"}),
    "remembers-before-read-node": (f"{PAID} read-500 completed completed", {"status": "pending"}),
    "remembers-before-list": (f"{PAID} read-500 completed completed", {"status": "pending"}),
    "fails-in-background": (f"{PAID} read-500 completed", {"status": "pending"}),
    "fails-in-background-node": (f"{PAID} read-500 completed", {"status": "pending"}),
    "error-is-failure": (f"{PAID} read-500 completed", {"status": "cancelled"}),
    "error-is-failure-node": (f"{PAID} read-500 completed", {"status": "cancelled"}),
    "limit-is-failure": (f"{PAID} read-429 completed", {"status": "cancelled"}),
    "cut-is-failure": (f"{PAID} read-cut completed", {"status": "cancelled"}),
    "unknown-is-foreign": (f"{PAID} read-404 completed", {"status": "pending"}),
    "mails-each-event": (f"{PAID} completed completed", {"mails": ["completed", "paid"]}),
    "points-each-event": (f"{PAID} completed completed", {"points": 20}),
    "takes-for-duplicate": (f"{PAID} completed {PAID} completed", {"status": "pending"}),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    options = ("--allow-http-localhost", "--clock=frozen")
    logs = tmp_path_factory.mktemp("serve")
    with serving(*options, logs=logs, hangs_after_s=SHARED_HANGS_AFTER_S) as server:
        yield server


class Hand:
    """Sends the requests of a customer, of the service and of the job to one shop."""

    def __init__(
        self, server: Server, key: str, document: dict[str, Any], browser: httpx.Client
    ) -> None:
        self._server, self._key, self._document, self._browser = server, key, document, browser
        self._order = self._payment = ""
        self._data: dict[str, Any] = {}

    def does(self, word: str) -> None:
        url = self._document["webhook"].rpartition("/")[0]
        if word == "start":
            order = self._document["start"]["json"]
            started = self._browser.post(f"{url}/orders", json=order, timeout=HANGS_AFTER_S)
            self._order, self._payment = started.json()["id"], started.json()["payment_id"]
            path = f"/v1/payments/{self._payment}"
            self._data = self._server.request("GET", path, key=self._key).json
        elif word == "submit":
            self._control("pay", PAYMENT)
        elif word in FAULTS:
            rule = {"when": {"request": "any"}, "then": FAULTS[word], "times": 1}
            assert self._server.request("POST", "/_emulator/faults", rule, self._key).status == 201
        elif word in CHANGES:
            self._control("answer", {"answer": CHANGES[word]})
        elif word == "refund":
            self._control("transition", {"status": "refunded"})
        elif word in ("return", "cancel"):
            page = f"{url}/{word}?order={self._order}"
            assert httpx.get(page, timeout=HANGS_AFTER_S).is_success
        elif word == "job":
            httpx.post(f"{url}/jobs/{self._order}", timeout=HANGS_AFTER_S)
        else:
            self._deliver(word)

    @property
    def state(self) -> dict[str, Any]:
        state = self._document["state"]["request"].partition(" ")[2]
        return dict(httpx.get(state.replace("{order}", self._order)).json())

    def _control(self, call: str, body: Any) -> None:
        path = f"/_emulator/payments/{self._payment}/{call}"
        answer = self._server.request("POST", path, body, self._key)
        assert answer.status < 300, answer.body

    def _deliver(self, word: str) -> None:
        """Deliver an event as it is, or `payment.completed` of a payment that is not."""
        status = {"created": "pending"}.get(word, "completed" if word in TAMPERS else word)
        name = "completed" if word in TAMPERS else word
        event = {"id": f"evt_{name}", "type": f"payment.{name}", "mode": "test"}
        body = httpx.Response(200, json={**event, "data": {**self._data, "status": status}}).content
        age_s = 3_600 if word == "stale" else 0
        message = Message(
            event_id=event["id"], timestamp_s=RealClock().system_ms() // 1_000 - age_s, body=body
        )
        tamper = TAMPERS.get(word)
        sent = webhook_request(
            message, url=self._document["webhook"], secrets=[SECRET], tamper=tamper
        )
        httpx.post(sent.url, content=sent.body, headers=dict(sent.headers), timeout=HANGS_AFTER_S)


@pytest.mark.parametrize("name", ROWS)
def test_a_wrong_shop_loses_money_or_goods(name: str, server: Server, tmp_path: Path) -> None:
    shop, port = SHOPS[name], free_port()
    document = integration(shop, tmp_path, port)
    key = server.request("POST", "/_emulator/accounts", {}).json["test_key"]
    variables = {
        "PAYMENTS_EMULATOR_URL": f"http://127.0.0.1:{server.api_port}",
        "PAYMENTS_EMULATOR_TEST_KEY": key,
        "PAYMENTS_EMULATOR_WEBHOOK_SECRET": SECRET,
    }
    words = shlex.split(document["run"]["command"].removeprefix("exec "))
    process = subprocess.Popen(
        words, env={**os.environ, **variables}, start_new_session=True, text=True
    )
    try:
        wait_for(process, lambda: listens(port))
        steps, loss = ROWS[name]
        with httpx.Client() as browser:
            hand = Hand(server, key, document, browser)
            for word in steps.split():
                hand.does(word)
            assert {key: hand.state[key] for key in loss} == loss
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # with the workers of the server of PHP
        process.wait()


def test_the_rows_are_of_wrong_shops() -> None:
    assert {*ROWS} <= {shop.name for shop in WRONG_SHOPS}
