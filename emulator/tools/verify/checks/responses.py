"""Checks of all responses: JSON, statuses, errors (contract, sections 1 and 7)."""

import re
from collections.abc import Callable, Sequence
from http import HTTPStatus

from emulator.tools.verify.client import MIN_WAIT_S, retry_after_s
from emulator.tools.verify.findings import Check, Findings, assumed, stated, unseen
from emulator.tools.verify.messages import JSON, ServiceResponse, json_text, member_text, printable
from emulator.tools.verify.session import Session

STATUSES = {200, 201, 400, 401, 404, 409, 429, 500}
_GATEWAY_ERRORS = {502, 503, 504}
_MEMBERS = {"code", "message", "param"}
_WITH_PARAM = {400, 409}
_OUR_CODE = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)


def _first_wrong(
    responses: Sequence[ServiceResponse], is_so: Callable[[ServiceResponse], bool]
) -> ServiceResponse | None:
    return next((response for response in responses if not is_so(response)), None)


def _where(response: ServiceResponse) -> str:
    return f"{response.status} of {response.request.method}"


def _answers(session: Session) -> list[ServiceResponse]:
    """The responses of the service.

    An error of a gateway, which has another form, is excluded if a retry succeeded.
    """
    last = {id(response.request): response.status for response in session.responses}
    return [
        response
        for response in session.responses
        if response.status not in _GATEWAY_ERRORS
        or response.is_json
        or last[id(response.request)] >= 500
    ]


async def _all_json(session: Session) -> Findings:
    responses = _answers(session)
    wrong = _first_wrong(responses, lambda response: response.is_json)
    if wrong is None:
        other = _first_wrong(responses, lambda response: response.media_type == JSON)
        seen = f"all {len(responses)} responses"
        if other is not None:
            seen = f"{_where(other)}: `Content-Type` `{printable(other.media_type)}`"
        return stated(True, seen, "1.2") + assumed(other is None, seen, "1.2")
    kind = f"`Content-Type` {member_text(wrong.headers, 'content-type')}"
    seen = "the body is not JSON in UTF-8" if wrong.has_json_type else kind
    return stated(False, f"{_where(wrong)}: {seen}", "1.2")


async def _statuses(session: Session) -> Findings:
    statuses = sorted({response.status for response in _answers(session)})
    standard = {status.value for status in HTTPStatus}
    strange = [status for status in statuses if status not in standard]
    other = [status for status in statuses if status in standard and status not in STATUSES]
    known = ", ".join(map(str, statuses))
    findings = stated(not strange, f"{known}" if not strange else f"{strange[0]}", "1.3")
    return findings + assumed(not other, known if not other else f"{other[0]}", "1.3")


def _errors(session: Session) -> list[ServiceResponse]:
    return [response for response in _answers(session) if response.status >= 400]


async def _error_objects(session: Session) -> Findings:
    errors = _errors(session)
    wrong = _first_wrong(errors, lambda response: response.has_error)
    seen = _no_error(wrong) if wrong else f"in all {len(errors)} refusals"
    findings = stated(wrong is None, seen, "2.3.1", "7.1")
    if wrong is not None:
        return findings
    others = [name for each in errors for name in each.members.keys() - {"error"}]
    others += [f"error.{name}" for each in errors for name in each.error.keys() - _MEMBERS]
    seen = f"also {json_text(min(others))}" if others else "no other member"
    return findings + assumed(not others, seen, "7.1")


def _no_error(response: ServiceResponse) -> str:
    is_absent = "error" not in response.members
    kind = "absent" if is_absent else f"{json_text(response.members['error'])}, not an object"
    return f"{_where(response)}: `error` is {kind}"


async def _members_of_errors(session: Session) -> Findings:
    errors = [response for response in _errors(session) if response.has_error]
    if not errors:
        return unseen("no refusal has an `error`", "7.2", "7.3", "7.4")
    findings: Findings = []
    for number, name in (("7.2", "code"), ("7.3", "message")):
        wrong = next(
            (response for response in errors if not _is_text(response.error.get(name))), None
        )
        seen = _member(wrong, name) if wrong else "a string in each"
        findings += stated(wrong is None, seen, number)
    wrong = _first_wrong(
        errors, lambda response: response.error.get("param") is None or _is_text(response.param)
    )
    seen = _member(wrong, "param") if wrong else "a string where there is one"
    findings += stated(wrong is None, seen, "7.4")
    null = _first_wrong(errors, lambda response: response.error.get("param", "") is not None)
    seen = f"null in a {null.status}" if null else "never null"
    findings += assumed(null is None, seen, "7.4")
    named = _first_wrong(
        errors, lambda response: response.status in _WITH_PARAM or "param" not in response.error
    )
    seen = _member(named, "param") if named else "absent where no field is at fault"
    return findings + assumed(named is None, seen, "7.4")


