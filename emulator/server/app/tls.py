"""Checks the PEM files of HTTPS on the listeners, and of the authorities of webhook endpoints."""

import ssl
from pathlib import Path

from emulator.domain.user_error import UserError
from emulator.files import open_regular

MAX_PEM_BYTES = 1024 * 1024
_CERTIFICATE, _KEY = "CERTIFICATE-----", "PRIVATE KEY-----"


def check_pair(cert: str, key: str) -> None:
    """Check the certificate and the key of both listeners. Raises UserError."""
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


def authorities(path: str) -> str:
    """The certificates in the file of --webhook-ca, in PEM. Raises UserError."""
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
