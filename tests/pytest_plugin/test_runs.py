"""The plugin in other runs of pytest, in repositories like those of merchants."""

import re
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from etb_payments_emulator_pytest import PaymentsEmulator

from emulator.domain.accounts import DEMO_TEST_KEY
from emulator.http import emulator_calls
from tests.cli.processes import HANGS_AFTER_S, ended, free_port, listens, run_program
from tests.pytest_plugin.runs import PAYMENT_STAYS, PLUGIN, PYTEST, run, variables, write

ENTRY = Path(__file__).resolve().parents[2] / "emulator" / "pytest_plugin" / "entry"


pytest_plugins = ["pytester"]

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run_here(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the tests of a repository in this process, in half the time of another process."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run_here(files: Mapping[str, str], *options: str) -> tuple[int, str]:
        write(pytester.path, files)
        ran = pytester.runpytest_inprocess("-W", "error", "-p", PLUGIN, *options)
        return int(ran.ret), ran.stdout.str()

    return run_here


def test_pytest_finds_the_plugin(request: pytest.FixtureRequest) -> None:
    [found] = [point for point in entry_points(group="pytest11") if point.value == PLUGIN]
    assert request.config.pluginmanager.has_plugin(found.name)


def test_the_installed_plugin_is_up_to_date() -> None:
    module = sys.modules[PLUGIN]
    assert module.__file__ is not None
    installed = Path(module.__file__).read_text(encoding="utf-8")
    assert installed == (ENTRY / "__init__.py").read_text(encoding="utf-8"), (
        "it is copied when it is installed: pip install --editable '.[test]'"
    )


def test_an_unused_plugin_imports_only_itself() -> None:
    before = "import argparse, pytest, sys, urllib.parse\nbefore = set(sys.modules)"
    after = f"import {PLUGIN}\nprint(*sorted(set(sys.modules) - before))"
    assert run_program(sys.executable, "-c", f"{before}\n{after}").stdout.split() == [PLUGIN]


TEST_OF_IMPORTS = """\
import sys

from kiosk import create_payment

BEFORE = set(sys.modules)


def test_a_payment(payments_emulator, payments_account):
    payment = create_payment(payments_account)["id"]
    payments_account.deliver_to("http://127.0.0.1:9/hook")
    payments_account.pay(payment)
    payments_account.advance("1h")
    assert all(webhook.is_verified for webhook in payments_account.webhooks)
    payments_account.checklist()
    payments_account.reset()
    imported = {name.partition(".")[0] for name in set(sys.modules) - BEFORE}
    assert "etb_payments_emulator" in imported
    assert imported - sys.stdlib_module_names == {"etb_payments_emulator"}
"""


@pytest.mark.deep
def test_a_used_plugin_imports_only_the_standard_library(
    tmp_path: Path, payments_emulator: PaymentsEmulator
) -> None:
    write(tmp_path, {"test_kiosk.py": TEST_OF_IMPORTS})
    ran = run(tmp_path, "--payments-emulator-url", payments_emulator.base_url)
    assert "1 passed" in ran.stdout, ran.stdout + ran.stderr


MERCHANT_OF_AN_EMULATOR = {
    "emulator/__init__.py": "OWNER = 'the merchant'\n",
    "emulator/domain/__init__.py": "",
    "emulator/pytest_plugin/__init__.py": "",
    "test_kiosk.py": """\
import sys

import emulator
from kiosk import create_payment


def test_a_payment(payments_account):
    payment = create_payment(payments_account)
    payments_account.pay(payment["id"], phone="0900000003")
    payments_account.advance("30s")
    assert [webhook.type for webhook in payments_account.webhooks] == [
        "payment.created",
        "payment.processing",
        "payment.failed",
    ]


def test_the_packages_are_those_of_the_merchant():
    import emulator.domain

    assert emulator.OWNER == "the merchant"
    loaded = [name for name in sys.modules if name.partition(".")[0] == "emulator"]
    assert sorted(loaded) == ["emulator", "emulator.domain"]
""",
}


@pytest.mark.deep
def test_a_merchant_may_have_a_package_named_emulator(tmp_path: Path) -> None:
    write(tmp_path, MERCHANT_OF_AN_EMULATOR)
    ran = run(tmp_path, more={"PYTHONPATH": str(tmp_path)})
    assert "2 passed" in ran.stdout, ran.stdout + ran.stderr


MANY_TESTS = """\
import os
from pathlib import Path

import pytest
from kiosk import create_payment


@pytest.mark.parametrize("number", range(12))
def test_many(number, payments_emulator, payments_account):
    create_payment(payments_account)
    assert len(payments_account.webhooks) == 1
    worker = os.environ["PYTEST_XDIST_WORKER"]
    Path(__file__).with_name(f"{worker}.used").write_text(payments_emulator.base_url)
"""


@pytest.mark.deep
def test_all_workers_share_one_server_that_ends_with_them(tmp_path: Path) -> None:
    write(tmp_path, {"test_many.py": MANY_TESTS})
    ran = run(tmp_path, "-p", "xdist", "-n", "2")
    assert "12 passed" in ran.stdout, ran.stdout + ran.stderr
    used = [file.read_text() for file in tmp_path.glob("*.used")]
    assert len(used) == 2
    assert len(set(used)) == 1
    port = urlsplit(used[0]).port
    assert port is not None
    assert not listens(port)


WAITING_TEST = """\
import sys


def test_waits(payments_emulator):
    sys.__stdout__.write(payments_emulator.base_url + "\\n")
    sys.__stdout__.flush()
    sys.__stdin__.read()
"""


def test_the_server_of_a_killed_run_ends(tmp_path: Path) -> None:
    write(tmp_path, {"test_waits.py": WAITING_TEST})
    process = subprocess.Popen(
        [*PYTEST, "-q", "-s"],
        cwd=tmp_path,
        env=variables(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    with ended(process):
        assert process.stdin is not None
        assert process.stdout is not None
        url = urlsplit(next(line for line in process.stdout if line.startswith("http://")).strip())
        assert url.hostname is not None
        assert url.port is not None
        address = (url.hostname, url.port)
        with socket.create_connection(address, timeout=HANGS_AFTER_S) as connection:
            process.kill()
            assert connection.recv(1) == b"", "the server has ended"
        process.stdin.close()


TESTS_WITH_AN_EXTERNAL_EMULATOR = """\
from kiosk import create_payment


def test_a_payment(payments_account):
    create_payment(payments_account)
    payments_account.deliver_to("http://127.0.0.1:9/hook", events=["payment.completed"])
    payments_account.pay(payments_account.events[0]["data"]["id"])
    payments_account.fault(status=500)
    print(payments_account.base_url)
    assert len(payments_account.webhooks) == 3
    create_payment(payments_account)
"""


def test_a_failure_with_an_external_emulator_has_a_report(
    run_here: Run, payments_emulator: PaymentsEmulator
) -> None:
    option = ("--payments-emulator-url", f"{payments_emulator.base_url}/")
    _, printed = run_here({"test_kiosk.py": TESTS_WITH_AN_EXTERNAL_EMULATOR}, *option)
    assert "HTTP Error 500" in printed
    assert f"\n{payments_emulator.base_url}\n" in printed
    report = printed.partition("- payments emulator -")[2].splitlines()
    assert report[1:3] == [
        "requests  POST /v1/payments  201",
        "          POST /v1/payments  500 internal_error, by a fault",
    ]
    assert report[3].startswith("events    payment.created  pay_")
    assert report[6] == "webhooks  payment.completed to http://127.0.0.1:9/hook  connection refused"


A_TEST = "def test_one(payments_account): pass\n"


def test_the_summary_has_the_message_of_the_emulator(run_here: Run) -> None:
    test = "def test_one(payments_account): payments_account.use_scenario('late')\n"
    _, printed = run_here({"test_kiosk.py": test}, "-q")
    assert printed.splitlines()[-2].startswith(
        "FAILED test_kiosk.py::test_one - PaymentsEmulatorError: scenario_not_found:"
    )


def test_a_missing_external_emulator_is_explained_in_a_sentence(run_here: Run) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    code, printed = run_here({"test_kiosk.py": A_TEST}, "--payments-emulator-url", url)
    assert code == pytest.ExitCode.TESTS_FAILED
    sentence = (
        f"--payments-emulator-url {url}: the payments emulator at {url} does not respond:"
        " connection refused; expected what `serve` prints as API"
    )
    assert printed.count(f"\n{sentence}\n") == 1
    assert "another exception" not in printed
    assert "Traceback" not in printed
    assert "emulator/pytest_plugin" not in printed


TESTS_WITH_VARIABLES = """\
import os
from kiosk import create_payment


def test_one(payments_emulator, payments_account):
    assert payments_emulator.base_url == os.environ["EXPECTED"]
    assert payments_account.webhook_secret == os.environ["PAYMENTS_EMULATOR_WEBHOOK_SECRET"]
    shop = payments_account.deliver_to("http://127.0.0.1:9/hook")
    assert shop.secret == payments_account.webhook_secret
    own = "whsec_" + "A" * 32
    assert payments_account.deliver_to("http://127.0.0.1:9/own", secret=own).secret == own
    create_payment(payments_account)
    [webhook] = payments_account.webhooks
    assert webhook.is_verified
"""


def test_the_address_and_the_secret_are_those_of_the_variables(
    run_here: Run, payments_emulator: PaymentsEmulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = payments_emulator.base_url
    monkeypatch.setenv("EXPECTED", url)
    monkeypatch.setenv(emulator_calls.WEBHOOK_SECRET_VARIABLE, f"whsec_{'c2VjcmV0' * 4}")
    for text in (url, f"{url}/v1/"):
        monkeypatch.setenv(emulator_calls.URL_VARIABLE, text)
        code, printed = run_here({"test_kiosk.py": TESTS_WITH_VARIABLES})
        assert code == pytest.ExitCode.OK, printed


TESTS_WITH_A_KEY = """\
import os
from types import SimpleNamespace

import pytest
from kiosk import create_payment

shop = SimpleNamespace(
    base_url=os.environ["PAYMENTS_EMULATOR_URL"],
    test_key=os.environ["PAYMENTS_EMULATOR_TEST_KEY"],
)


def buy(account):
    payment = create_payment(shop)["id"]
    assert [each["id"] for each in account.payments] == [payment]
    assert account.pay(payment)["id"] == payment
    assert [each.payment for each in account.webhooks[:1]] == [payment]


@pytest.mark.parametrize("turn", [1, 2])
def test_one(payments_account, turn):
    buy(payments_account)


def test_two(payments_emulator, payments_account):
    with payments_emulator.account("another") as other:
        buy(payments_account)
        assert other.payments == []
        create_payment(other)
        assert len(other.payments) == len(payments_account.payments) == 1
"""


def test_an_application_with_the_key_of_the_variable_uses_the_account_of_each_test(
    run_here: Run, payments_emulator: PaymentsEmulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(emulator_calls.URL_VARIABLE, payments_emulator.base_url)
    monkeypatch.setenv(emulator_calls.TEST_KEY_VARIABLE, DEMO_TEST_KEY)
    code, printed = run_here({"test_kiosk.py": TESTS_WITH_A_KEY})
    assert code == pytest.ExitCode.OK, printed


def test_the_option_precedes_the_variable_and_an_unknown_key_is_ignored(
    run_here: Run, payments_emulator: PaymentsEmulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(emulator_calls.URL_VARIABLE, f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv(emulator_calls.TEST_KEY_VARIABLE, "no key")
    option = ("--payments-emulator-url", payments_emulator.base_url)
    code, printed = run_here({"test_kiosk.py": A_TEST}, *option)
    assert code == pytest.ExitCode.OK, printed


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("localhost:8080", "found 'localhost:8080', expected an absolute http or https URL"),
        ("http://127.0.0.1:1", "the payments emulator at http://127.0.0.1:1 does not respond"),
    ],
)
def test_a_variable_that_names_no_emulator_is_explained_in_a_sentence(
    run_here: Run, monkeypatch: pytest.MonkeyPatch, text: str, sentence: str
) -> None:
    monkeypatch.setenv(emulator_calls.URL_VARIABLE, text)
    code, printed = run_here({"test_kiosk.py": A_TEST})
    assert code == pytest.ExitCode.TESTS_FAILED
    assert re.search(
        rf"^{emulator_calls.URL_VARIABLE}\b.*{re.escape(sentence)}", printed, re.MULTILINE
    )
    assert "Traceback" not in printed


NO_URL = "found '{url}', expected an absolute http"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("localhost:8080", NO_URL),
        ("ftp://localhost", NO_URL),
        ("http://", NO_URL),
        ("http://a:b", NO_URL),
        ("http://a:1/v1/", "found '{url}', expected the address without /v1: http://a:1"),
        ("http://a:b@localhost", "a user and a password cannot be sent"),
    ],
)
def test_the_option_must_be_a_url_without_a_password(
    pytestconfig: pytest.Config, url: str, message: str
) -> None:
    with pytest.raises(pytest.UsageError, match=message.format(url=url)):
        pytestconfig._parser.parse_known_args(["--payments-emulator-url", url])


TESTS_OF_OPTIONS = """\
import pytest
from kiosk import create_payment
from urllib.error import HTTPError


def test_strict(payments_account):
    with pytest.raises(HTTPError) as refused:
        create_payment(payments_account, ammount=3)
    with refused.value as answer:
        assert b"unknown_parameter" in answer.read()


def test_scenario(payments_account):
    payment_id = create_payment(payments_account)["id"]
    assert payments_account.pay(payment_id)["status"] == "processing"
"""
INI = """\
[pytest]
payments_emulator_options = --strict --scenarios cases
"""


@pytest.mark.deep
def test_the_server_has_the_configured_options(run_here: Run) -> None:
    files = {"pytest.ini": INI, "cases/stays-in-processing.yaml": PAYMENT_STAYS}
    files |= {"tests/test_kiosk.py": TESTS_OF_OPTIONS, "conftest.py": ""}
    code, printed = run_here(files, "tests")
    assert code == pytest.ExitCode.OK, printed


@pytest.mark.deep
def test_a_wrong_option_is_explained_as_by_the_command(run_here: Run) -> None:
    options = ("-o", "payments_emulator_options=--strictly")
    code, printed = run_here({"test_kiosk.py": A_TEST}, *options)
    assert code == pytest.ExitCode.TESTS_FAILED
    assert printed.count("\nthe payments emulator did not start: payments-emulator: ") == 1
    assert "another exception" not in printed
    assert "--strictly" in printed
    assert "Traceback" not in printed
