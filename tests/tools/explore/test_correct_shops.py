"""`explore` and `checklist` report nothing about a correct shop.

These are the shops of the guide to webhook handlers, the example shop, and those of the zoo.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import pytest
import yaml

from emulator.tools.explore.response_value import read_path
from tests.cli.processes import (
    HANGS_AFTER_S,
    REPOSITORY,
    SHARED_HANGS_AFTER_S,
    Server,
    free_port,
    listens,
    serving,
    wait_for,
)
from tests.docs.document import Kind, sections_of
from tests.docs.live import HANDLER_PORT, write_files
from tests.docs.shops import HANDLERS, language, prepare
from tests.tools.explore.small_shop import SECRET
from tests.tools.explore.zoo.exploration import explore, run_explore
from tests.tools.explore.zoo.table import CORRECT_SHOPS, Shop
from tests.world import TEST_KEY

HANDLER_PAGE, EXPLORE_PAGE = "docs/guides/webhook-handlers.md", "docs/guides/explore.md"
EXAMPLE_SHOP = REPOSITORY / "tests/examples/program.py"
# Without a disk, the transactions of a shop take no time.
MEMORY = "/dev/shm"  # noqa: S108 - a new directory of it
Integration = dict[str, Any]
Prepare = Callable[[Path, int, pytest.TempPathFactory], Integration]


def of_handler(handler: str) -> Prepare:
    """The shop of the guide that a command starts, with the file of the guide to `explore`."""

    def write(directory: Path, port: int, factory: pytest.TempPathFactory) -> Integration:
        prepare(handler, directory, factory)
        ports = {HANDLER_PORT: port}
        write_files(sections_of(HANDLER_PAGE)[0].files, directory, ports)
        shown = sections_of(EXPLORE_PAGE)[0].files["handler.yaml"]
        write_files({"handler.yaml": shown}, directory, ports)
        document: Integration = yaml.safe_load((directory / "handler.yaml").read_text())
        _, _, command = handler.strip().partition(" ")
        command = command.replace(str(HANDLER_PORT), str(port))
        command = command.replace("python ", f"{sys.executable} ")
        line = document["run"]["command"]
        document["run"]["command"] = line.replace("python webhooks.py", command)
        return document

    return write


def of_example(_directory: Path, port: int, _factory: pytest.TempPathFactory) -> Integration:
    url = f"http://127.0.0.1:{port}"
    return {
        "version": 1,
        "name": "example",
        "start": {
            "request": f"POST {url}/orders",
            "json": {"amount": 15_000},
            "order": "$.order",
            "checkout_url": "$.pay_at",
        },
        "state": {
            "request": f"GET {url}/orders/{{order}}",
            "paid": {"path": "$.state", "in": ["paid"]},
            "fulfilled": {"path": "$.parcels"},
            "closed": {"path": "$.state", "in": ["failed", "expired"]},
            "refunded": {"path": "$.state", "in": ["refunded"]},
        },
        "webhook": f"{url}/webhooks",
        "run": {"command": f"exec {sys.executable} {EXAMPLE_SHOP} {port}"},
    }


SHOPS = [
    *(pytest.param(of_handler(handler), id=language(handler)) for handler in HANDLERS),
    pytest.param(of_example, id="example"),
]


@pytest.fixture
def directory() -> Iterator[Path]:
    with TemporaryDirectory(dir=MEMORY if Path(MEMORY).is_dir() else None) as name:
        yield Path(name)


@pytest.fixture
def integration(
    write: Prepare, directory: Path, tmp_path_factory: pytest.TempPathFactory
) -> Integration:
    port = free_port()
    return write(directory, port, tmp_path_factory)


@pytest.mark.interop
@pytest.mark.parametrize("write", SHOPS)
def test_explore_reports_nothing(integration: Integration, directory: Path) -> None:
    """All histories of one anomaly."""
    file = directory / "integration.yaml"
    file.write_text(yaml.safe_dump(integration, sort_keys=False), encoding="utf-8")
    finding = run_explore(str(file), "--depth=1", directory=directory)
    assert finding.code == 0, finding.output


@pytest.mark.interop
@pytest.mark.parametrize("shop", CORRECT_SHOPS, ids=lambda shop: shop.name)
def test_explore_reports_nothing_about_a_shop_of_the_zoo(shop: Shop, directory: Path) -> None:
    """All histories of one anomaly."""
    finding = explore(shop, directory, depth=1)
    assert finding.code == 0, finding.output


@pytest.mark.interop
@pytest.mark.parametrize("write", SHOPS)
def test_the_checklist_reports_nothing(integration: Integration, directory: Path) -> None:
    options = [f"--scenarios={REPOSITORY / 'scenarios'}", "--clock=frozen"]
    options.append("--allow-http-localhost")
    if "webhook" in integration:
        options += [f"--webhook-url={integration['webhook']}", f"--webhook-secret={SECRET}"]
    with (
        serving(*options, logs=directory, hangs_after_s=SHARED_HANGS_AFTER_S) as server,
        running(integration, server, directory),
    ):
        buy_everything(server, integration)
        items = control(server, "GET", "/checklist")["data"]
    results = {item["id"]: item["result"] for item in items}
    assert [item for item in items if item["result"] == "failed"] == []
    assert results["create-idempotent"] == results["create-retried"] == "passed"
    assert results["retry-after"] == "passed"
    if "webhook" in integration:
        exercised = [results[f"webhook-{name}"] for name in ("signature", "duplicate", "order")]
        assert exercised == ["passed"] * 3


DISTURBANCES = ["duplicate-webhooks", "out-of-order-webhooks", "forged-webhooks"]
FAULTS = [
    {"status": 500, "point": "before_commit"},
    {"drop": True, "point": "after_commit"},
    {"status": 429, "retry_after": 1},
]


def buy_everything(server: Server, integration: Integration) -> None:
    """Each outcome, with disturbed webhooks and failing creates."""
    for fault in FAULTS:
        rule = {"when": {"request": "create_payment"}, "then": fault, "times": 1}
        control(server, "POST", "/faults", rule)
        buy(server, integration, "approve")
    for name in DISTURBANCES:
        control(server, "PUT", f"/scenarios/{name}/enabled", {"enabled": True})
        buy(server, integration, "approve", "refunded")
        buy(server, integration, "cancel")
        buy(server, integration, "", "expired")
        control(server, "PUT", f"/scenarios/{name}/enabled", {"enabled": False})
    control(server, "POST", "/clock/advance", {"seconds": 120})


def buy(server: Server, integration: Integration, answer: str, status: str = "") -> None:
    """An order whose customer answers, and whose payment then has a status."""
    started = request_of_shop(integration["start"])
    order = str(read_path(integration["start"]["order"], started))
    settle(server, integration, order)
    if answer:
        submission = {"method": "telebirr", "phone": "0911000000"}
        control(server, "POST", "/payments/latest/pay", submission)
        settle(server, integration, order)
        control(server, "POST", "/payments/latest/answer", {"answer": answer})
        settle(server, integration, order)
    if status:
        control(server, "POST", "/payments/latest/transition", {"status": status})
        settle(server, integration, order)


def settle(server: Server, integration: Integration, order: str) -> None:
    """What is due has been sent; then the shop's job runs, two seconds after the last time."""
    control(server, "POST", "/clock/advance", {"seconds": 2})
    if "settle" in integration:
        request_of_shop(integration["settle"], order)


