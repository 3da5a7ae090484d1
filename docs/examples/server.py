import json
import os
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PAYMENTS = "http://127.0.0.1:8080/v1/payments"
SECRET = os.environ.get("WEBHOOK_SECRET", "")


def retrieve(payment):
    headers = {"Authorization": "Bearer test_demo_key"}
    request = urllib.request.Request(f"{PAYMENTS}/{payment}", headers=headers)
    with urllib.request.urlopen(request, timeout=5) as response:
        return json.load(response)


def serve(read):
    """Serve webhooks; `read` returns the payment's id, or None for a webhook that is not genuine."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            # The raw bytes: a signature covers these.
            body = self.rfile.read(int(self.headers["Content-Length"]))
            payment = read(self.headers, body)
            if payment:
                print(f"the payment is {retrieve(payment)['status']}", flush=True)
            self.send_response(400 if payment is None else 204)
            self.end_headers()

    ThreadingHTTPServer(("127.0.0.1", 4000), Handler).serve_forever()
