"""The webhook handlers that the documents show, when webhooks misbehave."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from emulator.clock import RealClock
from emulator.webhooks.messages import Message, request
from tests.cli.processes import SHARED_HANGS_AFTER_S, Server, serving
from tests.docs.document import REPOSITORY, command_after, sections_of
from tests.docs.live import Listening, handling, missing
from tests.docs.shops import HANDLERS, language, marks, missing_for, prepare, variables
from tests.world import LIVE_KEY, TEST_KEY

PAGE = "docs/guides/webhook-handlers.md"
FILES = sections_of(PAGE)[0].files
APPROVES, HAS_TOO_LITTLE = "0900000001", "0900000002"

each_handler = pytest.mark.parametrize(
    "handler",
    [pytest.param(handler, id=language(handler), marks=marks(handler)) for handler in HANDLERS],
)
pytestmark = pytest.mark.skipif(
    bool(missing()), reason=f"not on this machine: {', '.join(missing())}"
)


@contextmanager
def misbehaving(directory: Path, *names: str) -> Iterator[Server]:
    """A server with shipped scenarios switched on, as the document says how."""
    (directory / "scenarios").symlink_to(REPOSITORY / "scenarios")
    command, _ = command_after("switch on", PAGE).splitlines()
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


def buy(server: Server, order: str, phone: str) -> None:
    payment_id = create(server, order)
    call(server, f"/payments/{payment_id}/pay", {"method": "telebirr", "phone": phone})
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
        buy(muddled, "7", APPROVES)
        buy(muddled, "8", HAS_TOO_LITTLE)
        buy(muddled, "9", APPROVES)
        sent = deliveries(muddled)
        assert [len(one["attempts"]) for one in sent] == [1] * 11
        assert all(one["status"] == "succeeded" for one in sent)
        assert listening.printed == "order 7 is paid\norder 9 is paid\n"


@each_handler
def test_a_forged_webhook_is_refused_and_the_genuine_one_accepted(
    handler: str, shop: Path, forging: Server
) -> None:
    with registered(handler, forging, shop) as listening:
        buy(forging, "7", APPROVES)
        buy(forging, "8", HAS_TOO_LITTLE)
        forged = [one for one in deliveries(forging) if one["attempts"][0]["tampered"]]
        assert {one["attempts"][0]["tampered"] for one in forged} == {
            "body",
            "signature",
            "timestamp",
        }
        assert [statuses(one) for one in forged] == [{400}] * 4
        assert listening.printed == ""
        for one in forged:
            resent = call(forging, f"/deliveries/{one['id']}/resend")
            assert resent["attempts"][-1]["status"] == 204
        assert listening.printed == "order 7 is paid\n"


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


@each_handler
def test_a_request_with_a_wrong_signature_or_time_is_refused(
    handler: str, shop: Path, muddled: Server
) -> None:
    now_s = RealClock().now_ms() // 1_000

    def sent(body: bytes = b'{"type":"ping"}', *, age_s: int = 0, **changes: str) -> int:
        message = Message(event_id="evt_1", timestamp_s=now_s - age_s, body=body)
        signed = request(message, url=listening.url, secrets=secrets)
        changed = {name.replace("_", "-"): value for name, value in changes.items()}
        headers = {**dict(signed.headers), **changed}
        return httpx.post(signed.url, content=signed.body, headers=headers).status_code

    secrets = [variables(handler)["WEBHOOK_SECRET"]]
    with handling(handler, muddled, shop, FILES) as listening:
        assert sent() == 204
        assert sent(age_s=600) == 400, "the timestamp is ten minutes old"
        assert sent(age_s=-600) == 400
        assert sent(webhook_id="evt_2") == 400
        assert sent(webhook_signature="") == 400
        assert sent(webhook_signature="v1") == 400
        assert sent(webhook_timestamp="now") == 400
        assert sent(b"\xff", webhook_signature="v1,AAAA") == 400


@each_handler
def test_a_ping_is_answered(handler: str, shop: Path, muddled: Server) -> None:
    with registered(handler, muddled, shop):
        [endpoint] = muddled.request("GET", "/_emulator/webhook_endpoints").json["data"]
        ping = call(muddled, f"/webhook_endpoints/{endpoint['id']}/ping")
        assert (ping["status"], statuses(ping)) == ("succeeded", {204})


@pytest.mark.deep
@pytest.mark.skipif(bool(missing_for("php")), reason="there is no php on this machine")
@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".php")])
def test_php_can_read_what_is_shown(name: str, tmp_path: Path) -> None:
    """The package that one of them needs is not installed here."""
    (tmp_path / name).write_text(FILES[name].text, encoding="utf-8")
    subprocess.run(["php", "-l", name], cwd=tmp_path, check=True, capture_output=True)
