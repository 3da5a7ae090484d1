"""The helpers of `payments-emulator helper`: a shop's tests in each test runner."""

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from emulator.scenarios.webhook_form_file import SHIPPED_FORMS, shipped_form
from tests.cli.processes import HANGS_AFTER_S, environment, run, serving
from tests.docs.document import shown_file
from tests.interop.node import node_modules
from tests.interop.sdks.programs import need, ran

Options = dict[str, list[str]]

HERE = Path(__file__).parent
COMMAND = {"PAYMENTS_EMULATOR_COMMAND": f"{sys.executable} -m emulator"}
PACKAGES = (
    *("@babel/plugin-transform-modules-commonjs@7", "@babel/preset-typescript@7"),
    *("@jest/globals@30", "@types/node@20", "jest@30", "standardwebhooks@1", "typescript@5"),
    "vitest@4",
)
# They start an emulator with these options, print its addresses and wait until a signal.
PROGRAMS = {"node": ("node", "compiled/program.js"), "php": ("php", "program.php")}

OWN_SECRET = f"whsec_{'b3duIGtl' * 4}"
# They print the secrets of an account's webhooks, of an endpoint, and of one with its own secret.
SECRETS = {
    "node": (
        "compiled/secrets.js",
        f"""
import {{ startEmulator }} from "./payments-emulator.js";
const emulator = await startEmulator();
const account = await emulator.createAccount();
const shop = await account.deliverTo("http://127.0.0.1:9/a");
const own = await account.deliverTo("http://127.0.0.1:9/b", "{OWN_SECRET}");
console.log(account.webhookSecret, shop.secret, own.secret);
await emulator.stop();
""",
    ),
    "php": (
        "secrets.php",
        f"""<?php
require 'PaymentsEmulator.php';
$account = PaymentsEmulator::start()->createAccount();
$shop = $account->deliverTo('http://127.0.0.1:9/a');
$own = $account->deliverTo('http://127.0.0.1:9/b', '{OWN_SECRET}');
echo "{{$account->webhookSecret}} {{$shop['secret']}} {{$own['secret']}}";
""",
    ),
}

# With webhooks in a form, they print those of a payment, then those of one with a changed body, and
# the headers of an endpoint in the form `hex-header`.
FORMS = {
    "node": (
        "compiled/forms.js",
        """
import { startEmulator } from "./payments-emulator.js";
import { Shop } from "./shop.js";
const emulator = await startEmulator({ serve: [`--webhook-format=${process.argv[2]}`] });
const account = await emulator.createAccount();
const pay = async (order) => {
  const { id } = await new Shop(account).order(order);
  await account.pay(id);
  for (const { type, payment, isVerified, headers } of await account.newWebhooks())
    console.log(type, payment === id, isVerified, Object.keys(headers).sort().join());
};
await pay("1");
const rule = { when: {}, then: { tamper: "body" } };
await account.control("PUT", "/scenarios/forged", { name: "forged", webhooks: [rule] });
await pay("2");
const { format } = await account.deliverTo("http://127.0.0.1:9/a", "a".repeat(24), "hex-header");
console.log(format.name);
await emulator.stop();
""",
    ),
    "php": (
        "forms.php",
        """<?php
require 'PaymentsEmulator.php';
require 'Shop.php';
$account = PaymentsEmulator::start(["--webhook-format=$argv[1]"])->createAccount();
function pay(PaymentsAccount $account, string $order): void
{
    $id = (new Shop($account->baseUrl, $account->testKey))->order($order)['id'];
    $account->pay($id);
    foreach ($account->newWebhooks() as $webhook) {
        $names = array_keys($webhook->headers);
        sort($names);
        $flags = array_map('json_encode', [$webhook->payment === $id, $webhook->isVerified]);
        echo implode(' ', [$webhook->type, ...$flags, implode(',', $names)]), "\n";
    }
}
pay($account, '1');
$rule = ['when' => (object) [], 'then' => ['tamper' => 'body']];
$forged = ['name' => 'forged', 'webhooks' => [$rule]];
$account->control('PUT', '/scenarios/forged', $forged);
pay($account, '2');
$endpoint = $account->deliverTo('http://127.0.0.1:9/a', str_repeat('a', 24), 'hex-header');
echo $endpoint['format']['name'], "\n";
""",
    ),
}


