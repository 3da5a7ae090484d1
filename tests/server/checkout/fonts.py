"""Cuts the web font of the checkout pages from Noto Sans Ethiopic, and writes its stylesheet.

`python -m tests.server.checkout.fonts` writes both; run it after a catalogue has new characters.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from io import BytesIO
from itertools import groupby
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

from emulator.settings import data_directory

CATALOGUES = sorted((data_directory("templates") / "checkout").glob("*.json"))
ASSETS = data_directory("templates") / "checkout" / "static"
STYLESHEET = "fonts.css"
# Where Debian's package fonts-noto-core puts it.
NOTO = Path("/usr/share/fonts/truetype/noto")
ETHIOPIC = range(0x1200, 0x1380)

_FEATURES = ["calt", "ccmp", "kern", "locl", "mark", "mkmk"]
# Copyright, family, style, licence and its address: those that the licence requires, and a name.
_NAME_IDS = [0, 1, 2, 13, 14]
_HEAD = """\
/* Made by `python -m tests.server.checkout.fonts`, for machines without an Ethiopic font.
   Cut from Noto Sans Ethiopic, which is under the SIL Open Font License 1.1: see OFL.txt.
   Copyright 2015 Google Inc. All Rights Reserved. */
"""
_RULE = """
@font-face {{
  font-family: "Checkout Ethiopic";
  font-weight: {weights};
  font-display: swap;
  src: url("{file}") format("woff2");
  unicode-range: {characters};
}}
"""


class Weight(Enum):
    """The weights of the font files, and the CSS weights that use each."""

    REGULAR = "400 500"
    BOLD = "600 700"

    @property
    def source(self) -> Path:
        return NOTO / f"NotoSansEthiopic-{self.name.title()}.ttf"


class Slice(Enum):
    """The characters of every page in Amharic, and those that only a merchant's name may have."""

    WORDS = "words"
    REST = "rest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Face:
    """One file of the font, and the rule that loads it where one of its characters is shown."""

    weight: Weight
    slice: Slice
    characters: frozenset[int]

    @property
    def file(self) -> str:
        return f"ethiopic-{self.weight.name.lower()}-{self.slice.value}.woff2"

    @property
    def rule(self) -> str:
        return _RULE.format(
            weights=self.weight.value, file=self.file, characters=unicode_range(self.characters)
        )

    def cut(self) -> bytes:
        """The font file; the same source gives the same bytes."""
        font = TTFont(self.weight.source, recalcTimestamp=False)
        options = subset.Options(
            hinting=False,
            ignore_missing_unicodes=False,
            layout_features=_FEATURES,
            name_IDs=_NAME_IDS,
        )
        subsetter = subset.Subsetter(options)
        subsetter.populate(unicodes=self.characters)
        subsetter.subset(font)
        font.flavor = "woff2"
        written = BytesIO()
        font.save(written)
        return written.getvalue()


def generated() -> dict[str, bytes]:
    """The fonts and their stylesheet, by file name. Raises FileNotFoundError without a source."""
    faces = [face for weight in Weight for face in _faces(weight)]
    return {face.file: face.cut() for face in faces} | {STYLESHEET: stylesheet(faces)}


def stylesheet(faces: Iterable[Face]) -> bytes:
    return (_HEAD + "".join(face.rule for face in faces)).encode()


def unicode_range(characters: Iterable[int]) -> str:
    """Characters in CSS, neighbours as one range."""
    numbered = enumerate(sorted(characters))
    runs = (
        [character for _, character in run]
        for _, run in groupby(numbered, key=lambda pair: pair[1] - pair[0])
    )
    return ", ".join(
        f"U+{run[0]:X}" if len(run) == 1 else f"U+{run[0]:X}-{run[-1]:X}" for run in runs
    )


def _faces(weight: Weight) -> list[Face]:
    words = _characters_of_the_catalogues()
    rest = frozenset(TTFont(weight.source).getBestCmap()).intersection(ETHIOPIC) - words
    return [
        Face(weight=weight, slice=Slice.WORDS, characters=words),
        Face(weight=weight, slice=Slice.REST, characters=rest),
    ]


def _characters_of_the_catalogues() -> frozenset[int]:
    catalogues = [json.loads(path.read_bytes()) for path in CATALOGUES]
    texts = [text for catalogue in catalogues for text in catalogue.values()]
    return frozenset(map(ord, "".join(texts))).intersection(ETHIOPIC)


if __name__ == "__main__":
    for name, content in generated().items():
        (ASSETS / name).write_bytes(content)
