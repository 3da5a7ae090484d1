"""The command `trigger`."""

import pytest

from emulator.domain.payment import EVENT_TYPES
from tests.cli.invocation import HEALTHY, other_server, output, usage_error
from tests.cli.processes import Server, free_port
from tests.tables import rows
from tests.world import METHODS, START

CLOCK = f"frozen@{START}"


_NAMES = ("completed", "created")


@pytest.fixture
def key(server: Server) -> str:
    """The key of a new account."""
    return str(server.request("POST", "/_emulator/accounts", {"clock": CLOCK}).json["test_key"])


def flags(server: Server, key: str) -> tuple[str, ...]:
    return "--url", server.url, "--key", key


def register(server: Server, key: str, url: str) -> None:
    assert server.request("POST", "/_emulator/webhook_endpoints", {"url": url}, key).status == 201


@pytest.mark.parametrize("event", EVENT_TYPES.values())
def test_each_event_is_delivered(server: Server, key: str, event: str) -> None:
    with other_server((200, b"")) as url:
        register(server, key, url)
        code, text = output("trigger", event, "--amount", "15000", *flags(server, key))
    payment = server.request("GET", "/v1/payments", key=key).json["data"][0]
    assert (code, text) == (0, f"{event}: {payment['id']}\n{url}: 200\n")
    assert (EVENT_TYPES[payment["status"]], payment["amount"]) == (event, 15_000)
    assert server.request("GET", "/_emulator/clock", key=key).json["now"] == f"{START[:-1]}.000Z"


def test_the_password_of_an_endpoint_is_not_printed(server: Server, key: str) -> None:
    with other_server((200, b"")) as url:
        register(server, key, url.replace("//", "//user:secret@") + "/hook")
        code, text = output("trigger", "payment.created", *flags(server, key))
    assert (code, text.splitlines()[1]) == (0, f"{url}/hook: 200")


def test_an_event_that_a_format_does_not_send_has_no_receiver(server: Server, key: str) -> None:
    with other_server((200, b"")) as url:
        body = {"url": url, "format": "hex-header"}
        assert server.request("POST", "/_emulator/webhook_endpoints", body, key).status == 201
        texts = [output("trigger", f"payment.{name}", *flags(server, key))[1] for name in _NAMES]
    assert [f"{url}: 200" in text for text in texts] == [True, False]
    assert "receives payment.created" in texts[1]


@pytest.mark.parametrize("method", METHODS)
def test_a_method_is_submitted(server: Server, key: str, method: str) -> None:
    arguments = ("payment.completed", "--method", method, *flags(server, key))
    code, text = output("trigger", *arguments)
    assert (code, "No enabled webhook endpoint" in text) == (0, True)
    detail = server.request("GET", "/_emulator/payments/latest", key=key).json
    assert detail["payment"]["method"] == method
    assert (detail["bank"] is None) == (method != "bank_transfer")


def test_a_payment_has_the_given_metadata(server: Server, key: str) -> None:
    pairs = ("order=17", "note=a = b", "empty=", "ቁልፍ=ዋጋ")
    options = [text for pair in pairs for text in ("--metadata", pair)]
    assert output("trigger", "payment.created", *options, *flags(server, key))[0] == 0
    payment = server.request("GET", "/v1/payments", key=key).json["data"][0]
    assert payment["metadata"] == {"order": "17", "note": "a = b", "empty": "", "ቁልፍ": "ዋጋ"}


def test_each_endpoint_without_success_has_its_reason(server: Server, key: str) -> None:
    closed = f"http://127.0.0.1:{free_port()}"
    with other_server((200, b"")) as healthy, other_server((500, b"")) as failing:
        for url in (healthy, failing, closed):
            register(server, key, url)
        code, text = output("trigger", "payment.created", *flags(server, key))
    _, *lines = text.splitlines()
    assert code == 1
    assert lines[0] == f"{healthy}: 200"
    assert lines[1] == f"{failing}: 500. The handler failed: see its own log."
    assert lines[2].startswith(f"{closed}: connection refused. ")


def test_a_delivery_that_is_not_sent_has_its_reason(server: Server, key: str) -> None:
    later = "not sent yet: due at 2026-01-01T00:00:05.000Z on the account's clock"
    with other_server((200, b"")) as url:
        register(server, key, url)
        for effect, reason in (
            ({"drop": True}, "not sent: a scenario drops it"),
            ({"delay": "5s"}, later),
        ):
            rule = {"when": {"event": "payment.expired"}, "then": effect}
            server.request("PUT", "/_emulator/scenarios/own", {"webhooks": [rule]}, key)
            code, text = output("trigger", "payment.expired", *flags(server, key))
            assert (code, text.splitlines()[1:]) == (1, [f"{url}: {reason}"])


def test_an_outcome_of_a_scenario_can_prevent_an_event(server: Server, key: str) -> None:
    rule = {"when": {}, "then": [{"status": "completed"}]}
    made = server.request("PUT", "/_emulator/scenarios/own", {"outcomes": [rule]}, key)
    assert made.status < 300, made.body
    assert output("trigger", "payment.completed", *flags(server, key))[0] == 0
    message = usage_error("trigger", "payment.failed", *flags(server, key))
    assert message.startswith("the emulator refused a request: 409 invalid_state_transition")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        *rows(__file__, "mistakes"),
        (
            ("payment.created", *(text for n in range(21) for text in ("--metadata", f"k{n}=v"))),
            '400 invalid_metadata (metadata): "metadata" must have at most 20 pairs (got 21).',
        ),
    ],
)
def test_a_mistake_is_one_line(
    server: Server, key: str, arguments: tuple[str, ...], message: str
) -> None:
    assert message in usage_error("trigger", *flags(server, key), *arguments)


def test_another_server_is_no_emulator() -> None:
    for responses in ([(404, b"{}")], [HEALTHY, (201, b"[]")]):
        with other_server(*responses) as url:
            assert "emulator" in usage_error("trigger", "payment.created", "--url", url)
