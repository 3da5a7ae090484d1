"""Limits open-ended tests to a sample, unless the variable `TESTS_DEEP` is set."""

import os
from typing import TypeVar

T = TypeVar("T")

IS_DEEP = os.environ.get("TESTS_DEEP", "") not in ("", "0")


def usually(sample: T, *, deep: T) -> T:
    """`deep` where `TESTS_DEEP` is set, otherwise the sample. Mark its tests `sampled`."""
    return deep if IS_DEEP else sample
