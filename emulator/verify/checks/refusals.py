"""What a refusal must be: its status, the field it names, and our guess of its code."""

from collections.abc import Iterable

from emulator.verify.answers import Answer, shown_member
from emulator.verify.findings import Findings, judged, judged_assumed

FIELD = "7.7"
"""The clause that a 400 names the field."""
CODES = "7.13"
"""The clause of the codes that the contract does not show."""


def refused(
    answer: Answer,
    what: str,
    *,
    status: int = 400,
    code: str | None,
    states: Iterable[str] = (),
    assumes: Iterable[str] = (),
) -> Findings:
    """Whether it was refused with a status; where it was, whether with the code that we have.

    Without a `code` that is not asked.
    """
    seen = f"{what}: {answer.told}"
    is_refused = answer.status == status
    findings = judged(is_refused, seen, *states)
    findings += judged_assumed(is_refused, seen, *assumes)
    if is_refused and code is not None:
        is_ours = answer.code == code
        findings += judged_assumed(
            is_ours, f"`{code}`" if is_ours else f"{seen}, not `{code}`", CODES
        )
    return findings


def named(answer: Answer, param: str, what: str, *numbers: str) -> Findings:
    """Whether a field is refused with 400 and named; where it is taken, nothing is told."""
    if answer.is_success:
        return []
    if answer.status != 400:
        return judged(False, f"{what}: {answer.told}", *numbers)
    found = answer.param
    # `methods[0]` and `metadata.pair` tell it, too.
    is_told = isinstance(found, str) and found.startswith((f"{param}.", f"{param}["))
    seen = f"{what}: param {shown_member(answer.error, 'param')}"
    return judged(is_told or found == param, seen, *numbers)
