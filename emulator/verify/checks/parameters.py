"""Which values of each parameter are refused (contract, sections 4.1 and 8)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from emulator.verify.checks.refusals import CODES, FIELD, named, refused
from emulator.verify.findings import Check, Findings, judged
from emulator.verify.session import MAX_PAIRS, Visit

# The one code that the contract shows.
_INVALID_AMOUNT = "invalid_amount"
_MISSING = "missing_parameter"
_NOT_HTTPS = "http://example.com/made-by-payments-emulator-verify"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrong:
    """A member that makes a create call wrong, and the clauses that say so."""

    what: str
    change: Mapping[str, Any]
    code: str
    states: tuple[str, ...] = ()
    assumes: tuple[str, ...] = ()

    @property
    def param(self) -> str:
        return next(iter(self.change))


def _amount(value: object, *states: str, assumes: tuple[str, ...] = ()) -> Wrong:
    return Wrong(
        what=f"`amount` {value!r}".replace("'", '"'),
        change={"amount": value},
        code=_INVALID_AMOUNT,
        states=states,
        assumes=assumes,
    )


WRONG = (
    _amount(99, "4.1.3", "8.1"),
    _amount(0, "4.1.3", "8.1"),
    _amount(-100, "4.1.3", "8.1"),
    _amount(100.5, "4.1.2"),
    _amount("100", "4.1.2"),
    _amount(100.0, assumes=("4.1.2",)),
    Wrong(
        what='`currency` "USD"',
        change={"currency": "USD"},
        code="invalid_currency",
        states=("4.1.4", "9.2"),
    ),
    Wrong(
        what='`currency` "etb"',
        change={"currency": "etb"},
        code="invalid_currency",
        assumes=("4.1.4",),
    ),
    Wrong(what="no `methods`", change={"methods": ...}, code=_MISSING, states=("4.1.5",)),
    Wrong(what="`methods` []", change={"methods": []}, code="invalid_methods", states=("4.1.5",)),
    Wrong(
        what="an unknown method",
        change={"methods": ["no_such_method"]},
        code="invalid_methods",
        assumes=("2.1.17",),
    ),
    Wrong(
        what="`success_url` with http",
        change={"success_url": _NOT_HTTPS},
        code="invalid_success_url",
        states=("4.1.6",),
    ),
    Wrong(
        what="`cancel_url` with http",
        change={"cancel_url": _NOT_HTTPS},
        code="invalid_cancel_url",
        states=("4.1.7",),
    ),
    Wrong(
        what=f"{MAX_PAIRS + 1} pairs of metadata",
        change={"metadata": {f"pair_{number}": "" for number in range(MAX_PAIRS + 1)}},
        code="invalid_metadata",
        states=("2.1.11", "4.1.8", "8.2"),
    ),
    Wrong(
        what="a number in metadata",
        change={"metadata": {"pair": 1}},
        code="invalid_metadata",
        states=("2.1.11", "4.1.9", "8.2"),
    ),
    Wrong(
        what="`idempotency_key` 5",
        change={"idempotency_key": 5},
        code="invalid_idempotency_key",
        states=("4.1.10",),
    ),
    Wrong(
        what='`expires_in` "600"',
        change={"expires_in": "600"},
        code="invalid_expires_in",
        states=("4.1.11",),
    ),
    Wrong(
        what="`expires_in` 0",
        change={"expires_in": 0},
        code="invalid_expires_in",
        assumes=("8.9",),
    ),
    *(
        Wrong(what=f"no `{name}`", change={name: ...}, code=_MISSING, assumes=("4.1.13",))
        for name in ("amount", "currency", "success_url", "cancel_url")
    ),
)


def _check(wrong: Wrong) -> Check:
    if wrong.code == _INVALID_AMOUNT:
        return _check_of_amount(wrong)

    async def look(visit: Visit) -> Findings:
        answer = await visit.create(visit.order(**wrong.change))
        findings = refused(
            answer, wrong.what, code=wrong.code, states=wrong.states, assumes=wrong.assumes
        )
        return findings + named(answer, wrong.param, wrong.what, FIELD)

    return Check(look=look, states=(*wrong.states, FIELD), assumes=(*wrong.assumes, CODES))


def _check_of_amount(wrong: Wrong) -> Check:
    """Of an amount the contract shows how it is refused (4.1, rule 1)."""

    async def look(visit: Visit) -> Findings:
        answer = await visit.create(visit.order(**wrong.change))
        seen = f"{wrong.what}: {answer.told}"
        findings = refused(
            answer, wrong.what, code=None, states=wrong.states, assumes=wrong.assumes
        )
        if answer.is_refusal:
            findings += judged(answer.code == wrong.code, seen, "4.1.18")
        return findings + named(answer, wrong.param, wrong.what, FIELD, "4.1.17")

    return Check(
        look=look, states=(*wrong.states, "4.1.17", "4.1.18", FIELD), assumes=wrong.assumes
    )


CHECKS = tuple(_check(wrong) for wrong in WRONG)
