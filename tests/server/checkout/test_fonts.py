"""The web font has the characters of the pages and equals its generated files."""

import json
import os
import re
import unicodedata

import pytest
from fontTools.ttLib import TTFont

from emulator.server.assets import Assets
from tests.server.checkout.fonts import (
    ASSETS,
    CATALOGUES,
    ETHIOPIC,
    STYLESHEET,
    Face,
    Slice,
    Weight,
    generated,
    stylesheet,
    unicode_range,
)
from tests.world import World

RUN_AGAIN = "run `python -m tests.server.checkout.fonts`"
MAX_WORDS_BYTES = 16 * 1024
ASSIGNED = {code for code in ETHIOPIC if unicodedata.name(chr(code), "")}

# The stored fonts, each with the characters that it has.
FACES = [
    Face(weight=weight, slice=slice_, characters=frozenset(TTFont(ASSETS / file).getBestCmap()))
    for weight in Weight
    for slice_ in Slice
    for file in [f"ethiopic-{weight.name.lower()}-{slice_.value}.woff2"]
]


@pytest.mark.parametrize("weight", Weight)
def test_words_and_rest_have_the_whole_block_and_the_words_every_catalogue(weight: Weight) -> None:
    words, rest = (face.characters for face in FACES if face.weight is weight)
    assert (len(ASSIGNED), words | rest, words & rest) == (358, ASSIGNED, set())
    for catalogue in CATALOGUES:
        shown = set(map(ord, "".join(json.loads(catalogue.read_bytes()).values())))
        assert shown & ASSIGNED <= words, f"{catalogue.stem}: {RUN_AGAIN}"


def test_every_font_is_loaded_for_just_the_characters_that_it_has() -> None:
    assert {path.name for path in ASSETS.glob("*.woff2")} == {face.file for face in FACES}
    assert (ASSETS / STYLESHEET).read_bytes() == stylesheet(FACES)


@pytest.mark.parametrize("face", FACES, ids=lambda face: face.file)
def test_a_font_has_its_weight_and_names_its_owner_and_its_licence(face: Face) -> None:
    path = ASSETS / face.file
    assert face.slice is Slice.REST or path.stat().st_size < MAX_WORDS_BYTES
    font = TTFont(path)
    cut_for = {Weight.REGULAR: 400, Weight.BOLD: 700}[face.weight]
    assert font["OS/2"].usWeightClass == cut_for
    assert str(cut_for) in face.weight.value.split()
    owner = font["name"].getDebugName(0)
    assert owner.startswith("Copyright ")
    for file in ("OFL.txt", STYLESHEET):
        text = (ASSETS / file).read_text(encoding="utf-8")
        assert owner in text
        assert "SIL Open Font License" in text
    assert "SIL Open Font License, Version 1.1" in font["name"].getDebugName(13)
    assert font["name"].getDebugName(14) == "http://scripts.sil.org/OFL"


@pytest.mark.interop
# In CI a missing source is a failure.
@pytest.mark.skipif(
    not (os.environ.get("CI") or all(weight.source.is_file() for weight in Weight)),
    reason="Noto Sans Ethiopic is not on this machine",
)
def test_the_fonts_and_their_stylesheet_are_as_they_would_be_made_now() -> None:
    for name, content in generated().items():
        assert (ASSETS / name).read_bytes() == content, f"{name}: {RUN_AGAIN}"


def test_consecutive_characters_are_one_range() -> None:
    assert unicode_range([0x1200]) == "U+1200"
    assert unicode_range([0x1203, 0x1200, 0x1201]) == "U+1200-1201, U+1203"
    assert unicode_range(range(0x1200, 0x1380)) == "U+1200-137F"


async def test_the_stylesheet_names_every_font(emulator: World) -> None:
    sheet = await emulator.pages.get(f"/{Assets(ASSETS).path(STYLESHEET)}")
    names = re.findall(r'url\("([a-z0-9.-]+)"\) format\("woff2"\)', sheet.text)
    fonts = [await emulator.pages.get(sheet.url.join(name)) for name in names]
    assert {each.content for each in fonts} == {
        each.read_bytes() for each in ASSETS.glob("*.woff2")
    }
