"""Suites of one shop, and flaws of this shop, in rehearsals with the shipped variants."""

import sys

import pytest

from emulator.reporting import PLAIN
from emulator.scenarios.values import VariantKind
from emulator.tools.rehearse.report import table_lines
from tests.tools.rehearse.rehearsals import (
    COMPLETE,
    GOOD,
    HAPPY,
    SHOP_SUITE,
    findings,
    rehearse,
    shipped,
)

pytestmark = pytest.mark.deep

UNNOTICED = {
    HAPPY: ["completed-webhook-lost", "payments-complete", "webhooks-forged", "webhooks-lost"],
    GOOD: ["payments-complete"],
    COMPLETE: [],
}


@pytest.mark.parametrize(
    "tests",
    [
        pytest.param(HAPPY, id="happy"),
        pytest.param(GOOD, id="good"),
        pytest.param(COMPLETE, id="complete"),
    ],
)
async def test_a_stronger_suite_misses_fewer_false_answers(tests: tuple[str, ...]) -> None:
    run = await rehearse([*SHOP_SUITE, *tests], shipped(VariantKind.FALSE_ANSWER))
    assert findings(run) == UNNOTICED[tests]


async def test_a_suite_of_a_shop_that_accepts_forged_webhooks_does_not_notice_them() -> None:
    run = await rehearse(
        [*SHOP_SUITE, "accepts-forged", *COMPLETE], shipped(VariantKind.FALSE_ANSWER)
    )
    assert findings(run) == ["webhooks-forged"]


async def test_a_shop_without_retries_does_not_survive_failing_creates() -> None:
    run = await rehearse([*SHOP_SUITE, "no-retry", *COMPLETE], shipped(VariantKind.DISTURBANCE))
    creates = ["create-429", "create-500-after-commit", "create-500-before-commit"]
    creates += ["create-502", "create-cut"]
    assert findings(run) == creates
    failed = {result.variant: result.failed_tests for result in run.results}
    # Only the first create of the account is answered 429.
    assert len(failed["create-429"]) == 1
    assert len(failed["create-cut"]) == 2
    assert failed["webhooks-twice"] == []


async def test_a_shop_that_knows_all_members_does_not_survive_another_one() -> None:
    variants = {variant.name: variant for variant in shipped(VariantKind.DISTURBANCE)}
    chosen = [variants[name] for name in ("member-in-payment", "member-order", "unknown-event")]
    run = await rehearse([*SHOP_SUITE, "knows-members", *HAPPY], chosen)
    assert findings(run) == ["member-in-payment"]
    [line] = [line for line in table_lines(run, PLAIN) if "option:" in line]
    assert line.strip() == "option: --vary member-in-payment"


FAILS_WITH_TWO_FORMS = """
import json, os, urllib.request
headers = {"Authorization": "Bearer " + os.environ["PAYMENTS_EMULATOR_TEST_KEY"]}
url = os.environ["PAYMENTS_EMULATOR_URL"] + "/_emulator/accounts"
with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as response:
    accounts = json.load(response)["data"]
api = os.environ["PAYMENTS_EMULATOR_URL"] + "/v1/payments"
urllib.request.urlopen(urllib.request.Request(api, headers=headers)).close()
raise SystemExit({"member-in-payment", "charset"} <= {*accounts[-1]["vary"].split(",")})
"""


async def test_forms_that_fail_only_at_once_are_reported_together() -> None:
    variants = {variant.name: variant for variant in shipped(VariantKind.DISTURBANCE)}
    chosen = [variants[name] for name in ("member-in-payment", "charset")]
    run = await rehearse([sys.executable, "-S", "-E", "-c", FAILS_WITH_TWO_FORMS], chosen)
    assert findings(run) == ["combined-forms"]
    assert run.is_complete
    [line] = [line for line in table_lines(run, PLAIN) if "option:" in line]
    assert line.strip() == "option: --vary member-in-payment,charset"
