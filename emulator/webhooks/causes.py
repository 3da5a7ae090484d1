"""Why a webhook did not arrive, in words that tell a developer what to do about it."""

import errno
import os
import socket
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from urllib.parse import urljoin, urlsplit

from emulator.domain.webhooks import WebhookResponse
from emulator.webhooks.addresses import host_and_port, is_loopback, with_host, with_scheme

HOST_IN_DOCKER = "host.docker.internal"
HOST_IN_PODMAN = "host.containers.internal"
_ADD_HOST = f"--add-host={HOST_IN_DOCKER}:host-gateway"

_REDIRECTS = {301, 302, 303, 307, 308}
_REFUSED = (
    "The handler refused it: does it know the secret of this endpoint, and does it verify the "
    "body as it came?"
)
_NOT_SERVED = "Nothing there takes a POST: is the path right, and is the handler's route set up?"
_NOT_READ = (
    "The handler's framework did not take the body, which is JSON, before the handler saw it."
)
_OF_STATUS = {
    400: _REFUSED,
    401: _REFUSED,
    403: _REFUSED,
    404: _NOT_SERVED,
    405: _NOT_SERVED,
    410: "By 410 an endpoint says that it is gone, and so it was disabled: PATCH enables it again.",
    415: _NOT_READ,
    422: _NOT_READ,
    500: "The handler failed over it, as its own log may tell.",
}
# What OpenSSL calls an answer that is no TLS at all.
_NOT_TLS = {
    "HTTP_REQUEST",
    "PACKET_LENGTH_TOO_LONG",
    "RECORD_LAYER_FAILURE",
    "UNKNOWN_PROTOCOL",
    "WRONG_VERSION_NUMBER",
}
# X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH
_WRONG_NAME = {62, 64}
# X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_HAS_EXPIRED
_WRONG_TIME = {9, 10}
_MAX_CAUSES = 64


class Stage(Enum):
    """How far an attempt had come when it failed."""

    NAMING = "naming"
    """The name is not resolved."""
    CONNECTING = "connecting"
    SECURING = "securing"
    """Connected, but not yet through the TLS handshake."""
    ANSWERING = "answering"
    """The request is sent, or being sent, and no status line has come."""


