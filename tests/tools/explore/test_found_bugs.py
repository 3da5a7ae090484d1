"""Explore finds the bug of each shop whose bug was reported in public, in a smallest history."""

from pathlib import Path

import pytest

from tests.tools.explore.zoo.exploration import explore, smaller_failures
from tests.tools.explore.zoo.table import WRONG_SHOPS, Shop

MAX_S = 60


@pytest.mark.interop
@pytest.mark.parametrize(
    "shop", [shop for shop in WRONG_SHOPS if shop.source], ids=lambda shop: shop.name
)
def test_a_bug_is_found_in_a_smallest_history(shop: Shop, tmp_path: Path) -> None:
    finding = explore(shop, tmp_path, depth=2)
    assert (finding.code, finding.verdict) == (1, shop.verdict), finding.output
    assert finding.seconds < MAX_S
    assert smaller_failures(finding, tmp_path) == []
