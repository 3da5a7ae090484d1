"""Files of webhook forms: the shipped ones, and what is wrong with others."""

import json
from pathlib import Path

import pytest
import yaml
from jsonschema_rs import Draft202012Validator, meta

from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER, STANDARD
from emulator.scenarios.entries import ScenarioError, listed
from emulator.scenarios.webhook_form_file import (
    MAX_FORM_CHARACTERS,
    MAX_PLACEHOLDERS,
    SHIPPED_FORMS,
    load_webhook_form,
    parse_webhook_form,
    webhook_form_json,
    webhook_form_of,
    webhook_form_schema,
)
from emulator.scenarios.webhook_form_rules import MAX_HEADERS
from tests.tables import rows

DIRECTORY = Path(__file__).parents[2] / "scenarios" / "webhook-forms"
VALIDATOR = Draft202012Validator(webhook_form_schema())
SIGNED = 'signature: {algorithm: hmac-sha256}\nheaders: {x-signature: "{signature}"}'
UNSIGNED = "signature: {algorithm: none}"


def form_text(rest: str) -> str:
    return f"version: 1\nname: mine\n{rest}\n"


def first_problem(text: str) -> str:
    with pytest.raises(ScenarioError) as refusal:
        parse_webhook_form(text, "f.yaml")
    return str(refusal.value.problems[0])


def test_the_shipped_files_are_the_shipped_forms() -> None:
    assert {file.stem for file in DIRECTORY.glob("*.yaml")} == set(SHIPPED_FORMS)


def test_the_file_of_standard_has_the_form_that_is_sent_without_reading_it() -> None:
    text = (DIRECTORY / "standard.yaml").read_text(encoding="utf-8")
    assert parse_webhook_form(text, "") == STANDARD
    assert load_webhook_form("standard") is STANDARD


@pytest.mark.parametrize("name", SHIPPED_FORMS)
def test_a_shipped_form_satisfies_the_schema_and_reads_the_same_as_json(name: str) -> None:
    text = (DIRECTORY / f"{name}.yaml").read_text(encoding="utf-8")
    assert text.startswith("# yaml-language-server: $schema=./schema.json\n")
    VALIDATOR.validate(yaml.safe_load(text))
    form = load_webhook_form(name)
    assert form.name == name
    assert webhook_form_of(name) is form
    written = webhook_form_json(form)
    VALIDATOR.validate(written)
    assert webhook_form_of(written) == form
    assert (written["events"], written["signature"]["separator"]) == (
        dict(form.events),
        form.signature.separator,
    )


def test_the_schema_file_is_the_output_of_the_command() -> None:
    printed = f"{json.dumps(webhook_form_schema(), indent=2, ensure_ascii=False)}\n"
    assert (DIRECTORY / "schema.json").read_text(encoding="utf-8") == printed
    assert meta.is_valid(webhook_form_schema())


# What follows `version` and `name`, and the first problem of the file.
MISTAKES = rows(__file__, "mistakes")


@pytest.mark.parametrize(("rest", "problem"), MISTAKES)
def test_a_mistake_has_a_position_and_says_what_is_accepted(rest: str, problem: str) -> None:
    expected = problem.replace("EVENT_TYPES", listed(EVENT_TYPES_IN_ORDER, "or"))
    assert first_problem(form_text(rest)).startswith(f"f.yaml:{expected}")


def test_a_form_has_limits() -> None:
    def fields(count: int) -> str:
        return form_text(f"{UNSIGNED}\nbody: {['{id}'] * count}")

    def headers(count: int) -> str:
        names = "".join(f", x-{number}: a" for number in range(count - 1))
        return form_text(SIGNED[:-1] + names + "}")

    for accepted in (fields(MAX_PLACEHOLDERS), headers(MAX_HEADERS)):
        parse_webhook_form(accepted.ljust(MAX_FORM_CHARACTERS), "")
    parse_webhook_form(form_text(f"{UNSIGNED}\nbody: {[{'a': 1}] * 2 * MAX_PLACEHOLDERS}"), "")
    assert "more than 64 placeholders" in first_problem(fields(2 * MAX_PLACEHOLDERS))
    assert "more than 32 entries" in first_problem(headers(2 * MAX_HEADERS))
    too_long = form_text(UNSIGNED).ljust(2 * MAX_FORM_CHARACTERS)
    assert "longer than 16,384 characters" in first_problem(too_long)


def test_a_file_that_cannot_be_read_is_a_problem_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"nowhere\.yaml:1:1: cannot be read: No such file"):
        load_webhook_form(str(tmp_path / "nowhere.yaml"))
    (tmp_path / "bytes.yaml").write_bytes(b"name: \xff")
    with pytest.raises(ScenarioError, match=r"bytes\.yaml:1:7: the byte 0xff here is not UTF-8"):
        load_webhook_form(str(tmp_path / "bytes.yaml"))


@pytest.mark.parametrize("value", ["hex", 7, None, [], {}])
def test_a_format_is_a_shipped_name_or_a_form(value: object) -> None:
    with pytest.raises(ScenarioError, match=r"^format:1:1: "):
        webhook_form_of(value)