_TIMEOUTS = {
    Stage.NAMING: (
        " looking up {it.host}",
        "No name server answers: is this machine or container on a network that knows the name?",
    ),
    Stage.CONNECTING: (
        " while connecting",
        "Nothing comes back from {it.address}: is it the right address, and does no firewall "
        "stand between?",
    ),
    Stage.SECURING: (
        " in the TLS handshake",
        "{it.address} takes connections but speaks no TLS: does it want {it.as_http}?",
    ),
    Stage.ANSWERING: (
        "",
        "The endpoint has the webhook and keeps silent: let it answer with 2xx first and work "
        "afterwards, on a server that can serve two requests at once if its handler calls the API.",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What happened, in a short phrase, and in one sentence its likely cause and remedy.

    Without an error there was a response, and that says what happened.
    """

    error: str | None
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What was tried, how far it came, and from where."""

    url: str
    stage: Stage
    is_in_container: bool

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def address(self) -> str:
        return host_and_port(self.url)

    @property
    def as_http(self) -> str:
        return with_scheme(self.url, "http")


def diagnose_response(response: WebhookResponse, url: str) -> Diagnosis | None:
    """Why an endpoint may have answered as it did, and why a redirect is a failure."""
    if response.status not in _REDIRECTS:
        cause = _OF_STATUS.get(response.status)
        return None if cause is None else Diagnosis(error=None, cause=cause)
    location = next((value for name, value in response.headers if name.lower() == "location"), None)
    if location is None:
        cause = "It does not even say where to: the endpoint itself has to answer with 2xx."
    else:
        cause = (
            f"Webhooks follow no redirects: register {_absolute(url, location)} if that is the "
            "endpoint (often https or the slash at the end is missing), else answer with 2xx."
        )
    return Diagnosis(error="redirect not followed", cause=cause)


def diagnose_timeout(tried: Tried, timeout_s: int) -> Diagnosis:
    doing, cause = _TIMEOUTS[tried.stage]
    error = f"timed out after {timeout_s} s{doing}"
    return Diagnosis(error=error.format(it=tried), cause=cause.format(it=tried))


def diagnose_failure(failure: Exception, tried: Tried) -> Diagnosis:
    """What the exception of a library means; the deepest one it was raised from tells most."""
    chain = list(_chain(failure))
    for kind, diagnose in _known_kinds():
        for error in chain:
            if isinstance(error, kind):
                return diagnose(error, tried)
    return _broken_off(failure, tried)


def _known_kinds() -> tuple[tuple[type[BaseException], Callable[..., Diagnosis]], ...]:
    """The kinds of exceptions that tell something, those that tell most first."""
    import httpx

    return (
        (ssl.SSLCertVerificationError, _untrusted),
        (ssl.SSLEOFError, _broken_off),
        (ssl.SSLError, _no_tls),
        (socket.gaierror, _unknown_name),
        (ConnectionRefusedError, _refused),
        (httpx.ConnectError, _unconnected),
        (httpx.InvalidURL, _unusable),
        (httpx.UnsupportedProtocol, _unusable),
        (httpx.LocalProtocolError, _unusable),
        (UnicodeError, _unusable),
        (httpx.RemoteProtocolError, _no_http),
    )


def _chain(failure: BaseException) -> Iterator[BaseException]:
    """An exception and those it was raised from, suppressed or not.

    httpcore raises its own exceptions again `from None`, and anyio says no more than that all
    attempts to connect have failed.
    """
    error: BaseException | None = failure
    for _ in range(_MAX_CAUSES):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def _untrusted(error: ssl.SSLCertVerificationError, tried: Tried) -> Diagnosis:
    if error.verify_code in _WRONG_NAME:
        cause = f"It was made for another name: register one it has, or add {tried.host} to it."
    elif error.verify_code in _WRONG_TIME:
        cause = "It is out of date by the clock of this machine: renew it, or set the clock."
    else:
        cause = (
            "Nobody known here has signed it: let SSL_CERT_FILE name a file with the certificate "
            "of its authority (PEM) where the emulator runs, or register an http:// address."
        )
    return Diagnosis(
        error=f"certificate not trusted: {error.verify_message.rstrip('.')}", cause=cause
    )


def _no_tls(error: ssl.SSLError, tried: Tried) -> Diagnosis:
    reason = error.reason or ""
    if reason in _NOT_TLS:
        return Diagnosis(
            error="no TLS spoken there",
            cause=f"{tried.address} seems to speak plain HTTP: register "
            f"{tried.as_http}, or the port where it speaks TLS.",
        )
    phrase = reason.replace("_", " ").lower() or "unknown reason"
    return Diagnosis(
        error=f"TLS handshake failed: {phrase}",
        cause=f"{tried.address} and this client agree on no way to speak TLS: look at the "
        "versions and certificates it is set up with.",
    )


def _unknown_name(_: socket.gaierror, tried: Tried) -> Diagnosis:
    host = tried.host
    if host in {HOST_IN_DOCKER, HOST_IN_PODMAN}:
        cause = (
            f"Docker on Linux knows {HOST_IN_DOCKER} only in containers that were started with "
            f"{_ADD_HOST} (Compose: extra_hosts), and Podman calls it {HOST_IN_PODMAN}."
        )
    elif "." in host:
        cause = "Is it spelled right, and does the name server of this machine answer for it?"
    elif tried.is_in_container:
        cause = (
            f"A container finds {host} only on a network that both are attached to: is it the "
            "name of a service in the same Compose project, and is that running?"
        )
    else:
        cause = (
            "Names of Compose services are known only inside their network: the emulator runs "
            f"outside, so register {with_host(tried.url, 'localhost')} with the published port."
        )
    return Diagnosis(error=f"name not found: {host}", cause=cause)


def _refused(_: ConnectionRefusedError, tried: Tried) -> Diagnosis:
    error = "connection refused"
    if not is_loopback(tried.host):
        cause = (
            f"Nothing listens on {tried.address}: is the server started, on that port (of a "
            "container its own, not the published one), and on 0.0.0.0 rather than 127.0.0.1?"
        )
    elif tried.is_in_container:
        cause = _look_outside(tried)
    else:
        cause = f"Nothing listens on {tried.address}: is the server started, and on that port?"
    return Diagnosis(error=error, cause=cause)


def _unconnected(error: Exception, tried: Tried) -> Diagnosis:
    """No connection for a rarer reason than a closed port."""
    if tried.stage is not Stage.CONNECTING:
        return _broken_off(error, tried)
    number = next((e.errno for e in _chain(error) if isinstance(e, OSError) and e.errno), None)
    phrase = "unknown reason" if number is None else os.strerror(number).lower()
    if number in {errno.EMFILE, errno.ENFILE}:
        cause = "The emulator may open no more files: raise its limit (ulimit -n)."
    elif tried.is_in_container and is_loopback(tried.host):
        cause = _look_outside(tried)
    else:
        cause = f"This machine has no way to {tried.address}: is that the right address?"
    return Diagnosis(error=f"not connected: {phrase}", cause=cause)


def _unusable(error: Exception, _: Tried) -> Diagnosis:
    return Diagnosis(
        error=f"address not usable: {error}",
        cause="No request can be made to it: register an address that a browser would open.",
    )


def _no_http(error: Exception, tried: Tried) -> Diagnosis:
    # httpcore sees no more than an end where a status line had to come.
    if str(error).startswith("Server disconnected"):
        return _broken_off(error, tried)
    return Diagnosis(
        error="the answer was not HTTP",
        cause=f"Something else than an HTTP server listens on {tried.address}{_or_tls(tried)}.",
    )


def _broken_off(_: Exception, tried: Tried) -> Diagnosis:
    if tried.stage is Stage.SECURING:
        return Diagnosis(
            error="connection closed in the TLS handshake",
            cause=f"{tried.address} has no certificate for {tried.host}, or speaks plain HTTP "
            f"and wants {tried.as_http}.",
        )
    return Diagnosis(
        error="connection closed without an answer",
        cause=f"The server failed over this request, as its log may tell{_or_tls(tried)}.",
    )


def _look_outside(tried: Tried) -> str:
    return (
        f"In a container {tried.host} is the container itself: register "
        f"{with_host(tried.url, HOST_IN_DOCKER)} for a server on the host (on Linux with "
        f"{_ADD_HOST}; in Podman {HOST_IN_PODMAN}), or the name of its service in Compose."
    )


def _or_tls(tried: Tried) -> str:
    if urlsplit(tried.url).scheme == "https":
        return ""
    return f", or the port speaks TLS and wants {with_scheme(tried.url, 'https')}"


def _absolute(url: str, location: str) -> str:
    try:
        return urljoin(url, location)
    except ValueError:
        return location
