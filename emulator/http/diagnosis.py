"""Explains to a developer why a webhook was not delivered, and what to do about it."""

from urllib.parse import urljoin, urlsplit

from msgspec import Struct

from emulator.domain.hosts import ADD_DOCKER_HOST, DOCKER_HOST, PODMAN_HOST
from emulator.domain.webhooks import MAX_TIMEOUT_MS, WebhookResponse
from emulator.http.addresses import host_and_port, is_loopback, with_host, with_scheme
from emulator.http.failures import FailureKind, RequestStage, explain_failure
from emulator.http.response import HttpResponse, timed_out

_REDIRECTS = {301, 302, 303, 307, 308}
_REFUSED = (
    "The handler refused the webhook: does it use the secret of this endpoint, and does it verify "
    "the unchanged body?"
)
_NOT_SERVED = (
    "The server has no handler for a POST to this path: are the path and the route correct?"
)
_NOT_READ = "The handler's framework refused the JSON body before the handler received it."
_STATUS_CAUSES = {
    400: _REFUSED,
    401: _REFUSED,
    403: (
        "The handler refused the webhook: does it use the secret of this endpoint, does it verify "
        "the unchanged body, and does its framework exempt this path from CSRF protection?"
    ),
    404: _NOT_SERVED,
    405: _NOT_SERVED,
    410: "Status 410 means that the endpoint is gone, so it was disabled: PATCH enables it again.",
    415: _NOT_READ,
    419: "The CSRF protection of the framework refused the webhook: exempt this path from it.",
    422: _NOT_READ,
    500: "The handler failed: see its own log.",
}
_NO_TLS = (
    "Does {at.address} use plain HTTP (then register {at.http_url}), other versions of TLS, or no "
    "certificate for {at.host}?"
)
_TIMEOUTS = {
    RequestStage.RESOLVING: (
        " looking up {at.host}",
        "No name server responds: is this machine or container connected to a network?",
    ),
    RequestStage.CONNECTING: (
        " while connecting",
        "No response from {at.address}: is the address correct, and does a firewall block it?",
    ),
    RequestStage.TLS_HANDSHAKE: (" in the TLS handshake", _NO_TLS),
    RequestStage.AWAITING_RESPONSE: (
        "",
        "The endpoint received the webhook and sent no response: return 2xx first and "
        "work afterwards; a handler that calls the API needs a server that processes two requests "
        "at once.",
    ),
}
_CAUSES = {
    FailureKind.CERTIFICATE: (
        "The certificate must be for {at.host} and valid at the time of this machine; for a "
        "private authority, --webhook-ca must name the authority's certificate (a PEM file)."
    ),
    FailureKind.CLOSED: "The server failed during this request: see its log{at.or_tls}.",
    FailureKind.CONNECTION_REFUSED: (
        "Nothing listens on {at.address}: has the server started, on that port (for a container, "
        "its own port, not the published one), and on 0.0.0.0 rather than 127.0.0.1?"
    ),
    FailureKind.NAME_NOT_FOUND: (
        "Is the host name correct, and does the name server of this machine know it?"
    ),
    FailureKind.NOT_CONNECTED: (
        "This machine has no route to {at.address}: is the address correct?"
    ),
    FailureKind.NOT_HTTP: "The program at {at.address} is not an HTTP server{at.or_tls}.",
    FailureKind.TLS_HANDSHAKE: _NO_TLS,
    FailureKind.TOO_MANY_FILES: (
        "The emulator has reached its limit of open files: increase the limit (ulimit -n)."
    ),
    FailureKind.UNUSABLE_URL: (
        "No request to this URL is possible: register a URL that a browser can open."
    ),
}
_LOOPBACK_REFUSED = "Nothing listens on {at.address}: has the server started, on that port?"
_LOOPBACK_IN_CONTAINER = (
    "Nothing listens on {at.address} in this container: register {at.docker_url} for a server on "
    f"the host (on Linux with {ADD_DOCKER_HOST}; in Podman {PODMAN_HOST}), or the name of its "
    "service in Compose."
)
_CONTAINER_HOST_UNKNOWN = (
    f"Docker on Linux knows {DOCKER_HOST} only in containers that were started with "
    f"{ADD_DOCKER_HOST} (Compose: extra_hosts), and Podman calls it {PODMAN_HOST}."
)
_SERVICE_UNKNOWN_IN_CONTAINER = (
    "A container finds {at.host} only in a network that both use: is it the name of a service in "
    "the same Compose project, and does that service run?"
)
_SERVICE_UNKNOWN_OUTSIDE = (
    "Names of Compose services are known only inside their network: the emulator runs "
    "outside, so register {at.localhost_url} with the published port."
)


