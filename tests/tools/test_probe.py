"""`probe` finds each mistake of a webhook handler, and no mistake in a right one."""

import hashlib
import hmac
import json
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from emulator.clock import RealClock
from emulator.domain.payment import EVENT_TYPES
from emulator.domain.webhooks import STANDARD, WebhookForm
from emulator.http import emulator_calls as calls
from emulator.http.addresses import BaseUrl
from emulator.http.client import EmulatorClient
from emulator.scenarios.webhook_form_file import load_webhook_form, shipped_form
from emulator.tools.json_results import ProbedCase
from emulator.tools.probe import CASES, Probe
from tests.cli.invocation import error_line, invoke, other_server, output, usage_error
from tests.cli.processes import FREE_PORTS, free_port
from tests.server.webhooks.receiver import HANG_UP, Received, Reply, Response, receiving
from tests.server.webhooks.receiver import Answer as AnyHandler
from tests.tools.doctor.examinations import emulator, emulator_on_a_thread
from tests.world import TEST_KEY

SECRET = "whsec_" + b64encode(bytes(range(24))).decode()
HEX_SECRET = bytes(range(24)).hex()
REFUSED = ("changed body", "wrong secret", "no signature", "an hour old")
NAMES = [case.name for case in CASES]
WITHOUT_TIME = ("an hour old", "two signatures, the newer first")


@dataclass
class Handler:
    """A right handler, which makes the mistake that is named."""

    mistake: str = ""
    processed: set[str] = field(default_factory=set)

    def __call__(self, received: Received) -> Reply:
        return Reply(status=self.status(received.headers, received.body))

    def status(self, headers: dict[str, str], body: bytes) -> int:
        try:
            if not self.is_genuine(headers, body):
                return 400
            event = json.loads(body)
            is_new = event["id"] not in self.processed
        except (ValueError, KeyError):
            return 500 if self.mistake == "crashes on bodies" else 400
        if not is_new:
            return 409 if self.mistake == "refuses duplicates" else 200
        self.processed.add(event["id"])
        if self.mistake == "refuses types" and event["type"] not in EVENT_TYPES.values():
            return 422
        return 200

    def is_genuine(self, headers: dict[str, str], body: bytes) -> bool:
        signatures = headers.get("webhook-signature", "")
        match self.mistake:
            case "verifies nothing":
                return True
            case "accepts no signature" if not signatures:
                return True
            case "reads the first signature":
                headers = {**headers, "webhook-signature": signatures.split(" ")[0]}
            case "compares the prefix":
                return signatures.startswith("v1,")
            case "ignores the time":
                return signature_of(headers, body) in signatures
            case "verifies its own JSON":
                body = json.dumps(json.loads(body), separators=(",", ":")).encode()
        try:
            Webhook(SECRET).verify(body, headers)
        except WebhookVerificationError:
            return False
        return True


def signature_of(headers: dict[str, str], body: bytes) -> str:
    start = f"{headers['webhook-id']}.{headers['webhook-timestamp']}."
    key = b64decode(SECRET.removeprefix("whsec_"))
    digest = hmac.new(key, start.encode() + body, hashlib.sha256).digest()
    return f"v1,{b64encode(digest).decode()}"


async def answers(
    handler: AnyHandler,
    form: WebhookForm = STANDARD,
    secret: str = SECRET,
    client: EmulatorClient | None = None,
) -> dict[str, ProbedCase]:
    """The answers of a handler, by the name of the case; the payments have the metadata `order`."""
    if client is None:
        async with emulator() as url, EmulatorClient(BaseUrl.parse(url), TEST_KEY) as client:
            return await answers(handler, form, secret, client)
    found: list[ProbedCase] = []
    async with receiving(handler) as receiver:
        await Probe(
            url=receiver.url,
            form=form,
            secret=secret,
            metadata={"order": "17"},
            client=client,
            wall=RealClock(),
        ).run(found.append)
    assert [answer.case for answer in found] == NAMES
    return {answer.case: answer for answer in found}


