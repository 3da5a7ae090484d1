"""The helpers of `payments-emulator helper`: a shop's tests in each test runner."""

import json
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from emulator.scenarios.webhook_form_file import SHIPPED_FORMS, load_webhook_form
from emulator.tools.rehearse.variants import read_variants
from tests.cli.processes import HANGS_AFTER_S, environment, run_program, serving
from tests.interop.built_once import built_once
from tests.interop.helper.projects import GO, JUNIT, JVM, LANGUAGES, write_shown
from tests.interop.sdks.programs import need, ran
from tests.tools.rehearse.rehearsals import findings, rehearse

Projects = Callable[[str], Path]

COMMAND = {"PAYMENTS_EMULATOR_COMMAND": f"{sys.executable} -m emulator"}
JUNIT_CONSOLE = ("java", *JVM, "-jar", str(JUNIT), "--disable-banner", "--disable-ansi-colors")
OWN_SECRET = f"whsec_{'b3duIGtl' * 4}"
# The default limit of a test, 5 s, is too short on a busy machine.
LIMIT_MS = 60_000
# They run two tests of the shop's own, each of which pays.
PAYING = {
    "node": ("node", "--test", "--test-name-pattern=pays|refunds", "compiled/node.test.js"),
    "php": ("phpunit", "--no-configuration", "--filter=pays|refunds", "ShopTest.php"),
    "java": (
        *(*JUNIT_CONSOLE, "-cp", "classes", "--select-method=ShopTest#paysWithEachMethod"),
        "--select-method=ShopTest#refundsAPayment",
    ),
    "go": ("go", "test", "-count=1", "-run=Pays|Refunds", "."),
}

each_language = pytest.mark.parametrize("language", LANGUAGES)


@pytest.fixture
def projects(tmp_path_factory: pytest.TempPathFactory) -> Projects:
    """Builds the project of a language once, and returns its directory."""

    def build(language: str) -> Path:
        def build(directory: Path) -> None:
            LANGUAGES[language].build(directory, tmp_path_factory)

        return built_once(tmp_path_factory, f"helper-{language}", build)

    return build


def test_node_test_runs_the_javascript_form(projects: Projects) -> None:
    command = ("node", "--test", "--test-reporter=tap", "compiled/node.test.js")
    assert "\n# pass 13\n" in ran(projects("node"), *command, **COMMAND).stdout


def test_vitest_runs_the_typescript_form(projects: Projects) -> None:
    limits = (f"--testTimeout={LIMIT_MS}", f"--hookTimeout={LIMIT_MS}")
    command = ("npx", "vitest", "run", "--reporter=json", *limits, "vitest.test.ts")
    assert json.loads(ran(projects("node"), *command, **COMMAND).stdout)["numPassedTests"] == 13


def test_jest_runs_the_typescript_form(projects: Projects) -> None:
    command = ("npx", "jest", "--json", f"--testTimeout={LIMIT_MS}", "jest.test.ts")
    ended = ran(projects("node"), *command, **COMMAND)
    assert json.loads(ended.stdout)["numPassedTests"] == 13
    assert "did not exit" not in ended.stderr


def test_phpunit_runs_the_php_form(projects: Projects) -> None:
    command = ("phpunit", "--no-configuration", "ShopTest.php")
    ended = ran(projects("php"), *command, **COMMAND)
    assert "OK (13 tests" in ended.stdout, ended.stdout


def test_junit_runs_the_java_form(projects: Projects) -> None:
    options = ("-cp", "classes", "--select-class=ShopTest", "--select-class=PaymentTest")
    ended = ran(projects("java"), *JUNIT_CONSOLE, *options, **COMMAND)
    assert re.search(r"\b15 tests successful\b", ended.stdout), ended.stdout


def test_junit_has_options_of_serve_as_a_parameter(projects: Projects) -> None:
    options = ("-cp", "classes", "--config=payments_emulator_options=--port x")
    command = (*JUNIT_CONSOLE, *options, "--select-class=PaymentTest")
    ended = run_program(*command, directory=projects("java"), variables=COMMAND)
    assert "flag --port: found 'x', expected an integer" in ended.stdout


