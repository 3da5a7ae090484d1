"""Webhooks of a running emulator in each signed form, verified by code that is not its own.

These are the libraries of Standard Webhooks, in Python and Node.js, of Svix and Stripe, and an HMAC
by hand in Node.js and PHP, which have one for every form.
"""

import asyncio
import json
import shutil
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from emulator.domain.webhooks import Tamper, tamper_problem
from emulator.scenarios.webhook_form_file import SHIPPED_FORMS, shipped_form
from tests.cli.processes import Server, run_program, serving
from tests.interop.node import STANDARD_WEBHOOKS, node_modules
from tests.server.webhooks.receiver import Received, Receiver, receiving

FORMS = tuple(name for name in SHIPPED_FORMS if shipped_form(name).is_signed)
METADATA = {"ደንበኛ": "አበበ በቂላ", "note": "☕ \\u0041 \u2028 é 𐌰", 'a "key"': "</script>&=%+ "}
PROGRAMS = {"node": "verify_forms.mjs", "php": "verify_forms.php"}
pytestmark = pytest.mark.interop

Verify = Callable[[str, Sequence[Received]], list[bool]]
"""Whether each webhook verifies with a secret."""


@dataclass(kw_only=True)
class Sent:
    """The webhooks of one form: genuine ones, tampered ones, and those after a rotation."""

    secret: str
    genuine: list[Received]
    tampered: dict[Tamper, list[Received]] = field(default_factory=dict)
    new_secret: str = ""
    rotated: list[Received] = field(default_factory=list)


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Sent]:
    return asyncio.run(_sent(tmp_path_factory.mktemp("serve")))


async def _sent(logs: Path) -> dict[str, Sent]:
    async with receiving() as receiver:
        with serving(logs=logs) as server:
            return {
                form: await asyncio.to_thread(_cause_all, server, receiver, form) for form in FORMS
            }


def _cause_all(server: Server, receiver: Receiver, form: str) -> Sent:
    account = _call(server, "POST", "/accounts", {"clock": "frozen"})
    key = account["test_key"]

    def caused() -> list[Received]:
        """The webhooks of payments that are refunded, fail and expire."""
        before = len(receiver.received)
        for phone in ("0900000001", "0900000002", ""):
            payment = server.request("POST", "/v1/payments", _order(), key).json
            path = f"/payments/{payment['id']}"
            if phone:
                _call(server, "POST", f"{path}/pay", {"method": "telebirr", "phone": phone}, key)
            if phone.endswith("1"):
                _call(server, "POST", f"{path}/transition", {"status": "refunded"}, key)
        _call(server, "POST", "/clock/advance", {"seconds": 1_800}, key)
        return receiver.received[before:]

    endpoint = {"url": receiver.url, "format": form}
    created = _call(server, "POST", "/webhook_endpoints", endpoint, key)
    result = Sent(secret=created["secret"], genuine=caused())
    for tamper in Tamper:
        if tamper_problem(shipped_form(form), tamper) is None:
            rule = {"when": {}, "then": {"tamper": tamper}}
            scenario = {"name": "forged", "webhooks": [rule]}
            _call(server, "PUT", "/scenarios/forged", scenario, key)
            result.tampered[tamper] = caused()
    _call(server, "DELETE", "/scenarios/forged", None, key)
    path = f"/webhook_endpoints/{created['id']}/rotate"
    result.new_secret = _call(server, "POST", path, {}, key)["secret"]
    result.rotated = caused()
    return result


def _order() -> dict[str, Any]:
    urls = {"success_url": "https://shop.example/a", "cancel_url": "https://shop.example/b"}
    terms = {"amount": 15_000, "currency": "ETB", "methods": ["telebirr"], **urls}
    return {**terms, "metadata": METADATA}


def _call(server: Server, method: str, path: str, body: Any, key: str = "test_demo_key") -> Any:
    answer = server.request(method, f"/_emulator{path}", body, key)
    assert answer.status < 300, answer.body
    return answer.json if answer.body else None


def _verified(error: type[Exception], verify: Callable[[], object]) -> bool:
    """False where a library raises its error."""
    try:
        verify()
    except error:
        return False
    return True


