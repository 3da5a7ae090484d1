"""The clauses: their numbers, their tests, and what configures them."""

from itertools import pairwise

from emulator.domain.clauses import CLAUSES, SECTIONS, WARNINGS, Basis
from emulator.domain.variants import VARIANTS
from emulator.scenarios.scenario_file import scenario_schema
from emulator.settings import OPTIONS
from tests.clauses import MarkedTest, clause_tests, marked_tests
from tests.docs.document import REPOSITORY, rows, text_of
from tests.server.api.calls import PARAMS
from tests.tables import values

# The sections of the contract with clauses; section 2 has only subsections.
SECTIONS_OF_THE_CONTRACT = values(__file__, "sections")
# The places where the contract has "not shown". Several clauses answer one of them: payload shape,
# delivery and signing are in one sentence with the kinds of events.
NOT_SHOWN = {*values(__file__, "not shown")}
# What the contract does not mention at all, although every service decides it.
UNMENTIONED = {*values(__file__, "unmentioned")}
# Clauses that the contract states in part: each has a detail that is ours.
STATED_IN_PART = {*values(__file__, "stated in part")}
# Assumptions of which each part has a setting or a variant; somebody has read each of these.
CHANGED_AS_A_WHOLE = {*values(__file__, "changed as a whole")}


def test_each_clause_has_a_number_of_its_own_in_the_order_of_the_contract() -> None:
    orders = [clause.order for clause in CLAUSES]
    assert all(order < next_order for order, next_order in pairwise(orders))


def test_every_section_of_the_contract_has_its_clauses_without_a_gap() -> None:
    assert list(SECTIONS) == SECTIONS_OF_THE_CONTRACT
    assert list(dict.fromkeys(clause.section for clause in CLAUSES)) == SECTIONS_OF_THE_CONTRACT
    for name in SECTIONS_OF_THE_CONTRACT:
        ordinals = [clause.order[-1] for clause in CLAUSES if clause.section == name]
        assert ordinals == list(range(1, len(ordinals) + 1)), name


def test_each_clause_has_a_test_and_each_marker_names_a_clause() -> None:
    tests = clause_tests()
    assert set(tests) == {clause.number for clause in CLAUSES}
    assert all(test.name.startswith("test_") for marked in tests.values() for test in marked)


def test_a_marker_assigns_all_its_clauses_to_the_test_below_it() -> None:
    text = """class TestLimit:
        @pytest.mark.clause("4.3.3", "8.5")
        @pytest.mark.parametrize("limit", ["1"])
        async def test_the_default_is_ten(self, limit): ...
    def test_without_a_marker(): ...
    """
    assert list(marked_tests(text.replace("\n    ", "\n"), "tests/test_list.py")) == [
        MarkedTest("tests/test_list.py", "test_the_default_is_ten", ("4.3.3", "8.5"))
    ]


def test_each_warning_has_a_clause() -> None:
    named = {number for each in WARNINGS.values() for number in each.clauses}
    assert named <= {clause.number for clause in CLAUSES}


def test_what_the_contract_leaves_open_is_assumed() -> None:
    assumed = {clause.number for clause in CLAUSES if clause.basis is Basis.ASSUMED}
    assert assumed >= NOT_SHOWN | UNMENTIONED
    assert {clause.number for clause in CLAUSES if clause.assumed} >= STATED_IN_PART
    # A detail is assumed only where the rest is stated.
    for clause in CLAUSES:
        assert clause.basis is Basis.STATED or clause.assumed is None, clause.number


def test_a_clause_is_configured_by_what_exists() -> None:
    options = {option.flag for option in OPTIONS}
    calls = {row[0].strip("`") for row in rows(text_of("docs/reference/control-api.md"))}
    rules = set(scenario_schema()["properties"])
    for name in list(rules):
        rule = scenario_schema()["properties"][name].get("items", {}).get("properties", {})
        then = rule.get("then", {})
        # The `then` of an outcome is also a list of steps.
        steps = [each.get("items", {}) for each in then.get("anyOf", ())]
        rules |= {f"{name}: {key}" for each in (then, *steps) for key in each.get("properties", ())}
    for clause in CLAUSES:
        assert set(clause.configured_by) <= options | calls | rules | PARAMS, clause.number
    assert {number for variant in VARIANTS for number in variant.clauses} <= {
        clause.number for clause in CLAUSES
    }


def test_each_assumption_has_a_setting_or_a_reason_why_nothing_changes_it() -> None:
    assumed = [each for each in CLAUSES if each.basis is Basis.ASSUMED or each.assumed is not None]
    without_reason = {each.number for each in assumed if each.fixed_because is None}
    assert without_reason == CHANGED_AS_A_WHOLE
    assert all(each.settings for each in assumed if each.number in CHANGED_AS_A_WHOLE)
    assert not [each.number for each in CLAUSES if each.fixed_because and each not in assumed]


def test_every_text_is_one_line_with_paired_backquotes() -> None:
    for clause in CLAUSES:
        for text in (clause.says, clause.here, clause.assumed or "x", clause.fixed_because or "x"):
            assert text == " ".join(text.split())
            assert text.count("`") % 2 == 0, text
            assert not text.endswith(".")


def test_the_server_does_not_load_the_clauses() -> None:
    """They take too long to load at start; only `verify` and pages need them."""
    package = REPOSITORY / "emulator"
    importing = {
        path.relative_to(package).parent.as_posix().partition("/checks")[0]
        for path in package.rglob("*.py")
        if "emulator.domain.clauses" in path.read_text(encoding="utf-8")
    }
    assert importing - {"domain", "tools/verify", "server/dashboard", "cli"} == set()
