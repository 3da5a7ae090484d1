"""`python -m tests.golden` records the outputs again."""

from tests.golden.outputs import record

record()
