"""The webhook handlers of the guide, in applications of their frameworks."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from emulator.clock import RealClock
from emulator.http.webhook_messages import Message, webhook_request
from tests.cli.processes import (
    HANGS_AFTER_S,
    SHARED_HANGS_AFTER_S,
    Server,
    run_program,
    serving,
    wait_for,
)
from tests.docs.document import Block, Kind, sections_of, shown_file, text_of
from tests.docs.live import handling
from tests.docs.test_handlers import NEW_SECRET, call, deliveries, send_signed, settle, statuses
from tests.interop.frameworks.gate import gate_before
from tests.interop.node import STANDARD_WEBHOOKS, node_modules
from tests.world import TEST_KEY

PAGE = "docs/guides/frameworks.md"
FUNCTIONS_PAGE = "docs/guides/frameworks-php-ruby-java-go.md"
APPLICATIONS = Path(__file__).parent / "frameworks"
SECRET = f"whsec_{'B' * 32}"
APPROVES = "0900000001"
URL = "http://127.0.0.1:4000/webhooks"
NODE_PACKAGES = ("express@5", "fastify@5", STANDARD_WEBHOOKS)
NEXT_PACKAGES = ("next@16", "react@19", "react-dom@19", STANDARD_WEBHOOKS)
NEST_PACKAGES = (
    *("@nestjs/common@11", "@nestjs/core@11", "@nestjs/platform-express@11", "@types/node@20"),
    *("reflect-metadata@0.2", "rxjs@7", "typescript@5", STANDARD_WEBHOOKS),
)
NO_TOKEN = {400, 403, 419, 422}
AS_JSON = {"Accept": "application/json"}
PHP = "php -S 127.0.0.1:4000"


@dataclass(frozen=True, kw_only=True)
class Framework:
    """How an application starts; without `command`, as the guide says, by a word of the command."""

    name: str
    command: str = ""
    shown_command: str = ""
    protects_forms: bool = False
    """Whether the application refuses a request to `/orders` without a CSRF token."""
    npm_packages: tuple[str, ...] = ()


FRAMEWORKS = [
    Framework(name="Django", command="python django_project.py", protects_forms=True),
    Framework(
        name="Flask",
        command="flask --app flask_project run --port 4000",
        protects_forms=True,
    ),
    Framework(name="FastAPI", shown_command="uvicorn"),
    Framework(
        name="Express", shown_command="node express_webhooks.mjs", npm_packages=NODE_PACKAGES
    ),
    Framework(
        name="Fastify", shown_command="node fastify_webhooks.mjs", npm_packages=NODE_PACKAGES
    ),
    # Next.js and NestJS run as in production: built once, and started.
    Framework(
        name="Next.js",
        command="mkdir -p app/webhooks && mv route.js app/webhooks && npx next build --webpack && "
        "npx next start -H 127.0.0.1 -p 4000",
        npm_packages=NEXT_PACKAGES,
    ),
    Framework(
        name="NestJS",
        command="npx tsc -p nest.json && node dist/main.js",
        npm_packages=NEST_PACKAGES,
    ),
    Framework(
        name="Laravel",
        command="php laravel.php migrate && "
        f"(php laravel.php queue:work --sleep=0.1 --tries=10 --backoff=30 & {PHP} laravel.php)",
        protects_forms=True,
    ),
    Framework(
        name="Symfony",
        # The worker ends when SQLite is busy, and is then started again.
        command="php symfony.php migrate && php symfony.php messenger:setup-transports && "
        "(while :; do php symfony.php messenger:consume async --sleep=0.1; done & "
        f"{PHP} symfony.php)",
    ),
    Framework(name="Rails", command="puma --bind tcp://127.0.0.1:4000", protects_forms=True),
    Framework(name="Go", shown_command="go run"),
]


def command_of(framework: Framework) -> str:
    """The command of the guide, or one for the application around the guide's files."""
    if framework.command:
        return framework.command
    start = re.escape(framework.shown_command)
    [found] = re.findall(rf"^{start}\b.*\n", text_of(PAGE), re.MULTILINE)
    return str(found).strip()


def files_of() -> dict[str, Block]:
    """The files of both guides, and those of the applications."""
    handler = shown_file("webhooks.php").text
    [verified] = re.findall(r"^function verified\(.*?^\}\n", handler, re.MULTILINE | re.DOTALL)
    own = {path.name: path.read_text(encoding="utf-8") for path in APPLICATIONS.glob("*.*")}
    own["verified.php"] = f"<?php\n\n{verified}"
    blocks = {name: Block(kind=Kind.FILE, text=text, name=name) for name, text in own.items()}
    del blocks["__init__.py"], blocks["gate.py"]
    return blocks | sections_of(PAGE)[0].files | sections_of(FUNCTIONS_PAGE)[0].files


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    logs = tmp_path_factory.mktemp("serve")
    with serving("--clock=frozen", logs=logs, hangs_after_s=SHARED_HANGS_AFTER_S) as server:
        yield server


