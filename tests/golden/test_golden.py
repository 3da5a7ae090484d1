"""The program's outputs are the recorded ones; `python -m tests.golden` records them again."""

import pytest

from tests.golden.outputs import OUTPUTS, recorded


@pytest.mark.parametrize("name", sorted(OUTPUTS))
def test_an_output_is_the_recorded_one(name: str) -> None:
    lines, before = OUTPUTS[name](), recorded(name)
    changed = {line.partition(" ")[2] for line in set(lines) ^ set(before)}
    assert changed == set()
    assert lines == before
