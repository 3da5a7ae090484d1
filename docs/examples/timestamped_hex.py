import hmac
import json
import time

from server import SECRET, serve


def read(headers, body):
    stamp, *given = headers.get("payments-signature", "").split(",")
    stamp = stamp.removeprefix("t=")
    expected = hmac.new(SECRET.encode(), f"{stamp}.".encode() + body, "sha256").hexdigest()
    expected = f"v1={expected}".encode()
    # While the secret is replaced, there are two signatures.
    is_signed = any(hmac.compare_digest(expected, each.encode()) for each in given)
    is_recent = stamp.isdigit() and abs(time.time() - int(stamp)) < 300
    return json.loads(body)["data"].get("id", "") if is_signed and is_recent else None


serve(read)
