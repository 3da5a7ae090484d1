"""Checks of the retrieve call, by the owner of a payment and by others (contract, section 4.2)."""

from emulator.verify.checks.refusals import ExpectedRefusal
from emulator.verify.findings import Check, Findings, assumed, stated
from emulator.verify.session import Session


async def _a_payment(session: Session) -> Findings:
    response = await session.retrieve(session.first.id)
    seen = f"without a body: {response.summary}"
    findings = stated(response.is_success, seen, "4.2.1", "4.2.2")
    return findings + stated(response.status == 200, seen, "7.5")


async def _by_another_account(session: Session) -> Findings:
    """Both responses are to the other account, so that they differ only in the payment."""
    other = session.other_accounts_key
    response = await session.retrieve(session.first.id, key=other)
    seen = f"by another account: {response.summary}"
    if response.is_success:
        seen += " (or do the two keys belong to one account?)"
    findings = stated(response.status == 404, seen, "4.2.7", "5.5", "7.9")
    if response.status != 404:
        return findings
    unknown = await session.retrieve(session.unknown_id, key=other)
    is_same = (response.status, response.code) == (unknown.status, unknown.code)
    seen = (
        "like an unknown id" if is_same else f"{response.summary}, an unknown id {unknown.summary}"
    )
    return findings + assumed(is_same, seen, "4.2.7")


CHECKS = (
    Check(run=_a_payment, states=("4.2.1", "4.2.2", "7.5")),
    ExpectedRefusal(
        what="an unknown id",
        send=lambda session: session.retrieve(session.unknown_id),
        status=404,
        code="payment_not_found",
        states=("4.2.6", "7.9"),
    ).check,
    Check(run=_by_another_account, states=("4.2.7", "5.5", "7.9"), assumes=("4.2.7",)),
)
