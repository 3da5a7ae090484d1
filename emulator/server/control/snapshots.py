"""The calls on snapshots, and the recording of an account's history."""

import re
from typing import Annotated, Any

from msgspec import Meta, Struct
from starlette.responses import Response

from emulator.domain import errors
from emulator.domain.instants import format_instant
from emulator.domain.message_text import not_accepted
from emulator.server.control.calls import Call, operation
from emulator.server.control.types import YAML, Count, InstantText, PaymentId
from emulator.server.engine.accounts.snapshots import MAX_SNAPSHOTS, MAX_SNAPSHOTS_IN_MEMORY
from emulator.server.openapi.declarations import Resource, SuccessResponse, doc, parsed
from emulator.server.storage.accounts import Snapshot

NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)


def _snapshot_name(name: str, value: str) -> str:
    if not NAME_PATTERN.fullmatch(value):
        raise not_accepted(
            name,
            value,
            "1 to 64 letters, digits, dots, dashes and underscores, of which the first is a letter"
            " or a digit",
        )
    return value


SnapshotName = Annotated[str, Meta(pattern=f"^{NAME_PATTERN.pattern}$", examples=["one-order"])]


class SnapshotPath(Struct, frozen=True):
    name: Annotated[SnapshotName, doc("The name of a snapshot."), parsed(_snapshot_name)]


class SavedClock(Struct, frozen=True):
    """The clock after a restore."""

    now: InstantText
    frozen: bool


class SavedPayments(Struct, frozen=True):
    """The number of payments, by mode."""

    test: Count
    live: Count


class SnapshotJson(Struct, frozen=True):
    """A saved state of an account."""

    name: Annotated[SnapshotName, doc("Its name.")]
    created_at: Annotated[InstantText, doc("The instant of its creation, on the account's clock.")]
    clock: SavedClock
    payments: SavedPayments


class SnapshotList(Struct, frozen=True):
    """The snapshots, newest first."""

    data: list[SnapshotJson]


def _true_or_false(name: str, value: str) -> bool:
    if value not in ("true", "false"):
        raise not_accepted(name, value, '"true" or "false"')
    return value == "true"


class RecordingQuery(Struct, frozen=True):
    payment: Annotated[PaymentId | None, doc("Only this payment.")] = None
    deliveries: Annotated[
        Any,
        Meta(
            description="Whether webhook rules reproduce the order of the deliveries.",
            extra_json_schema={"type": "boolean"},
        ),
        parsed(_true_or_false),
    ] = False


@operation("GET /snapshots", "The snapshots.")
async def list_snapshots(call: Call) -> SnapshotList:
    """List snapshots.

    Lists the snapshots of the account, newest first.
    """
    found = await call.engine.snapshots.all(call.account)
    return SnapshotList([_json(snapshot) for snapshot in found])


@operation(
    "PUT /snapshots/{name}",
    {
        200: SuccessResponse("The snapshot, which replaced an earlier one."),
        201: SuccessResponse(
            "The new snapshot.",
        ),
    },
    errors.TooManySnapshots,
    description="Saves the whole state of the account, including its clock: 201, or 200 if"
    f" it replaces a snapshot with this name. An account has at most {MAX_SNAPSHOTS}"
    f" snapshots. The newest {MAX_SNAPSHOTS_IN_MEMORY} include the journal.",
)
async def save_snapshot(call: Call, path: SnapshotPath) -> tuple[int, SnapshotJson]:
    """Save a snapshot."""
    snapshot, is_new = await call.engine.snapshots.save(call.account, path.name)
    return 201 if is_new else 200, _json(snapshot)


@operation("GET /snapshots/{name}", "The snapshot.", errors.UnknownSnapshot)
async def get_snapshot(call: Call, path: SnapshotPath) -> SnapshotJson:
    """Retrieve a snapshot.

    Returns one snapshot.
    """
    return _json(await call.engine.snapshots.get(call.account, path.name))


@operation(
    "DELETE /snapshots/{name}",
    "Deleted.",
    errors.UnknownSnapshot,
)
async def delete_snapshot(call: Call, path: SnapshotPath) -> None:
    """Delete a snapshot.

    Deletes a snapshot.
    """
    await call.engine.snapshots.delete(call.account, path.name)


@operation("POST /snapshots/{name}/restore", "The snapshot.", errors.UnknownSnapshot)
async def restore_snapshot(call: Call, path: SnapshotPath) -> SnapshotJson:
    """Restore a snapshot.

    Restores the account to the saved state, including its clock.
    """
    return _json(await call.engine.snapshots.restore(call.account, path.name))


@operation(
    "GET /recording",
    {200: SuccessResponse("The file.", "ScenarioFile", media_type=YAML)},
    errors.UnknownPayment,
    errors.TooMuchToRecord,
)
async def get_recording(call: Call, query: RecordingQuery) -> Response:
    """Record the history.

    Returns the history of the account and mode, or of one payment, as a scenario file with a
    script for `replay`. With `deliveries`, its webhook rules drop, repeat and reorder deliveries
    as they were.
    """
    text = await call.engine.recording.record(
        call.owner, query.payment, has_deliveries=query.deliveries
    )
    return Response(text, media_type=YAML)


def _json(snapshot: Snapshot) -> SnapshotJson:
    created_at = format_instant(snapshot.created_at)
    return SnapshotJson(
        name=snapshot.name,
        created_at=created_at,
        clock=SavedClock(now=created_at, frozen=snapshot.is_frozen),
        payments=SavedPayments(test=snapshot.test_payments, live=snapshot.live_payments),
    )


SNAPSHOTS = Resource(
    tag="Snapshots and recordings",
    description="Saved states of an account that can be restored, and its history as a scenario"
    " file.",
    operations=(
        list_snapshots,
        save_snapshot,
        get_snapshot,
        delete_snapshot,
        restore_snapshot,
        get_recording,
    ),
)
