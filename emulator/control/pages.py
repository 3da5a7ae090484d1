"""How much of a collection is shown: its newest entries, as many as were asked for."""

import re
from collections.abc import Mapping

from emulator.domain.received_values import not_accepted

DEFAULT_LIMIT = "100"
MAX_LIMIT = 1_000

_FEW_DIGITS = re.compile(r"[0-9]{1,9}", re.ASCII)


def limit_of(query: Mapping[str, str]) -> int:
    """Raises InvalidField."""
    value = query.get("limit", DEFAULT_LIMIT)
    if not _FEW_DIGITS.fullmatch(value) or not 1 <= int(value) <= MAX_LIMIT:
        raise not_accepted("limit", value, f"a whole number from 1 to {MAX_LIMIT}")
    return int(value)
