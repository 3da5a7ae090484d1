import hmac
from base64 import b64encode
from urllib.parse import parse_qs

from server import SECRET, serve


def read(headers, body):
    expected = b64encode(hmac.digest(bytes.fromhex(SECRET), body, "sha256"))
    given = headers.get("x-notification-signature", "")
    is_signed = hmac.compare_digest(expected, given.encode())
    return parse_qs(body.decode()).get("payment_id", [""])[0] if is_signed else None


serve(read)