def printed(*arguments: str) -> str:
    ended = run("helper", *arguments)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with both helpers, the shops and their tests; TypeScript is compiled.

    The options of `tsconfig.json` are the strictest that a merchant's project can have.
    """
    need("node", "npx", "php")
    directory = tmp_path_factory.mktemp("shop")
    for path in [path for ending in ("ts", "php", "json") for path in HERE.glob(f"*.{ending}")]:
        shutil.copy(path, directory)
    (directory / "payments-emulator.ts").write_text(printed("node"))
    (directory / "PaymentsEmulator.php").write_text(printed("php"))
    (directory / "node_modules").symlink_to(node_modules(tmp_path_factory, *PACKAGES))
    ran(directory, "npx", "tsc")
    for name in ("payments-emulator.js", "payments-emulator.mjs"):
        (directory / "compiled" / name).write_text(printed("node", "--js"))
    shutil.copy(HERE / "program.js", directory / "compiled")
    for name in ("compiled/payment.test.mjs", "PaymentTest.php"):
        (directory / name).write_text(shown_file(Path(name).name).text)
    return directory


def test_node_test_runs_the_javascript_form(project: Path) -> None:
    command = ("node", "--test", "--test-reporter=tap", "compiled/node.test.js")
    assert "\n# pass 13\n" in ran(project, *command, **COMMAND).stdout


def test_vitest_runs_the_typescript_form(project: Path) -> None:
    command = ("npx", "vitest", "run", "--reporter=json", "vitest.test.ts")
    assert json.loads(ran(project, *command, **COMMAND).stdout)["numPassedTests"] == 13


def test_jest_runs_the_typescript_form(project: Path) -> None:
    ended = ran(project, "npx", "jest", "--json", "jest.test.ts", **COMMAND)
    assert json.loads(ended.stdout)["numPassedTests"] == 13
    assert "did not exit" not in ended.stderr


def test_phpunit_runs_the_php_form(project: Path) -> None:
    assert shutil.which("phpunit"), "not on this machine: Debian's package phpunit"
    ended = ran(project, "phpunit", "--no-configuration", "ShopTest.php", **COMMAND)
    assert "OK (13 tests" in ended.stdout, ended.stdout


def test_the_documented_tests_pass(project: Path) -> None:
    node = ran(
        project, "node", "--test", "--test-reporter=tap", "compiled/payment.test.mjs", **COMMAND
    )
    assert "\n# pass 2\n" in node.stdout
    php = ran(project, "phpunit", "--no-configuration", "PaymentTest.php", **COMMAND)
    assert "OK (1 test" in php.stdout


def test_the_javascript_form_is_the_typescript_form_without_types(project: Path) -> None:
    options = ("--allowJs", "--removeComments", "--types", "node", "--skipLibCheck")
    options += ("--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler")
    compiled = []
    for name in ("payments-emulator.ts", "compiled/payments-emulator.js"):
        target = project / "compared" / Path(name).suffix
        ran(project, "npx", "tsc", *options, "--outDir", str(target), name)
        compiled.append((target / "payments-emulator.js").read_text())
    assert compiled[0] == compiled[1]


MISTAKES = {
    "a command that does not exist": (
        {"PAYMENTS_EMULATOR_COMMAND": "no-such-command"},
        {},
        "the command 'no-such-command' was not found: install etb-payments-emulator or"
        " activate its Python environment, or set PAYMENTS_EMULATOR_COMMAND or"
        " PAYMENTS_EMULATOR_URL",
    ),
    "a server that ends": (
        COMMAND,
        {"serve": ["--port", "x"]},
        "serve' did not start: payments-emulator: flag --port: found 'x', expected an integer",
    ),
    "an address without a server": (
        {"PAYMENTS_EMULATOR_URL": "http://127.0.0.1:1"},
        {},
        "PAYMENTS_EMULATOR_URL is 'http://127.0.0.1:1': the payments emulator at http://127.0.0.1:1"
        " does not respond: ",
    ),
}


@pytest.mark.parametrize("language", PROGRAMS)
@pytest.mark.parametrize(("variables", "options", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_failed_start_has_a_message_of_one_line(
    project: Path, language: str, variables: dict[str, str], options: Options, message: str
) -> None:
    command = (*PROGRAMS[language], json.dumps(options))
    [line] = ran(project, *command, **variables).stdout.splitlines()
    assert message in line


@pytest.mark.parametrize("language", PROGRAMS)
def test_a_running_emulator_is_used(project: Path, tmp_path: Path, language: str) -> None:
    with serving(logs=tmp_path) as server:
        url = f"http://127.0.0.1:{server.api_port}"
        variables = {"PAYMENTS_EMULATOR_URL": f"{url}/v1"}
        for host, expected in {
            "localhost": f"{url} http://127.0.0.1:{server.checkout_port} 0\n",
            "no-such-host.invalid": f"webhooks of the payments emulator at {url} do not reach",
        }.items():
            command = (*PROGRAMS[language], json.dumps({"webhookHost": host}))
            assert ran(project, *command, **variables).stdout.startswith(expected)
        assert server.request("GET", "/_emulator/health").status == HTTPStatus.OK


@pytest.mark.parametrize("language", SECRETS)
def test_the_secret_of_the_variable_signs_the_webhooks(
    project: Path, tmp_path: Path, language: str
) -> None:
    file, source = SECRETS[language]
    (project / file).write_text(source)
    secret = f"whsec_{'c2VjcmV0' * 4}"
    with serving(logs=tmp_path) as server:
        variables = {
            "PAYMENTS_EMULATOR_URL": f"http://127.0.0.1:{server.api_port}",
            "PAYMENTS_EMULATOR_WEBHOOK_SECRET": secret,
        }
        ended = ran(project, PROGRAMS[language][0], file, **variables)
        assert ended.stdout.split() == [secret, secret, OWN_SECRET]


@pytest.mark.parametrize("language", FORMS)
@pytest.mark.parametrize("name", SHIPPED_FORMS)
def test_webhooks_are_read_and_verified_in_the_form_of_the_emulator(
    project: Path, language: str, name: str
) -> None:
    file, source = FORMS[language]
    (project / file).write_text(source)
    form = shipped_form(name)
    headers = ",".join(sorted({"content-type", "user-agent", *(name for name, _ in form.headers)}))
    types = [f"payment.{status}" for status in ("created", "processing", "completed")]
    lines = [
        f"{event_type} true {str(is_verified).lower()} {headers}"
        for is_verified in (form.is_signed, False)
        for event_type in types
        if form.sends(event_type)
    ]
    ended = ran(project, PROGRAMS[language][0], file, name, **COMMAND)
    assert ended.stdout.splitlines() == [*lines, "hex-header"]


@pytest.mark.parametrize("language", PROGRAMS)
def test_the_emulator_ends_when_the_test_process_is_killed(project: Path, language: str) -> None:
    with waiting_program(project, language) as process:
        assert process.stdout is not None
        url = urlsplit(process.stdout.readline().split()[0])
        with socket.create_connection((url.hostname, url.port), HANGS_AFTER_S) as connection:
            process.kill()
            assert connection.recv(1) == b""


@contextmanager
def waiting_program(project: Path, language: str) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [*PROGRAMS[language], "{}", "wait"],
        cwd=project,
        env=environment(COMMAND),
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        try:
            yield process
        finally:
            process.kill()
