"""Compares a recording with the contract: a session whose responses are recorded ones."""

from collections import Counter
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from emulator.clock import RealClock
from emulator.domain.user_error import UserError
from emulator.tools.recorded_traffic import (
    RecordedExchange,
    RecordedTraffic,
    api_of,
    is_masked,
)
from emulator.tools.verify.checks import RECORDED_CHECKS
from emulator.tools.verify.client import (
    LostResponse,
    ServiceClient,
    ServiceRequest,
    ServiceResponse,
)
from emulator.tools.verify.comparison import Comparison, comparison_of, run_check
from emulator.tools.verify.session import PAYMENTS, OwnPayment, Session

_NOT_RECORDED = "the recording does not exercise the clause"


@dataclass(slots=True, kw_only=True)
class _RecordedService:
    """A transport that sends nothing."""

    base_url: str

    async def send(self, request: ServiceRequest) -> ServiceResponse:
        raise LostResponse(f"{request.path} is not recorded")


async def compare_recording(
    traffic: RecordedTraffic, *, base_url: str | None, key: str | None, accepted: frozenset[str]
) -> Comparison:
    """Run the checks of recordings. Raises UserError."""
    session = _session(traffic, base_url, key)
    findings = [finding for check in RECORDED_CHECKS for finding in await run_check(check, session)]
    began_at = traffic.exchanges[0].began_at or 0
    return comparison_of(session, findings, began_at, accepted, unreported=_NOT_RECORDED)


def _session(traffic: RecordedTraffic, base_url: str | None, key: str | None) -> Session:
    """The session of one key: the given key, or the key of the most successful requests."""
    base_url = api_of(traffic.exchanges, base_url)
    client = ServiceClient(_RecordedService(base_url=base_url), wall=RealClock())
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
