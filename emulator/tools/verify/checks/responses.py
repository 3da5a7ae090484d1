"""Checks of all responses: JSON, statuses, errors (contract, sections 1 and 7)."""

import re
from collections import defaultdict
from http import HTTPStatus
from itertools import pairwise

from emulator.tools.verify.client import (
    JSON,
    MIN_WAIT_S,
    ServiceResponse,
    json_text,
    member_text,
    printable,
)
from emulator.tools.verify.findings import Check, Findings, assumed, none, stated, unseen
from emulator.tools.verify.session import Session

STATUSES = {200, 201, 400, 401, 404, 409, 429, 500}
_NO_ANSWER = "no response is one of the service"
_GATEWAY_ERRORS = {502, 503, 504}
_MEMBERS = {"code", "message", "param"}
_WITH_PARAM = {400, 409}
_OUR_CODE = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)


def _by_request(session: Session) -> list[list[ServiceResponse]]:
    """The responses to each request, which is repeated after a 429 or a 5xx."""
    responses: defaultdict[int, list[ServiceResponse]] = defaultdict(list)
    for response in session.responses:
        responses[id(response.request)].append(response)
    return list(responses.values())


def _answers(session: Session) -> list[ServiceResponse]:
    """The responses of the service.

    An error of a gateway, which has another form, is excluded if a retry succeeded.
    """
    return [
        each
        for responses in _by_request(session)
        for each in responses
        if each.status not in _GATEWAY_ERRORS or each.is_json or responses[-1].status >= 500
    ]


def _errors(session: Session) -> list[ServiceResponse]:
    return [response for response in _answers(session) if response.status >= 400]


def _where(response: ServiceResponse) -> str:
    return f"{response.status} of {response.request.method}"


async def _all_json(session: Session) -> Findings:
    responses = _answers(session)
    if not responses:
        return unseen(_NO_ANSWER, "1.2")
    for each in responses:
        if not each.is_json:
            kind = f"`Content-Type` {member_text(each.headers, 'content-type')}"
            seen = "the body is not JSON in UTF-8" if each.has_json_type else kind
            return stated(False, f"{_where(each)}: {seen}", "1.2")
    types = [(each, each.headers["content-type"]) for each in responses]
    others = [f"{_where(each)}: `{printable(type_)}`" for each, type_ in types if type_ != JSON]
    others += [f"{_where(each)}: several lines" for each in responses if b"\n" in each.body]
    is_plain, seen = none(others, f"all {len(responses)} responses")
    return stated(True, seen, "1.2") + assumed(is_plain, seen, "1.2")


async def _statuses(session: Session) -> Findings:
    statuses = sorted({response.status for response in _answers(session)})
    if not statuses:
        return unseen(_NO_ANSWER, "1.3")
    known = ", ".join(map(str, statuses))
    standard = {status.value for status in HTTPStatus}
    strange = [str(status) for status in statuses if status not in standard]
    other = [str(status) for status in statuses if status in standard - STATUSES]
    return stated(*none(strange, known), "1.3") + assumed(*none(other, known), "1.3")


async def _error_objects(session: Session) -> Findings:
    errors = _errors(session)
    if not errors:
        return unseen("no response was a refusal", "2.3.1", "7.1")
    for each in errors:
        if not each.has_error:
            received = f"{member_text(each.members, 'error')}, not an object"
            kind = received if "error" in each.members else "absent"
            return stated(False, f"{_where(each)}: `error` is {kind}", "2.3.1", "7.1")
    findings = stated(True, f"in all {len(errors)} refusals", "2.3.1", "7.1")
    others = [name for each in errors for name in each.members.keys() - {"error"}]
    others += [f"error.{name}" for each in errors for name in each.error.keys() - _MEMBERS]
    seen = f"also {json_text(min(others))}" if others else "no other member"
    return findings + assumed(not others, seen, "7.1")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _member(response: ServiceResponse, name: str) -> str:
    return f"{name} {member_text(response.error, name)} in a {response.status}"