@pytest.mark.parametrize(
    ("mistake", "wrong"),
    [
        ("", ()),
        ("verifies nothing", (*REFUSED,)),
        ("accepts no signature", ("no signature",)),
        ("reads the first signature", ("two signatures, the newer first",)),
        ("compares the prefix", ("changed body", "wrong secret", "an hour old")),
        ("ignores the time", ("an hour old",)),
        ("verifies its own JSON", ("JSON in another serialisation",)),
        ("refuses duplicates", ("the same twice", "twice at once")),
        ("refuses types", ("unknown event",)),
        ("crashes on bodies", ("broken body", "empty body")),
    ],
)
async def test_each_mistake_is_found(mistake: str, wrong: tuple[str, ...]) -> None:
    found = await answers(Handler(mistake))
    assert [name for name, answer in found.items() if answer.result == "wrong"] == [*wrong]
    assert {answer.result for answer in found.values()} <= {"right", "wrong"}
    for answer in found.values():
        assert (answer.what_to_do is not None) == (answer.result == "wrong")


async def test_the_payment_of_each_webhook_can_be_retrieved_and_has_the_metadata() -> None:
    async with emulator() as url, EmulatorClient(BaseUrl.parse(url), TEST_KEY) as client:
        handler = Handler()

        async def retrieve(received: Received) -> Reply:
            status = handler.status(received.headers, received.body)
            if status == 200:
                payment_id = json.loads(received.body)["data"]["id"]
                payment = await client.call(calls.RETRIEVE_PAYMENT(payment_id))
                assert (payment["status"], payment["metadata"]) == ("completed", {"order": "17"})
            return Reply(status=status)

        found = await answers(retrieve, client=client)
    assert {answer.result for answer in found.values()} == {"right"}


@pytest.mark.parametrize("status", [404, 422])
async def test_an_unknown_order_is_not_judged(status: int) -> None:
    found = await answers(lambda _: Reply(status=status))
    assert {answer.result for answer in found.values()} == {"not_judged"}
    genuine = found["genuine"]
    assert genuine.reason == "unknown order, use `--metadata`"
    assert "--metadata order=17" in str(genuine.what_to_do)
    assert found["no signature"].reason == "the genuine webhook has the same answer"


async def test_a_refusal_of_an_unknown_order_differs_from_a_refusal_of_the_signature() -> None:
    handler = Handler()

    def without_orders(received: Received) -> Reply:
        reply = handler(received)
        return Reply(status=404) if reply.status == 200 else reply

    found = await answers(without_orders)
    right = [name for name, answer in found.items() if answer.result == "right"]
    assert right == [*REFUSED, "broken body", "empty body"]


async def test_a_refused_genuine_webhook_is_wrong_and_has_its_cause() -> None:
    found = await answers(lambda _: Reply(status=401))
    assert found["genuine"].result == "wrong"
    assert "does it use the secret" in str(found["genuine"].what_to_do)
    assert {found[name].result for name in NAMES[1:]} == {"not_judged"}


async def test_after_a_genuine_webhook_without_an_answer_nothing_more_is_sent() -> None:
    received: list[Received] = []

    def hang_up(request: Received) -> Response:
        received.append(request)
        return HANG_UP

    found = await answers(hang_up)
    assert len(received) == 1
    assert found["genuine"].result == "wrong"
    assert found["empty body"].reason == "the genuine webhook has no answer"


@pytest.mark.parametrize(
    ("form", "secret", "missing"),
    [
        ("unsigned", "", [*NAMES[3:8], "unknown event"]),
        ("hex-header", "secret", [*WITHOUT_TIME]),
        ("timestamped-hex", "secret", []),
        (
            "form-fields",
            HEX_SECRET,
            [*WITHOUT_TIME, "JSON in another serialisation", "broken body"],
        ),
    ],
)
async def test_a_line_that_a_form_cannot_show_is_not_applicable(
    form: str, secret: str, missing: list[str]
) -> None:
    found = await answers(lambda _: Reply(), shipped_form(form), secret)
    without = [name for name, answer in found.items() if answer.result == "not_applicable"]
    assert without == missing
    for name in missing:
        assert str(found[name].reason).startswith(f"webhooks in the form {form} ")


