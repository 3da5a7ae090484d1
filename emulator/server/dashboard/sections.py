"""The sections of the dashboard: for each, the variables of a list and of one item of it."""

import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from emulator.diagrams import counted_marks
from emulator.domain.clauses import CLAUSES, Basis, clauses_of_code, tolerance_of
from emulator.domain.message_text import not_accepted
from emulator.domain.payment import Status
from emulator.domain.payment_methods import BANK_TRANSFER, BANKS, PHONE_METHODS
from emulator.domain.transitions import TRANSITIONS, Edge, TimerKind
from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER, DeliveryState, Profile
from emulator.files.yaml_writer import yaml_text
from emulator.scenarios.values import RuleSection
from emulator.scenarios.webhook_form_file import webhook_form_of
from emulator.server.dashboard.drawings import delivery_plot, transition_diagram
from emulator.server.dashboard.first_payment import first_payment_steps
from emulator.server.dashboard.payment_diagram import (
    MAX_ENTRIES,
    attempt_mark,
    payment_diagram,
    requests_of,
    url_text,
)
from emulator.server.dashboard.verification import attempt_commands
from emulator.server.dashboard.view_request import ROWS_PER_PAGE, ViewRequest, curl
from emulator.server.engine.payments.customer import (
    ANSWERS_OF_A_BANK,
    ANSWERS_OF_A_PHONE,
    PhoneAnswer,
)
from emulator.server.storage.payments import MAX_COMPARED_PAYMENTS

# In the address, amounts are in ETB; the control API takes cents.
_AMOUNT_FILTERS = {"amount_from": "amount_gte", "amount_to": "amount_lte"}
# A page shows an instant with a blank between date and time.
_TIME_FILTERS = ("created_gte", "created_lte")
_SHOWN_INSTANT = re.compile(r"(\d-\d\d)\s+(\d\d:)")
_ETB = re.compile(r"([0-9]{1,13})(?:\.([0-9]{1,2}))?", re.ASCII)

_EVENT = "evt_"
REQUEST_FILTERS = ("method", "path", "status", "code", "warning")
HTTP_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
MAX_PLOTTED = 100
# To judge 10,000 requests takes half a second; more than these only on request.
MAX_JUDGED_REQUESTS, MAX_JUDGED_PAYMENTS = 500, "100"
_CREATE = {"request": "create_payment"}
_SECOND_RETRIEVE = {"request": "retrieve_payment", "every": 2}


def _once(**then: Any) -> Mapping[str, Any]:
    return {"then": then, "times": 1}


ONE_CLICK_FAULTS: Mapping[str, Mapping[str, Any]] = {
    "The next create returns 500 after the commit": (
        {"when": _CREATE, **_once(status=500, point="after_commit")}
    ),
    "The next create returns 500 before the commit": {"when": _CREATE, **_once(status=500)},
    "The next create gets no response after the commit": (
        {"when": _CREATE, **_once(drop=True, point="after_commit")}
    ),
    "The next request gets no response": _once(drop=True),
    "The next response ends in its middle": _once(truncate=True),
    "The next request returns 429 with Retry-After: 3": _once(status=429, retry_after=3),
    "The next request takes 10 s": _once(latency="10s"),
    "Every request takes 1 s": {"then": {"latency": "1s"}},
    "Every second retrieve returns 500": {"when": _SECOND_RETRIEVE, "then": {"status": 500}},
}
"""The fault rules that one button each adds, by its text."""

# The row "Make the next request fail": the condition of each call, and each effect, in JSON.
FAILING_CALLS = {
    "any call": "{}",
    "create": '{"request": "create_payment"}',
    "retrieve": '{"request": "retrieve_payment"}',
    "list": '{"request": "list_payments"}',
}
EFFECTS = {
    "503": '{"status": 503}',
    "connection cut": '{"drop": true}',
    "slow, 10 s": '{"latency": "10s"}',
    "429": '{"status": 429, "retry_after": 3}',
}

