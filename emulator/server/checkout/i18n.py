"""Loads the texts of the pages in each language, chooses the language, and formats values."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from markupsafe import Markup, escape

from emulator.domain.instants import Instant
from emulator.domain.payment_methods import METHODS

DEFAULT_LANGUAGE = "en"
_ADDIS_ABABA_MINUTES = 180
LANGUAGES = (DEFAULT_LANGUAGE, "am")

_QUALITY = re.compile(r"0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?", re.ASCII)
_NO_BREAK_SPACE = "\u00a0"
# A space inside a phone number such as `09XX XXX XXX`.
_SPACE_IN_NUMBER = re.compile(r"(?<=[0-9X]) (?=[0-9X])", re.ASCII)


class Texts:
    """The catalogue of one language. Raises KeyError for an unknown key."""

    def __init__(self, language: str, entries: Mapping[str, str]) -> None:
        self.language = language
        self._entries = {
            key: escape(_SPACE_IN_NUMBER.sub(_NO_BREAK_SPACE, text))
            for key, text in entries.items()
        }
        self._currency = entries["currency"]

    @property
    def other_language(self) -> str:
        """The language that the page offers to switch to."""
        return LANGUAGES[1 - LANGUAGES.index(self.language)]

    def __call__(self, key: str, **values: object) -> Markup:
        """The text of a key as HTML, its placeholders filled in with escaped values."""
        return self._entries[key].format_map(values)

    def method(self, method: str) -> str:
        """The title of a payment method; an additional one of `--methods` has no title."""
        return self(method) if method in METHODS else method

    def money(self, amount_minor: int) -> str:
        """An amount in ETB cents: `ETB 1,234.50`, never broken over two lines."""
        birr, cents = divmod(amount_minor, 100)
        return f"{self._currency}{_NO_BREAK_SPACE}{birr:,}.{cents:02}"


def minutes(duration_ms: int) -> str:
    """A duration as `0:30`, rounded up to whole seconds."""
    whole_minutes, seconds = divmod(max(0, -(-duration_ms // 1000)), 60)
    return f"{whole_minutes}:{seconds:02}"


def time_of_day(instant: Instant) -> str:
    """The time in Addis Ababa, as a phone shows it: `16:05`."""
    hours, minute = divmod(instant // 60_000 + _ADDIS_ABABA_MINUTES, 60)
    return f"{hours % 24:02}:{minute:02}"


def load_catalogues(directory: Path) -> dict[str, Texts]:
    """The catalogues by language."""
    return {
        language: Texts(
            language, json.loads((directory / f"{language}.json").read_text(encoding="utf-8"))
        )
        for language in LANGUAGES
    }


def language_of(tag: str) -> str | None:
    """The supported language of a tag such as `AM` or `am-ET`, if any."""
    language = tag.strip().lower().partition("-")[0]
    return language if language in LANGUAGES else None


def preferred_language(accept_language: str) -> str:
    """The supported language with the highest quality in an `Accept-Language` header."""
    best, best_quality = DEFAULT_LANGUAGE, 0.0
    for entry in accept_language.split(","):
        language_range, *parameters = entry.split(";")
        language = language_of(language_range)
        quality = _quality(parameters)
        if language is not None and quality > best_quality:
            best, best_quality = language, quality
    return best


def _quality(parameters: Sequence[str]) -> float:
    """The quality of a language range; 0 where it is malformed."""
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "q":
            return float(value) if _QUALITY.fullmatch(value.strip()) else 0.0
    return 1.0
