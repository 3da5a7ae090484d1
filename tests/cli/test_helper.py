"""The command `helper` prints files for other languages; tests/interop/helper runs them."""

import re

import pytest

from tests.cli.invocation import output, usage_error
from tests.tables import rows


@pytest.mark.parametrize(("arguments", "beginning", "name"), rows(__file__, "files"))
def test_the_command_prints_one_file(arguments: list[str], beginning: str, name: str) -> None:
    code, text = output("helper", *arguments)
    assert not code
    assert text.startswith(beginning)
    assert name in text


def test_the_javascript_form_has_its_types_as_jsdoc() -> None:
    _, text = output("helper", "node", "--js")
    assert not re.search(r"^(export )?(interface|type) |^import type", text, re.MULTILINE)
    for line in (
        " * @typedef {object} PaymentsAccount",
        " * @property {(id: string) => Promise<Payment>} payment",
        " * @property {string} webhookSecret The secret that verifies `webhooks()`.",
        "/** @typedef {{ serve?: string[]; webhookHost?: string }} Options */",
        " *  @type {(options?: Options) => Promise<PaymentsEmulator>} */",
    ):
        assert f"\n{line}\n" in text
    _, typescript = output("helper", "node")
    members = re.findall(r"^  (\w+)\(", typescript.partition("type Server")[0], re.MULTILINE)
    assert "createAccount" in members
    assert [each for each in members if f"}} {each}" not in text] == []


@pytest.mark.parametrize(("arguments", "message"), rows(__file__, "mistakes"))
def test_a_wrong_language_is_refused(arguments: list[str], message: str) -> None:
    assert usage_error("helper", *arguments) == message