EXAMPLE = """\
description: Every payment over 1,000 birr fails.
outcomes:
  - when: {amount: {gte: 100000}}
    then:
      - {status: failed, reason: insufficient_balance}
"""


async def payment_list(page: ViewRequest) -> Mapping[str, Any]:
    """The newest payments that match the filters in the address."""
    query = dict(page.query)
    for shown, parameter in _AMOUNT_FILTERS.items():
        if shown in query:
            query[parameter] = _cents(shown, query.pop(shown))
    for parameter in {*_TIME_FILTERS} & {*query}:
        query[parameter] = _SHOWN_INSTANT.sub(r"\1T\2", query[parameter].strip())
    listed = await page.get("/payments", **{**query, "limit": ROWS_PER_PAGE})
    return {
        "payments": listed["data"],
        "next_cursor": listed["next_cursor"],
        "curl": page.curl("/payments", **query),
        "is_compared": bool({*query} & {*_AMOUNT_FILTERS.values(), "phone", "metadata"}),
        "max_compared": MAX_COMPARED_PAYMENTS,
        "unauthorized": await page.get("/unauthorized"),
        "shown_unauthorized": 1,
        "failing_calls": FAILING_CALLS,
        "effects": EFFECTS,
        "steps": None if query else await first_payment_steps(page, listed["data"]),
    }


def _cents(name: str, value: str) -> str:
    """The amount in ETB cents. Raises InvalidField."""
    match = _ETB.fullmatch(value.replace(",", "").removeprefix("ETB").strip())
    if match is None:
        raise not_accepted(name, value, "an amount in ETB, such as 150 or 150.50")
    return match[1] + (match[2] or "").ljust(2, "0")


async def payment_story(page: ViewRequest) -> Mapping[str, Any]:
    """A payment with everything that happened to it, and what is scheduled."""
    detail = await page.get(f"/payments/{page.item}")
    payment = detail["payment"]
    newest = (await page.get("/deliveries", payment=payment["id"], limit=MAX_ENTRIES))["data"]
    urls = {each["id"]: each["url"] for each in (await _endpoints(page)).values()}
    endpoint = page.query.get("endpoint")
    diagram = payment_diagram(
        detail, await requests_of(page, detail), newest[::-1], urls, endpoint=endpoint
    )
    scenarios = await page.get("/scenarios")
    is_asked = any(each["kind"] == TimerKind.HANDSET_TIMEOUT for each in detail["scheduled"])
    answers = ANSWERS_OF_A_BANK if payment["method"] == BANK_TRANSFER else ANSWERS_OF_A_PHONE
    return {
        "detail": detail,
        "payment": payment,
        "diagram": diagram,
        "endpoint": endpoint,
        "endpoints": {
            each["endpoint"]: url_text(urls, each["endpoint"]) for each in reversed(newest)
        },
        "transitions": [
            {"status": target.value, "is_unusual": edge is Edge.UNUSUAL}
            for (source, target), edge in TRANSITIONS.items()
            if source.value == payment["status"]
            and target is not Status.PROCESSING
            and edge is not Edge.SETTING
        ],
        "scenario_names": [each["name"] for each in scenarios["data"]],
        "answers": [answer.value for answer in PhoneAnswer if is_asked and answer in answers],
        "first_phones": {
            name: f"0{method.phone_digits[0]}00000001" for name, method in PHONE_METHODS.items()
        },
        "banks_by_method": {BANK_TRANSFER: BANKS},
        "curl": curl(
            f"{page.base_url}/v1/payments/{payment['id']}",
            authorization=f"Authorization: Bearer ${detail['mode'].upper()}_KEY",
        ),
    }