@pytest.mark.parametrize("framework", FRAMEWORKS, ids=lambda framework: framework.name)
def test_a_handler_responds_before_its_work_and_does_it_once(
    framework: Framework, server: Server, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if framework.npm_packages:
        modules = node_modules(tmp_path_factory, *framework.npm_packages)
        (tmp_path / "node_modules").symlink_to(modules)
    assert server.request("POST", "/_emulator/reset").status == 204
    with gate_before(server) as gate:
        settings = f"WEBHOOK_SECRET={SECRET} PAYMENTS_URL={gate.url} PAYMENTS_KEY={TEST_KEY}"
        command = f"{settings} SECRET_KEY=any sh -c '{command_of(framework)}'"
        with handling(command, server, tmp_path, files_of()) as listening:

            def printed() -> list[str]:
                return re.findall(r"pay_\w+ is \w+", listening.printed)

            endpoint = call(server, "/webhook_endpoints", {"url": listening.url, "secret": SECRET})
            payment = server.create()["id"]
            settle(server)
            [created] = deliveries(server)
            assert (created["status"], statuses(created)) == ("succeeded", {204})
            repeated = call(server, f"/deliveries/{created['id']}/resend")
            assert [each["status"] for each in repeated["attempts"]] == [204, 204]
            assert printed() == [], "the work cannot be done while the gate is closed"

            gate.open()
            wait_for(listening.process, lambda: bool(printed()))
            call(server, "/payments/latest/pay", {"method": "telebirr", "phone": APPROVES})
            settle(server)
            ping = call(server, f"/webhook_endpoints/{endpoint['id']}/ping")
            assert statuses(ping) == {204}
            wait_for(listening.process, lambda: len(printed()) >= 3)
            changes = ["pending", "completed", "completed"]
            assert printed() == [f"{payment} is {status}" for status in changes]

            assert send_signed(listening.url, [NEW_SECRET]) == 400
            assert send_signed(listening.url, [NEW_SECRET, SECRET]) == 204, "during a rotation"
            assert send_signed(listening.url, [SECRET], age_s=600) == 400
            assert send_signed(listening.url, [SECRET], changed={"webhook-timestamp": "now"}) == 400
            if framework.protects_forms:
                url = listening.url.replace("/webhooks", "/orders")
                refused = httpx.post(url, headers=AS_JSON, timeout=HANGS_AFTER_S)
                assert refused.status_code in NO_TOKEN, refused.text


def test_the_function_in_java_accepts_genuine_webhooks_only(tmp_path: Path) -> None:
    """The controller for Spring, which calls the function, is not run."""
    for name in ("WebhookSignature.java", "Verify.java"):
        text = files_of()[name].text
        (tmp_path / name).write_text(text, encoding="utf-8")
    compiled = run_program("javac", "-Xlint:all", "-Werror", "Verify.java", directory=tmp_path)
    assert compiled.returncode == 0, compiled.stderr
    now_s = RealClock().system_ms() // 1000
    body = '{"order": 1}'

    def webhook(*secrets: str, age_s: int = 0, sent: str = body, **headers: str) -> list[str]:
        message = Message(event_id="evt_1", timestamp_s=now_s - age_s, body=body.encode())
        signed = dict(webhook_request(message, url=URL, secrets=secrets).headers)
        changed = signed | {f"webhook-{name}": value for name, value in headers.items()}
        return [sent, *(changed[f"webhook-{name}"] for name in ("id", "timestamp", "signature"))]

    genuine = [webhook(SECRET), webhook(NEW_SECRET, SECRET)]
    forged = [
        webhook(NEW_SECRET),
        webhook(SECRET, sent=body.replace("1", "2")),
        webhook(SECRET, id="evt_2"),
        webhook(SECRET, age_s=600),
        webhook(SECRET, age_s=-600),
        webhook(SECRET, timestamp="now"),
        webhook(SECRET, signature=""),
    ]
    words = [word for each in [*genuine, *forged] for word in each]
    ended = run_program("java", "Verify", SECRET, *words, directory=tmp_path)
    assert ended.stdout.split() == ["true"] * len(genuine) + ["false"] * len(forged), ended.stderr
