import hmac
import json

from server import SECRET, serve


def read(headers, body):
    expected = hmac.new(SECRET.encode(), body, "sha512").hexdigest()
    given = headers.get("x-signature", "")
    is_signed = hmac.compare_digest(expected.encode(), given.encode())
    return json.loads(body)["reference"] or "" if is_signed else None


serve(read)
