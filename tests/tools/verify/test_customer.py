"""The command `verify --customer`, with a program as the person at its terminal."""

import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from emulator.tools.verify.checks.customer import _is_at
from tests.cli.invocation import usage_error
from tests.cli.processes import HEARS_CTRL_C, Server, ended, environment, serving
from tests.world import LIVE_KEY, TEST_KEY

OPTIONS = ("--key", TEST_KEY, "--customer")


class Person:
    """Reads the output of the command up to a text, and enters lines."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def reads(self, pattern: str) -> str:
        """What the command prints up to a text; its first group."""
        assert self.process.stdout is not None
        text = ""
        while (found := re.search(pattern, text)) is None:
            character = self.process.stdout.read(1)
            assert character, text
            text += character
        return found[1]

    def enters(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()


@contextmanager
def verifying(server: Server, *options: str) -> Iterator[Person]:
    url = f"http://127.0.0.1:{server.api_port}"
    process = subprocess.Popen(
        [*HEARS_CTRL_C, "verify", "--base-url", url, *OPTIONS, *options],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    with ended(process):
        yield Person(process)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(logs=tmp_path_factory.mktemp("logs")) as server:
        yield server


@pytest.mark.deep
def test_ctrl_c_ends_the_command_with_a_report_of_what_was_judged(server: Server) -> None:
    with verifying(server, "--webhook-port", "0") as person:
        hook = person.reads(r"Register (http://127\.0\.0\.1:\d+/\d+) ")
        endpoint = server.request("POST", "/_emulator/webhook_endpoints", {"url": hook}).json
        person.reads("endpoint's (secret).*: ")
        person.enters(endpoint["secret"])
        token = person.reads(r"Open http://\S+/c/(\w+)\n")
        phone = person.reads(r"first test number \(the emulator's is (\S+)\)\.\n")
        [payment] = [
            each
            for each in server.request("GET", "/v1/payments?limit=1").json["data"]
            if each["checkout_url"].endswith(token)
        ]
        body = {"method": "telebirr", "phone": phone}
        server.request("POST", f"/_emulator/payments/{payment['id']}/pay", body)
        person.reads("(checkout page): ")
        person.enters(payment["success_url"])
        person.reads("(second) test number")
        person.process.send_signal(signal.SIGINT)
        printed, errors = person.process.communicate()
    assert person.process.returncode == 130
    for number, seen in (("1.7", "to `success_url`; nothing is appended"), ("4.4.2", "completed")):
        assert re.search(rf"holds +{re.escape(number)} .*{seen}", printed), printed
    words = " ".join(printed.split())
    for unseen in ("1.8 ", "3.3 ", "4.4.3, 4.4.4, 4.4.5, 4.4.7 ", "8.6 "):
        assert f"Ctrl-C ended the comparison: {unseen}" in words, printed
    assert "no attempt to pay failed; Ctrl-C ended the comparison: 3.4" in words
    assert errors == "payments-emulator: the comparison is not complete: Ctrl-C ended it\n"


def test_a_redirect_may_only_have_more_parameters_than_the_url() -> None:
    url = "https://shop.example/ok?order=1"
    assert _is_at(url, f"{url}&payment=pay_1")
    assert not _is_at(url, "https://other.example/ok?order=1")
    assert not _is_at(url, "https://shop.example/ok?payment=pay_1")


@pytest.mark.deep
def test_without_payments_in_time_the_command_ends(server: Server) -> None:
    with verifying(server, "--max-time", "1ms") as person:
        printed, _ = person.process.communicate(input="")
    assert person.process.returncode == 0
    words = " ".join(printed.split())
    for unpaid in ("1.6, 1.7 ", "3.2, 3.4 ", "4.4.1, 4.4.2, 4.4.3, 4.4.4, 4.4.5, 4.4.7 ", "8.6 "):
        assert f"the customer did not pay in time: {unpaid}" in words, printed


@pytest.mark.deep
def test_webhooks_without_a_signature_need_no_secret(server: Server) -> None:
    options = ("--webhook-port", "0", "--webhook-format", "unsigned")
    with verifying(server, *options) as person:
        printed = person.reads(r"((?s:Register .*Open http://\S+/c/))")
        person.process.send_signal(signal.SIGINT)
        person.process.communicate()
    assert "secret" not in printed


@pytest.mark.deep
def test_a_secret_that_does_not_fit_the_format_is_refused(server: Server) -> None:
    with verifying(server, "--webhook-port", "0", "--webhook-format", "form-fields") as person:
        person.reads("endpoint's (secret).*: ")
        person.enters("whsec_MDEy")
        _, errors = person.process.communicate()
    assert person.process.returncode == 2
    assert errors == (
        "payments-emulator: the secret does not fit the format 'form-fields': expected 24 to 64"
        " bytes as hexadecimal digits\n"
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--key", LIVE_KEY, "--i-know", "--customer"), "flag --customer: a customer would pay"),
        (("--webhook-port", "0"), "flag --webhook-port: expected --customer"),
        (("--webhook-format", "unsigned"), "flag --webhook-format: expected --webhook-port"),
        (
            ("--customer", "--webhook-port", "0", "--webhook-format", "hex"),
            "hex:1:1: cannot be read: No such file or directory",
        ),
        (("--customer", "--webhook-port", "65536"), "flag --webhook-port: found '65536', expected"),
        (("--customer", "--max-time", "soon"), "flag --max-time: 'soon' is not a number"),
    ],
)
def test_a_usage_error_is_one_line(options: tuple[str, ...], expected: str) -> None:
    verify = ("verify", "--base-url", "http://127.0.0.1:1", "--key", TEST_KEY)
    assert usage_error(*verify, *options).startswith(expected)


def test_a_port_in_use_is_reported(server: Server) -> None:
    port = str(server.api_port)
    verify = ("verify", "--base-url", f"http://127.0.0.1:{port}", *OPTIONS)
    message = usage_error(*verify, "--webhook-port", port)
    assert message == f"flag --webhook-port: cannot listen on {port}: Address already in use"