def test_go_test_runs_the_go_form(projects: Projects) -> None:
    """With the documented tests, which are in the same package."""
    project = projects("go")
    ran(project, "go", "vet", "./...", **GO)
    assert ran(project, "gofmt", "-l", ".").stdout == ""
    ended = ran(project, "go", "test", "-v", "-count=1", ".", **COMMAND, **GO)
    assert len(re.findall("^--- PASS: ", ended.stdout, re.MULTILINE)) == 14, ended.stdout


def test_the_documented_tests_pass(projects: Projects) -> None:
    """Those in Java and Go run with the shop's own."""
    command = ("node", "--test", "--test-reporter=tap", "compiled/payment.test.mjs")
    assert "\n# pass 2\n" in ran(projects("node"), *command, **COMMAND).stdout
    php = ran(projects("php"), "phpunit", "--no-configuration", "PaymentTest.php", **COMMAND)
    assert "OK (1 test" in php.stdout


def test_the_documented_helper_of_forty_lines_pays_in_ruby(tmp_path: Path) -> None:
    need("ruby")
    write_shown(tmp_path, "payments_emulator.rb", "payment_test.rb")
    assert len((tmp_path / "payments_emulator.rb").read_text().splitlines()) <= 40
    command = ("ruby", "-w", "payment_test.rb")
    assert (
        "\n2 runs, 2 assertions, 0 failures, 0 errors" in ran(tmp_path, *command, **COMMAND).stdout
    )
    with serving("--allow-http-localhost", logs=tmp_path) as server:
        variables = {"PAYMENTS_EMULATOR_URL": f"http://127.0.0.1:{server.api_port}/v1"}
        ran(tmp_path, *command, **variables)
        accounts = server.request("GET", "/_emulator/accounts").json["data"]
        assert len(accounts) == 2 + 2, "two of the emulator, and one for each test"


def test_the_javascript_form_is_the_typescript_form_without_types(projects: Projects) -> None:
    project = projects("node")
    options = ("--allowJs", "--removeComments", "--types", "node", "--skipLibCheck")
    options += ("--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler")
    compiled = []
    for name in ("payments-emulator.ts", "compiled/payments-emulator.js"):
        target = project / "compared" / Path(name).suffix
        ran(project, "npx", "tsc", *options, "--outDir", str(target), name)
        compiled.append((target / "payments-emulator.js").read_text())
    assert compiled[0] == compiled[1]


WRONG_USE = """
import { startEmulator } from "./compiled/payments-emulator.js";
const emulator = await startEmulator({ serve: ["--seed", "1"] });
const account = await emulator.createAccount({ seed: 1 });
account.pay((await account.payment("pay_1")).amount);
"""


def test_the_types_of_the_javascript_form_are_known_to_a_compiler(projects: Projects) -> None:
    project = projects("node")
    (project / "wrong.mjs").write_text(WRONG_USE)
    options = ("--allowJs", "--checkJs", "--strict", "--noEmit", "--types", "node")
    options += ("--target", "es2022", "--module", "nodenext")
    compiled = run_program("npx", "tsc", *options, "wrong.mjs", directory=project)
    assert compiled.stdout.splitlines() == [
        "wrong.mjs(5,13): error TS2345: Argument of type 'number' is not assignable to parameter"
        " of type 'string'."
    ]


MISTAKES = {
    "a command that does not exist": (
        {"PAYMENTS_EMULATOR_COMMAND": "no-such-command"},
        (),
        "the command 'no-such-command' was not found: install etb-payments-emulator or"
        " activate its Python environment, or set PAYMENTS_EMULATOR_COMMAND or"
        " PAYMENTS_EMULATOR_URL",
    ),
    "a server that ends": (
        COMMAND,
        ("--port", "x"),
        "serve' did not start: payments-emulator: flag --port: found 'x', expected an integer",
    ),
    "an address without a server": (
        {"PAYMENTS_EMULATOR_URL": "http://127.0.0.1:1"},
        (),
        "PAYMENTS_EMULATOR_URL is 'http://127.0.0.1:1': the payments emulator at http://127.0.0.1:1"
        " does not respond: ",
    ),
}


