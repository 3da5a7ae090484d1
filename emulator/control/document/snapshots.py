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
from emulator.engine.snapshots import MOST_KEPT_IN_MEMORY, MOST_SNAPSHOTS

_SNAPSHOT = "/_emulator/snapshots/{name}"
_NAME = {"type": "string", "pattern": f"^{NAME_PATTERN.pattern}$"}
_THE_SAME = {"name": "$request.path.name"}
_SAVED = Answer(
    description="The snapshot; there was none of this name.",
    schema="Snapshot",
    links=(
        Link(to="get_snapshot", parameters=_THE_SAME),
        Link(to="restore_snapshot", parameters=_THE_SAME),
        Link(to="delete_snapshot", parameters=_THE_SAME),
    ),
)

_SCHEMAS = {
    "Snapshot": answer_of(
        "A state of an account.",
        {
            "name": said(_NAME, "What it is called."),
            "created_at": said(INSTANT, "Where the account's clock stood."),
            "clock": answer_of(
                "The clock as it is after a restore.",
                {"now": INSTANT, "frozen": BOOLEAN},
            ),
            "payments": answer_of(
                "How many payments it holds, by mode.", {"test": COUNT, "live": COUNT}
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
        description="The account's snapshots, newest first.",
        answers={200: Answer(description="The snapshots.", schema="SnapshotList")},
    ),
    Operation(
        method="put",
        path=_SNAPSHOT,
        id="save_snapshot",
        summary="Save a snapshot",
        description="Keeps the account's whole state, clock included, in place of an earlier one of"
        f" this name. An account has at most {MOST_SNAPSHOTS}; of the newest {MOST_KEPT_IN_MEMORY}"
        " the journal is kept, too.",
        parameters=("SnapshotName",),
        answers={
            200: Answer(
                description="The snapshot, in place of the earlier one.", schema="Snapshot"
            ),
            201: _SAVED,
        },
        codes={400: ("invalid_name",), 409: ("too_many_snapshots",)},
    ),
    Operation(
        method="get",
        path=_SNAPSHOT,
        id="get_snapshot",
        summary="Look at a snapshot",
        description="One snapshot.",
        parameters=("SnapshotName",),
        answers={200: Answer(description="The snapshot.", schema="Snapshot")},
        codes={400: ("invalid_name",), 404: ("snapshot_not_found",)},
    ),
    Operation(
        method="delete",
        path=_SNAPSHOT,
        id="delete_snapshot",
        summary="Delete a snapshot",
        description="Forgets a snapshot.",
        parameters=("SnapshotName",),
        answers={
            204: Answer(
                description="It is gone.", links=(Link(to="get_snapshot", parameters=_THE_SAME),)
            )
        },
        codes={400: ("invalid_name",), 404: ("snapshot_not_found",)},
    ),
    Operation(
        method="post",
        path=f"{_SNAPSHOT}/restore",
        id="restore_snapshot",
        summary="Restore a snapshot",
        description="Makes the account as it was saved, its clock included.",
        parameters=("SnapshotName",),
        answers={200: Answer(description="The snapshot.", schema="Snapshot")},
        codes={400: ("invalid_name",), 404: ("snapshot_not_found",)},
    ),
    Operation(
        method="get",
        path="/_emulator/recording",
        id="get_recording",
        summary="Record the history",
        description="The history of the account and mode as a scenario file that `replay` plays.",
        answers={
            200: Answer(description="The file.", schema="ScenarioFile", media_type=MEDIA_TYPE)
        },
        codes={409: ("too_much_to_record",)},
    ),
)

SUBJECT = Subject(
    tag="Snapshots and recordings",
    description="States of an account to go back to, and its history as a scenario file.",
    operations=_OPERATIONS,
    schemas=_SCHEMAS,
    parameters={
        "SnapshotName": path_parameter("name", "The name of a snapshot.", _NAME),
    },
)
