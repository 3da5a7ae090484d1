"""The application of the dashboard: its routes, its pages and the index of addresses."""

import asyncio
import re
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import cache, lru_cache, partial
from typing import Any
from urllib.parse import quote

import jinja2
import msgspec
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from emulator import __version__
from emulator.diagrams import counted_marks
from emulator.domain.errors import Refusal, UnknownRoute
from emulator.domain.instants import format_instant
from emulator.domain.message_text import escape_controls
from emulator.domain.payment import Status
from emulator.domain.payment_methods import METHODS
from emulator.reporting import counted, template_environment
from emulator.server.api.errors import status_of
from emulator.server.api.layers import CallRoute
from emulator.server.api.parameter_types import query_values
from emulator.server.assets import DIRECTORY, Assets
from emulator.server.control.clock import clock_json
from emulator.server.dashboard import checklist, sections, webhooks
from emulator.server.dashboard.payment_diagram import status_mark
from emulator.server.dashboard.view_request import ROOT, ViewRequest
from emulator.server.engine.engine import Engine
from emulator.settings import data_directory
from emulator.summaries import PaymentSummary, order_html, state_html, summary_html

ICON = "/favicon.ico"
PATHS = ("/", "/_emulator", "/_emulator/", ROOT, f"{ROOT}/{{path:path}}", ICON)
FIRST_SECTION = "payments"
LATEST = "latest"
ID_LENGTH = 28
MAX_LISTED_ACCOUNTS = 50

Page = Callable[[ViewRequest], Awaitable[Mapping[str, Any]]]
"""Returns the variables of the template of a page."""

# A list and one item of it, by the name of the section, in the order of the navigation.
SECTIONS: Mapping[str, tuple[Page, Page | None]] = {
    "payments": (sections.payment_list, sections.payment_story),
    "webhooks": (webhooks.delivery_list, webhooks.delivery_details),
    "requests": (sections.request_list, sections.request_details),
    "scenarios": (sections.scenario_list, sections.scenario_details),
    "checklist": (checklist.checklist, None),
}
# The section that shows an item, by the prefix of its id.
SECTION_OF_PREFIX = {"pay": "payments", "dlv": "webhooks", "evt": "webhooks", "req": "requests"}

# The units of a span with their lengths, and from how many seconds on the next one is used.
_UNITS = (("s", 1), ("min", 60), ("h", 3_600), ("d", 86_400))
_UNIT_LIMITS_S = (60, 7_200, 172_800)
_RECEIVED = re.compile(r"(.*?) \((got .*)\)(.*)", re.DOTALL)
# An id is shown by its end, which differs.
_PAYMENT_ID = re.compile(r"pay_[0-9A-Za-z]{16}([0-9A-Za-z]{8})")
_SUBJECT = ("account", "mode")
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
        " connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "Referrer-Policy": "same-origin",
    "Vary": "Accept",
    "X-Content-Type-Options": "nosniff",
}


