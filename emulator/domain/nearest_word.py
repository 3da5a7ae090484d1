"""Finds the known word that is most similar to an unknown one, for hints in messages."""

from collections.abc import Iterable
from functools import lru_cache

_MAX_COMPARED_CHARACTERS = 64


def nearest_word(word: str, known: Iterable[str], *, similarity: float = 0.6) -> str | None:
    """The most similar known word, or None when none has this similarity, from 0 to 1."""
    return _nearest(word[:_MAX_COMPARED_CHARACTERS], tuple(known), similarity)


# A client repeats its unknown parameters, and to find one takes a third of a create.
@lru_cache(maxsize=256)
def _nearest(word: str, known: tuple[str, ...], similarity: float) -> str | None:
    from difflib import get_close_matches  # A start without mistakes does not need it.

    nearest = get_close_matches(word, known, n=1, cutoff=similarity)
    return nearest[0] if nearest else None


def nearest_word_hint(word: str, known: Iterable[str]) -> str:
    """A sentence with the most similar known word, after a blank, or nothing."""
    nearest = nearest_word(word, known)
    return "" if nearest is None else f" Did you mean '{nearest}'?"
