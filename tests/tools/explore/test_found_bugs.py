"""Explore finds the bug of each wrong shop, and first with the anomaly that alone shows it.

The first failing history of each shop is run here. Only the shops that represent the verdicts, the
programs and the ways are explored; `python -m tests.tools.explore.zoo` explores all.
"""

from pathlib import Path

import pytest

from tests.tools.explore.zoo.exploration import explore, problem, replay, replay_file
from tests.tools.explore.zoo.table import REPRESENTATIVES, WRONG_SHOPS, Shop


@pytest.mark.interop
@pytest.mark.parametrize("shop", REPRESENTATIVES, ids=lambda shop: shop.name)
def test_a_bug_is_found_and_what_is_saved_fails_again(shop: Shop, tmp_path: Path) -> None:
    finding = explore(shop, tmp_path, depth=shop.size or 1)
    assert problem(shop, finding) == "", finding.output
    assert finding.saved is not None
    replayed = replay_file(finding.saved, shop, tmp_path)
    assert (replayed.code, replayed.output.startswith("FAILED ")) == (1, True), replayed.output


@pytest.mark.interop
@pytest.mark.parametrize("shop", WRONG_SHOPS, ids=lambda shop: shop.name)
def test_the_first_failing_history_of_a_shop_fails(shop: Shop, tmp_path: Path) -> None:
    """With a first file, and the keys that the failure needs."""
    finding = replay(shop, tmp_path, *shop.history.split(", "), is_first=True)
    assert finding.output.startswith("FAILED "), finding.output
    assert (finding.code, finding.verdict) == (1, shop.verdict), finding.output