async def test_a_token_signs_no_body(tmp_path: Path) -> None:
    file = tmp_path / "token.yaml"
    file.write_text(
        "version: 1\nname: token\nsignature: {algorithm: token}\n"
        'headers: {verif-hash: "{signature}"}\n'
    )
    found = await answers(lambda _: Reply(), load_webhook_form(str(file)), "secret")
    assert found["changed body"].reason == "webhooks in the form token have no signed amount"
    assert found["wrong secret"].result == "wrong"


def test_the_command_prints_the_answers_and_their_number() -> None:
    with other_server((200, b"")) as url:
        code, printed = output("probe", url, "--secret", SECRET, *FREE_PORTS)
    assert code == 1
    assert printed.splitlines()[:5] == [
        "right           genuine                          200",
        "right           the same twice                   200",
        "right           twice at once                    200 and 200",
        "wrong           changed body                     200; right is 4xx",
        " " * 16 + "Verify the signature of the raw body before anything else; else return 400.",
    ]
    assert "\n6 of 12 right\n" in printed
    assert "not whether an order was paid" in printed
    assert "payments-emulator explore" in printed
    assert max(map(len, printed.splitlines())) <= 100


def test_the_command_ends_with_0_if_each_answer_is_right(tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    # The bodies that are broken or empty come last.
    with other_server(*[(200, b"")] * 5, (400, b"")) as url:
        code, printed = output(
            *("probe", url, "--webhook-format", "unsigned", *FREE_PORTS, "--json", str(file))
        )
    assert (code, "6 of 6 right, 6 not applicable" in printed) == (0, True)
    document = json.loads(file.read_bytes())
    assert (document["type"], document["is_complete"], document["url"]) == ("probe", True, url)
    assert [each["case"] for each in document["results"]] == NAMES
    assert document["results"][3] == {
        "case": "changed body",
        "result": "not_applicable",
        "answered": "",
        "expected": "4xx",
        "reason": "webhooks in the form unsigned have no signature",
        "what_to_do": None,
    }


def test_without_a_secret_the_command_prints_the_same_secret_in_each_run() -> None:
    with other_server((500, b"")) as url:
        printed = [output("probe", url, *FREE_PORTS)[1].splitlines()[0] for _ in range(2)]
    assert printed[0] == printed[1]
    assert printed[0].startswith("The handler needs this webhook secret: whsec_")


def test_the_endpoint_of_a_running_emulator_has_the_secret_and_the_form() -> None:
    with other_server((200, b"")) as handler, emulator_on_a_thread() as url:
        path = f"{url}/_emulator/webhook_endpoints"
        httpx.post(path, json={"url": handler, "format": "unsigned"}).raise_for_status()
        code, printed = output("probe", handler, "--url", url)
        [registered] = httpx.get(path).json()["data"]
        deliveries = httpx.get(f"{url}/_emulator/deliveries").json()["data"]
    assert (code, "6 not applicable" in printed) == (1, True)
    assert (registered["enabled"], deliveries) == (True, [])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["localhost"], "URL: found 'localhost', expected an absolute http or https URL"),
        (["http://127.0.0.1:1", "--secret", "x"], "flag --secret: expected whsec_ and the base64"),
        (["http://127.0.0.1:1", "--key", TEST_KEY], "flag --key: expected --url"),
        (["http://127.0.0.1:1", "--url", "http://127.0.0.1:1", "--port", "1"], "flag --port: the"),
        (["http://127.0.0.1:1", "--metadata", "order"], "flag --metadata: found 'order', expected"),
    ],
)
def test_a_wrong_option_is_refused(options: list[str], expected: str) -> None:
    assert usage_error(
        "probe", *options, *(FREE_PORTS if "--secret" in options else ())
    ).startswith(expected)


def test_a_handler_or_an_emulator_that_cannot_be_reached_is_named() -> None:
    nowhere = f"http://127.0.0.1:{free_port()}"
    ended = invoke("probe", nowhere, "--secret", SECRET, *FREE_PORTS)
    assert error_line(ended) == f"cannot reach the handler: {nowhere}: connection refused"
    ended = invoke("probe", nowhere, "--url", nowhere)
    assert error_line(ended).startswith(f"the payments emulator at {nowhere} does not respond")
