"""Fault `truncate`: the connection is closed in the middle of the body."""

from emulator.domain.faults import Cut, Point, RequestEffect
from emulator.scenarios.fault_types import FaultType, Settings
from emulator.scenarios.kinds import Boolean
from emulator.scenarios.mappings import Key, KeyRule, Members, is_on


def _check_point(members: Members) -> None:
    if not members.is_on("truncate") or members.is_on("drop") or "status" in members.known:
        return
    if members.values["point"] is Point.BEFORE_COMMIT:
        members.known["point"].note(
            f"'truncate' without 'status' needs 'point: {Point.AFTER_COMMIT}', "
            "because only then is there a normal response to truncate"
        )


def _effect(settings: Settings) -> dict[str, object]:
    # Half of a normal response needs the response.
    point = Point.BEFORE_COMMIT if "status" in settings else Point.AFTER_COMMIT
    return {"cut": Cut.IN_BODY, "point": point}


TRUNCATE: FaultType[RequestEffect] = FaultType(
    keys={
        "truncate": Key(
            Boolean(), "The connection is closed in the middle of the body.", default=False
        )
    },
    effect=_effect,
    rules=[
        KeyRule(
            check=_check_point,
            schema={
                "allOf": [
                    {
                        "if": {**is_on("truncate"), "not": {"required": ["status"]}},
                        "then": {"properties": {"point": {"const": Point.AFTER_COMMIT.value}}},
                    }
                ]
            },
        )
    ],
)
