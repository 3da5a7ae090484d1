"""What is true of every answer, whatever was asked: JSON, statuses, errors (contract, 1 and 7)."""

import re
from collections.abc import Callable, Sequence
from http import HTTPStatus

from emulator.verify.answers import Answer, shown, shown_member
from emulator.verify.client import SHORTEST_WAIT_S, retry_after_s
from emulator.verify.findings import Check, Findings, judged, judged_assumed, unseen
from emulator.verify.session import Visit

STATUSES = {200, 201, 400, 401, 404, 409, 429, 500}
_OF_A_GATEWAY = {502, 503, 504}
_AS_OURS = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)


def _first_wrong(answers: Sequence[Answer], is_so: Callable[[Answer], bool]) -> Answer | None:
    return next((one for one in answers if not is_so(one)), None)


def _where(answer: Answer) -> str:
    return f"{answer.status} of {answer.request.method}"


def _answers(visit: Visit) -> list[Answer]:
    """What the service answered.

    An error of a gateway before it, in a form of its own, is left out when it did not come again.
    """
    last = {id(one.request): one.status for one in visit.answers}
    return [
        one
        for one in visit.answers
        if one.status not in _OF_A_GATEWAY or one.is_json or last[id(one.request)] >= 500
    ]


async def _all_json(visit: Visit) -> Findings:
    answers = _answers(visit)
    wrong = _first_wrong(answers, lambda one: one.is_json)
    if wrong is None:
        return judged(True, f"all {len(answers)} answers", "1.2")
    kind = f"`Content-Type` {shown_member(wrong.headers, 'content-type')}"
    seen = "the body is not JSON in UTF-8" if wrong.has_json_type else kind
    return judged(False, f"{_where(wrong)}: {seen}", "1.2")


async def _statuses(visit: Visit) -> Findings:
    statuses = sorted({one.status for one in _answers(visit)})
    standard = {status.value for status in HTTPStatus}
    strange = [status for status in statuses if status not in standard]
    other = [status for status in statuses if status in standard and status not in STATUSES]
    known = ", ".join(map(str, statuses))
    findings = judged(not strange, f"{known}" if not strange else f"{strange[0]}", "1.3")
    return findings + judged_assumed(not other, known if not other else f"{other[0]}", "1.3")


def _errors(visit: Visit) -> list[Answer]:
    return [one for one in _answers(visit) if one.status >= 400]


async def _error_objects(visit: Visit) -> Findings:
    errors = _errors(visit)
    wrong = _first_wrong(errors, lambda one: one.has_error)
    seen = _no_error(wrong) if wrong else f"in all {len(errors)} refusals"
    return judged(wrong is None, seen, "2.3.1", "7.1")


def _no_error(answer: Answer) -> str:
    is_absent = "error" not in answer.members
    kind = "absent" if is_absent else f"{shown(answer.members['error'])}, not an object"
    return f"{_where(answer)}: `error` is {kind}"


async def _members_of_errors(visit: Visit) -> Findings:
    errors = [one for one in _errors(visit) if one.has_error]
    if not errors:
        return unseen("no refusal has an `error`", "7.2", "7.3", "7.4")
    findings: Findings = []
    for number, name in (("7.2", "code"), ("7.3", "message")):
        wrong = next((one for one in errors if not _is_text(one.error.get(name))), None)
        seen = _member(wrong, name) if wrong else "a string in each"
        findings += judged(wrong is None, seen, number)
    wrong = _first_wrong(errors, lambda one: one.error.get("param") is None or _is_text(one.param))
    seen = _member(wrong, "param") if wrong else "a string where there is one"
    findings += judged(wrong is None, seen, "7.4")
    null = _first_wrong(errors, lambda one: one.error.get("param", "") is not None)
    seen = f"null in a {null.status}" if null else "never null"
    return findings + judged_assumed(null is None, seen, "7.4")


async def _looks_of_codes(visit: Visit) -> Findings:
    codes = [one.code for one in _errors(visit) if isinstance(one.code, str)]
    if not codes:
        return unseen("there was no code", "7.2")
    wrong = next((code for code in codes if not _AS_OURS.fullmatch(code)), None)
    seen = shown(wrong) if wrong else "small letters and `_`"
    return judged_assumed(wrong is None, seen, "7.2")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _member(answer: Answer, name: str) -> str:
    return f"{name} {shown_member(answer.error, name)} in a {answer.status}"


async def _always_let_in(visit: Visit) -> Findings:
    """A key that was taken once is taken every time."""
    own = [
        one
        for one in visit.answers
        if one.request.key == visit.key and one.request.scheme == "Bearer"
    ]
    wrong = _first_wrong(own, lambda one: one.status != 401)
    seen = f"401 of {wrong.request.method}" if wrong else f"in all {len(own)} requests"
    return judged(wrong is None, seen, "5.1")


async def _too_many_requests(visit: Visit) -> Findings:
    """Nothing is asked so often that it happens; but if it does, it is looked at."""
    answers = [one for one in visit.answers if one.status == 429]
    if not answers:
        return unseen("the rate limit was not met, and is not looked for", "7.11", "8.7")
    with_it = f"met {len(answers)} times, with the seconds to wait"
    wrong = _first_wrong(answers, lambda one: "retry-after" in one.headers)
    findings = judged(wrong is None, _retry_after(wrong) if wrong else with_it, "8.7")
    wrong = _first_wrong(answers, lambda one: retry_after_s(one) is not None)
    findings += judged(wrong is None, _retry_after(wrong) if wrong else with_it, "7.11")
    if wrong is not None:
        return findings
    wrong = _first_wrong(answers, lambda one: _is_whole(one.headers["retry-after"]))
    return findings + judged_assumed(
        wrong is None, _retry_after(wrong) if wrong else "whole seconds, at least 1", "7.11"
    )


def _is_whole(seconds: str) -> bool:
    return seconds.isdigit() and int(seconds) >= SHORTEST_WAIT_S


def _retry_after(answer: Answer) -> str:
    return f"`Retry-After`: {shown_member(answer.headers, 'retry-after')}"


async def _server_errors(visit: Visit) -> Findings:
    """A 5xx is asked once more; if it comes again, there is more to it than the contract says."""
    # By their requests: between the two answers may be a 429, or the answer to another request.
    failed: dict[int, list[Answer]] = {}
    for one in visit.answers:
        if one.status >= 500:
            failed.setdefault(id(one.request), []).append(one)
    twice = next((answers[0] for answers in failed.values() if len(answers) > 1), None)
    if twice is not None:
        seen = f"{twice.told} of {twice.request.method}, and again when asked again"
        return judged(False, seen, "7.12")
    last = {id(one.request): one.status for one in visit.answers}
    served = [request for request in failed if last[request] < 500 and last[request] != 429]
    if not served:
        return unseen("there was no other answer to it" if failed else "there was none", "7.12")
    return judged(True, f"{len(served)}, served when asked again", "7.12")


CHECKS = (
    Check(look=_all_json, states=("1.2",)),
    Check(look=_statuses, states=("1.3",), assumes=("1.3",)),
    Check(look=_error_objects, states=("2.3.1", "7.1")),
    Check(look=_members_of_errors, states=("7.2", "7.3", "7.4"), assumes=("7.4",)),
    Check(look=_looks_of_codes, assumes=("7.2",)),
    Check(look=_always_let_in, states=("5.1",)),
    Check(look=_too_many_requests, states=("7.11", "8.7"), assumes=("7.11",)),
    Check(look=_server_errors, states=("7.12",)),
)
