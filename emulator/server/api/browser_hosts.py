"""Parses the host and the port of a redirect URL as browsers do (WHATWG URL standard)."""

import ada_url

# Chromium, Firefox and the Fetch standard (section 2.9) refuse all of these.
BLOCKED_PORTS = frozenset(
    {
        0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95,
        101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179,
        389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601,
        636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 5060, 5061, 6000, 6566, 6665,
        6666, 6667, 6668, 6669, 6697, 10080,
    }
)  # fmt: skip
HTTPS_PORT = 443
# DNS has no longer names and labels; a browser parses them and cannot resolve them.
MAX_NAME_LENGTH = 253
MAX_LABEL_LENGTH = 63


def opened_host(host: str, port: str) -> str | None:
    """The host that a browser opens for a host and a port of a URL; None if it opens none.

    It is ASCII in lower case, and an IPv4 address has four parts.
    """
    try:
        parsed = ada_url.parse_url(f"https://{host}:{port}/", ("hostname", "port"))
    except ValueError:
        return None
    opened = parsed["hostname"]
    if int(parsed["port"] or HTTPS_PORT) in BLOCKED_PORTS or len(opened) > MAX_NAME_LENGTH + 1:
        return None
    labels = opened.removesuffix(".").split(".")
    if not all(1 <= len(label) <= MAX_LABEL_LENGTH for label in labels):
        return None
    # Some browsers accept a label that looks encoded and is not; no name system has it.
    if "xn--" in opened:
        decoded = ada_url.idna_to_unicode(opened)
        if "xn--" in decoded or ada_url.idna_to_ascii(decoded).decode() != opened:
            return None
    return opened
