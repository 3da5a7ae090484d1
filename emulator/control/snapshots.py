"""Snapshots over HTTP: states of an account under names, saved and gone back to."""

import re

from starlette.requests import Request
from starlette.responses import Response

from emulator.control.calls import Calls
from emulator.control.replies import no_content, reply
from emulator.domain.instants import format_instant
from emulator.domain.received_values import not_accepted
from emulator.engine.accounts.snapshots import Snapshots
from emulator.storage.snapshots import Snapshot

NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)


class SnapshotCalls:
    """`/snapshots`."""

    def __init__(self, calls: Calls, snapshots: Snapshots) -> None:
        self._calls = calls
        self._snapshots = snapshots

    async def save(self, request: Request) -> Response:
        call = await self._calls.decode(request, body=())
        snapshot, is_new = await self._snapshots.save(call.account, _name(request))
        return reply(_shown(snapshot), status=201 if is_new else 200)

    async def restore(self, request: Request) -> Response:
        call = await self._calls.decode(request, body=())
        return reply(_shown(await self._snapshots.restore(call.account, _name(request))))

    async def list(self, request: Request) -> Response:
        call = await self._calls.decode(request)
        found = await self._snapshots.all(call.account)
        return reply({"data": [_shown(snapshot) for snapshot in found]})

    async def get(self, request: Request) -> Response:
        call = await self._calls.decode(request)
        return reply(_shown(await self._snapshots.get(call.account, _name(request))))

    async def delete(self, request: Request) -> Response:
        call = await self._calls.decode(request, body=())
        await self._snapshots.delete(call.account, _name(request))
        return no_content()


def _name(request: Request) -> str:
    """Raises InvalidField."""
    name = str(request.path_params["name"])
    if not NAME_PATTERN.fullmatch(name):
        raise not_accepted(
            "name",
            name,
            "1 to 64 letters, digits, dots, dashes and underscores, of which the first is a letter"
            " or a digit",
        )
    return name


def _shown(snapshot: Snapshot) -> dict[str, object]:
    created_at = format_instant(snapshot.created_at)
    return {
        "name": snapshot.name,
        "created_at": created_at,
        "clock": {"now": created_at, "frozen": snapshot.is_frozen},
        "payments": {"test": snapshot.test_payments, "live": snapshot.live_payments},
    }
