"""The sections of the dashboard: for each, the variables of a list and of one item of it."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from emulator.diagrams import counted_marks
from emulator.domain.clauses import clauses_of_code, tolerance_of
from emulator.domain.errors import UnknownPayment
from emulator.domain.payment import Status
from emulator.domain.payment_methods import BANK_TRANSFER, BANKS, PHONE_METHODS
from emulator.domain.transitions import TRANSITIONS, Edge, TimerKind
from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER, DeliveryState, Profile
from emulator.files.yaml_writer import yaml_text
from emulator.scenarios.values import RuleSection
from emulator.scenarios.webhook_form_file import webhook_form_of
from emulator.server.dashboard.buttons import NEXT_PAYMENT, NEXT_REQUEST, ONE_CLICK_FAULTS, once
from emulator.server.dashboard.payment_diagram import (
    MAX_ENTRIES,
    attempt_mark,
    delivery_sentence,
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

# A page shows an instant with a blank between date and time.
_TIME_FILTERS = ("created_gte", "created_lte")
_SHOWN_INSTANT = re.compile(r"(\d-\d\d)\s+(\d\d:)")

_EVENT = "evt_"
REQUEST_FILTERS = ("method", "path", "status", "code", "warning")
# An account with more payments is not new.
MAX_GUIDED = 3
HTTP_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")

# The headings of the scenarios, by the first section that has rules.
SCENARIO_GROUPS = {
    "outcomes": "Customer",
    "webhooks": "Webhooks",
    "faults": "Requests",
    "checkout": "Page",
    "expiry": "Expiry and scripts",
}


class _ShownPayment(msgspec.Struct, tag_field="object", tag="payment"):
    id: str


_SHOWN = msgspec.json.Decoder(_ShownPayment)
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
    for parameter in {*_TIME_FILTERS} & {*query}:
        query[parameter] = _SHOWN_INSTANT.sub(r"\1T\2", query[parameter].strip())
    listed = await page.get("/payments", **{**query, "limit": ROWS_PER_PAGE})
    names = [each["id"] for each in listed["data"]]
    summaries = await page.summaries(names)
    return {
        "payments": [summaries[name] for name in names if name in summaries],
        "kinds": await page.engine.history.kinds(page.owner),
        "next_cursor": listed["next_cursor"],
        "curl": page.curl("/payments", **query),
        "max_compared": MAX_COMPARED_PAYMENTS,
        "unauthorized": await page.get("/unauthorized"),
        "shown_unauthorized": 1,
        "next_payment": {
            text: {
                "description": f"The next payment: {text}.",
                "outcomes": [{"when": {}, "then": [step], "times": 1}],
            }
            for text, step in NEXT_PAYMENT.items()
        },
        "next_request": {text: once(**then) for text, then in NEXT_REQUEST.items()},
        "steps": None if query else await _first_payment_steps(page, listed["data"]),
    }


async def _first_payment_steps(
    page: ViewRequest, payments: Sequence[Mapping[str, Any]]
) -> Mapping[str, Any] | None:
    """Which steps of its first payment an account has completed; None after all, and for others."""
    if len(payments) > MAX_GUIDED:
        return None
    endpoints = (await page.get("/webhook_endpoints"))["data"]
    deliveries = (await page.get("/deliveries", limit=ROWS_PER_PAGE))["data"]
    attempts = [attempt for each in deliveries for attempt in each["attempts"][::-1]]
    steps = {
        "payment": next(iter(payments), None),
        "is_paid": any(each["completed_at"] for each in payments),
        "endpoint": next(iter(endpoints), None),
        "attempt": next(iter(attempts), None),
        "is_received": any(200 <= (attempt["status"] or 0) < 300 for attempt in attempts),
    }
    return None if steps["is_paid"] and steps["is_received"] else steps


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
    summaries = await page.summaries([payment["id"]])
    if payment["id"] not in summaries:
        raise UnknownPayment(payment["id"])
    return {
        "summary": summaries[payment["id"]],
        "detail": detail,
        "payment": payment,
        "diagram": diagram,
        "webhooks": delivery_sentence(newest, urls),
        "applied": {
            each["cause"]["scenario"]: each["cause"].get("rule")
            for each in detail["timeline"]
            if "scenario" in each["cause"]
        },
        "endpoint": endpoint,
        "endpoints": {
            each["endpoint"]: url_text(urls, each["endpoint"]) for each in reversed(newest)
        },
        "transitions": [
            {"status": target.value, "is_unusual": edge is Edge.RARE}
            for (source, target), edge in TRANSITIONS.items()
            if source.value == payment["status"]
            and target is not Status.PROCESSING
            and (edge is Edge.ORDINARY or (edge is Edge.RARE and target is Status.COMPLETED))
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
    states: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for state, endpoint, count in await page.engine.webhooks.deliveries.kinds(page.owner):
        states[state] += count
        counts[endpoint] += count
    can_fail = bool(states.keys() & {DeliveryState.FAILED, DeliveryState.PENDING})
    failures = (await page.get("/deliveries/failures"))["data"] if can_fail else []
    return {
        "failures": failures,
        "states": states.most_common(),
        "counts": counts.most_common(),
        "payments": await page.summaries([each["payment"] for each in rows]),
        "deliveries": [(each, counted_marks(map(attempt_mark, each["attempts"]))) for each in rows],
        "next_cursor": newest[-1]["id"] if listed["has_more"] else None,
        "curl": page.curl("/deliveries", **page.query),
        "endpoints": endpoints,
        "shown_urls": {
            name: url_text(urls, name)
            for name in {*urls, *counts, *(each["endpoint"] for each in (*rows, *failures))}
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
        return {"event": None, **await _details(page, [delivery], delivery["payment"])}
    event = await page.get(f"/events/{item}")
    of_payment = await page.get("/deliveries", payment=event["data"]["id"])
    deliveries = [each for each in of_payment["data"] if each["event"] == event["id"]]
    text = json.dumps(event, indent=2, ensure_ascii=False)
    details = await _details(page, deliveries, event["data"]["id"])
    command = page.curl(f"/events/{item}")
    return {"event": event, "event_text": text, "event_curl": command, **details}


async def _endpoints(page: ViewRequest) -> dict[str, Any]:
    listed = await page.get("/webhook_endpoints")
    return {endpoint["id"]: endpoint for endpoint in listed["data"]}


async def _details(
    page: ViewRequest, deliveries: list[Any], payment: str | None
) -> Mapping[str, Any]:
    endpoints = await _endpoints(page)
    summary = (await page.summaries([payment])).get(payment or "")
    for delivery in deliveries:
        endpoint = endpoints.get(delivery["endpoint"])
        form = None if endpoint is None else webhook_form_of(endpoint["format"])
        for attempt in delivery["attempts"]:
            attempt.update(attempt_commands(attempt["request"], form))
        delivery["curl"] = page.curl(f"/deliveries/{delivery['id']}")
    return {"deliveries": deliveries, "endpoints": endpoints, "summary": summary}


async def request_list(page: ViewRequest) -> Mapping[str, Any]:
    """The newest requests that match the filters in the address, and the kinds of all."""
    listed = await page.get("/requests", **{**page.query, "limit": ROWS_PER_PAGE})
    rows = listed["data"]
    payments = {each["id"]: payment_shown(each["response_body"]) for each in rows}
    return {
        "requests": rows,
        "payment_of": payments,
        "payments": await page.summaries(payments.values()),
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
    payment = payment_shown(request["response_body"])
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
        "payment": (await page.summaries([payment])).get(payment),
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


def payment_shown(response: str | bytes) -> str:
    """The id of the payment that the body of a response shows, or an empty text."""
    try:
        return _SHOWN.decode(response).id
    except msgspec.DecodeError:
        return ""


async def scenario_list(page: ViewRequest) -> Mapping[str, Any]:
    """The scenarios, the posted faults and the snapshots of the account."""
    groups: dict[str, list[Any]] = {section: [] for section in SCENARIO_GROUPS}
    for each in (await page.get("/scenarios"))["data"]:
        section = next((name for name in groups if each["rules"][name]), "expiry")
        groups[section].append(each)
    return {
        # The enabled ones of a group first, in the order of precedence.
        "groups": [
            (section, title, sorted(groups[section], key=lambda each: not each["enabled"]))
            for section, title in SCENARIO_GROUPS.items()
            if groups[section]
        ],
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

    def written() -> Mapping[str, Any]:
        rules = [
            (section, _rule_text(rule), limited.get((section, index)))
            for section, rules in sections.items()
            for index, rule in enumerate(rules)
        ]
        text = yaml_text({name: value for name, value in document.items() if value})
        return {"rules": rules, "text": text}

    # On another thread, because the largest scenario takes half a second.
    texts = await asyncio.to_thread(written)
    return {"scenario": scenario, "curl": page.curl(f"/scenarios/{page.item}"), **texts}


def _rule_text(rule: Mapping[str, Any]) -> str:
    """A rule as it is written in a file."""
    return yaml_text({name: rule[name] for name in rule if name not in ("id", "used")})
