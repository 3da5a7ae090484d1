"""The threat model: its rules, every path with foreign requests, and the places of secrets."""

import asyncio

from tests.long_runs.security_matrix import check_matrix
from tests.long_runs.security_rules import EXPLANATIONS, REMOVALS, not_noticed
from tests.long_runs.security_secrets import check_secrets

UNIT = "requests"
COUNT = 1_000_000
"""More than the matrix has: all of it."""


def run(seed: int, count: int) -> dict[str, str]:
    """Send the requests, remove each rule, and search for secrets. Raises AssertionError."""
    measured = asyncio.run(check_matrix(seed, count))
    problems = not_noticed(REMOVALS)
    assert not problems, "\n".join(problems)
    statements = len({removal.statement for removal in REMOVALS})
    return {
        **measured,
        "Rules that were removed, each noticed by its test": f"{len(REMOVALS)}, of {statements}"
        f" statements; {len(EXPLANATIONS)} others state no rule",
        **check_secrets(["text", "json"], with_commands=True),
    }