class Dashboard:
    """Responds in HTML; `GET /` and `GET /_emulator/` respond to programs with a JSON index."""

    def __init__(self, engine: Engine, *, control: ASGIApp) -> None:
        self._control = control
        self._engine = engine
        self._rendering = asyncio.Lock()
        self._assets, self._templates = _templates()

    @property
    def routes(self) -> list[BaseRoute]:
        """The paths that people open, or their browsers do for a page."""
        return [CallRoute(path, self, methods={"GET", "HEAD"}, name="dashboard") for path in PATHS]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        response = await self._respond(request)
        await response(scope, receive, send)

    async def _respond(self, request: Request) -> Response:
        path: str = request.scope["path"]
        if path == ICON:
            return self._assets.icon()
        accepts_html = "text/html" in request.headers.get("accept", "")
        if path == f"{ROOT}/" or not path.startswith(f"{ROOT}/"):
            if accepts_html:
                return RedirectResponse(f"{ROOT}/{FIRST_SECTION}", 303, {"Vary": "Accept"})
            content = msgspec.json.encode(self._index(request))
            return Response(content, media_type="application/json", headers={"Vary": "Accept"})
        section, _, item = path.removeprefix(f"{ROOT}/").partition("/")
        if section == DIRECTORY:
            file = self._assets.response(item)
            if file is None:
                raise UnknownRoute(request.method, path)
            return file
        values, _ = query_values(request.scope["query_string"])
        page = self._page_request(request, section, item or None, values)
        # A form without a script sends its empty fields, too.
        if not all(values.values()):
            address = page.address(section, page.item, **page.query)
            return RedirectResponse(address, 303, {"Vary": "Accept"})
        try:
            # One at a time, so that many open dashboards do not delay the requests of merchants.
            async with self._rendering:
                return await self._view(page)
        except Refusal as refusal:
            if not accepts_html:
                raise
            is_route = isinstance(refusal, UnknownRoute)
            message = f"There is no page {path}." if is_route else str(refusal)
            return await self._problem(page, status_of(refusal), message)

    async def _view(self, page: ViewRequest) -> Response:
        """The response for a page. Raises the refusals of the control API, and UnknownRoute."""
        match page.section, page.item:
            case "latest", None:
                return RedirectResponse(page.address(FIRST_SECTION, LATEST), 303)
            case "search", None:
                return await self._search(page)
            case "test-key", None:
                key = page.owner.account.profile.test_key
                return Response(key, media_type="text/plain", headers=_HEADERS)
        list_page, item_page = SECTIONS.get(page.section, (None, None))
        view = list_page if page.item is None else item_page
        if view is None or not _is_item(page):
            raise UnknownRoute("GET", "/".join(filter(None, (ROOT, page.section, page.item))))
        # First, so that a change while the page is rendered makes its revision old.
        header = await self._header(page)
        variables = await view(page)
        template = page.section if page.item is None else page.section.removesuffix("s")
        return self._html(f"{template}.html", page, 200, **header, **variables)

    async def _search(self, page: ViewRequest) -> Response:
        """The matches of a text, or the page of the only one unless a list is requested."""
        text = page.query.get("q", "").strip()
        owner = page.owner
        found: list[tuple[str, str, str, PaymentSummary | None]] = []
        matches, count = await self._engine.search.matches(owner, text)
        if not matches and len(text) == ID_LENGTH and text[:3] in SECTION_OF_PREFIX:
            # Older than what was compared, or unknown: its page says so.
            return RedirectResponse(_address_of(page, text), 303)
        for match in matches:
            profile, mode = match.owner.account.profile, match.owner.mode
            view = replace(page, subject={"account": profile.id, "mode": mode.value})
            place = "" if match.owner is owner else f"{profile.name}, {mode.value} mode"
            about = ", ".join(filter(None, (match.about, place)))
            found.append((_address_of(view, match.id), match.id, about, match.payment))
        more = count - len(matches)
        for _, code, number in owner.journal.kinds() if text else ():
            if text.lower() in code:
                address = page.address("requests", code=code)
                found.append((address, code, counted(number, "request"), None))
        if len(found) == 1 and "list" not in page.query:
            return RedirectResponse(found[0][0], 303)
        header = await self._header(page)
        return self._html("search.html", page, 200, text=text, found=found, more=more, **header)

    async def _problem(self, page: ViewRequest, status: int, message: str) -> Response:
        try:
            header = await self._header(page)
        except Refusal:  # Of an unknown account or mode: the header shows the first account.
            page = replace(page, subject={})
            header = await self._header(page)
        return self._html("problem.html", page, status, message=message, **header)

    def _html(self, template: str, page: ViewRequest, status: int, **variables: Any) -> Response:
        text = self._templates.get_template(template).render(
            page=page,
            sections=SECTIONS,
            methods=self._engine.settings.methods,
            first_account=self._engine.accounts.first.profile.id,
            mode=page.subject.get("mode", "test"),
            verifies_webhooks=not self._engine.settings.webhook_insecure,
            **variables,
        )
        return Response(text, status_code=status, media_type="text/html", headers=_HEADERS)

    async def _header(self, page: ViewRequest) -> Mapping[str, Any]:
        """The clock and the newest accounts; last, also the page's account and the oldest one."""
        clock = await self._engine.clock_service.read(page.owner.account)
        revision = self._engine.activity.revision(page.owner)
        pause_ms = self._engine.webhooks.deliveries.pause_left_ms(page.owner)
        accounts = sorted(self._engine.accounts.all(), key=lambda each: -each.number)
        listed = {page.owner.account, accounts[-1]}
        more = [each for each in accounts[MAX_LISTED_ACCOUNTS:] if each in listed]
        return {
            "clock": clock_json(clock),
            "wall_now": format_instant(round(self._engine.wall.now_ms())),
            "profile": page.owner.account.profile,
            "revision": revision,
            "pause_s": None if pause_ms is None else pause_ms / 1000,
            "accounts": [each.profile for each in accounts[:MAX_LISTED_ACCOUNTS] + more],
        }

    def _page_request(
        self, request: Request, section: str, item: str | None, values: Mapping[str, str]
    ) -> ViewRequest:
        query = {name: value for name, value in values.items() if value}
        return ViewRequest(
            section=section,
            item=item,
            subject={name: query[name] for name in _SUBJECT if name in query},
            query={name: value for name, value in query.items() if name not in _SUBJECT},
            base_url=f"{request.scope['scheme']}://{request.headers['host']}",
            control=self._control,
            engine=self._engine,
        )

    def _index(self, request: Request) -> dict[str, str]:
        base = f"{request.scope['scheme']}://{request.headers['host']}"
        return {
            "name": "etb-payments-emulator",
            "version": __version__,
            "api": f"{base}/v1",
            "checkout": self._engine.payments.checkout_base,
            "control": f"{base}/_emulator",
            "dashboard": f"{base}{ROOT}/{FIRST_SECTION}",
            "health": f"{base}/_emulator/health",
            "openapi": f"{base}/_emulator/openapi/v1.json",
            "control_openapi": f"{base}/_emulator/openapi/control.json",
        }


