"""The fidelity table: every clause numbered, every clause with a test, every knob a real one."""

import ast
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

import pytest

from emulator.domain.clauses import CLAUSES, SECTIONS, Basis, Clause
from emulator.scenarios.schema import scenario_schema
from emulator.settings import OPTIONS
from tests.api.asking import PARAMS
from tests.docs.document import REPOSITORY, rows, text_of

# Those of the contract that say something. Section 2 as a whole is its parts.
SECTIONS_OF_THE_CONTRACT = [
    *("1", "2.1", "2.2", "2.3", "3", "4", "4.1", "4.2", "4.3", "4.4"),
    *("5", "6", "7", "8", "9"),
]
# How often the contract says "not shown", and what of it several clauses answer: payload shape,
# delivery and signing stand in one sentence with the kinds of events.
NOT_SHOWN = {
    *("2.1.17", "3.2", "4.1.13", "4.3.11", "4.3.12", "6.2", "6.3", "6.4", "6.5"),
    *("7.13", "8.8", "8.9", "9.3"),
}


def names_of_tests(path: str) -> frozenset[str]:
    """The tests of a file by their names, as pytest has them; nothing is imported."""
    return frozenset(_names_in(path))


@cache
def _names_in(path: str) -> tuple[str, ...]:
    tree = ast.parse((REPOSITORY / path).read_text(encoding="utf-8"))
    return tuple(_functions(tree.body, ""))


def _functions(body: list[ast.stmt], prefix: str) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{prefix}{node.name}"
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, f"{prefix}{node.name}::")


def test_each_clause_has_a_number_of_its_own_in_the_order_of_the_contract() -> None:
    orders = [clause.order for clause in CLAUSES]
    assert all(one < next_one for one, next_one in pairwise(orders))


def test_every_section_of_the_contract_has_its_clauses_without_a_gap() -> None:
    assert list(SECTIONS) == SECTIONS_OF_THE_CONTRACT
    assert list(dict.fromkeys(clause.section for clause in CLAUSES)) == SECTIONS_OF_THE_CONTRACT
    for name in SECTIONS_OF_THE_CONTRACT:
        ordinals = [clause.order[-1] for clause in CLAUSES if clause.section == name]
        assert ordinals == list(range(1, len(ordinals) + 1)), name


@pytest.mark.parametrize("clause", CLAUSES, ids=lambda clause: clause.number)
def test_a_clause_has_tests_that_exist(clause: Clause) -> None:
    assert clause.tests
    for test in clause.tests:
        path, _, name = test.partition("::")
        assert name in names_of_tests(path), test
        assert name.rpartition("::")[2].startswith("test_")


def test_a_test_that_is_gone_is_found_out() -> None:
    path = "tests/api/test_list.py"
    assert "TestLimit::test_the_default_is_ten" in names_of_tests(path)
    assert "test_the_default_is_ten" not in names_of_tests(path)


def test_what_the_contract_leaves_open_is_assumed() -> None:
    assumed = {clause.number for clause in CLAUSES if clause.basis is Basis.ASSUMED}
    assert assumed >= NOT_SHOWN
    for clause in CLAUSES:
        assert clause.says.endswith("not shown") is (clause.basis is Basis.ASSUMED), clause.number
        # Where all of it is assumed, no part of it is so in particular.
        assert clause.basis is Basis.STATED or clause.assumed is None, clause.number


def test_every_knob_can_be_turned() -> None:
    options = {option.flag for option in OPTIONS}
    calls = {row[0].strip("`") for row in rows(text_of("docs/reference/control-api.md"))}
    rules = set(scenario_schema()["properties"])
    for clause in CLAUSES:
        assert set(clause.knobs) <= options | calls | rules | PARAMS, clause.number


def test_every_text_is_a_line_with_its_marks_in_pairs() -> None:
    for clause in CLAUSES:
        for text in (clause.says, clause.here, clause.assumed or "x"):
            assert text == " ".join(text.split())
            assert text.count("`") % 2 == 0, text
            assert not text.endswith(".")


def test_the_server_does_not_load_them() -> None:
    """They cost more than a start may: nothing of the program but `verify` and pages needs them."""
    package = REPOSITORY / "emulator"
    importing = {
        path.relative_to(package).parts[0]
        for path in package.rglob("*.py")
        if "emulator.domain.clauses" in path.read_text(encoding="utf-8")
    }
    assert importing - {"domain", "verify", "dashboard", "cli"} == set()
