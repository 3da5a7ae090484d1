"""Where a case is played: in which emulator, and in an account that nobody else has."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from emulator.clock import SystemClock
from emulator.domain.accounts import is_well_formed_key
from emulator.domain.instants import format_instant, parse_clock
from emulator.replay.cases import account_word
from emulator.replay.client import Answer, Client, Connection
from emulator.replay.receiver import Receiver
from emulator.replay.results import Case
from emulator.replay.step_executor import CONTROL

# Somebody may have pressed Ctrl-C, and waits.
MAX_CLEANUP_S = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """An emulator, and how its accounts are to be.

    In one that `is_private` keys are chosen by name: nobody else can have them, and so ids are the
    same in every run. There accounts are left as they are, since they end with it.
    """

    client: Client
    is_private: bool
    clock: str
    seed: int
    wall: SystemClock
    receiver: Receiver | None = None


@dataclass(slots=True, kw_only=True)
class Account:
    """A fresh account; `now` is what its clock shows. One that is to be kept is not deleted."""

    id: str
    test_key: str
    now: str
    is_kept: bool


class NoAccount(Exception):
    """The emulator made none; the answer tells why."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.lost or f"status {answer.status}")
        self.answer = answer


@asynccontextmanager
async def fresh_account(
    case: Case, stage: RunContext, connection: Connection
) -> AsyncIterator[Account]:
    """An account for a case, whose key the connection uses. Raises NoAccount, Unreachable."""
    wanted: dict[str, object] = {"name": case.name, "clock": stage.clock, "seed": stage.seed}
    if stage.is_private:
        word = f"replay_{account_word(case.name)}"
        wanted |= {"test_key": f"test_{word}", "live_key": f"live_{word}"}
    answer = await connection.ask_json("POST", f"{CONTROL}/accounts", wanted)
    test_key = str(answer.member("test_key"))
    if answer.status != 201 or not is_well_formed_key(test_key):
        raise NoAccount(answer)
    connection.use_key(test_key)
    account = Account(
        id=str(answer.member("id")),
        test_key=test_key,
        now=await _now(connection, str(answer.member("clock"))),
        is_kept=stage.is_private,
    )
    try:
        yield account
    finally:
        if not account.is_kept:
            path = f"{CONTROL}/accounts/{account.id}"
            await connection.ask("DELETE", path, within_s=MAX_CLEANUP_S)


async def _now(connection: Connection, clock: str) -> str:
    instant = parse_clock(clock).instant
    if instant is not None:
        return format_instant(instant)
    return str((await connection.ask("GET", f"{CONTROL}/clock")).member("now"))