def _is_item(page: ViewRequest) -> bool:
    """Whether the page is a list, or its item is the name of a scenario or an id of its section.

    The control API has other calls at addresses such as `/requests/count`.
    """
    item = page.item
    if item is None or "/" in item:
        return item is None
    has_any_name = item == LATEST or page.section == "scenarios"
    return has_any_name or SECTION_OF_PREFIX.get(item.partition("_")[0]) == page.section


def _address_of(page: ViewRequest, item: str) -> str:
    """The address of the page that shows the item with an id."""
    prefix = item.partition("_")[0]
    if prefix == "we":
        return page.address("webhooks", endpoint=item)
    if prefix == "flt":
        return page.address("scenarios") + f"#{quote(item)}"
    section = SECTION_OF_PREFIX.get(prefix)
    return page.address(FIRST_SECTION) if section is None else page.address(section, item)


@cache
def _templates() -> tuple[Assets, jinja2.Environment]:
    """Compiles the templates once for all emulators of a process."""
    templates = data_directory("templates")
    icon = templates / "checkout" / DIRECTORY / "icon.svg"
    shared = (templates / "tokens.css", templates / "sequence.css", templates / "summary.css", icon)
    assets = Assets(templates / "dashboard" / DIRECTORY, *shared)
    environment = template_environment(
        templates / "dashboard",
        templates,
        filters={
            "utc": format_instant,
            "instant": _instant,
            "exact": _exact,
            "ago": _ago,
            "mark": _mark,
            "marks": _marks,
            "order": order_html,
            "state": state_html,
            "summary": summary_html,
            "received_first": _received_first,
            "with_short_ids": partial(_PAYMENT_ID.sub, r"…\1"),
            "visible": partial(escape_controls, besides="\n\t"),
        },
        asset=lambda name: f"{ROOT}/{assets.path(name)}",
        statuses=[status.value for status in Status],
        method_titles={name: method.title for name, method in METHODS.items()},
        version=__version__,
    )
    return assets, environment


def _mark(status: int | None, last_good: int = 399) -> Markup:
    """The status of a response; one above `last_good` is a failure."""
    css = "mark" if status and status <= last_good else "mark bad"
    return Markup(f'<span class="{css}">{status or "no response"}</span>')  # noqa: S704 - a number


# Most deliveries of a list have the same results.
@lru_cache
def _marks(results: str) -> Markup:
    """The results of the attempts of a delivery, equal neighbours once with their number."""
    statuses = [int(status) for status in results.split(",") if status]
    html = "".join(
        f'<span class="mark{" bad" if mark.is_failed else ""}">{mark.text}'
        f"{f' ×{count}' if count > 1 else ''}</span> "
        for mark, count in counted_marks(map(status_mark, statuses))
    )
    return Markup(html)  # noqa: S704 - numbers and words of the emulator


def _received_first(message: str) -> str:
    """The message of a refusal, which begins with what was received."""
    match = _RECEIVED.fullmatch(message)
    return message if match is None else f"{match[2]}: {match[1]}{match[3]}"


def _instant(at: str) -> str:
    """A timestamp of the API, which ends with milliseconds and `Z`, for reading."""
    return f"{at[:10]}\u00a0{at[11:19]}\u00a0UTC"


def _exact(at: str) -> str:
    """A timestamp of the API with its milliseconds."""
    return f"{at[:10]} {at[11:23]} UTC"


def _ago(at: str, now: str, clock: str = "") -> Markup:
    """The element of a timestamp, which shows its distance to `now`; `clock` may be `real`."""
    kind = f'="{clock}"' if clock else ""
    text = f'<time datetime="{at}" title="{_exact(at)}" data-span{kind}>{_span(at, now)}</time>'
    return Markup(text)  # noqa: S704 - timestamps need no escape


@lru_cache
def _seconds(at: str) -> float:
    return datetime.fromisoformat(at).timestamp()


# `spanText` of dashboard.js continues these texts while the clock runs.
def _span(at: str, now: str) -> str:
    """The time between two timestamps of the API: `3 min ago`, `in 24 min`."""
    passed_s = _seconds(now) - _seconds(at)
    is_past = passed_s >= 0
    # What has happened is rounded down, and what is due up.
    seconds = int(passed_s if is_past else -(passed_s // 1))
    unit, length_s = _UNITS[bisect_right(_UNIT_LIMITS_S, seconds)]
    count = seconds // length_s if is_past else -(-seconds // length_s)
    if count == 0:
        return "now"
    return f"{count} {unit} ago" if is_past else f"in {count} {unit}"
