import json
from datetime import UTC, datetime

import httpx

URLS = {"success_url": "https://shop.example/thanks", "cancel_url": "https://shop.example/cart"}
ORDER = {"amount": 15000, "currency": "ETB", "methods": ["telebirr"], **URLS}
entries = []


def pairs(headers):
    return [{"name": name, "value": value} for name, value in headers.items()]


def add_to_recording(response):
    request = response.request
    sent = {"method": request.method, "url": str(request.url), "headers": pairs(request.headers)}
    sent["postData"] = {"text": request.content.decode()}
    content = {"text": response.read().decode()}
    received = {"status": response.status_code, "headers": pairs(response.headers)}
    began_at = datetime.now(UTC).isoformat()
    entry = {"request": sent, "response": {**received, "content": content}}
    entries.append({"startedDateTime": began_at, **entry})


headers = {"Authorization": "Bearer test_demo_key"}
hooks = {"response": [add_to_recording]}
with httpx.Client(base_url="http://127.0.0.1:8080", headers=headers, event_hooks=hooks) as api:
    payment = api.post("/v1/payments", json={**ORDER, "metadata": {"order": "7"}}).json()
    # The customer pays.
    pay = f"http://127.0.0.1:8080/_emulator/payments/{payment['id']}/pay"
    httpx.post(pay, json={"phone": "0900000001"}, headers=headers)
    api.get(f"/v1/payments/{payment['id']}")
    api.get("/v1/payments", params={"status": "completed", "limit": 2})
    api.post("/v1/payments", json={**ORDER, "amount": 50})

with open("recording.har", "w") as file:
    json.dump({"log": {"version": "1.2", "entries": entries}}, file)