def request_of_shop(request: dict[str, Any], order: str = "") -> Any:
    method, _, url = request["request"].partition(" ")
    url = url.replace("{order}", order)
    response = httpx.request(method, url, json=request.get("json"), timeout=HANGS_AFTER_S)
    assert response.is_success, response.text
    return response.json()


def control(server: Server, method: str, path: str, body: Any = None) -> Any:
    answer = server.request(method, f"/_emulator{path}", body)
    assert answer.status < 300, answer.body
    return answer.json if answer.body else None


@contextmanager
def running(integration: Integration, server: Server, directory: Path) -> Iterator[None]:
    """The shop, configured as `explore` does it."""
    variables = {
        "PAYMENTS_EMULATOR_URL": f"http://127.0.0.1:{server.api_port}",
        "PAYMENTS_EMULATOR_TEST_KEY": TEST_KEY,
        "PAYMENTS_EMULATOR_WEBHOOK_SECRET": SECRET,
    }
    with (directory / "shop.log").open("w") as log:
        process = subprocess.Popen(
            ["/bin/sh", "-c", integration["run"]["command"]],
            cwd=directory,
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            start_new_session=True,
        )
    port = int(integration["start"]["request"].split(":")[2].split("/")[0])
    try:
        wait_for(process, lambda: listens(port))
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_the_file_for_the_handlers_is_shown() -> None:
    shown = sections_of(EXPLORE_PAGE)[0].files["handler.yaml"]
    assert (shown.kind, "python webhooks.py" in shown.text) == (Kind.FILE, True)
