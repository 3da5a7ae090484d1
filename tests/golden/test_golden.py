"""The program's outputs are the recorded ones; `python -m tests.golden` records them again."""

import pytest

from tests.golden.outputs import OUTPUTS, modules, path_of


@pytest.mark.parametrize("name", sorted(OUTPUTS.keys() - {"modules.txt"}))
def test_an_output_is_the_recorded_one(name: str) -> None:
    assert OUTPUTS[name]() == path_of(name).read_text(encoding="utf-8")


def test_start_imports_no_module_that_it_did_not_import_before() -> None:
    before = path_of("modules.txt").read_text(encoding="utf-8")
    assert set(modules().split()) <= set(before.split())
