"""Which calls there are, and that there are no others (contract, sections 4, 7 and 9)."""

import json

from emulator.verify.answers import Request
from emulator.verify.checks.refusals import CODES, refused
from emulator.verify.findings import Check, Findings, judged_assumed
from emulator.verify.session import Visit

_NO_ROUTE = "route_not_found"


async def _a_patch(visit: Visit) -> Findings:
    body = json.dumps({"metadata": {}}).encode()
    answer = await visit.client.ask(Request(method="PATCH", body=body, key=visit.key))
    return refused(answer, "`PATCH /v1/payments`", status=404, code=_NO_ROUTE, assumes=("4.0.3",))


async def _an_unknown_path(visit: Visit) -> Findings:
    answer = await visit.client.ask(Request(path="/v1/no_such_call", key=visit.key))
    return refused(answer, "an unknown path", status=404, code=_NO_ROUTE, states=("7.9",))


async def _no_version(visit: Visit) -> Findings:
    """Outside of the contract's root anything may answer, but no list of payments."""
    answer = await visit.client.ask(Request(path="/payments", key=visit.key))
    is_served = answer.is_success and "data" in answer.members
    return judged_assumed(not is_served, f"`/payments`: {answer.told}", "9.1")


CHECKS = (
    Check(look=_a_patch, assumes=("4.0.3", CODES)),
    Check(look=_an_unknown_path, states=("7.9",), assumes=(CODES,)),
    Check(look=_no_version, assumes=("9.1",)),
)
