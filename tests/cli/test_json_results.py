"""`--json` writes what `schema --results` declares, and `summary` prints it."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from emulator.scenarios.values import VariantKind
from emulator.tools.json_results import (
    ExploredHistory,
    ExploreResults,
    RehearsedVariant,
    RehearseResults,
    digest,
    summary_tables,
)
from emulator.tools.rehearse import report as rehearsal_report
from emulator.tools.rehearse.variants import Variant
from tests.cli.invocation import invoke, output, usage_error
from tests.cli.processes import Server
from tests.tools.explore.small_shop import SmallShop, small_shop
from tests.tools.rehearse.rehearsals import SHOP_SUITE, rehearse
from tests.world import order

WRONG_SECRET = "whsec_AAEDAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g"  # noqa: S105 - that of a test


@pytest.fixture(scope="module")
def validator() -> Any:
    return jsonschema_rs.Draft202012Validator(json.loads(output("schema", "--results")[1]))


def explore(shop: SmallShop, directory: Path, *arguments: str) -> Any:
    """The results of a run with `--json -`, which prints nothing else on standard output."""
    saved = ("--save", str(directory / "saved"))
    flags = (*shop.flags, "--depth", "0", *saved, "--json", "-")
    return json.loads(invoke("explore", *flags, *arguments).stdout)


def test_checklist_writes_what_the_schema_declares(server: Server, validator: Any) -> None:
    assert server.request("POST", "/v1/payments", order()).status == 201
    document = json.loads(invoke("checklist", "--url", server.url, "--json", "-").stdout)
    validator.validate(document)
    assert document["type"] == "checklist"
    assert [each["what_to_do"] is not None for each in document["results"]] == [True] * 10
    assert document["is_complete"] is True


def test_explore_writes_a_failure_and_then_that_it_is_fixed(tmp_path: Path, validator: Any) -> None:
    with small_shop() as shop:
        file = shop.write(tmp_path)
        found = explore(shop, tmp_path, file, "--webhook-secret", WRONG_SECRET)
        [failed] = [each for each in found["results"] if each["result"] == "failed"]
        fixed = explore(shop, tmp_path, "--replay", failed["saved"])
    for document in (found, fixed):
        validator.validate(document)
    assert (failed["verdict"], failed["history"]) == ("never-acknowledged", "paid")
    assert failed["what_to_do"].startswith("The handler responds with an error to an event")
    assert failed["steps"][0].startswith("the customer")
    assert [each["result"] for each in fixed["results"]] == ["fixed"]
    # The first failure was the limit.
    assert (found["is_complete"], fixed["is_complete"]) == (False, True)


def test_equal_explorations_have_an_equal_digest() -> None:
    parts = [{"name": "shop"}], 1, ["paid"]
    assert digest(*parts) == digest(*parts)
    for other in ([{"name": "kiosk"}], *parts[1:]), (parts[0], 2, parts[2]), (*parts[:2], []):
        assert digest(*other) != digest(*parts)


@pytest.mark.deep
async def test_rehearse_writes_what_the_schema_declares(tmp_path: Path, validator: Any) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(
        "version: 1\nname: own\nfaults: [{when: {request: create_payment}, then: {status: 500}}]\n"
    )
    variants = [Variant(kind.value, kind, "", file) for kind in VariantKind]
    run = await rehearse((*SHOP_SUITE, "test_happy_path"), variants)
    document = json.loads(rehearsal_report.results(run).encode())
    validator.validate(document)
    false_answer, disturbance = document["results"]
    assert (false_answer["is_finding"], false_answer["what_to_do"]) == (False, None)
    assert disturbance["what_to_do"].endswith("tests pass with `rehearse --only disturbance`.")


def test_a_member_that_is_not_declared_is_refused(validator: Any) -> None:
    document = json.loads(explored("paid").encode())
    validator.validate(document)
    for changed in (document, document["results"][0]):
        changed["more"] = 1
        assert not validator.is_valid(document)
        del changed["more"]


def explored(*titles: str) -> ExploreResults:
    entries = [
        ExploredHistory(
            file="shop.yaml",
            history=title,
            result="failed",
            duration_ms=1,
            verdict="fulfilled-twice",
            seen="a | <b>",
            what_to_do="Ship\nonce.",
        )
        for title in titles
    ]
    passed = ExploredHistory(
        file="shop.yaml", history="never", result="passed", duration_ms=1, what_to_do=None
    )
    return ExploreResults(seed=1, digest="", complete_size=0, results=[passed, *entries])


def test_a_summary_has_five_rows_of_what_is_to_be_done() -> None:
    [title, rows, more] = summary_tables({"a.json": explored(*"abcdef").encode()})
    assert title == "### Histories: 6 of 7\n\n"
    assert rows.splitlines()[:3] == [
        "| what | result | what to do |",
        "| --- | --- | --- |",
        r"| a | fulfilled-twice: a \| &lt;b> | Ship once. |",
    ]
    assert len(rows.split("\n| ")) == 7
    assert more == "and 1 more\n\n"


def test_a_summary_counts_the_variants_that_a_message_could_show() -> None:
    found, other = (
        RehearsedVariant(
            variant="charset",
            description="",
            rehearsal="disturbance",
            scenario="--vary charset",
            is_finding=is_applicable,
            is_applicable=is_applicable,
            exit_code=int(is_applicable),
            duration_ms=1,
            failed_tests=["test_it"] * is_applicable,
            last_lines=(),
            own_scenarios=0,
            what_to_do="Change the shop." if is_applicable else None,
        )
        for is_applicable in (True, False)
    )
    results = RehearseResults(command="pytest", results=[found, other])
    [title, rows] = summary_tables({"a.json": results.encode()})
    assert title == "### Disturbances: 1 of 1\n\n"
    assert rows.splitlines()[2] == "| charset | test_it | Change the shop. |"


def test_a_summary_without_findings_has_no_table_and_another_file_no_summary(
    tmp_path: Path,
) -> None:
    file = tmp_path / "explored.json"
    file.write_bytes(explored().encode())
    assert output("summary", str(file)) == (None, "### Histories: 0 of 1\n\n")
    for content in ("", "{}", '{"type": "replay"}', '{"type": "explore"}'):
        file.write_text(content)
        message = usage_error("summary", str(file))
        expected = f"{file}: expected what explore --json or rehearse --json wrote: "
        assert message.startswith(expected)
    assert "cannot read" in usage_error("summary", str(tmp_path / "none.json"))


def test_one_schema_is_printed_at_a_time() -> None:
    message = "expected one of --integration, --results and --webhook-format"
    assert usage_error("schema", "--results", "--integration") == message