@each_language
@pytest.mark.parametrize(("variables", "options", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_failed_start_has_a_message_of_one_line(
    projects: Projects,
    language: str,
    variables: dict[str, str],
    options: tuple[str, ...],
    message: str,
) -> None:
    command = (*LANGUAGES[language].program, "start", "-", *options)
    [line] = ran(projects(language), *command, **variables).stdout.splitlines()
    assert message in line


@each_language
def test_a_running_emulator_is_used(projects: Projects, tmp_path: Path, language: str) -> None:
    with serving(logs=tmp_path) as server:
        url = f"http://127.0.0.1:{server.api_port}"
        variables = {"PAYMENTS_EMULATOR_URL": f"{url}/v1"}
        for host, expected in {
            "localhost": f"{url} http://127.0.0.1:{server.checkout_port} 0\n",
            "no-such-host.invalid": f"webhooks of the payments emulator at {url} do not reach",
        }.items():
            command = (*LANGUAGES[language].program, "start", host)
            assert ran(projects(language), *command, **variables).stdout.startswith(expected)
        assert server.request("GET", "/_emulator/health").status == HTTPStatus.OK


@each_language
def test_the_secret_of_the_variable_signs_the_webhooks(
    projects: Projects, tmp_path: Path, language: str
) -> None:
    secret = f"whsec_{'c2VjcmV0' * 4}"
    with serving(logs=tmp_path) as server:
        variables = {
            "PAYMENTS_EMULATOR_URL": f"http://127.0.0.1:{server.api_port}",
            "PAYMENTS_EMULATOR_WEBHOOK_SECRET": secret,
            # The first account does not have it, so the helper ignores it.
            "PAYMENTS_EMULATOR_TEST_KEY": "test_of_another_emulator",
        }
        command = (*LANGUAGES[language].program, "secrets", OWN_SECRET)
        ended = ran(projects(language), *command, **variables)
        assert ended.stdout.split() == [secret, secret, OWN_SECRET]


@each_language
async def test_tests_of_a_shop_with_the_key_of_the_variable_are_rehearsed(
    projects: Projects, language: str
) -> None:
    """They pass with an account each, and fail when payments do."""
    variables = [f"{name}={value}" for name, value in GO.items()]
    command = ("env", f"--chdir={projects(language)}", *variables, *PAYING[language])
    variants = [each for each in read_variants([])[0] if each.name == "payments-fail"]
    assert findings(await rehearse(command, variants)) == []


FORM_FILES = {
    "members": """
body: {event: "{event.type}", order: "{payment.metadata.order}", payment: "{payment}"}
signature:
  algorithm: hmac-sha256
  content: "{payment.metadata.order}|{payment.amount_birr}|{payment.method}|{id}|{timestamp}"
headers: {x-signature: "{signature}", x-id: "{id}", x-time: "{timestamp}"}
""",
    "token": """
signature: {algorithm: token, prefix: "Bearer "}
headers: {verif-hash: "{signature}"}
""",
}


@each_language
@pytest.mark.parametrize("name", [*SHIPPED_FORMS, *FORM_FILES])
def test_webhooks_are_read_and_verified_in_the_form_of_the_emulator(
    projects: Projects, language: str, name: str, tmp_path: Path
) -> None:
    if name in FORM_FILES:
        file = tmp_path / f"{name}.yaml"
        file.write_text(f"version: 1\nname: {name}{FORM_FILES[name]}")
        name = str(file)
    form = load_webhook_form(name)
    headers = ",".join(sorted({"content-type", "user-agent", *(name for name, _ in form.headers)}))
    types = [f"payment.{status}" for status in ("created", "processing", "completed")]
    lines = [
        f"{event_type} true {str(is_verified).lower()} {headers}"
        for is_verified in (form.is_signed, False)
        for event_type in types
        if form.sends(event_type)
    ]
    ended = ran(projects(language), *LANGUAGES[language].program, "forms", name, **COMMAND)
    assert ended.stdout.splitlines() == [*lines, "hex-header"]


@each_language
def test_the_emulator_ends_when_the_test_process_is_killed(
    projects: Projects, language: str
) -> None:
    with waiting_program(projects(language), language) as process:
        assert process.stdout is not None
        url = urlsplit(process.stdout.readline().split()[0])
        with socket.create_connection((url.hostname, url.port), HANGS_AFTER_S) as connection:
            process.kill()
            assert connection.recv(1) == b""


@contextmanager
def waiting_program(project: Path, language: str) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [*LANGUAGES[language].program, "wait"],
        cwd=project,
        env=environment(COMMAND),
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        try:
            yield process
        finally:
            process.kill()