async def _members_of_errors(session: Session) -> Findings:
    errors = [response for response in _errors(session) if response.has_error]
    if not errors:
        findings = unseen("no refusal has an `error`", "7.2", "7.3", "7.4")
        return findings + unseen("no error has a code", "7.2")
    findings = []
    for number, name in (("7.2", "code"), ("7.3", "message")):
        wrong = [_member(each, name) for each in errors if not _is_text(each.error.get(name))]
        findings += stated(*none(wrong, "a string in each"), number)
    named = [each for each in errors if "param" in each.error]
    other = [each for each in named if each.param is not None and not _is_text(each.param)]
    wrong = [_member(each, "param") for each in other]
    if named:
        findings += stated(*none(wrong, "a string where there is one"), "7.4")
        null = [f"null in a {each.status}" for each in named if each.param is None]
        findings += assumed(*none(null, "never null"), "7.4")
    else:
        findings += unseen("no error has a `param`", "7.4")
    without = [each for each in errors if each.status not in _WITH_PARAM]
    if without:
        wrong = [_member(each, "param") for each in without if "param" in each.error]
        findings += assumed(*none(wrong, "absent where no field is at fault"), "7.4")
    codes = [each.code for each in errors if isinstance(each.code, str)]
    wrong = [json_text(code) for code in codes if not _OUR_CODE.fullmatch(code)]
    return findings + (assumed(*none(wrong, "lower-case letters and `_`"), "7.2") if codes else [])


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
    if not own:
        return unseen("no request with the key was seen", "5.1")
    refused = [_where(response) for response in own if response.status == 401]
    return stated(*none(refused, f"in all {len(own)} requests"), "5.1")


async def _too_many_requests(session: Session) -> Findings:
    """The run sends too few requests to provoke a 429; one that is received is checked."""
    responses = [response for response in session.responses if response.status == 429]
    if not responses:
        return unseen("no response was a 429, and the run does not provoke one", "7.11", "8.7")
    name, seen = "retry-after", f"{len(responses)} responses, each with the seconds to wait"
    wrong = [_retry_after(each) for each in responses if name not in each.headers]
    findings = stated(*none(wrong, seen), "8.7")
    wrong = [_retry_after(each) for each in responses if each.retry_after_s is None]
    findings += stated(*none(wrong, seen), "7.11")
    if wrong:
        return findings
    wrong = [_retry_after(each) for each in responses if not _is_whole(each.headers[name])]
    return findings + assumed(*none(wrong, f"whole seconds, at least {MIN_WAIT_S}"), "7.11")


def _retry_after(response: ServiceResponse) -> str:
    return f"`Retry-After`: {member_text(response.headers, 'retry-after')}"


def _is_whole(seconds: str) -> bool:
    return seconds.isdigit() and int(seconds) >= MIN_WAIT_S


async def _after_waiting(session: Session) -> Findings:
    """The client repeats a request after the seconds in `Retry-After`."""
    repeated = [
        response
        for responses in _by_request(session)
        for earlier, response in pairwise(responses)
        if earlier.status == 429 and earlier.retry_after_s is not None
    ]
    if not repeated or session.client.refusal is not None:
        return unseen("no request was served after a 429", "7.14")
    again = sum(response.status == 429 for response in repeated)
    seen = f"{again} of {len(repeated)} repeated requests were refused again"
    return assumed(not again, seen, "7.14")


async def _server_errors(session: Session) -> Findings:
    """A 5xx is retried once; the contract says that the retry succeeds."""
    failed = [
        responses
        for responses in _by_request(session)
        if any(each.status >= 500 for each in responses)
    ]
    for responses in failed:
        errors = [each for each in responses if each.status >= 500]
        if len(errors) > 1:
            seen = f"{errors[0].summary} of {errors[0].request.method}, and again after a retry"
            return stated(False, seen, "7.12")
    served = [each for each in failed if each[-1].status < 500 and each[-1].status != 429]
    if not served:
        reason = "the retry had no other response" if failed else "no response was a 5xx"
        return unseen(reason, "7.12")
    return stated(True, f"{len(served)}, served after a retry", "7.12")


CHECKS = (
    Check(_all_json, ("1.2",)),
    Check(_statuses, ("1.3",)),
    Check(_error_objects, ("2.3.1", "7.1")),
    Check(_members_of_errors, ("7.2", "7.3", "7.4")),
    Check(_challenges, ("5.4",)),
    Check(_key_always_accepted, ("5.1",)),
    Check(_too_many_requests, ("7.11", "8.7")),
    Check(_after_waiting, ("7.14",)),
    Check(_server_errors, ("7.12",)),
)
