"""The request warnings: accepted deviations from the contract, which `--strict` refuses."""

import re
from collections.abc import Iterable
from urllib.parse import quote

import msgspec

from emulator.domain.errors import DuplicateParameter, Refusal, UnknownParameter
from emulator.domain.message_text import nearest_word_hint

MAX_SLUGS = 16
MAX_NAME_BYTES = 64
_BROKEN_ESCAPE = r"%[0-9A-F]?\Z"


class RequestWarning(msgspec.Struct, frozen=True):
    """An accepted deviation: its slug, and its error under `--strict` (None: only a warning)."""

    slug: str
    strict_error: Refusal | None


def unknown_parameters(names: Iterable[str], known: Iterable[str]) -> list[RequestWarning]:
    return [
        RequestWarning(
            f"unknown-parameter:{shown}",
            UnknownParameter(
                f"There is no parameter '{shown}'.{nearest_word_hint(name, known)}", param=shown
            ),
        )
        for shown, name in _first_names(names).items()
    ]


def duplicate_parameters(names: Iterable[str]) -> list[RequestWarning]:
    return [
        RequestWarning(f"duplicate-parameter:{shown}", DuplicateParameter(shown))
        for shown in _first_names(names)
    ]


def first_strict_error(warnings: Iterable[RequestWarning]) -> Refusal | None:
    return next(
        (warning.strict_error for warning in warnings if warning.strict_error is not None), None
    )


def warning_header(warnings: list[RequestWarning]) -> bytes:
    """The value of `Emulator-Warning`: at most 16 slugs, each once, then `more`."""
    slugs = slugs_of(warnings)
    if len(slugs) > MAX_SLUGS:
        slugs = (*slugs[:MAX_SLUGS], "more")
    return ", ".join(slugs).encode("ascii")


def slugs_of(warnings: Iterable[RequestWarning]) -> tuple[str, ...]:
    """Each slug once, in order."""
    return tuple(dict.fromkeys(warning.slug for warning in warnings))


def _first_names(names: Iterable[str]) -> dict[str, str]:
    """The first names by their encoded form, one more than the header holds.

    A body can have tens of thousands, and each takes as long as a small request.
    """
    first: dict[str, str] = {}
    for name in names:
        first.setdefault(_shown(name), name)
        if len(first) > MAX_SLUGS:
            break
    return first


def _shown(name: str) -> str:
    """A name for a header: percent-encoded, and cut but not inside an escape."""
    encoded = quote(name[:MAX_NAME_BYTES], safe="")
    return re.sub(_BROKEN_ESCAPE, "", encoded[:MAX_NAME_BYTES])
