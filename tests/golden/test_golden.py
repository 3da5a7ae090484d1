"""The program's outputs are the recorded ones; `python -m tests.golden` records them again."""

import pytest

from tests.golden.outputs import OUTPUTS, path_of


@pytest.mark.parametrize("name", sorted(OUTPUTS.keys() - {"modules.txt"}))
def test_an_output_is_the_recorded_one(name: str) -> None:
    assert OUTPUTS[name]() == path_of(name).read_text(encoding="utf-8")
