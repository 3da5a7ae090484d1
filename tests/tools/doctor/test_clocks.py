"""The comparison of the clock of a merchant's server with that of the account."""

import pytest

from tests.server.webhooks.receiver import Reply, receiving, replies
from tests.tools.doctor.examinations import NOTE, WEBHOOK, call, examine, fixes, texts
from tests.world import START

SHOWN = "2026-01-01T00:00:00.000Z in the account"


async def notes(url: str, date: str | None) -> tuple[list[str], str]:
    """The notes about a handler with such a `Date`, without its URL, and what to do about them."""
    account = await call(url, "POST", "/_emulator/accounts", {"clock": f"frozen@{START}"})
    key = str(account["test_key"])
    headers = {} if date is None else {"Date": date}
    async with receiving(replies(Reply(headers=headers))) as handler:
        await call(url, "POST", "/_emulator/webhook_endpoints", {"url": handler.url}, key)
        report = await examine(url, key=key)
    assert report.problem_count == 0
    found = [text.replace(handler.url, "URL") for text in texts(report, WEBHOOK, NOTE)]
    return found, fixes(report, WEBHOOK)


@pytest.mark.parametrize(
    "date",
    [
        "Thu, 01 Jan 2026 00:00:00 GMT",
        "Thu, 01 Jan 2026 03:00:05 +0300",
        "Wed, 31 Dec 2025 23:59:55 -0000",
        "no date",
        None,
    ],
)
async def test_a_server_with_the_clock_of_the_account_gets_no_note(
    url: str, date: str | None
) -> None:
    assert (await notes(url, date))[0] == []


@pytest.mark.parametrize(
    ("date", "instant"),
    [
        ("Thu, 01 Jan 2026 00:00:06 GMT", "2026-01-01T00:00:06.000Z"),
        ("Wed, 31 Dec 2025 23:59:54 GMT", "2025-12-31T23:59:54.000Z"),
        ("Fri, 01 Jan 2027 00:00:00 GMT", "2027-01-01T00:00:00.000Z"),
    ],
)
async def test_another_clock_is_a_note(url: str, date: str, instant: str) -> None:
    found, advice = await notes(url, date)
    text = "The clock of URL differs from the account's clock"
    assert found == [f"{text}: {instant} in its Date header, {SHOWN}"]
    assert "--clock-file" in advice
