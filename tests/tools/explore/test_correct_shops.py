"""`explore` and `checklist` report nothing about a correct shop.

These are the shops of the guide to webhook handlers, and those of the zoo; `tests/examples` does
the same with the example shop.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import pytest
import yaml

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
from tests.tools.explore.zoo.exploration import explore, run_explore, start_shop
from tests.tools.explore.zoo.table import CORRECT_SHOPS, Shop
from tests.world import TEST_KEY

HANDLER_PAGE, EXPLORE_PAGE = "docs/guides/webhook-handlers.md", "docs/guides/explore.md"
# Without a disk, the transactions of a shop take no time.
MEMORY = "/dev/shm"  # noqa: S108 - a new directory of it
Integration = dict[str, Any]


QUICK_SHOPS = [shop for shop in CORRECT_SHOPS if not shop.is_slow]
each_handler = pytest.mark.parametrize("handler", HANDLERS, ids=language)


@pytest.fixture
def directory() -> Iterator[Path]:
    with TemporaryDirectory(dir=MEMORY if Path(MEMORY).is_dir() else None) as name:
        yield Path(name)


@pytest.fixture
def integration(
    handler: str, directory: Path, tmp_path_factory: pytest.TempPathFactory
) -> Integration:
    """The file of the guide to `explore`, for the shop of the guide that a command starts."""
    port = free_port()
    prepare(handler, directory, tmp_path_factory)
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


@pytest.mark.interop
@each_handler
def test_explore_reports_nothing(integration: Integration, directory: Path) -> None:
    """All histories of one anomaly."""
    file = directory / "integration.yaml"
    file.write_text(yaml.safe_dump(integration, sort_keys=False), encoding="utf-8")
    finding = run_explore(str(file), "--depth=1", directory=directory)
    assert finding.code == 0, finding.output


@pytest.mark.interop
@pytest.mark.parametrize("shop", QUICK_SHOPS, ids=lambda shop: shop.name)
def test_explore_reports_nothing_about_a_shop_of_the_zoo(shop: Shop, directory: Path) -> None:
    """All histories of one anomaly."""
    finding = explore(shop, directory, depth=1)
    assert finding.code == 0, finding.output


@pytest.mark.interop
@each_handler
def test_the_checklist_reports_nothing(integration: Integration, directory: Path) -> None:
    options = [f"--scenarios={REPOSITORY / 'scenarios'}", "--clock=frozen"]
    options.append("--allow-http-localhost")
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
    start = integration["start"]
    method, _, url = start["request"].partition(" ")
    response = httpx.request(method, url, json=start["json"], timeout=HANGS_AFTER_S)
    assert response.is_success, response.text
    send_what_is_due(server)
    if answer:
        submission = {"method": "telebirr", "phone": "0911000000"}
        control(server, "POST", "/payments/latest/pay", submission)
        send_what_is_due(server)
        control(server, "POST", "/payments/latest/answer", {"answer": answer})
        send_what_is_due(server)
    if status:
        control(server, "POST", "/payments/latest/transition", {"status": status})
        send_what_is_due(server)


def send_what_is_due(server: Server) -> None:
    control(server, "POST", "/clock/advance", {"seconds": 2})


def control(server: Server, method: str, path: str, body: Any = None) -> Any:
    answer = server.request(method, f"/_emulator{path}", body)
    assert answer.status < 300, answer.body
    return answer.json if answer.body else None


@contextmanager
def running(integration: Integration, server: Server, directory: Path) -> Iterator[None]:
    """The shop, configured as `explore` does it."""
    command = integration["run"]["command"]
    process = start_shop(command, server, TEST_KEY, SECRET, directory=directory)
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
