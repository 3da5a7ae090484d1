import json
import os
from urllib.request import Request, urlopen


def call(path, body=None):
    headers = {"Authorization": f"Bearer {os.environ['PAYMENTS_KEY']}"}
    headers["Content-Type"] = "application/json"
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(os.environ["PAYMENTS_URL"] + path, data, headers)) as response:
        return json.load(response)
