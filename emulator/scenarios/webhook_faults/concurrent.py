"""Webhook fault `concurrent`: all copies of an event are sent at the same moment."""

from emulator.domain.webhooks import DeliveryEffect
from emulator.scenarios.fault_types import FaultType
from emulator.scenarios.kinds import Boolean
from emulator.scenarios.mappings import Key, KeyRule, Members, is_on

MIN_COPIES = 2


def _need_copies(members: Members) -> None:
    if not members.is_on("concurrent") or members.is_on("drop"):
        return
    is_wrong = "copies" in members.known and members.values["copies"] is None
    if not is_wrong and (members.values["copies"] or 1) < MIN_COPIES:
        members.known["concurrent"].note(
            f"'concurrent: true' needs 'copies' of {MIN_COPIES} or more, "
            "because one delivery has nothing to be concurrent with"
        )


CONCURRENT: FaultType[DeliveryEffect] = FaultType(
    keys={
        "concurrent": Key(
            Boolean(),
            "The first attempts of all copies begin at the same moment, each on its own "
            f"connection; otherwise one after the other. Needs `copies` of {MIN_COPIES} or more.",
            default=False,
        )
    },
    effect=lambda _: {"concurrent": True},
    rules=[
        KeyRule(
            check=_need_copies,
            schema={
                "allOf": [
                    {
                        "if": is_on("concurrent"),
                        "then": {
                            "properties": {"copies": {"minimum": MIN_COPIES}},
                            "required": ["copies"],
                        },
                    }
                ]
            },
        )
    ],
)
