"""100,000 payments that expire in one advance, against one set-based UPDATE in the same run."""

from tests.benchmarks.report import Row


def measure() -> list[Row]:
    """The rows of the expiry; none yet."""
    return []