async def delivery_list(page: ViewRequest) -> Mapping[str, Any]:
    """The endpoints, and the newest deliveries that match the filters in the address.

    With a filter, the first page begins with the failing ones of all pages.
    """
    query = {**page.query, "limit": ROWS_PER_PAGE}
    listed = await page.get("/deliveries", **query)
    newest = rows = listed["data"]
    if page.query and "before" not in page.query:
        failing = (await page.get("/deliveries", **{**query, "failing": "true"}))["data"]
        known = {each["id"] for each in failing}
        rows = [*failing, *(each for each in newest if each["id"] not in known)]
    endpoints = await _endpoints(page)
    urls = {name: endpoint["url"] for name, endpoint in endpoints.items()}
    return {
        "deliveries": [(each, counted_marks(map(attempt_mark, each["attempts"]))) for each in rows],
        "next_cursor": newest[-1]["id"] if listed["has_more"] else None,
        "curl": page.curl("/deliveries", **page.query),
        "endpoints": endpoints,
        "shown_urls": {
            name: url_text(urls, name) for name in {*urls, *(each["endpoint"] for each in rows)}
        },
        "event_types": EVENT_TYPES_IN_ORDER,
        "delivery_states": [state.value for state in DeliveryState],
        "profiles": [profile.value for profile in Profile],
    }


async def delivery_details(page: ViewRequest) -> Mapping[str, Any]:
    """A delivery with each attempt, or an event with its deliveries."""
    item = str(page.item)
    if not item.startswith(_EVENT):
        delivery = await page.get(f"/deliveries/{item}")
        return {"event": None, **_details(page, [delivery], await _endpoints(page))}
    event = await page.get(f"/events/{item}")
    of_payment = await page.get("/deliveries", payment=event["data"]["id"])
    deliveries = [each for each in of_payment["data"] if each["event"] == event["id"]]
    text = json.dumps(event, indent=2, ensure_ascii=False)
    details = _details(page, deliveries, await _endpoints(page))
    command = page.curl(f"/events/{item}")
    return {"event": event, "event_text": text, "event_curl": command, **details}


async def _endpoints(page: ViewRequest) -> dict[str, Any]:
    listed = await page.get("/webhook_endpoints")
    return {endpoint["id"]: endpoint for endpoint in listed["data"]}


def _details(
    page: ViewRequest, deliveries: list[Any], endpoints: Mapping[str, Any]
) -> Mapping[str, Any]:
    for delivery in deliveries:
        endpoint = endpoints.get(delivery["endpoint"])
        form = None if endpoint is None else webhook_form_of(endpoint["format"])
        for attempt in delivery["attempts"]:
            attempt.update(attempt_commands(attempt["request"], form))
        delivery["curl"] = page.curl(f"/deliveries/{delivery['id']}")
    return {"deliveries": deliveries, "endpoints": endpoints}


async def request_list(page: ViewRequest) -> Mapping[str, Any]:
    """The newest requests that match the filters in the address, and the kinds of all."""
    listed = await page.get("/requests", **{**page.query, "limit": ROWS_PER_PAGE})
    rows = listed["data"]
    return {
        "requests": rows,
        "next_cursor": rows[-1]["id"] if listed["has_more"] else None,
        "curl": page.curl("/requests", **page.query),
        "overflowed": listed["overflowed"],
        "unauthorized": await page.get("/unauthorized"),
        "shown_unauthorized": int(ROWS_PER_PAGE),
        "kinds": await page.get("/requests/kinds"),
        "filters": {name: page.query.get(name, "") for name in REQUEST_FILTERS},
        "http_methods": HTTP_METHODS,
    }


async def request_details(page: ViewRequest) -> Mapping[str, Any]:
    """A request, its response, and the clauses about its error and its warnings."""
    request = await page.get(f"/requests/{page.item}")
    path, query = request["path"], request["query"]
    # A client without a response has not seen the error that a fault rule replaced.
    error = request["error"] if request["status"] else None
    key = "LIVE_KEY" if page.subject.get("mode") == "live" else "TEST_KEY"
    return {
        "request": request,
        "error": error,
        "clauses": clauses_of_code(error["code"]) if error else (),
        "warnings": [(slug, tolerance_of(slug)) for slug in request["warnings"]],
        "bodies": {
            "Request": (request["request_body"], _formatted(request["request_body"])),
            "Response": (request["response_body"], _formatted(request["response_body"])),
        },
        "payment": _payment_id(request),
        "curl": curl(
            f"{page.base_url}{path}?{query}" if query else f"{page.base_url}{path}",
            method=request["method"],
            body=request["request_body"],
            content_type=request["headers"].get("content-type", ""),
            authorization=f"Authorization: Bearer ${key}",
        ),
    }


