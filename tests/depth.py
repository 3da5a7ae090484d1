"""How much is asked of what could be asked for ever.

Every run asks a sample, and `TESTS_DEEP=1 pytest -m "deep or hypothesis"` all of it.
"""

import os
from typing import TypeVar

T = TypeVar("T")

IS_DEEP = os.environ.get("TESTS_DEEP", "") not in ("", "0")


def usually(sample: T, *, deep: T) -> T:
    """The sample, but where it is asked for all; a test that uses it is marked `deep`."""
    return deep if IS_DEEP else sample
