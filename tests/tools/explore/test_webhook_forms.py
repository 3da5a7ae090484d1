"""`explore` in each shipped form of webhooks: correct shops, and what is left out.

The zoo has the shops that accept forgeries.
"""

from pathlib import Path

import pytest

from emulator.scenarios.webhook_form_file import SHIPPED_FORMS, parse_webhook_form
from emulator.tools.explore.anomalies import left_out
from emulator.tools.explore.steps import Capabilities
from tests.cli.invocation import output, problem_lines, usage_error
from tests.tools.explore.small_shop import small_shop
from tests.tools.explore.zoo.exploration import explore, replay
from tests.tools.explore.zoo.table import PYTHON, Shop

PAID_ONLY = "payment.created, payment.processing"
# What is left out of the form, by the reason.
LEFT_OUT = {
    "standard": {"are signed": "untrue"},
    "timestamped-hex": {"are signed": "untrue"},
    "hex-header": {
        "never have two signatures": "rotation",
        "have no signed timestamp": "stale",
        "do not contain the event's mode": "other-mode",
        "are signed": "untrue",
    },
    "unsigned": {
        "never have two signatures": "rotation",
        "have no signature": "forged, unsigned, malformed",
        "have no signed timestamp": "stale",
        "do not contain the event's type": "unknown-type",
        "do not contain the event's mode": "other-mode",
    },
    "form-fields": {
        "are no JSON": "bytes-pretty, bytes-escaped",
        "never have two signatures": "rotation",
        "have no signed timestamp": "stale",
        "do not contain the event's mode": "other-mode",
        "are signed": "untrue",
    },
}
UNSENT = {"hex-header": PAID_ONLY, "unsigned": PAID_ONLY, "form-fields": "payment.created"}


def shop(form: str) -> Shop:
    return Shop(name="correct", language=PYTHON, ways="webhook", form=form)


@pytest.mark.interop
@pytest.mark.parametrize("form", SHIPPED_FORMS)
def test_a_correct_shop_passes_in_each_form(form: str, tmp_path: Path) -> None:
    finding = explore(shop(form), tmp_path, depth=1)
    assert finding.code == 0, finding.output
    for reason, names in LEFT_OUT[form].items():
        assert f"left out: {names}; webhooks in the form {form} {reason}\n" in finding.output
    assert finding.output.count(f"webhooks in the form {form}") == len(LEFT_OUT[form])
    unsent = f"not sent in the form {form}: {UNSENT.get(form)}\n"
    assert (unsent in finding.output) == (form in UNSENT)


@pytest.mark.parametrize(
    "signature",
    ["{algorithm: token}", "{algorithm: hmac-sha256, content: '{payment.id}|{payment.status}'}"],
)
def test_other_amounts_are_left_out_where_no_amount_is_signed(signature: str) -> None:
    text = f"version: 1\nname: mine\nsignature: {signature}\nheaders: {{x: '{{signature}}'}}"
    form = parse_webhook_form(text, "")
    can = Capabilities(frozenset({"webhook"}), form)
    assert left_out(can)["webhooks in the form mine have no signed amount"] == ["other-amount"]


@pytest.mark.deep
def test_a_history_that_a_form_cannot_have_is_refused(tmp_path: Path) -> None:
    finding = replay(shop("hex-header"), tmp_path, "paid", "stale")
    assert finding.code == 2
    assert "the file has no history that fits its integration" in finding.output


def test_a_secret_that_does_not_fit_the_form_is_refused(tmp_path: Path) -> None:
    flags = ("--webhook-format", "form-fields", "--webhook-secret", "x")
    message = "flag --webhook-secret: expected 24 to 64 bytes as hexadecimal digits"
    with small_shop() as small:
        assert usage_error("explore", small.write(tmp_path), *flags) == message


def test_a_form_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with small_shop() as small:
        problems = problem_lines("explore", small.write(tmp_path), "--webhook-format", "hex")
    assert [line.partition(":")[0] for line in problems] == ["hex"]


def test_the_form_may_be_a_file(tmp_path: Path) -> None:
    form = tmp_path / "mine.yaml"
    form.write_text("version: 1\nname: mine\nsignature: {algorithm: none}\n", encoding="utf-8")
    with small_shop() as small:
        flags = ("--webhook-format", str(form), "--depth", "0", "--save", str(tmp_path / "saved"))
        ports = (
            "--port",
            str(small.api_port),
            "--checkout-port",
            "0",
            "--test-key",
            "test_small_shop",
        )
        _, printed = output("explore", small.write(tmp_path), *flags, *ports)
    assert (
        "left out: forged, unsigned, malformed; webhooks in the form mine have no signature"
        in printed
    )
