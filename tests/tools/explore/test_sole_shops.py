"""Each kind of anomaly and each verdict has a shop that nothing else shows."""

from pathlib import Path

import pytest

from tests.tools.explore.zoo.exploration import exposure
from tests.tools.explore.zoo.table import WRONG_SHOPS, Shop


def is_sole(shop: Shop) -> bool:
    return bool(shop.only) or shop.has_one_verdict


SOLE_SHOPS = [shop for shop in WRONG_SHOPS if is_sole(shop)]


@pytest.mark.interop
@pytest.mark.parametrize("shop", SOLE_SHOPS, ids=lambda shop: shop.name)
def test_only_one_kind_of_anomaly_or_one_verdict_shows_a_bug(shop: Shop, tmp_path: Path) -> None:
    found = exposure(shop, tmp_path)
    assert shop.verdict in found.verdicts
    assert not shop.only or found.kinds == {shop.only}
    assert not shop.has_one_verdict or found.verdicts == {shop.verdict}
