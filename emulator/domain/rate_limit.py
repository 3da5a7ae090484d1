"""Limits the request rate of an owner by a token bucket."""

from typing import NamedTuple

from emulator.domain.instants import Instant


class RateLimit(NamedTuple):
    """A bucket of `requests` tokens, full at start, refilled in `period_ms`."""

    requests: int
    period_ms: int


BucketState = tuple[RateLimit, int, Instant | None]
"""The limit of a bucket, its units, and the instant of their last update."""


class TokenBucket:
    """The bucket of an owner, on its account's clock, in exact integers.

    A token is `period_ms` units, and each millisecond adds `requests` units.
    """

    __slots__ = ("_filled_at", "_limit", "_units")

    def __init__(self, limit: RateLimit) -> None:
        self._limit = limit
        self._units = limit.requests * limit.period_ms
        self._filled_at: Instant | None = None

    def state(self) -> BucketState:
        return self._limit, self._units, self._filled_at

    def like(self, state: BucketState | None) -> "TokenBucket":
        """A bucket of this limit: with the state of one of the same limit, else full."""
        bucket = TokenBucket(self._limit)
        if state is not None and state[0] == self._limit:
            _, bucket._units, bucket._filled_at = state
        return bucket

    def take(self, now: Instant) -> int:
        """Take a token: returns 0, or the milliseconds until the next token."""
        limit = self._limit
        if self._filled_at is not None:
            gained = max(0, now - self._filled_at) * limit.requests
            self._units = min(self._units + gained, limit.requests * limit.period_ms)
        self._filled_at = now
        if self._units >= limit.period_ms:
            self._units -= limit.period_ms
            return 0
        return -(-(limit.period_ms - self._units) // limit.requests)
