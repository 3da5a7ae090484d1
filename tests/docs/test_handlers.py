"""The webhook handlers that the documents show, when webhooks misbehave."""

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx
import pytest

from emulator.clock import RealClock
from emulator.domain.webhooks import Tamper, tamper_problem
from emulator.http.webhook_messages import Message, foreign_secret, webhook_request
from emulator.scenarios.webhook_form_file import shipped_form
from tests.cli.processes import HANGS_AFTER_S, SHARED_HANGS_AFTER_S, Server, serving
from tests.docs.document import REPOSITORY, Kind, Section, command_after, sections_of
from tests.docs.live import Listening, handling, needs_a_shell
from tests.docs.shops import HANDLERS, language, marks, prepare, variables
from tests.world import LIVE_KEY, TEST_KEY

FILES = sections_of("docs/guides/webhook-handlers.md")[0].files
APPROVES, HAS_TOO_LITTLE = "0900000001", "0900000002"

each_handler = pytest.mark.parametrize(
    "handler",
    [pytest.param(handler, id=language(handler), marks=marks(handler)) for handler in HANDLERS],
)
pytestmark = needs_a_shell


@contextmanager
def misbehaving(directory: Path, *names: str) -> Iterator[Server]:
    """A server with shipped scenarios switched on, as the document says how."""
    (directory / "scenarios").symlink_to(REPOSITORY / "scenarios")
    command, _ = command_after("switch on", "docs/guides/faults.md").splitlines()
    for name in names:
        mine = command.replace("duplicate-webhooks", name).replace("duplicates", name)
        subprocess.run(["bash", "-euc", mine], cwd=directory, check=True)
    options = [f"--scenarios={directory / name}.yaml" for name in names]
    with serving(
        *options, "--clock=frozen", logs=directory, hangs_after_s=SHARED_HANGS_AFTER_S
    ) as server:
        yield server


@pytest.fixture(scope="module")
def muddled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Sends webhooks early, twice at the same moment, and in the wrong order."""
    names = ["early-webhooks", "concurrent-webhooks", "out-of-order-webhooks"]
    with misbehaving(tmp_path_factory.mktemp("muddled"), *names) as server:
        yield server


@pytest.fixture(scope="module")
def forging(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with misbehaving(tmp_path_factory.mktemp("forging"), "forged-webhooks") as server:
        yield server


@pytest.fixture
def shop(handler: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory in which a handler can run."""
    prepare(handler, tmp_path, tmp_path_factory)
    return tmp_path


@contextmanager
def registered(
    handler: str, server: Server, shop: Path, key: str = TEST_KEY
) -> Iterator[Listening]:
    """A handler that receives the webhooks of an account after a reset."""
    assert server.request("POST", "/_emulator/reset").status == 204
    with handling(handler, server, shop, FILES) as listening:
        endpoint = {"url": listening.url, "secret": variables(handler)["WEBHOOK_SECRET"]}
        assert call(server, "/webhook_endpoints", endpoint, key)["enabled"]
        yield listening


def call(server: Server, path: str, body: Any = None, key: str = TEST_KEY) -> dict[str, Any]:
    answer = server.request("POST", f"/_emulator{path}", body, key)
    assert answer.status in {200, 201}, answer.body
    return dict(answer.json)


def settle(server: Server) -> None:
    """Return when all that is due has been sent and answered."""
    assert call(server, "/clock/advance", {"seconds": 0})["settled"]


def create(server: Server, order: str, key: str = TEST_KEY) -> str:
    """The id of a payment whose first webhook was answered."""
    body = {
        "amount": 15_000,
        "currency": "ETB",
        "methods": ["telebirr"],
        "metadata": {"order": order},
        "success_url": "https://shop.example/thanks",
        "cancel_url": "https://shop.example/cart",
    }
    payment = server.request("POST", "/v1/payments", body, key).json
    settle(server)
    return str(payment["id"])


def buy(server: Server, shop: Listening, phone: str, amount: int = 15_000) -> None:
    """Start an order of the shop, and pay it."""
    url = shop.url.replace("/webhooks", "/orders")
    started = httpx.post(url, json={"amount": amount}, timeout=HANGS_AFTER_S)
    assert started.status_code == 201, started.text
    settle(server)
    call(server, "/payments/latest/pay", {"method": "telebirr", "phone": phone})
    settle(server)


