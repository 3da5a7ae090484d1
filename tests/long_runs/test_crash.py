"""A sample of the long run that ends servers while clients use them."""

import pytest

from tests.long_runs import crash


@pytest.mark.deep
def test_servers_that_are_ended_at_any_moment_lose_and_repeat_nothing() -> None:
    ends = crash.run(seed=1, count=5)["Ends"]
    assert ends == ("1 × SIGTERM, 3 × kill, 1 × kill after a full disk, 1 × kill at start")
