"""The words of the pages: a catalogue a language, which is shown, and how money is written."""

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from markupsafe import Markup, escape

from emulator.domain.payment_methods import DEFAULT_METHODS

DEFAULT_LANGUAGE = "en"
LANGUAGES = (DEFAULT_LANGUAGE, "am")

_MAX_CACHED = 64
_QUALITY = re.compile(r"0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?", re.ASCII)
_NO_BREAK_SPACE = "\u00a0"


class Texts:
    """One language's catalogue; a key that it does not have is a mistake of ours."""

    def __init__(self, language: str, entries: Mapping[str, str]) -> None:
        self.language = language
        self._entries = {key: escape(text) for key, text in entries.items()}
        self._currency = entries["currency"]

    @property
    def other_language(self) -> str:
        """The language that the page offers to switch to."""
        return LANGUAGES[1 - LANGUAGES.index(self.language)]

    def __call__(self, key: str, **values: object) -> Markup:
        """The text of a key as HTML, its placeholders filled in with what is escaped."""
        return self._entries[key].format_map(values)

    def method(self, method: str) -> str:
        """The name of a payment method; one that only the settings know is its own name."""
        return self(method) if method in DEFAULT_METHODS else method

    def money(self, amount_minor: int) -> str:
        """An amount in ETB cents: `ETB 1,234.50`, never broken over two lines."""
        birr, cents = divmod(amount_minor, 100)
        return f"{self._currency}{_NO_BREAK_SPACE}{birr:,}.{cents:02}"


def load_catalogues(directory: Path) -> dict[str, Texts]:
    """Every language's catalogue, by language."""
    return {
        language: Texts(
            language, json.loads((directory / f"{language}.json").read_text(encoding="utf-8"))
        )
        for language in LANGUAGES
    }


def language_of(tag: str) -> str | None:
    """The language of ours that a tag such as `AM` or `am-ET` names."""
    language = tag.strip().lower().partition("-")[0]
    return language if language in LANGUAGES else None


@lru_cache(_MAX_CACHED)
def preferred_language(accept_language: str) -> str:
    """The language that an `Accept-Language` header likes best among ours."""
    best, best_quality = DEFAULT_LANGUAGE, 0.0
    for entry in accept_language.split(","):
        language_range, *parameters = entry.split(";")
        language = language_of(language_range)
        quality = _quality(parameters)
        if language is not None and quality > best_quality:
            best, best_quality = language, quality
    return best


def _quality(parameters: Sequence[str]) -> float:
    """How much a language is liked; what cannot be read says nothing for it."""
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "q":
            return float(value) if _QUALITY.fullmatch(value.strip()) else 0.0
    return 1.0
