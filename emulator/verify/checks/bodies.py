"""What a create call must carry (contract, sections 1 and 4): JSON, and a type that says so."""

import json

from emulator.verify.checks.refusals import CODES, refused
from emulator.verify.findings import Check, Findings, judged
from emulator.verify.session import Visit


async def _another_type(visit: Visit) -> Findings:
    answer = await visit.create(visit.order(), media_type="text/plain")
    what = "a body of `text/plain`"
    findings = judged(answer.is_refusal, f"{what}: {answer.told}", "4.0.1")
    return findings + refused(answer, what, code="unsupported_content_type", assumes=("4.0.1",))


async def _no_json(visit: Visit) -> Findings:
    body = visit.order()
    answer = await visit.create(body, content=json.dumps(body).encode()[:-1])
    what = "a body that breaks off"
    findings = judged(answer.is_refusal, f"{what}: {answer.told}", "1.1", "4.0.2")
    return findings + refused(answer, what, code="invalid_json", assumes=("4.0.2",))


async def _no_object(visit: Visit) -> Findings:
    body = visit.order()
    answer = await visit.create(body, content=json.dumps([body]).encode())
    return refused(answer, "an array as the body", code="invalid_request_body", assumes=("4.0.2",))


CHECKS = (
    Check(look=_another_type, states=("4.0.1",), assumes=("4.0.1", CODES)),
    Check(look=_no_json, states=("1.1", "4.0.2"), assumes=("4.0.2", CODES)),
    Check(look=_no_object, assumes=("4.0.2", CODES)),
)
