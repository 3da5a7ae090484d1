"""The request warnings: accepted deviations from the contract, which `--strict` refuses.

Each slug has one constructor.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote

from emulator.domain.errors import (
    DuplicateParameter,
    IdempotencyKeyHeader,
    InvalidField,
    Refusal,
    UnknownParameter,
)
from emulator.domain.received_values import not_accepted, received

MAX_SLUGS = 16
MAX_NAME_BYTES = 64
_BROKEN_ESCAPE = re.compile(r"%[0-9A-F]?\Z")


@dataclass(frozen=True, slots=True)
class RequestWarning:
    """An accepted deviation: its slug, and its error under `--strict` (None: only a warning)."""

    slug: str
    strict_error: Refusal | None


def unknown_parameters(names: Iterable[str], known: Iterable[str]) -> list[RequestWarning]:
    return [
        RequestWarning(
            f"unknown-parameter:{shown}",
            UnknownParameter(f"There is no parameter '{shown}'.{_hint(name, known)}", param=shown),
        )
        for shown, name in _first_names(names).items()
    ]


def duplicate_parameters(names: Iterable[str]) -> list[RequestWarning]:
    return [
        RequestWarning(f"duplicate-parameter:{shown}", DuplicateParameter(shown))
        for shown in _first_names(names)
    ]


def duplicate_method(methods: list[str]) -> RequestWarning:
    return RequestWarning(
        "duplicate-method",
        InvalidField("methods", f"Each method must be listed once (got {received(methods)})."),
    )


def long_metadata(key: str, text: str, *, max_key: int, max_text: int) -> RequestWarning:
    return RequestWarning(
        "long-metadata",
        InvalidField(
            "metadata",
            f'A key of "metadata" must have at most {max_key} characters, and a value at most'
            f" {max_text} (got {len(key)} and {len(text)} for the key {received(key)}).",
        ),
    )


def unusual_url(param: str, url: str, what: str) -> RequestWarning:
    return RequestWarning(
        f"unusual-{param.replace('_', '-')}",
        InvalidField(param, f'The URL of "{param}" {what} (got {received(url)}).'),
    )


def loose_timestamp(param: str, text: str) -> RequestWarning:
    return RequestWarning(
        f"loose-timestamp:{param}",
        not_accepted(
            param,
            text,
            "a date, a time and an offset in a usual form, such as 2026-01-01T00:00:00Z",
        ),
    )


def idempotency_key_header() -> RequestWarning:
    return RequestWarning("idempotency-key-header", IdempotencyKeyHeader())


def long_idempotency_key(key: str, *, max_length: int) -> RequestWarning:
    return RequestWarning(
        "long-idempotency-key",
        InvalidField(
            "idempotency_key",
            f'"idempotency_key" must have at most {max_length} characters (got {len(key)}).',
        ),
    )


def unusual_expires_in(seconds: int, usual: range) -> RequestWarning:
    return RequestWarning(
        "unusual-expires-in",
        not_accepted(
            "expires_in", seconds, f"{usual.start} to {usual.stop - 1} seconds under --strict"
        ),
    )


def frequent_polling() -> RequestWarning:
    return RequestWarning("frequent-polling", None)


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
    return _BROKEN_ESCAPE.sub("", encoded[:MAX_NAME_BYTES])


def _hint(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    nearest = get_close_matches(name, known, n=1)
    return f" Did you mean '{nearest[0]}'?" if nearest else ""
