import json
import os
import time
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.request import Request, urlopen


def call(path, body=None):
    headers = {"Authorization": f"Bearer {os.environ['PAYMENTS_KEY']}"}
    headers["Content-Type"] = "application/json"
    data = None if body is None else json.dumps(body).encode()
    for pause in (0.2, 0.2, None):
        try:
            with urlopen(Request(os.environ["PAYMENTS_URL"] + path, data, headers)) as response:
                return json.load(response)
        except (OSError, HTTPException) as error:
            is_final = isinstance(error, HTTPError) and error.code < 500 and error.code != 429
            if is_final or pause is None:
                raise
            time.sleep(float(getattr(error, "headers", {}).get("Retry-After") or pause))
