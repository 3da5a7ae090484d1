"""The web font has the characters of the pages and equals its generated files."""

import json
import os
import re
import unicodedata
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont

from emulator.assets import Assets
from tests.checkout.fonts import (
    ASSETS,
    CATALOGUES,
    ETHIOPIC,
    STYLESHEET,
    Weight,
    generated,
    unicode_range,
)
from tests.world import World

RUN_AGAIN = "run `python -m tests.checkout.fonts`"
MAX_WORDS_BYTES = 16 * 1024
ASSIGNED = {code for code in ETHIOPIC if unicodedata.name(chr(code), "")}

_RULE = re.compile(r"@font-face \{\n(?P<body>.*?)\n\}", re.DOTALL)
_DECLARATION = re.compile(r"  (?P<property>[a-z-]+): (?P<value>.+);")
_FILE = re.compile(r'url\("(?P<name>[a-z0-9.-]+)"\) format\("woff2"\)')


def rules() -> dict[str, dict[str, str]]:
    """The declarations of every rule of the stylesheet, by the file that it loads."""
    text = (ASSETS / STYLESHEET).read_text(encoding="utf-8")
    found = {}
    for rule in _RULE.finditer(text):
        declarations = dict(_DECLARATION.findall(rule["body"]))
        source = _FILE.fullmatch(declarations.pop("src"))
        assert source is not None
        found[source["name"]] = declarations
    return found


def named(ranges: str) -> set[int]:
    """The characters of a unicode-range."""
    characters: set[int] = set()
    for part in ranges.split(", "):
        first, _, last = part.removeprefix("U+").partition("-")
        characters.update(range(int(first, 16), int(last or first, 16) + 1))
    return characters


def characters(name: str) -> set[int]:
    return set(TTFont(ASSETS / name).getBestCmap())


def fonts() -> set[bytes]:
    return {path.read_bytes() for path in ASSETS.glob("*.woff2")}


def words(weight: Weight) -> str:
    return f"ethiopic-{weight.name.lower()}-words.woff2"


def rest(weight: Weight) -> str:
    return f"ethiopic-{weight.name.lower()}-rest.woff2"


@pytest.mark.parametrize("catalogue", CATALOGUES, ids=lambda path: path.stem)
@pytest.mark.parametrize("weight", Weight)
def test_the_words_have_every_ethiopic_character_of_the_catalogues(
    weight: Weight, catalogue: Path
) -> None:
    shown = set("".join(json.loads(catalogue.read_bytes()).values()))
    ethiopic = {sign for sign in shown if unicodedata.name(sign, "").startswith("ETHIOPIC")}
    assert ethiopic - set(map(chr, characters(words(weight)))) == set(), RUN_AGAIN


@pytest.mark.parametrize("weight", Weight)
def test_words_and_rest_have_the_whole_block_between_them(weight: Weight) -> None:
    assert len(ASSIGNED) == 358
    assert characters(words(weight)) | characters(rest(weight)) == ASSIGNED
    assert characters(words(weight)) & characters(rest(weight)) == set()


def test_every_font_is_loaded_for_just_the_characters_that_it_has() -> None:
    files = {path.name for path in ASSETS.glob("*.woff2")}
    assert files == {name for weight in Weight for name in (words(weight), rest(weight))}
    assert set(rules()) == files
    for name, declarations in rules().items():
        assert named(declarations["unicode-range"]) == characters(name), name


@pytest.mark.parametrize(
    ("weight", "cut_for", "weights"),
    [(Weight.REGULAR, 400, "400 500"), (Weight.BOLD, 700, "600 700")],
)
def test_medium_weights_use_the_nearest_font(weight: Weight, cut_for: int, weights: str) -> None:
    for name in (words(weight), rest(weight)):
        assert TTFont(ASSETS / name)["OS/2"].usWeightClass == cut_for
        assert rules()[name]["font-weight"] == weights


def test_the_faces_are_of_one_family_and_do_not_delay_text() -> None:
    for declarations in rules().values():
        assert declarations["font-family"] == '"Checkout Ethiopic"'
        assert declarations["font-display"] == "swap"


@pytest.mark.parametrize("weight", Weight)
def test_the_font_of_every_amharic_page_is_small(weight: Weight) -> None:
    assert (ASSETS / words(weight)).stat().st_size < MAX_WORDS_BYTES


@pytest.mark.parametrize("name", rules())
def test_a_font_names_its_owner_and_its_licence(name: str) -> None:
    names = TTFont(ASSETS / name)["name"]
    owner = names.getDebugName(0)
    assert owner.startswith("Copyright ")
    for file in ("OFL.txt", STYLESHEET):
        text = (ASSETS / file).read_text(encoding="utf-8")
        assert owner in text
        assert "SIL Open Font License" in text
    assert "SIL Open Font License, Version 1.1" in names.getDebugName(13)
    assert names.getDebugName(14) == "http://scripts.sil.org/OFL"


@pytest.mark.interop
# In CI a missing source is a failure.
@pytest.mark.skipif(
    not (os.environ.get("CI") or all(weight.source.is_file() for weight in Weight)),
    reason="Noto Sans Ethiopic is not on this machine",
)
def test_the_fonts_and_their_stylesheet_are_as_they_would_be_made_now() -> None:
    for name, content in generated().items():
        assert (ASSETS / name).read_bytes() == content, f"{name}: {RUN_AGAIN}"


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ([0x1200], "U+1200"),
        ([0x1203, 0x1200, 0x1201], "U+1200-1201, U+1203"),
        (range(0x1200, 0x1380), "U+1200-137F"),
    ],
)
def test_consecutive_characters_are_one_range(given: list[int], written: str) -> None:
    assert unicode_range(given) == written
    assert named(written) == set(given)


async def test_the_stylesheet_names_every_font(emulator: World) -> None:
    sheet = await emulator.pages.get(f"/{Assets(ASSETS).path(STYLESHEET)}")
    assert sheet.headers["content-type"] == "text/css; charset=utf-8"
    contents = set()
    for name in _FILE.findall(sheet.text):
        font = await emulator.pages.get(sheet.url.join(name))
        assert font.status_code == 200
        assert font.headers["content-type"] == "font/woff2"
        assert font.headers["cache-control"] == "public, max-age=31536000, immutable"
        contents.add(font.content)
    assert contents == fonts()