def deliveries(server: Server, key: str = TEST_KEY) -> list[dict[str, Any]]:
    """Oldest first."""
    listed = server.request("GET", "/_emulator/deliveries", key=key).json["data"]
    return list(listed[::-1])


def statuses(delivery: dict[str, Any]) -> set[int | None]:
    return {attempt["status"] for attempt in delivery["attempts"]}


@each_handler
def test_an_order_is_paid_once_for_webhooks_in_any_order_and_number(
    handler: str, shop: Path, muddled: Server
) -> None:
    with registered(handler, muddled, shop) as listening:
        for phone in (APPROVES, HAS_TOO_LITTLE, APPROVES):
            buy(muddled, listening, phone)
        sent = deliveries(muddled)
        assert [len(one["attempts"]) for one in sent] == [1] * 11
        assert all(one["status"] == "succeeded" for one in sent)
        assert listening.printed == "order 1 is paid\norder 2 is closed\norder 3 is paid\n"


@each_handler
def test_a_forged_webhook_is_refused_and_the_genuine_one_accepted(
    handler: str, shop: Path, forging: Server
) -> None:
    with registered(handler, forging, shop) as listening:
        buy(forging, listening, APPROVES)
        buy(forging, listening, HAS_TOO_LITTLE)
        forged = [one for one in deliveries(forging) if one["attempts"][0]["tampered"]]
        assert {one["attempts"][0]["tampered"] for one in forged} == {
            "body",
            "signature",
            "timestamp",
        }
        assert [statuses(one) for one in forged] == [{400}] * 4
        assert listening.printed == ""
        for one in forged:
            assert call(forging, f"/deliveries/{one['id']}/resend")["attempts"][-1]["status"] == 204
        assert listening.printed == "order 1 is paid\norder 2 is closed\n"


@each_handler
def test_a_webhook_of_a_payment_that_cannot_be_fetched_is_retried(
    handler: str, shop: Path, muddled: Server
) -> None:
    """The handlers fetch in test mode, where payments of live mode are not found."""
    with registered(handler, muddled, shop, LIVE_KEY) as listening:
        create(muddled, "7", LIVE_KEY)
        [sent] = deliveries(muddled, LIVE_KEY)
        assert (sent["status"], statuses(sent)) == ("pending", {503})
        assert listening.printed == ""


NEW_SECRET = f"whsec_{'A' * 32}"


def send_signed(
    url: str,
    secrets: list[str],
    body: bytes = b'{"type":"ping"}',
    *,
    age_s: int = 0,
    changed: Mapping[str, str] = MappingProxyType({}),
) -> int:
    """Send a webhook with a signature by each secret; return the status of the response."""
    now_s = RealClock().now_ms() // 1_000
    message = Message(event_id="evt_1", timestamp_s=now_s - age_s, body=body)
    signed = webhook_request(message, url=url, secrets=secrets)
    headers = {**dict(signed.headers), **changed}
    return httpx.post(signed.url, content=signed.body, headers=headers).status_code


def test_the_shop_of_explore_accepts_any_of_two_signatures(muddled: Server, tmp_path: Path) -> None:
    secret = variables(HANDLERS[0])["WEBHOOK_SECRET"]
    settings = f"PAYMENTS_EMULATOR_TEST_KEY={TEST_KEY} PAYMENTS_EMULATOR_WEBHOOK_SECRET={secret}"
    command = f"PAYMENTS_EMULATOR_URL=http://127.0.0.1:8080 {settings} python shop.py"
    body = b'{"data":{"id":"pay_1"}}'
    with handling(
        command, muddled, tmp_path, sections_of("docs/guides/explore.md")[0].files
    ) as listening:
        assert send_signed(listening.url, [secret], body) == 200
        assert send_signed(listening.url, [NEW_SECRET, secret], body) == 200
        assert send_signed(listening.url, [NEW_SECRET], body) == 400


