"""What the document says of snapshots and of recordings: an account's past, to go back to."""

from emulator.control.document.operations import Answer, Link, Operation, Subject
from emulator.control.document.shapes import (
    BOOLEAN,
    COUNT,
    INSTANT,
    answer_of,
    collection_of,
    path_parameter,
    said,
)
from emulator.control.recording import MEDIA_TYPE
from emulator.control.snapshots import NAME_PATTERN
from emulator.engine.accounts.snapshots import MAX_SNAPSHOTS, MAX_SNAPSHOTS_IN_MEMORY

_SNAPSHOT = "/_emulator/snapshots/{name}"
_NAME = {"type": "string", "pattern": f"^{NAME_PATTERN.pattern}$"}
_THE_SAME = {"name": "$request.path.name"}
_SAVED = Answer(
    description="The new snapshot.",
    schema="Snapshot",
    links=(
        Link(to="get_snapshot", parameters=_THE_SAME),
        Link(to="restore_snapshot", parameters=_THE_SAME),
        Link(to="delete_snapshot", parameters=_THE_SAME),
    ),
)

_SCHEMAS = {
    "Snapshot": answer_of(
        "A saved state of an account.",
        {
            "name": said(_NAME, "Its name."),
            "created_at": said(INSTANT, "The instant of its creation, on the account's clock."),
            "clock": answer_of(
                "The clock after a restore.",
                {"now": INSTANT, "frozen": BOOLEAN},
            ),
            "payments": answer_of(
                "The number of payments, by mode.", {"test": COUNT, "live": COUNT}
            ),
        },
    ),
    "SnapshotList": collection_of("Snapshot", "The snapshots, newest first."),
}

_OPERATIONS = (
    Operation(
        method="get",
        path="/_emulator/snapshots",
        id="list_snapshots",
        summary="List snapshots",
        description="Lists the snapshots of the account, newest first.",
        answers={200: Answer(description="The snapshots.", schema="SnapshotList")},
    ),
    Operation(
        method="put",
        path=_SNAPSHOT,
        id="save_snapshot",
        summary="Save a snapshot",
        description="Saves the whole state of the account, including its clock: 201, or 200 if"
        f" it replaces a snapshot with this name. An account has at most {MAX_SNAPSHOTS}"
        f" snapshots. The newest {MAX_SNAPSHOTS_IN_MEMORY} include the journal.",
        parameters=("SnapshotName",),
        answers={
            200: Answer(
                description="The snapshot, which replaced an earlier one.", schema="Snapshot"
            ),
            201: _SAVED,
        },
        codes={400: ("invalid_name",), 409: ("too_many_snapshots",)},
    ),
    Operation(
        method="get",
        path=_SNAPSHOT,
        id="get_snapshot",
        summary="Retrieve a snapshot",
        description="Returns one snapshot.",
        parameters=("SnapshotName",),
        answers={200: Answer(description="The snapshot.", schema="Snapshot")},
        codes={400: ("invalid_name",), 404: ("snapshot_not_found",)},
    ),
    Operation(
        method="delete",
        path=_SNAPSHOT,
        id="delete_snapshot",
        summary="Delete a snapshot",
        description="Deletes a snapshot.",
        parameters=("SnapshotName",),
        answers={
            204: Answer(
                description="Deleted.", links=(Link(to="get_snapshot", parameters=_THE_SAME),)
            )
        },
        codes={400: ("invalid_name",), 404: ("snapshot_not_found",)},
    ),
    Operation(
        method="post",
        path=f"{_SNAPSHOT}/restore",
        id="restore_snapshot",
        summary="Restore a snapshot",
        description="Restores the account to the saved state, including its clock.",
        parameters=("SnapshotName",),
        answers={200: Answer(description="The snapshot.", schema="Snapshot")},
        codes={400: ("invalid_name",), 404: ("snapshot_not_found",)},
    ),
    Operation(
        method="get",
        path="/_emulator/recording",
        id="get_recording",
        summary="Record the history",
        description="Returns the history of the account and mode as a scenario file with a"
        " script for `replay`.",
        answers={
            200: Answer(description="The file.", schema="ScenarioFile", media_type=MEDIA_TYPE)
        },
        codes={409: ("too_much_to_record",)},
    ),
)

SUBJECT = Subject(
    tag="Snapshots and recordings",
    description="Saved states of an account that can be restored, and its history as a"
    " scenario file.",
    operations=_OPERATIONS,
    schemas=_SCHEMAS,
    parameters={
        "SnapshotName": path_parameter("name", "The name of a snapshot.", _NAME),
    },
)