async def _form_of_codes(session: Session) -> Findings:
    codes = [response.code for response in _errors(session) if isinstance(response.code, str)]
    if not codes:
        return unseen("no error has a code", "7.2")
    wrong = next((code for code in codes if not _OUR_CODE.fullmatch(code)), None)
    seen = json_text(wrong) if wrong else "lower-case letters and `_`"
    return assumed(wrong is None, seen, "7.2")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _member(response: ServiceResponse, name: str) -> str:
    return f"{name} {member_text(response.error, name)} in a {response.status}"


async def _challenges(session: Session) -> Findings:
    """Each 401 names the scheme that it expects."""
    refused = [response for response in session.responses if response.status == 401]
    if not refused:
        return unseen("no response was a 401", "5.4")
    name = "www-authenticate"
    schemes = {response.headers.get(name, "").partition(" ")[0] for response in refused}
    other = next((scheme for scheme in sorted(schemes) if scheme.lower() != "bearer"), None)
    seen = f"`WWW-Authenticate: {printable(other or 'Bearer')}`"
    return assumed(other is None, seen if other != "" else "without `WWW-Authenticate`", "5.4")


async def _key_always_accepted(session: Session) -> Findings:
    """A key that was accepted once is accepted every time."""
    own = [
        response
        for response in session.responses
        if response.request.key == session.key and response.request.scheme == "Bearer"
    ]
    wrong = _first_wrong(own, lambda response: response.status != 401)
    seen = f"401 of {wrong.request.method}" if wrong else f"in all {len(own)} requests"
    return stated(wrong is None, seen, "5.1")


async def _too_many_requests(session: Session) -> Findings:
    """The run sends too few requests to provoke a 429; one that is received is checked."""
    responses = [response for response in session.responses if response.status == 429]
    if not responses:
        return unseen("no response was a 429, and the run does not provoke one", "7.11", "8.7")
    with_it = f"{len(responses)} responses, each with the seconds to wait"
    wrong = _first_wrong(responses, lambda response: "retry-after" in response.headers)
    findings = stated(wrong is None, _retry_after(wrong) if wrong else with_it, "8.7")
    wrong = _first_wrong(responses, lambda response: retry_after_s(response) is not None)
    findings += stated(wrong is None, _retry_after(wrong) if wrong else with_it, "7.11")
    if wrong is not None:
        return findings
    wrong = _first_wrong(responses, lambda response: _is_whole(response.headers["retry-after"]))
    return findings + assumed(
        wrong is None, _retry_after(wrong) if wrong else "whole seconds, at least 1", "7.11"
    )


async def _after_waiting(session: Session) -> Findings:
    """The client repeats a request after the seconds in `Retry-After`."""
    before: dict[int, ServiceResponse] = {}
    repeated: list[ServiceResponse] = []
    for response in session.responses:
        earlier = before.get(id(response.request))
        if earlier is not None and earlier.status == 429 and retry_after_s(earlier) is not None:
            repeated.append(response)
        before[id(response.request)] = response
    if not repeated or session.client.refusal is not None:
        return unseen("no request was served after a 429", "7.14")
    again = sum(response.status == 429 for response in repeated)
    seen = f"{again} of {len(repeated)} repeated requests were refused again"
    return assumed(not again, seen, "7.14")


def _is_whole(seconds: str) -> bool:
    return seconds.isdigit() and int(seconds) >= MIN_WAIT_S


def _retry_after(response: ServiceResponse) -> str:
    return f"`Retry-After`: {member_text(response.headers, 'retry-after')}"


async def _server_errors(session: Session) -> Findings:
    """A 5xx is retried once; the contract says that the retry succeeds."""
    # By request: another response may be between the two.
    failed: dict[int, list[ServiceResponse]] = {}
    for response in session.responses:
        if response.status >= 500:
            failed.setdefault(id(response.request), []).append(response)
    twice = next((responses[0] for responses in failed.values() if len(responses) > 1), None)
    if twice is not None:
        seen = f"{twice.summary} of {twice.request.method}, and again after a retry"
        return stated(False, seen, "7.12")
    last = {id(response.request): response.status for response in session.responses}
    served = [request for request in failed if last[request] < 500 and last[request] != 429]
    if not served:
        return unseen(
            "the retry had no other response" if failed else "no response was a 5xx", "7.12"
        )
    return stated(True, f"{len(served)}, served after a retry", "7.12")


CHECKS = (
    Check(run=_all_json, states=("1.2",), assumes=("1.2",)),
    Check(run=_statuses, states=("1.3",), assumes=("1.3",)),
    Check(run=_error_objects, states=("2.3.1", "7.1"), assumes=("7.1",)),
    Check(run=_members_of_errors, states=("7.2", "7.3", "7.4"), assumes=("7.4",)),
    Check(run=_form_of_codes, assumes=("7.2",)),
    Check(run=_challenges, assumes=("5.4",)),
    Check(run=_key_always_accepted, states=("5.1",)),
    Check(run=_too_many_requests, states=("7.11", "8.7"), assumes=("7.11",)),
    Check(run=_after_waiting, assumes=("7.14",)),
    Check(run=_server_errors, states=("7.12",)),
)
