"""Creates the account of each case in the emulator of a run, and deletes it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from emulator.clock import SystemClock
from emulator.domain.accounts import is_well_formed_key
from emulator.domain.instants import format_instant, parse_clock
from emulator.http.client import HttpClient, HttpResponse
from emulator.http.receiver import WebhookReceiver
from emulator.replay.cases import account_word
from emulator.replay.emulator_api import CONTROL
from emulator.replay.results import Case

# After Ctrl-C the user waits for the deletion of the account.
MAX_CLEANUP_S = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """The emulator of a run, and the settings of the accounts.

    In a private emulator (`is_private`) keys follow from the names of the cases, so that ids are
    equal in every run, and accounts are not deleted.
    """

    client: HttpClient
    is_private: bool
    clock: str
    seed: int
    wall: SystemClock
    receiver: WebhookReceiver | None = None


@dataclass(slots=True, kw_only=True)
class CaseAccount:
    """The account of a case; `now` is its time at the beginning. Deleted unless `is_kept`."""

    id: str
    now: str
    is_kept: bool


class AccountNotCreated(Exception):
    """The emulator created no account; the response says why."""

    def __init__(self, response: HttpResponse) -> None:
        super().__init__(response.failure or f"status {response.status}")
        self.response = response


@asynccontextmanager
async def case_account(
    case: Case, context: RunContext, client: HttpClient
) -> AsyncIterator[CaseAccount]:
    """Create an account, whose key the client then uses. Raises AccountNotCreated, Unreachable."""
    settings: dict[str, object] = {"name": case.name, "clock": context.clock, "seed": context.seed}
    if context.is_private:
        word = f"replay_{account_word(case.name)}"
        settings |= {"test_key": f"test_{word}", "live_key": f"live_{word}"}
    response = await client.request_json("POST", f"{CONTROL}/accounts", settings)
    test_key = str(response.member("test_key"))
    if response.status != 201 or not is_well_formed_key(test_key):
        raise AccountNotCreated(response)
    client.use_key(test_key)
    account = CaseAccount(
        id=str(response.member("id")),
        now=await _now(client, str(response.member("clock"))),
        is_kept=context.is_private,
    )
    try:
        yield account
    finally:
        if not account.is_kept:
            path = f"{CONTROL}/accounts/{account.id}"
            await client.request("DELETE", path, timeout_s=MAX_CLEANUP_S)


async def _now(client: HttpClient, clock: str) -> str:
    instant = parse_clock(clock).instant
    if instant is not None:
        return format_instant(instant)
    return str((await client.request("GET", f"{CONTROL}/clock")).member("now"))
