"""What Schemathesis takes for a failure and is none: what no schema can say, and why.

It loads this module as its hooks (`SCHEMATHESIS_HOOKS`). No check is switched off: each waiver is
of one kind of failure, and only where the answer is the very one that it speaks of.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

import schemathesis
from schemathesis import Case, HookContext, Response
from schemathesis.core.failures import Failure
from schemathesis.openapi.checks import RejectedPositiveData, UnsupportedMethodResponse

# By the code of a refusal: the member of a body that it speaks of.
INTEGERS = {"invalid_amount": "amount", "invalid_expires_in": "expires_in"}
URLS = {"invalid_success_url": "success_url", "invalid_cancel_url": "cancel_url"}
LATE_CONTROLS = re.compile("[\x80-\x9f]")
IN_BRACKETS = re.compile(r"://([^/?#]*@)?\[")

Waiver = Callable[[Case, str], bool]


def is_no_route(_case: Case, code: str) -> bool:
    """The contract's statuses are a closed set without 405: another method is an unknown route."""
    return code == "route_not_found"


def is_no_payment(_case: Case, code: str) -> bool:
    """A cursor is the id of a payment that exists: one that looks like it is not enough."""
    return code == "invalid_cursor"


def is_a_float(case: Case, code: str) -> bool:
    """To JSON Schema 100.0 is an integer; the contract does not accept it."""
    return code in INTEGERS and isinstance(_member(case, INTEGERS[code]), float)


def has_a_late_control(case: Case, code: str) -> bool:
    """The pattern of URLs leaves out what not every language can say; its description has it."""
    return code in URLS and bool(LATE_CONTROLS.search(str(_member(case, URLS[code]))))


def is_of_no_address(case: Case, code: str) -> bool:
    """The pattern of URLs knows what is in an address of IPv6, but not its order."""
    return code in URLS and bool(IN_BRACKETS.search(str(_member(case, URLS[code]))))


WAIVERS: Mapping[type[Failure], tuple[Waiver, ...]] = {
    UnsupportedMethodResponse: (is_no_route,),
    RejectedPositiveData: (is_no_payment, is_a_float, has_a_late_control, is_of_no_address),
}


@schemathesis.hook
def filter_failure(
    context: HookContext,  # noqa: ARG001 - hooks are known by the names of their parameters
    failure: Failure,
    case: Case,
    response: Response,
) -> bool:
    """Whether a failure is one."""
    return not any(waives(case, _code(response)) for waives in WAIVERS.get(type(failure), ()))


def _member(case: Case, name: str) -> Any:
    return case.body.get(name) if isinstance(case.body, dict) else None


def _code(response: Response) -> str:
    body: Any = response.json()
    return str(body["error"]["code"])
