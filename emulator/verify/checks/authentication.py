"""Who is let in: the clauses of section 5 that can be seen from outside."""

from emulator.verify.answers import Request, cleaned
from emulator.verify.checks.refusals import CODES, refused
from emulator.verify.findings import Check, Findings, judged_assumed
from emulator.verify.session import Visit, as_basic

_ONE = {"limit": "1"}


async def _without_a_key(visit: Visit) -> Findings:
    answer = await visit.client.ask(Request(query=_ONE))
    findings = refused(
        answer,
        "without `Authorization`",
        status=401,
        code="missing_api_key",
        states=("4.0.5", "5.4", "7.8"),
    )
    if answer.status == 401:
        challenge = answer.headers.get("www-authenticate")
        scheme = (challenge or "").partition(" ")[0]
        seen = f"`WWW-Authenticate: {cleaned(scheme)}`"
        if challenge is None:
            seen = "without `WWW-Authenticate`"
        findings += judged_assumed(scheme.lower() == "bearer", seen, "5.4")
    return findings


async def _with_an_unknown_key(visit: Visit) -> Findings:
    answer = await visit.client.ask(Request(query=_ONE, key=visit.unknown_key))
    return refused(
        answer,
        "a `test_` key of nobody",
        status=401,
        code="invalid_api_key",
        states=("5.4", "7.8"),
    )


async def _with_another_scheme(visit: Visit) -> Findings:
    answer = await visit.client.ask(Request(query=_ONE, key=as_basic(visit.key), scheme="Basic"))
    return refused(
        answer,
        "the key by the scheme `Basic`",
        status=401,
        code="missing_api_key",
        assumes=("5.1",),
    )


async def _with_a_small_letter(visit: Visit) -> Findings:
    answer = await visit.client.ask(Request(query=_ONE, key=visit.key, scheme="bearer"))
    return judged_assumed(answer.is_success, f"`bearer`: {answer.told}", "5.1")


CHECKS = (
    Check(look=_without_a_key, states=("4.0.5", "5.4", "7.8"), assumes=("5.4", CODES)),
    Check(look=_with_an_unknown_key, states=("5.4", "7.8"), assumes=(CODES,)),
    Check(look=_with_another_scheme, assumes=("5.1", CODES)),
    Check(look=_with_a_small_letter, assumes=("5.1",)),
)
