"""The names of failed tests in the outputs of test runners, and in JUnit files."""

from pathlib import Path

import pytest

from emulator.reporting import JUnitCase, junit_file
from emulator.tools.rehearse.suite import (
    COLOUR,
    MAX_NAME_CHARACTERS,
    MAX_NAMES,
    failed_tests,
)

OUTPUTS = {
    "pytest": (
        "FAILED tests/test_shop.py::test_paid[a b] - AssertionError: open\n"
        "ERROR tests/test_shop.py::test_late\n"
        "1 failed, 1 error in 0.12s\n",
        ["tests/test_shop.py::test_paid[a b]", "tests/test_shop.py::test_late"],
    ),
    "unittest": (
        "FAIL: test_paid (test_shop.ShopTest.test_paid)\n"
        "ERROR: test_late (test_shop.ShopTest.test_late)\n"
        "FAILED (failures=1, errors=1)\n",
        ["test_paid (test_shop.ShopTest.test_paid)", "test_late (test_shop.ShopTest.test_late)"],
    ),
    "node:test": (
        "✔ an order is created (5.2ms)\n"
        "✖ an order is paid (12.345ms)\n"
        "ℹ fail 1\n"
        "✖ failing tests:\n"
        "✖ an order is paid (12.345ms)\n",
        ["an order is paid"],
    ),
    "TAP": (
        "ok 1 - an order is created\nnot ok 2 - an order is paid # time=3ms\n",
        ["an order is paid"],
    ),
    "Jest": (
        "FAIL ./shop.test.js\n  ✕ an order is paid (5 ms)\n  ● shop › an order is paid\n",
        ["an order is paid", "shop › an order is paid"],
    ),
    "Vitest": (
        " × an order is paid 12ms\n FAIL  shop.test.ts > an order is paid\n",
        ["an order is paid", "shop.test.ts > an order is paid"],
    ),
    "PHPUnit": ("There was 1 failure:\n\n1) ShopTest::testPaid\n", ["ShopTest::testPaid"]),
    "Pest": ("  ⨯ an order is paid  0.02s\n", ["an order is paid"]),
    "Go": (
        "--- FAIL: TestPaid (0.01s)\n    --- FAIL: TestPaid/late (0.00s)\nFAIL\n",
        ["TestPaid", "TestPaid/late"],
    ),
    "Gradle": ("ShopTest > paid() FAILED\n", ["ShopTest > paid()"]),
    "Maven": ("[ERROR]   ShopTest.paid:12 expected: <paid>\n[ERROR] \n", ["ShopTest.paid:12"]),
    "no runner": ("Error: listen EADDRINUSE\n2 of 3 failed\n", []),
}


@pytest.mark.parametrize(("output", "names"), OUTPUTS.values(), ids=OUTPUTS)
def test_the_names_are_those_of_the_failed_tests(
    output: str, names: list[str], tmp_path: Path
) -> None:
    assert failed_tests(tmp_path / "no.xml", output.splitlines()) == names


def test_colours_are_removed() -> None:
    assert COLOUR.sub("", "\x1b[1;31m✕\x1b[39m paid\x1b[m") == "✕ paid"


def test_the_names_of_a_junit_file_precede_those_of_the_output(tmp_path: Path) -> None:
    file = tmp_path / "junit.xml"
    cases = [
        JUnitCase(name="created", class_name="shop", duration_ms=1),
        JUnitCase(name="paid", class_name="shop", duration_ms=1, failure="open"),
        JUnitCase(name="paid", class_name="", duration_ms=1, failure="open"),
    ]
    file.write_bytes(junit_file("suite", cases, duration_ms=2))
    assert failed_tests(file, ["--- FAIL: TestPaid (0.01s)"]) == ["shop::paid", "paid"]


def test_a_junit_file_that_is_not_xml_has_no_names(tmp_path: Path) -> None:
    file = tmp_path / "junit.xml"
    file.write_text("<testsuites>")
    assert failed_tests(file, []) == []


def test_the_number_and_the_length_of_names_are_limited(tmp_path: Path) -> None:
    lines = [f"FAILED shop.py::test_{number}_{'x' * 1_000}" for number in range(2 * MAX_NAMES)]
    names = failed_tests(tmp_path / "no.xml", lines)
    assert len(names) == MAX_NAMES
    assert {len(name) for name in names} == {MAX_NAME_CHARACTERS}
