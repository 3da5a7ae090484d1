"""Creates the TLS configuration of clients: which certificates of servers they accept."""

import ssl


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