@each_handler
def test_a_request_with_a_wrong_signature_or_time_is_refused(
    handler: str, shop: Path, muddled: Server
) -> None:
    def sent(body: bytes = b'{"type":"ping"}', *, age_s: int = 0, **changes: str) -> int:
        changed = {name.replace("_", "-"): value for name, value in changes.items()}
        return send_signed(listening.url, [secret], body, age_s=age_s, changed=changed)

    secret = variables(handler)["WEBHOOK_SECRET"]
    with handling(handler, muddled, shop, FILES) as listening:
        assert sent() == 204
        assert sent(age_s=600) == 400, "the timestamp is ten minutes old"
        assert sent(age_s=-600) == 400
        assert sent(webhook_id="evt_2") == 400
        assert sent(webhook_signature="") == 400
        assert send_signed(listening.url, [NEW_SECRET]) == 400
        assert send_signed(listening.url, [NEW_SECRET, secret]) == 204, "during a rotation"
        assert sent(webhook_signature="v1") == 400
        assert sent(webhook_timestamp="now") == 400
        assert sent(b"\xff", webhook_signature="v1,AAAA") == 400


@each_handler
def test_a_payment_of_another_amount_or_order_changes_nothing(
    handler: str, shop: Path, muddled: Server
) -> None:
    with registered(handler, muddled, shop) as listening:
        buy(muddled, listening, HAS_TOO_LITTLE, amount=20_000)
        for order in ("1", "2", "tea"):
            payment_id = create(muddled, order)
            paid = {"method": "telebirr", "phone": APPROVES}
            call(muddled, f"/payments/{payment_id}/pay", paid)
            settle(muddled)
        assert {statuses(sent) == {204} for sent in deliveries(muddled)} == {True}
        assert listening.printed == "order 1 is closed\n"


@each_handler
def test_a_refunded_order_is_refunded(handler: str, shop: Path, muddled: Server) -> None:
    with registered(handler, muddled, shop) as listening:
        buy(muddled, listening, APPROVES)
        call(muddled, "/payments/latest/transition", {"status": "refunded"})
        settle(muddled)
        assert listening.printed == "order 1 is paid\norder 1 is refunded\n"


@each_handler
def test_a_ping_is_answered(handler: str, shop: Path, muddled: Server) -> None:
    with registered(handler, muddled, shop):
        [endpoint] = muddled.request("GET", "/_emulator/webhook_endpoints").json["data"]
        ping = call(muddled, f"/webhook_endpoints/{endpoint['id']}/ping")
        assert (ping["status"], statuses(ping)) == ("succeeded", {204})


FORM_SECTIONS = [
    section
    for section in sections_of("docs/guides/webhook-forms.md")
    if any(block.kind is Kind.HANDLER for block in section.blocks)
]
# Without the id of a payment, a handler retrieves none.
BODY = (
    b'{"id":"evt_1","object":"event","type":"payment.completed","timestamp":"","mode":"test",'
    b'"data":{"id":"","amount":15000}}'
)


def test_each_form_without_a_library_has_a_handler() -> None:
    assert [section.title for section in FORM_SECTIONS] == [
        *("timestamped-hex", "hex-header", "form-fields", "unsigned"),
    ]


@pytest.mark.parametrize("section", FORM_SECTIONS, ids=lambda section: section.title)
def test_a_handler_refuses_what_is_not_genuine(
    section: Section, muddled: Server, tmp_path: Path
) -> None:
    form = shipped_form(section.title)
    [command] = [block.text for block in section.blocks if block.kind is Kind.HANDLER]
    secret = variables(command).get("WEBHOOK_SECRET", "none")
    now_s = RealClock().system_ms() // 1000
    message = Message(event_id="evt_1", timestamp_s=now_s, body=BODY)
    other_body = BODY.replace(b"15000", b"15001")

    def status(*secrets: str, tamper: Tamper | None = None) -> int:
        sent = webhook_request(
            message,
            form=form,
            url=listening.url,
            secrets=secrets,
            tamper=tamper,
            other_body=other_body,
        )
        headers = dict(sent.headers)
        return httpx.post(
            sent.url, content=sent.body, headers=headers, timeout=HANGS_AFTER_S
        ).status_code

    with handling(command, muddled, tmp_path, section.files) as listening:
        assert status(secret) == 204
        tampers = [each for each in Tamper if tamper_problem(form, each) is None]
        refused = {tamper: status(secret, tamper=tamper) for tamper in tampers}
        assert set(refused.values()) == {400 if form.is_signed else 204}
        if form.is_signed:
            new_secret = foreign_secret(secret, form)
            assert status(new_secret) == 400
            is_signed_twice = bool(form.signature.separator)
            assert status(new_secret, secret) == (204 if is_signed_twice else 400)
