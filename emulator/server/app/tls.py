"""HTTPS on the listeners, and the certificates that verify webhook endpoints."""

import logging
import ssl
from pathlib import Path

from emulator import ids
from emulator.domain.errors import MalformedHttp
from emulator.files import open_regular
from emulator.http.failures import FailureKind, RequestStage, explain_failure
from emulator.server.app.pending_request import final_response
from emulator.settings import SettingsError

MAX_PEM_BYTES = 1024 * 1024
# Each failure of a handshake is logged once, and no more than these.
MAX_LOGGED_FAILURES = 16
_CERTIFICATE, _KEY = "CERTIFICATE-----", "PRIVATE KEY-----"
_UNTRUSTED = ("UNKNOWN_CA", "CERTIFICATE")

logger = logging.getLogger(__name__)


def listener_tls(cert: str, key: str) -> ssl.SSLContext:
    """The TLS of both listeners. Raises SettingsError."""
    _read_pem("--tls-cert", cert, _CERTIFICATE)
    if b"ENCRYPTED" in _read_pem("--tls-key", key, _KEY):
        raise SettingsError(
            f"--tls-key: the key in '{key}' has a passphrase, expected one without; remove the"
            " passphrase with openssl pkey"
        )
    context = _ListenerContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(cert, key)
    except ssl.SSLError as error:
        reason = (error.reason or "unknown reason").replace("_", " ").lower()
        raise SettingsError(
            f"--tls-key: the key in '{key}' does not fit the certificate in '{cert}' ({reason});"
            " name a certificate and its own key"
        ) from None
    return context


def authorities(path: str) -> str:
    """The certificates in the file of --webhook-ca, in PEM. Raises SettingsError."""
    text = _read_pem("--webhook-ca", path, _CERTIFICATE).decode("ascii", "ignore")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=text)
    except ssl.SSLError:
        raise SettingsError(
            f"--webhook-ca: found an invalid certificate in '{path}', expected PEM as an authority"
            " publishes it"
        ) from None
    return text


def _read_pem(option: str, path: str, content: str) -> bytes:
    """Read a file that must contain such a part. Raises SettingsError."""
    try:
        with open_regular(Path(path)) as file:
            pem = file.read(MAX_PEM_BYTES + 1)
    except OSError as error:
        raise SettingsError(
            f"{option}: cannot read '{path}': {error.strerror}; name a readable PEM file"
        ) from None
    if len(pem) > MAX_PEM_BYTES or content.encode() not in pem:
        raise SettingsError(
            f"{option}: found no PEM in '{path}', expected at most {MAX_PEM_BYTES:,} bytes with a"
            f" line -----BEGIN … {content}"
        )
    return pem


class _Handshake(ssl.SSLObject):
    """The server's side of a connection; a client that uses plain HTTP gets a response."""

    context: "_ListenerContext"
    incoming: ssl.MemoryBIO
    outgoing: ssl.MemoryBIO
    is_refused = False

    def do_handshake(self) -> None:
        """Raises SSLWantReadError, for which the event loop sends what is outgoing."""
        if self.is_refused:
            # Dropped until the client closes the connection, or the time for a handshake is over.
            self.incoming.read()
            raise ssl.SSLWantReadError
        try:
            super().do_handshake()
        except ssl.SSLWantReadError:
            raise
        except ssl.SSLError as error:
            response = self.context.explain(error)
            if response is None:
                raise
            self.outgoing.write(response)
            self.is_refused = True
            raise ssl.SSLWantReadError from None


class _ListenerContext(ssl.SSLContext):
    """Logs why handshakes fail, each reason once."""

    sslobject_class = _Handshake

    def __init__(self, protocol: int) -> None:  # noqa: ARG002 - `__new__` of the base uses it
        self._logged: set[str] = set()
        self._refused = 0
        self._stream = ids.stream_key(None, "tls")

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        wrapped = super().wrap_bio(incoming, outgoing, server_side, server_hostname, session)
        if isinstance(wrapped, _Handshake):
            wrapped.incoming, wrapped.outgoing = incoming, outgoing
        return wrapped

    def explain(self, failure: ssl.SSLError) -> bytes | None:
        """Log a failed handshake; returns the response to a client that does not use TLS."""
        kind, phrase = explain_failure(failure, host="", stage=RequestStage.TLS_HANDSHAKE)
        if kind is FailureKind.NOT_TLS:
            phrase = "a client used plain HTTP: its URL must begin with https://"
        elif any(word in (failure.reason or "") for word in _UNTRUSTED):
            phrase += "; the client does not trust the authority of --tls-cert"
        if phrase not in self._logged and len(self._logged) < MAX_LOGGED_FAILURES:
            self._logged.add(phrase)
            logger.warning("%s (logged once)", phrase)
        if kind is not FailureKind.NOT_TLS:
            return None
        self._refused += 1
        refusal = MalformedHttp("This port uses HTTPS: begin the URL with https://, not http://.")
        return final_response(refusal, ids.request_id(self._stream, self._refused))