class Diagnosis(Struct, frozen=True, kw_only=True):
    """What happened, as a short phrase, and a sentence with its likely cause and remedy.

    Without an error there was a response, whose status is what happened.
    """

    error: str | None
    cause: str


class FailedRequest(Struct, frozen=True, kw_only=True):
    """The URL of a request, its progress, and where the program runs."""

    url: str
    stage: RequestStage
    is_in_container: bool

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def address(self) -> str:
        return host_and_port(self.url)

    @property
    def http_url(self) -> str:
        return with_scheme(self.url, "http")

    @property
    def localhost_url(self) -> str:
        return with_host(self.url, "localhost")

    @property
    def docker_url(self) -> str:
        return with_host(self.url, DOCKER_HOST)

    @property
    def or_tls(self) -> str:
        if urlsplit(self.url).scheme == "https":
            return ""
        return f", or the port uses TLS: then register {with_scheme(self.url, 'https')}"


def diagnose_response(response: WebhookResponse, url: str) -> Diagnosis | None:
    """Explain a status that is not 2xx; None when the status needs no explanation."""
    if response.status not in _REDIRECTS:
        cause = _STATUS_CAUSES.get(response.status)
        return None if cause is None else Diagnosis(error=None, cause=cause)
    location = next((value for name, value in response.headers if name.lower() == "location"), None)
    if location is None:
        cause = "The response has no Location header: the endpoint itself must return 2xx."
    else:
        cause = (
            f"The emulator follows no redirects: register {_absolute(url, location)} if that is "
            "the endpoint (often https or the slash at the end is missing), or return 2xx."
        )
    return Diagnosis(error="redirect not followed", cause=cause)


def diagnose_timeout(at: FailedRequest, timeout_ms: int) -> Diagnosis:
    progress, cause = _TIMEOUTS[at.stage]
    error = f"timed out after {timeout_ms / 1_000:g} s{progress}"
    return Diagnosis(error=error.format(at=at), cause=cause.format(at=at))


def diagnose_failure(failure: Exception, at: FailedRequest) -> Diagnosis:
    """Explain the exception of a request that has no response."""
    kind, phrase = explain_failure(failure, host=at.host, stage=at.stage)
    return Diagnosis(error=phrase, cause=_cause(kind, at).format(at=at))


def cause_of(response: HttpResponse, url: str) -> str:
    """The likely cause of a response that is no success, or an empty text."""
    at = FailedRequest(url=url, stage=RequestStage.AWAITING_RESPONSE, is_in_container=False)
    if response.failure is None:
        received = WebhookResponse(response.status, tuple(response.headers))
        diagnosis = diagnose_response(received, url)
    elif response == timed_out(MAX_TIMEOUT_MS / 1_000):
        diagnosis = diagnose_timeout(at, MAX_TIMEOUT_MS)
    else:
        diagnosis = diagnose_failure(OSError(response.failure), at)
    return "" if diagnosis is None else diagnosis.cause


def _cause(kind: FailureKind, at: FailedRequest) -> str:
    """The usual cause, or the cause for a host that containers see differently."""
    match kind:
        case FailureKind.CONNECTION_REFUSED if is_loopback(at.host):
            return _LOOPBACK_IN_CONTAINER if at.is_in_container else _LOOPBACK_REFUSED
        case FailureKind.NOT_CONNECTED if at.is_in_container and is_loopback(at.host):
            return _LOOPBACK_IN_CONTAINER
        case FailureKind.NAME_NOT_FOUND if at.host in {DOCKER_HOST, PODMAN_HOST}:
            return _CONTAINER_HOST_UNKNOWN
        case FailureKind.NAME_NOT_FOUND if "." not in at.host:
            return _SERVICE_UNKNOWN_IN_CONTAINER if at.is_in_container else _SERVICE_UNKNOWN_OUTSIDE
        case _:
            return _CAUSES[kind]


def _absolute(url: str, location: str) -> str:
    try:
        return urljoin(url, location)
    except ValueError:
        return location
