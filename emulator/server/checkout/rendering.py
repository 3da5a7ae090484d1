"""Renders page views as HTML, in the language of the request."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlencode

import msgspec
from markupsafe import Markup, escape
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from emulator.domain.effects import Handset, Outcome
from emulator.domain.instants import Instant, rate_number
from emulator.domain.payment import DEFAULT_REASON, Status
from emulator.domain.payment_methods import BANKS, METHODS, local_phone, mask_phone
from emulator.reporting import template_environment
from emulator.scenarios.rules import NamedNumber
from emulator.server.assets import Assets
from emulator.server.checkout.views import (
    ANSWERING_REFRESH_S,
    BANK_ANSWERS,
    CUSTOMER_ANSWERS,
    TEXTS_OF_REASON,
    PageView,
    Screen,
    left_ms,
    open_ms,
)
from emulator.server.engine.payments.checkouts import Checkout

DEFAULT_LANGUAGE = "en"
_ADDIS_ABABA_MINUTES = 180
LANGUAGES = (DEFAULT_LANGUAGE, "am")

# An entry of `Accept-Language`: a tag and its quality.
_ENTRY = re.compile(
    r"([^;]+)(?:; *q *= *(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?) *)?", re.IGNORECASE | re.ASCII
)
_NO_BREAK_SPACE = "\u00a0"
# A space inside a phone number such as `09XX XXX XXX`.
_SPACE_IN_NUMBER = re.compile(r"(?<=[0-9X]) (?=[0-9X])", re.ASCII)
# No page has a longer query.
_MAX_QUERY_LENGTH = 1_024
_MAX_ACCEPT_LANGUAGE_LENGTH = 1_000
# The stylesheet has a width for amounts of up to each of these lengths.
_AMOUNT_LENGTHS = (10, 14, 20, 25)
_AMOUNT = Markup('<span class="money up-to-{}">{}</span>')
# The end of a payment's id, by which a result page identifies it.
_REFERENCE_LENGTH = 8
# Values that most pages do not set.
_ABSENT: Mapping[str, object] = MappingProxyType({"destination": None, "has_others": False})
# A merchant's name may be written from right to left; the sentence around it is not.
_MERCHANT = Markup("<bdi>{}</bdi>")
_LABEL_OF_STATUS = {Status.COMPLETED: "number_completes", Status.REFUNDED: "number_refunded"}
DASHBOARD = "dashboard"
"""The parameter of a checkout that was opened from the dashboard."""


class Texts:
    """The catalogue of one language. Raises KeyError for an unknown key."""

    def __init__(self, language: str, entries: Mapping[str, str]) -> None:
        self.language = language
        self._entries = {
            key: escape(_SPACE_IN_NUMBER.sub(_NO_BREAK_SPACE, text))
            for key, text in entries.items()
        }
        self._currency = entries["currency"]

    @property
    def other_language(self) -> str:
        """The language that the page offers to switch to."""
        return LANGUAGES[1 - LANGUAGES.index(self.language)]

    def __call__(self, key: str, **values: object) -> Markup:
        """The text of a key as HTML, its placeholders filled in with escaped values."""
        return self._entries[key].format_map(values)

    def method(self, method: str) -> str:
        """The title of a payment method; an additional one of `--methods` has no title."""
        return self(method) if method in METHODS else method

    def money(self, amount_minor: int) -> str:
        """An amount in ETB cents: `ETB 1,234.50`, never broken over two lines."""
        birr, cents = divmod(amount_minor, 100)
        return f"{self._currency}{_NO_BREAK_SPACE}{birr:,}.{cents:02}"


def minutes(duration_ms: int) -> str:
    """A duration as `0:30`, rounded up to whole seconds."""
    whole_minutes, seconds = divmod(max(0, -(-duration_ms // 1000)), 60)
    return f"{whole_minutes}:{seconds:02}"


def time_of_day(instant: Instant) -> str:
    """The time in Addis Ababa, as a phone shows it: `16:05`."""
    hours, minute = divmod(instant // 60_000 + _ADDIS_ABABA_MINUTES, 60)
    return f"{hours % 24:02}:{minute:02}"


def load_catalogues(directory: Path) -> dict[str, Texts]:
    """The catalogues by language."""
    return {
        language: Texts(
            language, json.loads((directory / f"{language}.json").read_text(encoding="utf-8"))
        )
        for language in LANGUAGES
    }


def language_of(tag: str) -> str | None:
    """The supported language of a tag such as `AM` or `am-ET`, if any."""
    language = tag.strip().lower().partition("-")[0]
    return language if language in LANGUAGES else None


def preferred_language(accept_language: str) -> str:
    """The supported language with the highest quality in an `Accept-Language` header."""
    best, best_quality = DEFAULT_LANGUAGE, 0.0
    for match in map(_ENTRY.fullmatch, accept_language.split(",")):
        language = match and language_of(match[1])
        if match and language and float(match[2] or 1) > best_quality:
            best, best_quality = language, float(match[2] or 1)
    return best


class PageRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request for a page: its path and query, its language, and the relative path to the root.

    `kept` are the parameters that every link keeps: a language, and `dashboard`, with which no page
    redirects to the merchant. Links are relative, so that the
    pages work below any path of a proxy.
    """

    path: str
    query: Mapping[str, str]
    texts: Texts
    kept: Mapping[str, str]
    root: str

    def address(self, token: str, leaf: str = "", **query: str) -> str:
        """The address of a page of a checkout, as a reference relative to this request."""
        query = {**self.kept, **query}
        path = f"{self.root}c/{token}/{leaf}" if leaf else f"{self.root}c/{token}"
        return f"{path}?{urlencode(query)}" if query else path


