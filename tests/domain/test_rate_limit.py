"""The token bucket, against a model in exact fractions (contract, section 8)."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from emulator.domain.accounts import RateLimit, TokenBucket

LIMITS = st.builds(
    RateLimit,
    requests=st.integers(1, 40) | st.integers(1, 1_000_000),
    period_ms=st.sampled_from([1_000, 60_000]),
)
PAUSES = st.lists(st.integers(0, 30) | st.integers(0, 200_000), max_size=60)


class Model:
    """A bucket in exact fractions: tokens grow with time up to the limit."""

    def __init__(self, limit: RateLimit) -> None:
        self.limit = limit
        self.rate = Fraction(limit.requests, limit.period_ms)
        self.tokens = Fraction(limit.requests)
        self.filled_at: int | None = None

    def take(self, now: int) -> int:
        if self.filled_at is not None:
            grown = self.tokens + (now - self.filled_at) * self.rate
            self.tokens = min(Fraction(self.limit.requests), grown)
        self.filled_at = now
        if self.tokens >= 1:
            self.tokens -= 1
            return 0
        wait = (1 - self.tokens) / self.rate
        return -(-wait.numerator // wait.denominator)


@given(limit=LIMITS, pauses=PAUSES)
def test_a_bucket_behaves_as_the_model(limit: RateLimit, pauses: list[int]) -> None:
    bucket, model, now = TokenBucket(limit), Model(limit), 1_767_225_600_000
    for pause in pauses:
        now += pause
        assert bucket.take(now) == model.take(now)


@given(limit=LIMITS.filter(lambda limit: limit.requests <= 200), pauses=PAUSES)
def test_the_next_token_exists_after_the_returned_wait_and_not_before(
    limit: RateLimit, pauses: list[int]
) -> None:
    bucket, now = TokenBucket(limit), 0
    for pause in pauses:
        now += pause
        wait_ms = bucket.take(now)
        if wait_ms > 1:
            assert bucket.take(now + wait_ms - 1) == 1
        if wait_ms:
            now += wait_ms
            assert bucket.take(now) == 0


@given(LIMITS.filter(lambda limit: limit.requests <= 200))
def test_a_bucket_starts_full_and_does_not_overflow(limit: RateLimit) -> None:
    bucket = TokenBucket(limit)
    for now in (0, 10**12):
        assert [bucket.take(now) for _ in range(limit.requests)] == [0] * limit.requests
        assert bucket.take(now) > 0


def test_a_clock_that_is_set_back_takes_no_token_away() -> None:
    bucket = TokenBucket(RateLimit(requests=2, period_ms=1000))
    assert bucket.take(10_000) == 0
    assert bucket.take(5_000) == 0
    assert bucket.take(5_000) == 500
