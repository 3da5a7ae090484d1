"""The command `helper` prints files for other languages; tests/interop/helper runs them."""

import pytest

from tests.cli.invocation import output, usage_error
from tests.tables import rows


@pytest.mark.parametrize(
    ("arguments", "beginning", "name"),
    [
        (["node"], "/* eslint-disable */\n", "export const startEmulator: "),
        (["node", "--js"], "/* eslint-disable */\n", "export const startEmulator = "),
        (["php"], "<?php\n", "final class PaymentsEmulator\n"),
        (["java"], "// Test helper", "public final class PaymentsEmulator {\n"),
        (["go"], "// Package paymentsemulator", "\n\tBaseURL, CheckoutURL "),
        (["agent"], "# Coding agents\n", "payments-emulator explore --replay "),
    ],
)
def test_the_command_prints_one_file(arguments: list[str], beginning: str, name: str) -> None:
    code, text = output("helper", *arguments)
    assert not code
    assert text.startswith(beginning)
    assert name in text


def test_the_javascript_form_has_types_in_comments_only() -> None:
    _, text = output("helper", "node", "--js")
    lines = [line for line in text.splitlines() if not line.startswith("//")]
    assert not [
        line for line in lines if line.startswith(("export interface", "type ", "import type"))
    ]
    assert "// export interface PaymentsAccount {" in text


@pytest.mark.parametrize(("arguments", "message"), rows(__file__, "mistakes"))
def test_a_wrong_language_is_refused(arguments: list[str], message: str) -> None:
    assert usage_error("helper", *arguments) == message
