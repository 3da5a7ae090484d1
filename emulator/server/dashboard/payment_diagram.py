"""Draws one payment as a sequence diagram of the shop, the service and the customer."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import msgspec

from emulator.diagrams import CUSTOMER, MIDDLE, SHOP, Diagram, Line, Mark, sequence
from emulator.domain.errors import UnknownRequest
from emulator.domain.instants import parse_instant
from emulator.domain.message_text import escape_controls
from emulator.domain.transitions import ATTEMPT, CONDITIONS
from emulator.reporting import counted
from emulator.server.dashboard.view_request import ViewRequest

MAX_URL_CHARACTERS = 80
MAX_ENTRIES = "100"
DELETED = "a deleted endpoint"

Json = Mapping[str, Any]
# The instant, the index of the event of the timeline, and the rank among the lines of that event:
# a request and an action cause an event, which causes deliveries. A clock that stands gives many
# lines one instant.
_Place = tuple[str, int, int]


def payment_diagram(
    detail: Json,
    requests: Sequence[Json],
    deliveries: Sequence[Json],
    urls: Mapping[str, str],
    *,
    endpoint: str | None,
) -> Diagram:
    """The diagram; `requests` and `deliveries` are oldest first, `urls` the endpoints' URLs.

    With an `endpoint`, it has no deliveries to others.
    """
    deliveries = [each for each in deliveries if endpoint in (None, each["endpoint"])]
    endpoints = {each["id"]: each["endpoint"] for each in deliveries}
    placed = [
        *_request_lines(detail, requests),
        *_customer_lines(detail),
        *_status_lines(detail),
        *_delivery_lines(detail, deliveries, urls),
    ]
    lines = [line for _, line in sorted(placed, key=lambda pair: pair[0])]
    scheduled = [
        _scheduled_line(each, url_text(urls, endpoints.get(each.get("delivery"))))
        for each in detail["scheduled"]
        if each["kind"] != ATTEMPT or each["delivery"] in endpoints
    ]
    return sequence([*_merged(lines), *scheduled])


async def requests_of(page: ViewRequest, detail: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The requests that created and retrieved the payment, as far as the journal has them."""
    path = f"/v1/payments/{detail['payment']['id']}"
    found: list[Mapping[str, Any]] = (await page.get("/requests", path=path, limit=MAX_ENTRIES))[
        "data"
    ]
    created_by = detail["timeline"][0]["cause"].get("request")
    if created_by is not None:
        with suppress(UnknownRequest):  # The journal has the newest requests only.
            found.append(await page.get(f"/requests/{created_by}"))
    return found[::-1]


def url_text(urls: Mapping[str, str], endpoint: str | None) -> str:
    """The URL of an endpoint without its scheme, or the end of it, which differs the most."""
    url = urls.get(endpoint or "", DELETED).partition("://")
    text = escape_controls(url[2] or url[0])
    return text if len(text) <= MAX_URL_CHARACTERS else f"…{text[1 - MAX_URL_CHARACTERS :]}"


def delivery_sentence(deliveries: Iterable[Json], urls: Mapping[str, str]) -> tuple[str, str]:
    """How many webhooks were not delivered, and where and why; or how many were."""
    due = [each for each in deliveries if each["status"] not in ("dropped", "cancelled")]
    all_due = counted(len(due), "webhook")
    lost: dict[str, int] = {}
    for each in due:
        if each["attempts"] and each["status"] != "succeeded":
            attempt = each["attempts"][-1]
            why = attempt["error"] or f"status {attempt['status']}"
            place = f"{url_text(urls, each['endpoint'])}, {why}"
            lost[place] = lost.get(place, 0) + 1
    if lost:
        first, *others = sorted(lost, key=lambda place: -lost[place])
        more = f", and {counted(len(others), 'more cause')}" if others else ""
        return f"{sum(lost.values())} of {all_due} not delivered", f": {first}{more}."
    delivered = sum(each["status"] == "succeeded" for each in due)
    if delivered < len(due):
        return "", f"{delivered} of {all_due} delivered, the rest is scheduled."
    return "", f"{all_due} delivered." if due else "No webhook was due."


