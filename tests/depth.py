"""Limits open-ended tests to a sample, unless the variable `TESTS_DEEP` is set.

The slow lane sets it to 1. A larger number multiplies the counts of tests without an end.
"""

import os
from typing import TypeVar

T = TypeVar("T")

DEPTH = int(os.environ.get("TESTS_DEEP") or 0)
IS_DEEP = DEPTH > 0


def usually(sample: T, *, deep: T) -> T:
    """`deep` where `TESTS_DEEP` is set, otherwise the sample. Mark its tests `sampled`."""
    return deep if IS_DEEP else sample
