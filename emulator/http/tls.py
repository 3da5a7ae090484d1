"""The TLS configuration of clients, and the checks of the PEM files that options name."""

import ssl
from pathlib import Path

from ..domain.user_error import UserError
from ..files import open_regular

MAX_PEM_BYTES = 1024 * 1024
_CERTIFICATE, _KEY = "CERTIFICATE-----", "PRIVATE KEY-----"


def tls_context(*, authorities: str = "", verifies: bool = True) -> ssl.SSLContext:
    """Trust the authorities of the system, or of SSL_CERT_FILE, and of browsers.

    `authorities` are further ones, in PEM. Without `verifies`, each certificate is accepted; such
    a context is quick to create.
    """
    if not verifies:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    import certifi

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    if authorities:
        context.load_verify_locations(cadata=authorities)
    return context


def check_pair(cert: str | None, key: str | None) -> None:
    """Check the certificate and the key of both listeners, if there are any. Raises UserError."""
    if cert is None or key is None:
        return
    _read_pem("--tls-cert", cert, _CERTIFICATE)
    if b"ENCRYPTED" in _read_pem("--tls-key", key, _KEY):
        raise UserError(
            f"--tls-key: the key in '{key}' has a passphrase, expected one without; remove the"
            " passphrase with openssl pkey"
        )
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key)
    except ssl.SSLError as error:
        reason = (error.reason or "unknown reason").replace("_", " ").lower()
        raise UserError(
            f"--tls-key: the key in '{key}' does not fit the certificate in '{cert}' ({reason});"
            " name a certificate and its own key"
        ) from None


def read_authorities(path: str | None) -> str:
    """The certificates in the file of --webhook-ca, if any, in PEM. Raises UserError."""
    if path is None:
        return ""
    text = _read_pem("--webhook-ca", path, _CERTIFICATE).decode("ascii", "ignore")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=text)
    except ssl.SSLError:
        raise UserError(
            f"--webhook-ca: found an invalid certificate in '{path}', expected PEM as an authority"
            " publishes it"
        ) from None
    return text


def _read_pem(option: str, path: str, content: str) -> bytes:
    """Read a file that must contain such a part. Raises UserError."""
    try:
        with open_regular(Path(path)) as file:
            pem = file.read(MAX_PEM_BYTES + 1)
    except OSError as error:
        raise UserError(
            f"{option}: cannot read '{path}': {error.strerror}; name a readable PEM file"
        ) from None
    if len(pem) > MAX_PEM_BYTES or content.encode() not in pem:
        raise UserError(
            f"{option}: found no PEM in '{path}', expected at most {MAX_PEM_BYTES:,} bytes with a"
            f" line -----BEGIN … {content}"
        )
    return pem
