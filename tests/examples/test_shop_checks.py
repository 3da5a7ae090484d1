"""What `explore`, `rehearse` and the checklist find in the shop: nothing."""

import asyncio
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from string import Template

import httpx
import pytest
from conftest import serving_shop
from etb_payments_emulator_pytest import PaymentsAccount

from tests.cli.invocation import output
from tests.cli.processes import free_port

PROGRAM = Path(__file__).with_name("program.py")
INTEGRATION = Template(PROGRAM.with_name("integration.yaml").read_text(encoding="utf-8"))
DISTURBANCES = ("forged-webhooks", "duplicate-webhooks", "out-of-order-webhooks", "lost-answer")

pytestmark = pytest.mark.deep


def test_no_history_of_one_anomaly_fails(tmp_path: Path) -> None:
    file = tmp_path / "integration.yaml"
    paths = {"python": sys.executable, "program": PROGRAM, "port": free_port()}
    file.write_text(INTEGRATION.safe_substitute(paths))
    code, text = output("explore", str(file), "--port", "0", "--checkout-port", "0", "--depth", "1")
    assert (code, "none failed" in text) == (0, True), text


def test_no_variant_of_a_rehearsal_is_a_finding() -> None:
    """The tests notice all false answers, and the shop survives all disturbances."""
    suite = [sys.executable, "-m", "pytest", "-q", "-n0", str(PROGRAM.with_name("test_shop.py"))]
    variables = {name: "" for name in os.environ if name.startswith("PYTEST_")}
    code, text = output("rehearse", "--jobs", "2", "--", *suite, variables=variables)
    assert code == 0, text


@pytest.fixture
def waiting_shop(payments_account: PaymentsAccount) -> Iterator[httpx.Client]:
    """The shop, which waits in real time before it repeats a request."""
    with serving_shop(payments_account, asyncio.sleep) as browser:  # noqa: TID251 - as it is used
        yield browser


def test_no_item_of_the_checklist_fails(
    waiting_shop: httpx.Client, payments_account: PaymentsAccount
) -> None:
    payments_account.fault("create_payment", status=429, retry_after=1)
    for scenario in DISTURBANCES:
        payments_account.use_scenario(scenario)
        waiting_shop.post("/orders", json={"amount": 15_000})
        payments_account.pay(payments_account.payments[-1]["id"])
        payments_account.advance("10m")
        payments_account.control("PUT", f"/scenarios/{scenario}/enabled", {"enabled": False})
    results = {item["id"]: item["result"] for item in payments_account.checklist()}
    assert [item for item, result in results.items() if result == "failed"] == []
    assert [item for item, result in results.items() if result == "not_exercised"] == [
        "verified-before-paid"
    ]
