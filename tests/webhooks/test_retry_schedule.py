"""When an attempt is followed by another one, to the millisecond."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.domain.webhooks import AttemptResult, Profile, WebhookResponse
from emulator.webhooks.retry_schedule import MAX_RETRY_AFTER_MS, delay_ms_after, is_gone

# Wed, 21 Oct 2026 07:28:00 GMT, and a quarter of a second.
NOW_MS = 1_792_567_680_250
S = 1_000
MIN = 60_000
H = 3_600_000

UNREACHABLE = AttemptResult(response=None, error="connection refused")


def answered(
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
def test_each_attempt_of_a_profile_comes_so_long_after_the_one_before(
    profile: Profile, delays_ms: list[int]
) -> None:
    found = [delay_ms(UNREACHABLE, attempts, profile) for attempts in range(len(delays_ms) + 1)]
    assert found == [*delays_ms, None]


@pytest.mark.parametrize("profile", Profile)
def test_after_more_attempts_than_the_profile_has_there_is_none_either(profile: Profile) -> None:
    assert delay_ms(UNREACHABLE, 11, profile) is None


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("asked", "delay"),
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
def test_an_endpoint_may_ask_for_a_longer_delay(status: int, asked: str, delay: int) -> None:
    assert delay_ms(answered(status, asked)) == delay
    assert delay_ms(answered(status, asked, name="Retry-After")) == delay


@pytest.mark.parametrize("asked", ["0", "1", "Wed, 21 Oct 2026 07:28:01 GMT"])
def test_an_endpoint_cannot_ask_for_a_shorter_delay(asked: str) -> None:
    assert delay_ms(answered(503, asked), attempts=2) == 5 * S


@pytest.mark.parametrize(
    "asked",
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
def test_what_is_no_time_to_come_is_ignored(asked: str) -> None:
    assert delay_ms(answered(503, asked)) == 1 * S


@pytest.mark.parametrize("asked", ["86401", "999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_an_endpoint_may_ask_for_a_day_at_most(asked: str) -> None:
    assert delay_ms(answered(429, asked)) == MAX_RETRY_AFTER_MS == 24 * H


@pytest.mark.parametrize("status", [301, 400, 404, 500, 502, 504])
def test_only_too_many_requests_and_unavailability_ask_for_patience(status: int) -> None:
    assert delay_ms(answered(status, "30")) == 1 * S


def test_patience_is_no_further_attempt() -> None:
    assert delay_ms(answered(503, "30"), attempts=5) is None


@given(st.text() | st.text(alphabet="0123456789 ,:+-.WedOctGMT"))
def test_whatever_an_endpoint_asks_for_there_is_a_delay(asked: str) -> None:
    delay = delay_ms(answered(503, asked))
    assert delay is not None
    assert 1 * S <= delay <= MAX_RETRY_AFTER_MS


@pytest.mark.parametrize(
    ("result", "gone"),
    [(answered(410), True), (answered(404), False), (answered(200), False), (UNREACHABLE, False)],
)
def test_only_410_means_gone(result: AttemptResult, gone: bool) -> None:
    assert is_gone(result) is gone
