"""Compares a service with the contract: checks the service, runs all checks, collects results.

A recording is compared as a session whose responses are recorded ones.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl, urlsplit

from emulator.clock import RealClock
from emulator.domain.accounts import mask_key
from emulator.domain.clauses import CLAUSES
from emulator.domain.instants import Instant
from emulator.domain.user_error import UserError
from emulator.tools.recorded_traffic import (
    RecordedExchange,
    RecordedTraffic,
    api_of,
    is_masked,
)
from emulator.tools.verify.checks import CHECKS, RECORDED_CHECKS
from emulator.tools.verify.client import (
    INTERRUPTED,
    CheckStopped,
    LostResponse,
    RateLimited,
    ServiceClient,
    ServiceRequest,
    ServiceResponse,
    printable,
)
from emulator.tools.verify.findings import (
    Check,
    ClauseResult,
    Findings,
    Verdict,
    results,
    stated,
    unseen,
)
from emulator.tools.verify.session import PAYMENTS, OwnPayment, Session

# The clauses that no check covers: they cannot be observed, or hold by then.
_NUMBERS_BY_REASON = {
    "a check does not see the checkout page": "1.5 4.4.8",
    "a check pays no payment": "1.6 1.7 1.8 3.2 3.3 3.4 4.4.1 4.4.2 4.4.3 4.4.4 4.4.5 4.4.7 8.6",
    "a check receives no webhook": "4.2.5 6.1 6.2 6.3 6.4 6.5",
    "a check needs a test key and a live key of one account": "1.11",
    "the client of a check encodes each address": "4.0.6",
    "a check would last a day": "4.1.22",
    "a check needs a live key and real money": "4.2.4 5.3",
    "a check sends no parameter twice": "4.3.18",
    "the contract does not contain the numbers": "4.4.6",
    "a client cannot observe that no money moves": "5.2",
    "a check has only the keys that it is given": "5.6",
    "a check would need very many requests": "8.8",
    "the contract specifies nothing that a check can observe": "9.3",
}
HIDDEN = {
    number: reason for reason, numbers in _NUMBERS_BY_REASON.items() for number in numbers.split()
}
"""Clauses that cannot be observed from outside, each with the reason."""

GRANTED = {
    "1.9": "the service responds there",
    "9.1": "the service responds under `/v1`",
}
"""Clauses that hold if the service responds with JSON."""
_NOT_REACHED = "the check ended before this clause"
_ENVELOPE = {"data", "has_more", "next_cursor"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The result of comparing a service with the contract. Keys are masked.

    `began_at` is real time. `refusal` is why the service refused the remaining requests with 429;
    None if it did not. `is_interrupted` means that Ctrl-C ended the comparison.
    """

    base_url: str
    key: str
    other_key: str | None
    began_at: Instant
    results: tuple[ClauseResult, ...]
    requests: int
    payments: int
    refusal: str | None = None
    is_interrupted: bool = False

    @property
    def has_drifted(self) -> bool:
        """Whether there is a drift that the user has not accepted."""
        return any(result.counts for result in self.results)

    @property
    def left_out(self) -> int:
        """The number of clauses that are unseen because of the rate limit."""
        return sum(result.was_left_out for result in self.results)

    @property
    def drifts(self) -> tuple[ClauseResult, ...]:
        return tuple(result for result in self.results if result.verdict is Verdict.DRIFT)


async def compare(
    session: Session,
    *,
    began_at: Instant,
    accepted: frozenset[str] = frozenset(),
    show: Callable[[str], None] = lambda _: None,
) -> Comparison:
    """Run every check, one after the other; after a cancellation without further requests.

    `show` receives the progress. Raises UserError.
    """
    await check_service(session)
    findings = unchecked_findings()
    for number, check in enumerate(CHECKS, start=1):
        try:
            findings += await run_check(check, session)
        except asyncio.CancelledError:
            # The checks that need no further response continue.
            session.client.is_stopped = True
            findings += unseen(INTERRUPTED, *check.numbers)
        show(f"check {number} of {len(CHECKS)}")
    return _comparison(session, findings, began_at, accepted)


def _comparison(
    session: Session, findings: Findings, began_at: Instant, accepted: frozenset[str]
) -> Comparison:
    other_key = session.other_key
    return Comparison(
        base_url=session.client.base_url,
        key=mask_key(session.key) if session.key else "not recorded",
        other_key=None if other_key is None else mask_key(other_key),
        began_at=began_at,
        results=tuple(results(findings, accepted=accepted)),
        requests=len(session.client.responses),
        payments=len(session.created) + len(session.created_by_other),
        refusal=session.client.refusal,
        is_interrupted=session.client.is_stopped,
    )


async def check_service(session: Session) -> None:
    """Request a list with each key. Raises UserError."""
    base_url = session.client.base_url
    for option, key in (("--key", session.key), ("--other-key", session.other_key)):
        if key is None:
            continue
        try:
            response = await session.page(of_key=key, limit=1)
        except CheckStopped as error:
            raise UserError(f"{base_url}: {error}") from None
        problem = _problem(response, base_url, f"{mask_key(key)} ({option})")
        if problem is not None:
            raise UserError(session.masked(problem))


