"""Sections of the dashboard: for each, the variables of a list and of one item, and its buttons."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

import msgspec

from emulator.domain.accounts import mask_keys
from emulator.domain.clauses import clauses_of_code, tolerance_of
from emulator.domain.errors import UnknownPayment
from emulator.domain.payment import Status, is_change
from emulator.domain.payment_methods import BANK_TRANSFER, BANKS, PHONE_METHODS
from emulator.domain.transitions import TRANSITIONS, Edge, TimerKind
from emulator.files.yaml_writer import yaml_text
from emulator.scenarios.values import RuleSection
from emulator.server.control.requests import newest_entries
from emulator.server.dashboard.payment_diagram import (
    MAX_ENTRIES,
    delivery_sentence,
    payment_diagram,
    requests_of,
    url_text,
)
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


_CREATE = {"request": "create_payment"}
_SECOND_RETRIEVE = {"request": "retrieve_payment", "every": 2}


def once(**then: Any) -> Mapping[str, Any]:
    """A rule that is applied once."""
    return {"then": then, "times": 1}


ONE_CLICK_FAULTS: Mapping[str, Mapping[str, Any]] = {
    "The next create returns 500 after the commit": (
        {"when": _CREATE, **once(status=500, point="after_commit")}
    ),
    "The next create returns 500 before the commit": {"when": _CREATE, **once(status=500)},
    "The next create gets no response after the commit": (
        {"when": _CREATE, **once(drop=True, point="after_commit")}
    ),
    "The next request gets no response": once(drop=True),
    "The next response ends in its middle": once(truncate=True),
    "The next request returns 429 with Retry-After: 3": once(status=429, retry_after=3),
    "The next request takes 10 s": once(latency="10s"),
    "Every request takes 1 s": {"then": {"latency": "1s"}},
    "Every second retrieve returns 500": {"when": _SECOND_RETRIEVE, "then": {"status": 500}},
}
"""The fault rules that one button each adds, by its text."""

# What the customer does with the next payment, and how the service answers the next request: the
# steps of an outcome, and the effect of a fault, by the texts of their buttons.
NEXT_PAYMENT = {
    "insufficient balance": {"status": "failed", "reason": "insufficient_balance"},
    "cancels": {"status": "failed", "reason": "user_cancelled"},
    "wrong PIN": {"status": "failed", "reason": "wrong_pin"},
    "no answer": {"after": "30s", "status": "failed", "reason": "timeout"},
}
NEXT_REQUEST: Mapping[str, Mapping[str, Any]] = {
    "503": {"status": 503},
    "429": {"status": 429, "retry_after": 3},
    "10 s late": {"latency": "10s"},
    "connection cut": {"drop": True},
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
    listed = await page.get("/payments", **{**query, "limit": str(ROWS_PER_PAGE)})
    names = [each["id"] for each in listed["data"]]
    summaries = await page.summaries(names)
    return {
        "payments": [summaries[name] for name in names if name in summaries],
        "kinds": await page.engine.history.kinds(page.owner),
        "next_cursor": listed["next_cursor"],
        "curl": page.curl("/payments", **query),
        "max_compared": MAX_COMPARED_PAYMENTS,
        "unauthorized": page.unauthorized(1),
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
    deliveries = (await page.get("/deliveries", limit=str(ROWS_PER_PAGE)))["data"]
    attempts = [attempt for each in deliveries for attempt in each["attempts"][::-1]]
    steps = {
        "payment": next(iter(payments), None),
        "is_paid": any(each["completed_at"] for each in payments),
        "endpoint": next(iter(page.endpoints.values()), None),
        "attempt": next(iter(attempts), None),
        "is_received": any(200 <= (attempt["status"] or 0) < 300 for attempt in attempts),
    }
    return None if steps["is_paid"] and steps["is_received"] else steps


async def payment_story(page: ViewRequest) -> Mapping[str, Any]:
    """A payment with everything that happened to it, and what is scheduled."""
    detail = await page.get(f"/payments/{page.item}")
    payment = detail["payment"]
    newest = (await page.get("/deliveries", payment=payment["id"], limit=MAX_ENTRIES))["data"]
    urls = {name: each.url for name, each in page.endpoints.items()}
    endpoint = page.query.get("endpoint")
    diagram = payment_diagram(
        detail, await requests_of(page, detail), newest[::-1], urls, endpoint=endpoint
    )
    is_asked = any(each["kind"] == TimerKind.HANDSET_TIMEOUT for each in detail["scheduled"])
    answers = ANSWERS_OF_A_BANK if payment["method"] == BANK_TRANSFER else ANSWERS_OF_A_PHONE
    summaries = await page.summaries([payment["id"]])
    if payment["id"] not in summaries:
        raise UnknownPayment(payment["id"])
    return {
        "summary": summaries[payment["id"]],
        "detail": detail,
        "payment": payment,
        "change": [each for each in detail["timeline"] if is_change(each["type"])][-1],
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
        "scenario_names": [each.scenario.name for each in page.owner.account.rules.listed],
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


async def request_list(page: ViewRequest) -> Mapping[str, Any]:
    """The newest requests that match the filters in the address, and the kinds of all."""
    found = list(islice(newest_entries(page.owner, page.query), ROWS_PER_PAGE + 1))
    entries = found[:ROWS_PER_PAGE]
    names = [payment_shown(each.response_body) for each in entries]
    payments = await page.summaries(names)
    # As in the control API.
    mask = partial(mask_keys, is_known=page.engine.accounts.is_known)
    return {
        "requests": [
            (
                each,
                each.id.decode(),
                mask(each.method),
                mask(each.path.decode("utf-8", "replace")),
                each.query and mask(each.query.decode("utf-8", "replace")),
                payments.get(name),
                each.error and msgspec.json.decode(mask(each.error.decode()))["error"],
            )
            for each, name in zip(entries, names, strict=True)
        ],
        "mask": mask,
        "next_cursor": entries[-1].id.decode() if len(found) > ROWS_PER_PAGE else None,
        "curl": page.curl("/requests", **page.query),
        "overflowed": page.owner.journal.has_overflowed,
        "unauthorized": page.unauthorized(ROWS_PER_PAGE),
        "kinds": page.owner.journal.kinds(),
        "warnings": page.owner.journal.warnings(),
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
