"""How many requests a time an owner may make: a bucket of tokens that refills evenly."""

from dataclasses import dataclass

from emulator.domain.instants import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimit:
    """A bucket of `requests` tokens, full at start, refilled in `period_ms`."""

    requests: int
    period_ms: int


BucketState = tuple[RateLimit, int, Instant | None]
"""A bucket's limit, its units, and when they were counted."""


class TokenBucket:
    """One owner's bucket, on its account's clock; exact, in integers.

    A token is `period_ms` units, and each millisecond brings `requests` of them.
    """

    __slots__ = ("_filled_at", "_limit", "_units")

    def __init__(self, limit: RateLimit) -> None:
        self._limit = limit
        self._units = limit.requests * limit.period_ms
        self._filled_at: Instant | None = None

    def state(self) -> BucketState:
        return self._limit, self._units, self._filled_at

    def like(self, state: BucketState | None) -> "TokenBucket":
        """A bucket of this limit that stands as one of the same limit did, else a full one."""
        bucket = TokenBucket(self._limit)
        if state is not None and state[0] == self._limit:
            _, bucket._units, bucket._filled_at = state
        return bucket

    def take(self, now: Instant) -> int:
        """Take a token: 0, or the milliseconds until there will be one."""
        limit = self._limit
        if self._filled_at is not None:
            gained = max(0, now - self._filled_at) * limit.requests
            self._units = min(self._units + gained, limit.requests * limit.period_ms)
        self._filled_at = now
        if self._units >= limit.period_ms:
            self._units -= limit.period_ms
            return 0
        return -(-(limit.period_ms - self._units) // limit.requests)
