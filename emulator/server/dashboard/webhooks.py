"""The section of webhooks: the variables of its list, and of a delivery or an event.

An attempt has shell lines that repeat it, and verify its signature by the form of the webhook.
"""

import json
from collections import Counter
from collections.abc import Mapping
from shlex import quote
from typing import Any

from msgspec.structs import replace

from emulator.domain.instants import format_instant
from emulator.domain.webhooks import (
    EVENT_TYPES_IN_ORDER,
    SECRET_PREFIX,
    Algorithm,
    DeliveryState,
    Encoding,
    Profile,
    SecretFormat,
    WebhookForm,
)
from emulator.http.received_webhooks import ReceivedRequest
from emulator.scenarios.webhook_form_file import webhook_form_json
from emulator.server.control.deliveries import delivery_filter
from emulator.server.dashboard.payment_diagram import url_text
from emulator.server.dashboard.view_request import ROWS_PER_PAGE, ViewRequest

_EVENT = "evt_"
_AS_HEX = "od -An -v -tx1 | tr -d ' \\n'"
_KEYS = {
    SecretFormat.BASE64: f'$(printf %s "${{SECRET#{SECRET_PREFIX}}}" | base64 -d | {_AS_HEX})',
    SecretFormat.HEX: "$SECRET",
    SecretFormat.TEXT: f'$(printf %s "$SECRET" | {_AS_HEX})',
}
_WRITERS = {Encoding.BASE64: "base64 | tr -d '\\n'", Encoding.HEX: _AS_HEX}


async def delivery_list(page: ViewRequest) -> Mapping[str, Any]:
    """The endpoints, and the newest deliveries that match the filters in the address.

    With a filter, the first page begins with the failing ones of all pages.
    """
    service, owner = page.engine.webhooks.deliveries, page.owner
    query = dict(page.query)
    if query.get("payment") == "latest":
        query["payment"] = await page.engine.history.latest_id(owner)
    selection = delivery_filter(query)
    newest = await service.rows(owner, selection, limit=ROWS_PER_PAGE + 1)
    has_more, newest = len(newest) > ROWS_PER_PAGE, newest[:ROWS_PER_PAGE]
    rows = newest
    if query and not selection.failing and selection.before is None:
        failing = await service.rows(owner, replace(selection, failing=True), limit=ROWS_PER_PAGE)
        known = {each.id for each in failing}
        rows = [*failing, *(each for each in newest if each.id not in known)]
    endpoints = page.endpoints
    urls = {name: endpoint.url for name, endpoint in endpoints.items()}
    states: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    kinds, failures = await service.groups(owner)
    for state, endpoint, count in kinds:
        states[state] += count
        counts[endpoint] += count
    shown_urls = {name: url_text(urls, name) for name in {*urls, *counts}}
    return {
        "failures": [(name, each, format_instant(each.since)) for name, each in failures],
        "states": states.most_common(),
        "counts": counts.most_common(),
        "deliveries": rows,
        "next_cursor": newest[-1].id if has_more else None,
        "curl": page.curl("/deliveries", **page.query),
        "endpoints": endpoints,
        "shown_urls": shown_urls,
        "event_types": EVENT_TYPES_IN_ORDER,
        "delivery_states": [state.value for state in DeliveryState],
        "profiles": [profile.value for profile in Profile],
    }


async def delivery_details(page: ViewRequest) -> Mapping[str, Any]:
    """A delivery with each attempt, or an event with its deliveries."""
    item = str(page.item)
    if not item.startswith(_EVENT):
        delivery = await page.get(f"/deliveries/{item}")
        return {"event": None, **await _details(page, [delivery], delivery["payment"])}
    event = await page.get(f"/events/{item}")
    of_payment = await page.get("/deliveries", payment=event["data"]["id"])
    deliveries = [each for each in of_payment["data"] if each["event"] == event["id"]]
    text = json.dumps(event, indent=2, ensure_ascii=False)
    details = await _details(page, deliveries, event["data"]["id"])
    command = page.curl(f"/events/{item}")
    return {"event": event, "event_text": text, "event_curl": command, **details}


async def _details(
    page: ViewRequest, deliveries: list[Any], payment: str | None
) -> Mapping[str, Any]:
    endpoints = page.endpoints
    summary = (await page.summaries([payment])).get(payment or "")
    for delivery in deliveries:
        endpoint = endpoints.get(delivery["endpoint"])
        form = None if endpoint is None else endpoint.form
        for attempt in delivery["attempts"]:
            attempt.update(attempt_commands(attempt["request"], form))
        delivery["curl"] = page.curl(f"/deliveries/{delivery['id']}")
    return {"deliveries": deliveries, "endpoints": endpoints, "summary": summary}


def attempt_commands(request: Mapping[str, Any], form: WebhookForm | None) -> Mapping[str, str]:
    """The attempt as a command, and what verifies it if its endpoint still exists.

    A receiver may refuse the timestamp of the command after five minutes.
    """
    lines = [f"curl {quote(request['url'])}"]
    lines += [f"-H {quote(f'{name}: {value}')}" for name, value in request["headers"].items()]
    command = " \\\n  ".join([*lines, f"--data-raw {quote(request['body'])}"])
    return {"curl": command, **({} if form is None else _verification(request, form))}


def _verification(request: Mapping[str, Any], form: WebhookForm) -> Mapping[str, str]:
    """What is signed, how, and a shell line that prints whether it is valid for `$SECRET`.

    Empty for a request without a signature.
    """
    body = request["body"]
    sent = ReceivedRequest(headers=request["headers"], body=body.encode())
    webhook = sent.read(webhook_form_json(form))
    if not webhook.signature:
        return {}
    algorithm = form.signature.algorithm
    signatures = quote(" ".join(webhook.signatures))
    if algorithm is Algorithm.TOKEN:
        verification = f'case {signatures} in "$SECRET") echo valid;; *) echo invalid;; esac'
        return {"verification": verification, "signature": "the secret itself, as a token"}
    signed = webhook.signed_content.decode("utf-8", "replace")
    line = (
        f"$(printf %s {quote(signed)} | openssl dgst -{algorithm.digest} -mac HMAC"
        f' -macopt "hexkey:{_KEYS[form.signature.secret]}" -binary'
        f" | {_WRITERS[form.signature.encoding]})"
    )
    return {
        "signed": signed,
        "verification": f'case " "{signatures}" " in *" {line} "*) echo valid;;'
        " *) echo invalid;; esac",
        "signature": f"{algorithm} in {form.signature.encoding}, with the secret as"
        f" {form.signature.secret}",
    }