def _problem(response: ServiceResponse, base_url: str, key: str) -> str | None:
    """Why the server is not the service, or refuses the key; None if neither is the case."""
    url = f"{base_url}{PAYMENTS}"
    if 300 <= response.status < 400:
        target = printable(response.headers.get("location", "nowhere"))
        return f"{url} redirects to {target}: use the base URL to which this leads"
    if response.status in (401, 403):
        return f"{base_url} refuses the key {key}: {response.summary}"
    if response.status >= 500:
        return f"{url} returns {response.summary}, also after a retry: try again later"
    if not response.has_json_body:
        media_type = printable(response.headers.get("content-type", "no media type"))
        return f"{url} returns {response.status} with {media_type}: this is not the service's API"
    if response.status == 404:
        return f"{url} is not found: expected the base URL, to which /v1/payments is added"
    if not response.is_success:
        return f"{url} returns for a plain list {response.summary}: this is not the service's API"
    if not _ENVELOPE & response.members.keys():
        return f"{url} returns JSON that is not a list of payments: this is not the service's API"
    return None


def unchecked_findings(*, is_service: bool = True) -> Findings:
    """The findings about the clauses that no check covers, of a service that responds or not."""
    findings = [unseen(reason, number) for number, reason in HIDDEN.items()]
    if is_service:
        findings += [stated(True, seen, number) for number, seen in GRANTED.items()]
    return [finding for of_clause in findings for finding in of_clause]


async def run_check(check: Check, session: Session) -> Findings:
    """The findings of a check; the clauses that it does not report on are unseen."""
    findings: Findings = []
    reason, is_rate_limited = _NOT_REACHED, False
    try:
        findings = await check.run(session)
    except CheckStopped as error:
        reason, is_rate_limited = str(error), isinstance(error, RateLimited)
    reported = {finding.number for finding in findings}
    rest = [number for number in check.numbers if number not in reported]
    findings = [*findings, *unseen(reason, *rest, is_rate_limited=is_rate_limited)]
    return [replace(finding, seen=session.masked(finding.seen)) for finding in findings]


async def _not_recorded(request: ServiceRequest) -> ServiceResponse:
    raise LostResponse(f"{request.path} is not recorded")


async def compare_recording(
    traffic: RecordedTraffic, *, base_url: str | None, key: str | None, accepted: frozenset[str]
) -> Comparison:
    """Run the checks of recordings. Raises UserError."""
    session = _session(traffic, base_url, key)
    is_service = any(response.has_json_body for response in session.responses)
    findings = unchecked_findings(is_service=is_service)
    for check in RECORDED_CHECKS:
        findings += await run_check(check, session)
    reported = {finding.number for finding in findings}
    rest = [clause.number for clause in CLAUSES if clause.number not in reported]
    findings += unseen("the recording does not exercise the clause", *rest)
    return _comparison(session, findings, traffic.exchanges[0].began_at or 0, accepted)


def _session(traffic: RecordedTraffic, base_url: str | None, key: str | None) -> Session:
    """The session of one key: the given key, or the key of the most successful requests."""
    base_url = api_of(traffic.exchanges, base_url)
    client = ServiceClient(base_url, _not_recorded, wall=RealClock())
    own = [each for each in traffic.exchanges if each.url.startswith(f"{base_url}/v1/")]
    # Browsers may leave the keys out; then all requests belong to one account.
    no_key = None if any("authorization" in each.request_headers for each in own) else ""
    for each in own:
        # What a recorder left out cannot be judged.
        if each.body is not None and each.headers:
            latest = client.responses[-1] if client.responses else None
            client.responses.append(_response(each, base_url, no_key, latest))
    if not client.responses:
        raise UserError("the recording cannot be judged: no response has headers and a body")
    accepted = (each.request.key for each in client.responses if each.is_success)
    keys = Counter(each for each in accepted if each is not None)
    if key is not None and key not in keys:
        raise UserError("flag --key: the recording has no successful request with this key")
    if key is None:
        key = max(keys, key=keys.__getitem__, default="")
    session, ids = Session(client, key=key, other_key=None), set()
    for response in client.responses:
        request, body, id_ = response.request, response.request.value, response.members.get("id")
        is_create = (request.method, request.path, request.key) == ("POST", PAYMENTS, key)
        is_new = str(id_) not in ids and "idempotent-replayed" not in response.headers
        # A body that was not recorded cannot be compared.
        if is_create and is_new and response.is_success and id_ and isinstance(body, dict):
            ids.add(str(id_))
            count = len(session.created)
            session.created.append(OwnPayment(body=body, response=response, earlier_count=count))
    return session


def _credentials(authorization: str | None) -> tuple[str, str | None]:
    """The scheme and the key; all masked keys are one unknown key, which is empty."""
    if authorization is None:
        return "", None
    scheme, _, key = authorization.partition(" ")
    if is_masked(authorization) or (scheme.lower() == "bearer" and is_masked(key)):
        return "Bearer", ""
    return scheme, key or None


def _response(
    each: RecordedExchange, base_url: str, no_key: str | None, latest: ServiceResponse | None
) -> ServiceResponse:
    """A repetition that the contract asks for, after a 5xx or a 429, has the same request."""
    parts = urlsplit(each.url.removeprefix(base_url))
    scheme, key = _credentials(each.request_headers.get("authorization"))
    request = ServiceRequest(
        method=each.method,
        path=parts.path,
        query=dict(parse_qsl(parts.query, keep_blank_values=True)),
        body=each.request_body,
        media_type=each.request_headers.get("content-type", ""),
        key=no_key if key is None else key,
        scheme=scheme,
    )
    at = each.began_at
    span = None if at is None else (at, at + each.duration_ms)
    if latest is not None and latest.request == request:
        wait_ms = 1_000 * (latest.retry_after_s or 0)
        has_waited = span and latest.span and span[0] - latest.span[1] >= wait_ms > 0
        if latest.status >= 500 or (latest.status == 429 and has_waited):
            request = latest.request
    return ServiceResponse(
        request=request, status=each.status, headers=each.headers, body=each.body or b"", span=span
    )
