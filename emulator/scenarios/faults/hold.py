"""Fault `hold`: the computed response waits until a delivery of the payment has been answered."""

from emulator.domain.faults import MAX_RESPONSE_HOLD_MS, ApiRequest, Point, RequestEffect
from emulator.scenarios.entries import listed
from emulator.scenarios.fault_types import FaultType
from emulator.scenarios.kinds import Word
from emulator.scenarios.mappings import Key, KeyRule, Members

_REQUESTS = [ApiRequest.RETRIEVE_PAYMENT, ApiRequest.LIST_PAYMENTS]
_IS_GIVEN = {"type": "object", "required": ["hold"]}


def _check_point(members: Members) -> None:
    if members.values["hold"] is not None and members.values["point"] is Point.BEFORE_COMMIT:
        members.known["point"].note(
            f"'hold' needs 'point: {Point.AFTER_COMMIT}', "
            "because the response is computed before it is held"
        )


def _check_request(members: Members) -> None:
    when, then = members.values["when"], members.values["then"]
    if when is None or then is None or not then.effect.until_delivery:
        return
    if when.request not in _REQUESTS:
        requests = listed([f"'request: {request}'" for request in _REQUESTS], "or")
        members.known["then"].child("hold").note(f"'hold' needs {requests} in 'when'")


HOLD: FaultType[RequestEffect] = FaultType(
    keys={
        "hold": Key(
            Word(["delivery"]),
            "The response is computed when the request arrives. It is sent when an endpoint has "
            "since answered a delivery of the payment (for a list: of any payment), after "
            f"{MAX_RESPONSE_HOLD_MS // 1_000} s of real time, or with the next `advance`. "
            f"Only for {' and '.join(f'`{request}`' for request in _REQUESTS)}.",
        )
    },
    effect=lambda _: {"until_delivery": True, "point": Point.AFTER_COMMIT},
    rules=[
        KeyRule(
            check=_check_point,
            schema={
                "allOf": [
                    {
                        "if": _IS_GIVEN,
                        "then": {"properties": {"point": {"const": Point.AFTER_COMMIT.value}}},
                    }
                ]
            },
        )
    ],
    rule_rules=[
        KeyRule(
            check=_check_request,
            schema={
                "if": {"properties": {"then": _IS_GIVEN}, "required": ["then"]},
                "then": {
                    "properties": {
                        "when": {
                            "type": "object",
                            "properties": {"request": {"enum": [str(name) for name in _REQUESTS]}},
                            "required": ["request"],
                        }
                    },
                    "required": ["when"],
                },
            },
        )
    ],
)