def _by_standard_webhooks(secret: str, webhooks: Sequence[Received]) -> list[bool]:
    library = Webhook(secret)
    return [
        _verified(WebhookVerificationError, partial(library.verify, one.body, one.headers))
        for one in webhooks
    ]


# The default lane, which collects these tests too, does not have the following two libraries.


def _by_svix(secret: str, webhooks: Sequence[Received]) -> list[bool]:
    svix = import_module("svix.webhooks")
    verify = svix.Webhook(secret).verify
    return [
        _verified(svix.WebhookVerificationError, partial(verify, one.body, one.headers))
        for one in webhooks
    ]


def _by_stripe(secret: str, webhooks: Sequence[Received]) -> list[bool]:
    stripe = import_module("stripe")
    return [
        _verified(
            stripe.SignatureVerificationError,
            partial(
                stripe.Webhook.construct_event,
                one.body,
                one.headers.get("payments-signature"),
                secret,
            ),
        )
        for one in webhooks
    ]


def _by_program(form: str, program: str, script: str, **variables: str) -> Verify:
    """The same by one process of Node.js or PHP."""

    def verify(secret: str, webhooks: Sequence[Received]) -> list[bool]:
        common = {"form": form, "secret": secret}
        lines = [
            json.dumps({**common, "headers": each.headers, "body": b64encode(each.body).decode()})
            for each in webhooks
        ]
        path, sent = str(Path(__file__).with_name(script)), "".join(f"{line}\n" for line in lines)
        ended = run_program(program, path, sent=sent, variables=variables)
        assert ended.returncode == 0, ended.stderr
        return [json.loads(line) for line in ended.stdout.splitlines()]

    return verify


LIBRARIES: dict[tuple[str, str], Verify] = {
    ("standard", "standardwebhooks"): _by_standard_webhooks,
    ("standard", "svix"): _by_svix,
    ("timestamped-hex", "stripe"): _by_stripe,
}
BY_HAND = {
    (form, program): _by_program(form, program, script)
    for form in FORMS
    for program, script in PROGRAMS.items()
}
NPM = ("standard", "npm")


@pytest.fixture(params=[*LIBRARIES, NPM, *BY_HAND], ids="-".join)
def case(
    request: pytest.FixtureRequest, sent: dict[str, Sent], tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Verify, Sent]:
    form, verifier = request.param
    if request.param == NPM:
        modules = str(node_modules(tmp_path_factory, STANDARD_WEBHOOKS))
        return form, _by_program(form, "node", "verify.cjs", NODE_PATH=modules), sent[form]
    if verifier in PROGRAMS and shutil.which(verifier) is None:
        pytest.skip(f"not on this machine: {verifier}")
    return form, (LIBRARIES | BY_HAND)[form, verifier], sent[form]


def test_every_webhook_verifies_with_its_secret_alone(case: tuple[str, Verify, Sent]) -> None:
    form, verify, sent = case
    paid = ("created", "processing")
    events = (*paid, "completed", "refunded", *paid, "failed", "created", "expired")
    expected = [name for name in events if shipped_form(form).sends(f"payment.{name}")]
    assert verify(sent.secret, sent.genuine) == [True] * len(expected)
    assert verify(sent.new_secret, sent.genuine) == [False] * len(expected)


def test_no_tampered_webhook_verifies(case: tuple[str, Verify, Sent]) -> None:
    form, verify, sent = case
    assert {Tamper.BODY, Tamper.SIGNATURE, Tamper.UNSIGNED} <= sent.tampered.keys()
    assert (Tamper.STALE in sent.tampered) is shipped_form(form).signs_timestamp
    for tamper, webhooks in sent.tampered.items():
        assert webhooks
        assert verify(sent.secret, webhooks) == [False] * len(webhooks), tamper


def test_after_a_rotation_the_new_secret_verifies_and_the_old_one_where_both_sign(
    case: tuple[str, Verify, Sent],
) -> None:
    form, verify, sent = case
    is_signed_twice = bool(shipped_form(form).signature.separator)
    assert verify(sent.new_secret, sent.rotated) == [True] * len(sent.genuine)
    assert verify(sent.secret, sent.rotated) == [is_signed_twice] * len(sent.genuine)
