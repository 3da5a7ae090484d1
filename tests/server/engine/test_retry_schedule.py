"""The delay of the next attempt, to the millisecond."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.domain.webhooks import AttemptResult, Profile, WebhookResponse
from emulator.server.engine.delivery.attempts import MAX_RETRY_AFTER_MS, delay_ms_after, is_gone

# Wed, 21 Oct 2026 07:28:00 GMT, and a quarter of a second.
NOW_MS = 1_792_567_680_250
S = 1_000
MIN = 60_000
H = 3_600_000

UNREACHABLE = AttemptResult(response=None, error="connection refused")


def response(
    status: int, retry_after: str | None = None, name: str = "retry-after"
) -> AttemptResult:
    headers = () if retry_after is None else (("date", "x"), (name, retry_after))
    return AttemptResult(response=WebhookResponse(status=status, headers=headers))


def delay_ms(
    result: AttemptResult, attempts: int = 1, profile: Profile = Profile.DEFAULT
) -> int | None:
    return delay_ms_after(profile, attempts, result, wall_now_ms=NOW_MS)


@pytest.mark.clause("6.4")
@pytest.mark.parametrize(
    ("profile", "delays_ms"),
    [
        (Profile.DEFAULT, [0, 1 * S, 5 * S, 15 * S, 60 * S]),
        (
            Profile.STANDARD,
            [0, 5 * S, 5 * MIN, 30 * MIN, 2 * H, 5 * H, 10 * H, 14 * H, 20 * H, 24 * H],
        ),
    ],
)
def test_each_profile_has_its_delays(profile: Profile, delays_ms: list[int]) -> None:
    found = [delay_ms(UNREACHABLE, attempts, profile) for attempts in range(12)]
    assert found == delays_ms + [None] * (12 - len(delays_ms))


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("retry_after", "delay"),
    [
        ("30", 30 * S),
        ("030", 30 * S),
        (" 30 ", 30 * S),
        ("2", 2 * S),
        ("Wed, 21 Oct 2026 07:28:30 GMT", 30 * S - 250),
        ("Wednesday, 21-Oct-26 07:28:30 GMT", 30 * S - 250),
        ("Wed Oct 21 07:28:30 2026", 30 * S - 250),
    ],
)
def test_retry_after_makes_the_delay_longer(status: int, retry_after: str, delay: int) -> None:
    assert delay_ms(response(status, retry_after)) == delay
    assert delay_ms(response(status, retry_after, name="Retry-After")) == delay


@pytest.mark.parametrize("retry_after", ["0", "1", "Wed, 21 Oct 2026 07:28:01 GMT"])
def test_retry_after_does_not_make_the_delay_shorter(retry_after: str) -> None:
    assert delay_ms(response(503, retry_after), attempts=2) == 5 * S


@pytest.mark.parametrize(
    "retry_after",
    [
        "",
        "-30",
        "+30",
        "30.5",
        "3e1",
        "٣٠",
        "soon",
        "9" * 400,
        "Wed, 21 Oct 2025 07:28:00 GMT",
        "Thu, 01 Jan 1970 00:00:00 GMT",
        "Wed, 21 Oct 99999 07:28:00 GMT",
        "Wed, 99 Oct 2026 07:28:00 GMT",
        "2026-10-21T07:30:00Z",
    ],
)
def test_a_retry_after_that_is_invalid_or_past_is_ignored(retry_after: str) -> None:
    assert delay_ms(response(503, retry_after)) == 1 * S


@pytest.mark.parametrize(
    "retry_after", ["86401", "999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"]
)
def test_retry_after_is_limited_to_one_day(retry_after: str) -> None:
    assert delay_ms(response(429, retry_after)) == MAX_RETRY_AFTER_MS == 24 * H


@pytest.mark.parametrize("status", [301, 400, 404, 500, 502, 504])
def test_retry_after_counts_only_with_429_and_503(status: int) -> None:
    assert delay_ms(response(status, "30")) == 1 * S


def test_retry_after_adds_no_attempt() -> None:
    assert delay_ms(response(503, "30"), attempts=5) is None


@given(st.text() | st.text(alphabet="0123456789 ,:+-.WedOctGMT"))
def test_any_retry_after_results_in_a_delay(retry_after: str) -> None:
    delay = delay_ms(response(503, retry_after))
    assert delay is not None
    assert 1 * S <= delay <= MAX_RETRY_AFTER_MS


@pytest.mark.parametrize(
    ("result", "gone"),
    [(response(410), True), (response(404), False), (response(200), False), (UNREACHABLE, False)],
)
def test_only_status_410_means_gone(result: AttemptResult, gone: bool) -> None:
    assert is_gone(result) is gone
