"""Fault `drop`: the connection is closed without a response."""

from emulator.domain.faults import Cut, RequestEffect
from emulator.scenarios.fault_types import FaultType
from emulator.scenarios.kinds import Boolean
from emulator.scenarios.mappings import Key

DROP: FaultType[RequestEffect] = FaultType(
    keys={
        "drop": Key(
            Boolean(),
            "The connection is closed without a response. "
            "Not with `status`, `retry_after` or `truncate`.",
            default=False,
        )
    },
    effect=lambda _: {"cut": Cut.BEFORE_RESPONSE},
    excludes=dict.fromkeys(
        ("status", "retry_after", "truncate"), "a closed connection has no response"
    ),
)
