"""Explore finds the bug of each shop whose bug was reported in public, in a smallest history.

`test_sole_shops.py` shows it for the others: it runs all histories up to one anomaly.
How long this takes depends on the machine; `python -m tests.tools.explore.zoo` measures it.
"""

from pathlib import Path

import pytest

from tests.tools.explore.test_sole_shops import is_sole
from tests.tools.explore.zoo.exploration import explore, smaller_failures
from tests.tools.explore.zoo.table import HANDLER_BUGS, WRONG_SHOPS, Shop

REPORTED_SHOPS = [shop for shop in WRONG_SHOPS if shop.source and not is_sole(shop)]


@pytest.mark.interop
@pytest.mark.parametrize("shop", REPORTED_SHOPS, ids=lambda shop: shop.name)
def test_a_bug_is_found_in_a_smallest_history(shop: Shop, tmp_path: Path) -> None:
    finding = explore(shop, tmp_path, depth=2)
    assert (finding.code, finding.verdict) == (1, shop.verdict), finding.output
    if shop.bug in HANDLER_BUGS:
        assert finding.history.count(",") == 1, "one anomaly is enough"
    assert smaller_failures(finding, tmp_path) == []