class Renderer:
    """Renders page views."""

    def __init__(self, directory: Path, assets: Assets, *, shows_handset: bool) -> None:
        self._catalogues = load_catalogues(directory)
        self._environments = {
            texts.language: template_environment(
                directory,
                t=texts,
                method_name=texts.method,
                language=texts.language,
                other_language=texts.other_language,
                asset=assets.path,
                banks=BANKS,
                customer_answers=CUSTOMER_ANSWERS,
                bank_answers=BANK_ANSWERS,
                minutes=minutes,
                time_of_day=time_of_day,
                open_ms=open_ms,
                left_ms=left_ms,
                texts_of_reason=TEXTS_OF_REASON,
                mask_phone=mask_phone,
                labelled=labelled,
                local_phone=local_phone,
            )
            for texts in self._catalogues.values()
        }
        self._shows_handset = shows_handset

    def page_request(self, request: Request) -> PageRequest:
        """Parse a request; `?lang=` decides the language, then `Accept-Language`."""
        scope = request.scope
        # The last of a repeated name counts.
        query = dict(QueryParams(scope["query_string"][:_MAX_QUERY_LENGTH]))
        accepted = ",".join(request.headers.getlist("accept-language"))
        chosen = language_of(query.get("lang", ""))
        language = chosen or preferred_language(accepted[:_MAX_ACCEPT_LANGUAGE_LENGTH])
        raw_path: bytes = scope.get("raw_path") or scope["path"].encode()
        path = raw_path.partition(b"?")[0].decode("latin-1")
        depth = path.count("/") - 1
        return PageRequest(
            path=path,
            query=query,
            texts=self._catalogues[language],
            kept={
                **({} if chosen is None else {"lang": chosen}),
                **({DASHBOARD: "1"} if DASHBOARD in query else {}),
            },
            root="../" * depth or "./",
        )

    def page(
        self,
        request: PageRequest,
        view: PageView,
        checkout: Checkout | None = None,
        numbers: Sequence[NamedNumber] = (),
    ) -> Response:
        """The page of a view; without a checkout it shows no payment.

        `numbers` are the test numbers for its form.
        """
        handset = view.handset if self._shows_handset else None
        query = urlencode(request.kept)
        values: dict[str, object] = {
            **_ABSENT,
            "request": request,
            "view": view,
            "checkout": checkout,
            "is_watched": checkout is not None and view.leaf is not None,
            # A reload of the same address keeps the place to which the bar has scrolled.
            "is_reloaded": handset is Screen.ASKING and request.path.endswith("/wait"),
            "only_query": f"?{query}" if query else "",
            "query": f"?{query}&" if query else "?",
            "handset": handset,
            "numbers": numbers,
            "refresh_s": ANSWERING_REFRESH_S if handset is Screen.ASKING else view.refresh_s,
            **view.values,
        }
        if checkout is not None:
            money = request.texts.money(checkout.payment.amount_minor)
            length = next(each for each in _AMOUNT_LENGTHS if len(money) <= each)
            values |= {
                "url": f"{request.root}c/{checkout.token}",
                "merchant": _MERCHANT.format(checkout.merchant),
                "amount": _AMOUNT.format(length, money),
                "reference": checkout.payment.id[-_REFERENCE_LENGTH:],
                "rate": rate_number(checkout.rate_thousandths),
            }
        template = self._environments[request.texts.language].get_template(f"{view.page}.html")
        return HTMLResponse(template.render(values), view.status)


def labelled(outcome: Outcome) -> tuple[str, str | None]:
    """The key of the label of a test number, and the business time until its last status.

    The time is from the submit on, as `0:30`, and None for an immediate outcome.
    """
    if isinstance(outcome, Handset):
        return "number_asks", None
    if not outcome.steps:
        return "number_stays", None
    last = outcome.steps[-1]
    after = minutes(last.after_ms) if last.after_ms else None
    if last.status is Status.FAILED:
        return TEXTS_OF_REASON[last.reason or DEFAULT_REASON][1], after
    return _LABEL_OF_STATUS[last.status], after
