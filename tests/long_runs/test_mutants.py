"""The changes of a module's text, and the tests that notice some of them."""

from pathlib import Path

import pytest

from tests.long_runs.mutants import Tree
from tests.long_runs.mutations import mutants_of
from tests.tables import rows

TEXT = '''"""A docstring."""
import sys

LIMITS: dict[str, int] = {"größe": 7, "two words": True}


def is_small(size: int = 3) -> bool:
    """Another docstring, 5 of them."""
    assert size > 0
    log.warning("is not counted")
    warn(size, loud=True, encoding="utf-8")
    return not size < 2 and "ü" in LIMITS
'''


def test_each_place_that_a_rule_may_depend_on_is_changed() -> None:
    mutants = mutants_of("emulator/sizes.py", TEXT)
    assert [str(m).removeprefix("emulator/sizes.py ") for m in mutants] == [
        "module: \"größe\" -> 'größex'",
        "module: 7 -> (8)",
        "module: 7 -> (6)",
        "module: True -> (False)",
        "module: 3 -> (4)",
        "module: 3 -> (2)",
        'is_small: warn(size, loud=True, encoding="utf-8") -> pass',
        "is_small: warn(…) without loud",
        "is_small: True -> (False)",
        'is_small: return not size < 2 and "ü" in LIMITS -> return None',
        "is_small: not size < 2 and \"ü\" in LIMITS -> (not size < 2 or 'ü' in LIMITS)",
        "is_small: not size < 2 -> (size < 2)",
        "is_small: size < 2 -> (size <= 2)",
        "is_small: 2 -> (3)",
        "is_small: 2 -> (1)",
        "is_small: \"ü\" in LIMITS -> ('ü' not in LIMITS)",
    ]
    for mutant in mutants:
        compile(mutant.apply(TEXT), "sizes.py", "exec")


@pytest.mark.deep
def test_a_mutant_survives_only_tests_of_another_module(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    for path, label, tests, result in rows(__file__, "fixed"):
        text = (tree.root / path).read_text(encoding="utf-8")
        mutant = next(m for m in mutants_of(path, text) if m.label == label)
        outcome = tree.outcome(mutant, [[tests]])
        assert (outcome.result, label) == (result, label)
        assert outcome.test.startswith(tests) == (result == "killed")
        assert (tree.root / path).read_text(encoding="utf-8") == text
