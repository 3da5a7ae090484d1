"""Explains the exceptions of sockets and TLS as a kind of failure and a short phrase."""

import errno
import os
import socket
import ssl
from collections.abc import Callable, Iterator
from enum import Enum, auto

MAX_CAUSES = 64
_TOO_MANY_FILES = {errno.EMFILE, errno.ENFILE}


class RequestStage(Enum):
    """The progress of a request when it failed."""

    RESOLVING = auto()
    CONNECTING = auto()
    TLS_HANDSHAKE = auto()
    AWAITING_RESPONSE = auto()
    """The request was sent completely or in part, and no status line was received."""


class NotHttp(Exception):
    """A server sent something else than an HTTP response."""


class FailureKind(Enum):
    CERTIFICATE = auto()
    """Of an unknown authority, for another name, or not valid at this time."""
    CLOSED = auto()
    CONNECTION_REFUSED = auto()
    NAME_NOT_FOUND = auto()
    NOT_CONNECTED = auto()
    NOT_HTTP = auto()
    TLS_HANDSHAKE = auto()
    TOO_MANY_FILES = auto()
    """This process cannot open another socket."""
    UNUSABLE_URL = auto()


Explanation = tuple[FailureKind, str]
"""The kind of a failure, and a short phrase with its details."""


def explain_failure(failure: Exception, *, host: str, stage: RequestStage) -> Explanation:
    """Explain the exception of a request to a host, by the most specific of its causes."""
    chain = list(causes(failure))
    for kind, explain in _explanations(host, stage):
        for error in chain:
            if isinstance(error, kind):
                return explain(error)
    return _closed(stage)


def connection_failure(
    failure: Exception, *, host: str, stage: RequestStage = RequestStage.CONNECTING
) -> str:
    """Why a client has no connection to a server, as a phrase for the user of a command."""
    kind, phrase = explain_failure(failure, host=host, stage=stage)
    if kind is FailureKind.CERTIFICATE:
        phrase += "; for a private authority, set SSL_CERT_FILE to its certificate (a PEM file)"
    return phrase


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and those that it was raised from; of a group, only the first.

    Contexts count although they were suppressed: httpcore raises its own exceptions `from None`.
    """
    cause: BaseException | None = error
    for _ in range(MAX_CAUSES):
        if cause is None:
            return
        yield cause
        if isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[0]
        else:
            cause = cause.__cause__ or cause.__context__


def _explanations(
    host: str, stage: RequestStage
) -> tuple[tuple[type[BaseException], Callable[..., Explanation]], ...]:
    """The explained kinds of exceptions, the most specific first."""
    return (
        (ssl.SSLCertVerificationError, _untrusted),
        (ssl.SSLEOFError, lambda _: _closed(stage)),
        (ssl.SSLError, _no_tls),
        (socket.gaierror, lambda _: (FailureKind.NAME_NOT_FOUND, f"name not found: {host}")),
        (ConnectionRefusedError, lambda _: (FailureKind.CONNECTION_REFUSED, "connection refused")),
        (ValueError, lambda error: (FailureKind.UNUSABLE_URL, f"address not usable: {error}")),
        (NotHttp, lambda _: (FailureKind.NOT_HTTP, "the response was not HTTP")),
        (OSError, lambda error: _not_connected(error, stage)),
    )


def _untrusted(error: ssl.SSLCertVerificationError) -> Explanation:
    return FailureKind.CERTIFICATE, f"certificate not trusted: {error.verify_message.rstrip('.')}"


def _no_tls(error: ssl.SSLError) -> Explanation:
    words = (error.reason or "unknown reason").replace("_", " ").lower()
    return FailureKind.TLS_HANDSHAKE, f"TLS handshake failed: {words}"


def _not_connected(error: Exception, stage: RequestStage) -> Explanation:
    """No connection for a rarer reason than a closed port."""
    if stage is not RequestStage.CONNECTING:
        return _closed(stage)
    number = next((e.errno for e in causes(error) if isinstance(e, OSError) and e.errno), None)
    words = "unknown reason" if number is None else os.strerror(number).lower()
    is_own_limit = number in _TOO_MANY_FILES
    kind = FailureKind.TOO_MANY_FILES if is_own_limit else FailureKind.NOT_CONNECTED
    return kind, f"not connected: {words}"


def _closed(stage: RequestStage) -> Explanation:
    if stage is RequestStage.TLS_HANDSHAKE:
        return FailureKind.TLS_HANDSHAKE, "connection closed in the TLS handshake"
    return FailureKind.CLOSED, "connection closed without a response"
