"""Explore finds the bug of each wrong shop, and first with the anomaly that alone shows it.

What it saves fails again when the shop starts with fresh data.
"""

from pathlib import Path

import pytest

from tests.tools.explore.zoo.exploration import explore, run_explore
from tests.tools.explore.zoo.table import HANDLER_BUGS, WRONG_SHOPS, Shop


@pytest.mark.interop
@pytest.mark.parametrize("shop", WRONG_SHOPS, ids=lambda shop: shop.name)
def test_a_bug_is_found(shop: Shop, tmp_path: Path) -> None:
    finding = explore(shop, tmp_path, depth=2)
    assert (finding.code, finding.verdict) == (1, shop.verdict), finding.output
    if shop.bug in HANDLER_BUGS or shop.only:
        assert finding.history.count(",") == 1, "one anomaly is enough"
    if shop.only:
        anomaly = finding.history.partition(", ")[2]
        assert anomaly.partition(" ")[0] == shop.only
    for data in tmp_path.glob("orders.sqlite*"):
        data.unlink()
    flags = ("--replay", str(finding.saved), "--webhook-format", shop.form)
    replayed = run_explore(*flags, directory=tmp_path)
    assert (replayed.code, replayed.output.startswith("FAILED ")) == (1, True), replayed.output