def _request_lines(detail: Json, requests: Iterable[Json]) -> Iterator[tuple[_Place, Line]]:
    timeline, payment_id = detail["timeline"], detail["payment"]["id"]
    # The journal has a request at the instant of its response, which is after its change.
    changed_at: dict[str, str] = {
        each["cause"]["request"]: each["at"] for each in timeline if "request" in each["cause"]
    }
    for each in requests:
        is_cause = each["id"] in changed_at
        at = changed_at[each["id"]] if is_cause else each["at"]
        mark = status_mark(each["status"], 399)
        path = each["path"].replace(payment_id, "…")
        line = Line(
            id=each["id"],
            text=f"`{each['method']} {escape_controls(path)}`",
            at=parse_instant(at),
            source=SHOP,
            target=MIDDLE,
            marks=(mark,),
            is_failed=mark.is_failed,
            item={"kind": "request", "requests": [each]},
        )
        yield (at, 0, 0) if is_cause else (at, _index(timeline, each), 4), line


def _shown_status(request: Json) -> str | None:
    """The status of the payment in a response."""
    try:
        shown = msgspec.json.decode(request["response_body"])
    except msgspec.DecodeError:
        return None
    return shown.get("status") if isinstance(shown, dict) else None


def _index(timeline: Sequence[Json], request: Json) -> int:
    """The index of the event with the status in a response, or of the last one at its instant."""
    indices = [index for index, each in enumerate(timeline) if each["at"] <= request["at"]]
    status = _shown_status(request)
    shown = [index for index in indices if timeline[index]["status"] == status]
    return (shown or indices or [0])[-1]


def _customer_lines(detail: Json) -> Iterator[tuple[_Place, Line]]:
    places = {each["id"]: index for index, each in enumerate(detail["timeline"])}
    for each in detail["actions"]:
        line = Line(
            text=each["text"],
            at=parse_instant(each["at"]),
            source=CUSTOMER,
            target=MIDDLE,
            item={"kind": "action"},
        )
        # Only a pending payment can be left without an event.
        index, rank = (places[each["event"]], 1) if each["event"] in places else (0, 4)
        yield (each["at"], index, rank), line


def _status_lines(detail: Json) -> Iterator[tuple[_Place, Line]]:
    for index, each in enumerate(detail["timeline"]):
        reason = f"`{each['reason']}`: " if each["reason"] else ""
        line = Line(
            id=each["id"],
            text=reason + each["text"],
            at=parse_instant(each["at"]),
            status=each["status"],
            item={"kind": "status", "event": each},
        )
        yield (each["at"], index, 2), line


def _delivery_lines(
    detail: Json, deliveries: Iterable[Json], urls: Mapping[str, str]
) -> Iterator[tuple[_Place, Line]]:
    places = {each["id"]: index for index, each in enumerate(detail["timeline"])}
    for each in deliveries:
        attempts = each["attempts"]
        if not attempts and each["status"] == "pending":
            continue
        at = attempts[0]["at"] if attempts else each["created_at"]
        marks = [status_mark(attempt["status"]) for attempt in attempts] or [
            Mark(each["status"], is_failed=True)
        ]
        line = Line(
            id=each["id"],
            text=f"`{each['type']}`",
            at=parse_instant(at),
            source=MIDDLE,
            target=SHOP,
            marks=marks,
            note=url_text(urls, each["endpoint"]),
            is_failed=marks[-1].is_failed,
            item={"kind": "delivery", "delivery": each},
        )
        yield (at, places.get(each["event"], 0), 3), line


@cache
def status_mark(status: int | None, last_good: int = 299) -> Mark:
    """The status of a response, by default to a webhook; one above `last_good` is a failure."""
    return Mark(str(status or "no response"), is_failed=not status or status > last_good)


def _scheduled_line(due: Json, url: str) -> Line:
    """The line of a scheduled change or attempt."""
    at, item = parse_instant(due["at"]), {"kind": "scheduled", "at": due["at"]}
    if due["kind"] == ATTEMPT:
        return Line(
            text=f"`{due['event_type']}`",
            at=at,
            source=MIDDLE,
            target=SHOP,
            note=url,
            is_scheduled=True,
            item=item,
        )
    return Line(
        text=CONDITIONS[due["kind"]], at=at, status=due["status"], is_scheduled=True, item=item
    )


def _merged(lines: Iterable[Line]) -> list[Line]:
    """The lines; equal requests in turn are one."""
    merged: list[Line] = []
    for line in lines:
        before = merged[-1] if merged else line
        if before.text == line.text and before.source == line.source == SHOP and merged:
            requests = [*before.item["requests"], *line.item["requests"]]
            merged[-1] = msgspec.structs.replace(
                before,
                marks=[*before.marks, *line.marks],
                is_failed=line.is_failed,
                item={"kind": "request", "requests": requests},
            )
        else:
            merged.append(line)
    return merged
