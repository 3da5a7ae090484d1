"""Whole comparisons of the emulator, or of a server that is wrong in one thing."""

from collections.abc import Sequence

from emulator.verify.comparison import Comparison, compare
from emulator.verify.findings import Verdict
from emulator.verify.session import Session
from tests.verify.runs import Runs, unchanged
from tests.verify.wrong import Change


async def comparison(
    runs: Runs, change: Change = unchanged, *, accepted: Sequence[str] = ()
) -> Comparison:
    async with runs.accounts() as (key, other_key):
        client = runs.client(change)
        session = Session(client, key=key, other_key=other_key, stream=b"1" * 32)
        return await compare(session, began_at=0, accepted=frozenset(accepted))


def verdicts(it: Comparison, verdict: Verdict) -> set[str]:
    return {one.clause.number for one in it.results if one.verdict is verdict}
