"""What a retrieve comes to, for the owner of a payment and for others (contract, section 4.2)."""

from emulator.verify.checks.refusals import CODES, refused
from emulator.verify.findings import Check, Findings, judged, judged_assumed
from emulator.verify.session import Visit

_NOT_FOUND = "payment_not_found"


async def _a_payment(visit: Visit) -> Findings:
    answer = await visit.retrieve(visit.first.id)
    seen = f"without a body: {answer.told}"
    findings = judged(answer.is_success, seen, "4.2.1", "4.2.2")
    return findings + judged(answer.status == 200, seen, "7.5")


async def _no_payment(visit: Visit) -> Findings:
    answer = await visit.retrieve(visit.unknown_id)
    return refused(answer, "an unknown id", status=404, code=_NOT_FOUND, states=("4.2.6", "7.9"))


async def _by_another_account(visit: Visit) -> Findings:
    """Both answers are of the other account, so that nothing but the payment differs."""
    other = visit.other_accounts_key
    answer = await visit.retrieve(visit.first.id, key=other)
    seen = f"by another account: {answer.told}"
    if answer.is_success:
        seen += " (or do the two keys belong to one account?)"
    findings = judged(answer.status == 404, seen, "4.2.7", "5.5", "7.9")
    if answer.status != 404:
        return findings
    unknown = await visit.retrieve(visit.unknown_id, key=other)
    is_same = (answer.status, answer.code) == (unknown.status, unknown.code)
    seen = "like an unknown id" if is_same else f"{answer.told}, an unknown id {unknown.told}"
    return findings + judged_assumed(is_same, seen, "4.2.7")


CHECKS = (
    Check(look=_a_payment, states=("4.2.1", "4.2.2", "7.5")),
    Check(look=_no_payment, states=("4.2.6", "7.9"), assumes=(CODES,)),
    Check(look=_by_another_account, states=("4.2.7", "5.5", "7.9"), assumes=("4.2.7",)),
)
