"""Explore finds the bug of each wrong shop of the zoo."""

from pathlib import Path

import pytest

from emulator.tools.explore.judgement import VerdictId
from tests.tools.explore.zoo.__main__ import PAGE as FOUND_BUGS
from tests.tools.explore.zoo.exploration import explore, smaller_failures
from tests.tools.explore.zoo.table import CORRECT_SHOPS, NODE, PHP, PYTHON, SHOPS, WRONG_SHOPS, Shop

ZOO = Path(__file__).parent / "zoo"
MAX_S = 60
PROGRAMS = {PYTHON: "shop.py", NODE: "shop.mjs", PHP: "shop.php"}


def test_each_shop_has_one_bug_of_its_program_and_a_source() -> None:
    assert len(SHOPS) == len(WRONG_SHOPS) + len(CORRECT_SHOPS)
    assert (len(WRONG_SHOPS) >= 24, len(CORRECT_SHOPS) >= 6) == (True, True)
    programs = {language: (ZOO / name).read_text() for language, name in PROGRAMS.items()}
    for shop in WRONG_SHOPS:
        assert shop.bug in programs[shop.language], shop.name
        assert shop.verdict in set(VerdictId), shop.name
        assert shop.source.count("/") == 3, shop.name


@pytest.mark.interop
@pytest.mark.parametrize("shop", WRONG_SHOPS, ids=lambda shop: shop.name)
def test_a_bug_is_found_in_a_smallest_history(shop: Shop, tmp_path: Path) -> None:
    finding = explore(shop, tmp_path, depth=2)
    assert (finding.code, finding.verdict) == (1, shop.verdict), finding.output
    assert finding.seconds < MAX_S
    assert smaller_failures(finding, tmp_path) == []


def test_the_table_of_found_bugs_has_each_shop() -> None:
    page = FOUND_BUGS.read_text(encoding="utf-8")
    for shop in WRONG_SHOPS:
        assert f"| {shop.description} | {shop.language} | [{shop.source}]" in page, shop.name
        assert f"`{shop.verdict}`" in page