def _formatted(body: str) -> str:
    """JSON with a line for each member, in its order and with the repeated ones."""
    try:
        return msgspec.json.format(body, indent=2)
    except msgspec.DecodeError:
        return body


def _payment_id(request: Mapping[str, Any]) -> str | None:
    """The payment that the response shows."""
    try:
        shown = msgspec.json.decode(request["response_body"])
    except msgspec.DecodeError:
        return None
    is_payment = isinstance(shown, dict) and shown.get("object") == "payment"
    return shown["id"] if is_payment else None


async def scenario_list(page: ViewRequest) -> Mapping[str, Any]:
    """The scenarios, the posted faults and the snapshots of the account."""
    scenarios = (await page.get("/scenarios"))["data"]
    return {
        # The enabled ones first, each group in the order of precedence.
        "scenarios": sorted(scenarios, key=lambda scenario: not scenario["enabled"]),
        "faults": [(fault, _rule_text(fault)) for fault in (await page.get("/faults"))["data"]],
        "one_click_faults": ONE_CLICK_FAULTS,
        "snapshots": (await page.get("/snapshots"))["data"],
        "example": EXAMPLE,
        "curl": page.curl("/scenarios"),
    }


async def scenario_details(page: ViewRequest) -> Mapping[str, Any]:
    """A scenario with its rules, their remaining uses, and its text."""
    scenario = await page.get(f"/scenarios/{page.item}")
    limited = {(each["section"], each["rule"]): each for each in scenario["limited_rules"]}
    sections = {section.value: scenario[section.value] for section in RuleSection}
    document = {"description": scenario["description"], **sections, "script": scenario["script"]}
    return {
        "scenario": scenario,
        "curl": page.curl(f"/scenarios/{page.item}"),
        "rules": [
            (section, _rule_text(rule), limited.get((section, index)))
            for section, rules in sections.items()
            for index, rule in enumerate(rules)
        ],
        "text": yaml_text({name: value for name, value in document.items() if value}),
    }


def _rule_text(rule: Mapping[str, Any]) -> str:
    """A rule as it is written in a file."""
    return yaml_text({name: rule[name] for name in rule if name not in ("id", "used")})


async def fidelity(page: ViewRequest) -> Mapping[str, Any]:
    """The clauses by their basis, and what this account has exercised."""
    transitions = (await page.get("/events/transitions"))["data"]
    counts = {(each["source"], each["target"]): each["count"] for each in transitions}
    deliveries = await page.get("/deliveries", limit=str(MAX_PLOTTED))
    return {
        "clauses": {
            "Assumed: the contract is silent": [c for c in CLAUSES if c.basis is Basis.ASSUMED],
            "Stated, with an assumed detail": [c for c in CLAUSES if c.assumed],
            "Stated": [c for c in CLAUSES if c.basis is Basis.STATED and not c.assumed],
        },
        "diagram": transition_diagram(
            {transition: str(count) for transition, count in counts.items()}
        ),
        "covered": len(counts),
        "transition_count": len(TRANSITIONS),
        "plot": delivery_plot(deliveries["data"]),
        "curl": page.curl("/checklist"),
        "checklist": await _checklist(page, has_more=deliveries["has_more"]),
    }


async def _checklist(page: ViewRequest, *, has_more: bool) -> list[Mapping[str, Any]] | None:
    """The judged items; None for an account with more than a few records, unless requested."""
    if "checklist" not in page.query and (
        has_more
        or (await page.get("/requests/count"))["count"] > MAX_JUDGED_REQUESTS
        or (await page.get("/payments", limit=MAX_JUDGED_PAYMENTS))["next_cursor"]
    ):
        return None
    items: list[Mapping[str, Any]] = (await page.get("/checklist"))["data"]
    return items
