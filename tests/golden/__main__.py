"""`python -m tests.golden` records the outputs again."""

from tests.golden.outputs import OUTPUTS, path_of

for name, output in OUTPUTS.items():
    path_of(name).write_text(output(), encoding="utf-8")
