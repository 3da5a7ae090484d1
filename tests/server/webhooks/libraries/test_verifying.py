"""Every webhook of a running emulator, verified by libraries for Python and Node.js."""

import asyncio
import json
import os
import subprocess
from base64 import b64encode
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from emulator.domain.payment import PING, STATUS_OF_EVENT
from tests.cli.processes import HANGS_AFTER_S, Server, serving
from tests.server.webhooks.libraries.npm import node_modules
from tests.server.webhooks.receiver import Received, receiving

SECRET = "whsec_" + b64encode(bytes(range(24))).decode()
NEXT_SECRET = "whsec_" + b64encode(bytes(range(64))).decode()
OTHER_SECRET = "whsec_" + b64encode(bytes(range(1, 33))).decode()
METADATA = {"ደንበኛ": "አበበ በቂላ", "note": "☕ \\u0041 \u2028 é 𐌰", 'a "key"': "</script>"}
APPROVES, HAS_TOO_LITTLE = "0900000001", "0900000002"
HALF_AN_HOUR_S = 1_800

Verify = Callable[[Iterable[tuple[str, Received]]], list[Any]]


@dataclass(frozen=True, kw_only=True)
class Sent:
    """What arrived in the course of some payments, and while one secret replaced another."""

    usual: list[Received]
    in_rotation: list[Received]


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory) -> Sent:
    return asyncio.run(_sent(tmp_path_factory.mktemp("serve")))


async def _sent(logs: Path) -> Sent:
    async with receiving() as receiver:
        options = (f"--webhook-url={receiver.url}", f"--webhook-secret={SECRET}", "--clock=frozen")
        with serving(*options, logs=logs) as server:
            await asyncio.to_thread(_cause_all_changes, server)
            usual = list(receiver.received)
            await asyncio.to_thread(_rotate, server)
            return Sent(usual=usual, in_rotation=receiver.received[len(usual) :])


def _cause_all_changes(server: Server) -> None:
    """The event of each status, and a ping."""
    for phone in (APPROVES, HAS_TOO_LITTLE):
        payment = server.create(metadata=METADATA)
        body = {"method": "telebirr", "phone": phone}
        _call(server, f"/payments/{payment['id']}/pay", body)
        if phone == APPROVES:
            _call(server, f"/payments/{payment['id']}/transition", {"status": "refunded"})
    server.create(metadata=METADATA, expires_in=HALF_AN_HOUR_S)
    _call(server, "/clock/advance", {"seconds": HALF_AN_HOUR_S})
    _call(server, f"{_endpoint(server)}/ping")


def _rotate(server: Server) -> None:
    _call(server, f"{_endpoint(server)}/rotate", {"secret": NEXT_SECRET})
    server.create(metadata=METADATA)
    _call(server, "/clock/advance", {"seconds": 0})


def _endpoint(server: Server) -> str:
    [endpoint] = server.request("GET", "/_emulator/webhook_endpoints").json["data"]
    return f"/webhook_endpoints/{endpoint['id']}"


def _call(server: Server, path: str, body: Any = None) -> None:
    answer = server.request("POST", f"/_emulator{path}", body)
    assert answer.status == 200, answer.body


def in_python(webhooks: Iterable[tuple[str, Received]]) -> list[Any]:
    """Each event that verifies with its secret, None where one does not."""
    return [_verified(secret, received) for secret, received in webhooks]


def _verified(secret: str, received: Received) -> Any:
    try:
        return Webhook(secret).verify(received.body, received.headers)
    except WebhookVerificationError:
        return None


def in_node(modules: Path, webhooks: Iterable[tuple[str, Received]]) -> list[Any]:
    """The same by one process of Node.js."""
    lines = [
        {"secret": secret, "headers": one.headers, "body": b64encode(one.body).decode()}
        for secret, one in webhooks
    ]
    verified = subprocess.run(
        ["node", str(Path(__file__).with_name("verify.cjs"))],
        env={**os.environ, "NODE_PATH": str(modules)},
        input="".join(f"{json.dumps(line)}\n" for line in lines),
        capture_output=True,
        encoding="utf-8",
        timeout=HANGS_AFTER_S,
    )
    assert verified.returncode == 0, verified.stderr
    # Not splitlines: JSON may have other ends of lines inside.
    return [json.loads(line) for line in verified.stdout.split("\n") if line]


@pytest.fixture(params=["python", "node"])
def verify(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Verify:
    if request.param == "python":
        return in_python
    modules = node_modules(tmp_path_factory)
    return lambda webhooks: in_node(modules, webhooks)


def test_every_event_verifies_and_is_what_was_sent(verify: Verify, sent: Sent) -> None:
    verified = verify((SECRET, received) for received in sent.usual)
    assert verified == [received.json for received in sent.usual]
    assert {event["type"] for event in verified} >= {*STATUS_OF_EVENT, PING}
    of_payments = [event["data"] for event in verified if event["data"]]
    assert all(payment["metadata"] == METADATA for payment in of_payments)


def test_both_secrets_verify_while_one_replaces_the_other(verify: Verify, sent: Sent) -> None:
    assert sent.in_rotation
    expected = [received.json for received in sent.in_rotation]
    for secret in (SECRET, NEXT_SECRET):
        assert verify((secret, received) for received in sent.in_rotation) == expected


def test_nothing_else_verifies(verify: Verify, sent: Sent) -> None:
    """Not a body of which a byte was changed, nor anything with a secret that did not sign it."""
    changed = [replace(one, body=one.body.replace(b"evt_", b"evt-")) for one in sent.usual]
    spoilt = [
        *((SECRET, received) for received in changed),
        *((OTHER_SECRET, received) for received in sent.usual),
        *((NEXT_SECRET, received) for received in sent.usual),
        *((OTHER_SECRET, received) for received in sent.in_rotation),
    ]
    assert verify(spoilt) == [None] * len(spoilt)
