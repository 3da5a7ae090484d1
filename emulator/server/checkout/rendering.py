"""Renders page views as HTML: templates compiled per language, and pages cached with open slots."""

import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import cast
from urllib.parse import parse_qsl, urlencode

import msgspec
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import Response

from emulator.domain.instants import rate_number
from emulator.domain.outcomes import Handset, Outcome
from emulator.domain.payment import DEFAULT_REASON, Status
from emulator.domain.payment_methods import BANKS, local_phone
from emulator.reporting import template_environment
from emulator.server.assets import Assets
from emulator.server.checkout import i18n
from emulator.server.checkout.views import (
    ANSWERING_REFRESH_S,
    TEXTS_OF_REASON,
    PageView,
    Screen,
    open_ms,
)
from emulator.server.engine.payments.checkouts import Checkout, TestNumber

# A few dozen views; with the scenarios' test numbers and all languages a few hundred.
_MAX_CACHED_PAGES = 512
_MAX_CACHED_QUERIES = 256
# No page has a longer query; the cache needs a limit.
_MAX_QUERY_LENGTH = 1_024
_MAX_ACCEPT_LANGUAGE_LENGTH = 1_000
_LONG_AMOUNT = 16
# The end of a payment's id, by which a result page identifies it.
_REFERENCE_LENGTH = 8

_HTML = b"text/html; charset=utf-8"

# Values that most pages do not set.
_ABSENT: dict[str, Hashable] = {
    "mode": None,
    "status": None,
    "is_watched": False,
    "is_leaving": False,
    "is_reloaded": False,
    "has_others": False,
    "failure": None,
    "has_open": False,
    "has_left": False,
    "bank_answers": (),
}

# By the language in the address: the query of a link, and the beginning of a longer query.
_QUERIES: dict[str | None, dict[str, Hashable]] = {
    None: {"only_query": "", "query": "?"},
    **{
        language: {"only_query": f"?lang={language}", "query": f"?lang={language}&"}
        for language in i18n.LANGUAGES
    },
}

# Private-use characters, which no template contains.
_OPEN, _CLOSE = "\ue000", "\ue001"
_MARK = "\0"
_SLOT = re.compile(f"{_OPEN}([a-z_]+){_CLOSE}")

_LABEL_OF_STATUS = {Status.COMPLETED: "number_completes", Status.REFUNDED: "number_refunded"}


class Placeholder:
    """A text that is filled in after rendering, so that no template can depend on it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __html__(self) -> str:
        return f"{_OPEN}{self._name}{_CLOSE}"

    def __bool__(self) -> bool:
        raise TypeError(f"A template depends on '{self._name}', which is filled in later.")


class CachedPage:
    """A rendered page with open slots for the texts that differ between customers.

    Rendering is the most expensive step of a page, and most of its result does not change.
    """

    def __init__(self, html: str) -> None:
        literals_and_names = _SLOT.split(html)
        self._names = tuple(literals_and_names[1::2])
        self._format = "%s".join(part.replace("%", "%%") for part in literals_and_names[::2])

    def fill(self, texts: Mapping[str, str]) -> str:
        """The page. Raises KeyError for a slot without a text."""
        # Escaping all texts together takes a third of the time; the count shows a text with a mark.
        escaped: list[str] = str.split(escape(_MARK.join(texts.values())), _MARK)
        if len(escaped) != len(texts):
            escaped = [escape(text) for text in texts.values()]
        filled = dict(zip(texts, escaped, strict=True))
        return self._format % tuple([filled[name] for name in self._names])


# The texts that differ between customers.
_SLOTS = {
    name: Placeholder(name)
    for name in (
        *("root", "checkout", "here", "switch", "token", "form_token", "moment"),
        *("monogram", "amount", "phone", "masked_phone", "left", "left_ms"),
        *("reference", "back", "destination", "detail"),
        *("open_ms", "open_left", "now_ms", "time_of_day", "rate"),
    )
}
# A merchant's name may be written from right to left; the sentence around it is not.
_MERCHANT = Markup("<bdi>{}</bdi>").format(Placeholder("merchant"))


class Html(Response):
    """A response with a page; it sets its two headers without Starlette's computation."""

    def __init__(self, html: str, status: int) -> None:
        self.status_code = status
        self.background = None
        self.body = html.encode()
        length = b"%d" % len(self.body)
        self.raw_headers = [(b"content-type", _HTML), (b"content-length", length)]


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedNumber:
    """A test number beside a phone form: `phone` is `0900000001`, `written` is `0900 000 001`.

    `label` is the key of its outcome in the catalogue; `after` is the business time from the
    submit on, as `0:30`, and None for an immediate outcome.
    """

    phone: str
    written: str
    label: str
    after: str | None


def offered(number: TestNumber) -> OfferedNumber:
    """The page's entry for a test number of a scenario."""
    phone = local_phone(number.phone)
    steps = () if isinstance(number.outcome, Handset) else number.outcome.steps
    after_ms = steps[-1].after_ms if steps else 0
    return OfferedNumber(
        phone=phone,
        written=f"{phone[:4]} {phone[4:7]} {phone[7:]}",
        label=_label(number.outcome),
        after=i18n.minutes(after_ms) if after_ms else None,
    )


class PageRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request for a page: its path and query, its language, and the relative path to the root.

    `chosen` is the language in the address; every link keeps it. Links are relative, so that the
    pages work below any path of a proxy.
    """

    path: str
    query: Mapping[str, str]
    texts: i18n.Texts
    chosen: str | None
    root: str

    def address(self, token: str, leaf: str = "", **query: str) -> str:
        """The address of a page of a checkout, as a reference relative to this request."""
        if self.chosen is not None:
            query = {"lang": self.chosen, **query}
        path = f"{self.root}c/{token}/{leaf}" if leaf else f"{self.root}c/{token}"
        return f"{path}?{_encoded(tuple(query.items()))}" if query else path


@lru_cache(_MAX_CACHED_QUERIES)
def _parameters(query_string: bytes) -> Mapping[str, str]:
    """The parameters of a query; the last of a repeated name counts."""
    pairs = parse_qsl(query_string.decode("latin-1"), keep_blank_values=True)
    return MappingProxyType(dict(pairs))


@lru_cache(_MAX_CACHED_QUERIES)
def _encoded(query: tuple[tuple[str, str], ...]) -> str:
    return urlencode(query)


def _accept_language(headers: Iterable[tuple[bytes, bytes]]) -> str:
    values = [value for name, value in headers if name == b"accept-language"]
    return b",".join(values)[:_MAX_ACCEPT_LANGUAGE_LENGTH].decode("latin-1")


class Renderer:
    """Renders page views."""

    def __init__(self, directory: Path, assets: Assets, *, shows_handset: bool) -> None:
        self._catalogues = i18n.load_catalogues(directory)
        self._environments = {
            texts.language: template_environment(
                directory,
                t=texts,
                method_name=texts.method,
                language=texts.language,
                other_language=texts.other_language,
                asset=assets.path,
                banks=BANKS,
            )
            for texts in self._catalogues.values()
        }
        self._shows_handset = shows_handset
        self._cached_page = lru_cache(_MAX_CACHED_PAGES)(self._render)

    def page_request(self, request: Request) -> PageRequest:
        """Parse a request; `?lang=` decides the language, then `Accept-Language`."""
        scope = request.scope
        query = _parameters(scope["query_string"][:_MAX_QUERY_LENGTH])
        chosen = i18n.language_of(query.get("lang", ""))
        language = chosen or i18n.preferred_language(_accept_language(scope["headers"]))
        raw_path: bytes = scope.get("raw_path") or scope["path"].encode()
        path = raw_path.partition(b"?")[0].decode("latin-1")
        depth = path.count("/") - 1
        return PageRequest(
            path=path,
            query=query,
            texts=self._catalogues[language],
            chosen=chosen,
            root="../" * depth or "./",
        )

    def page(
        self, request: PageRequest, view: PageView, checkout: Checkout | None = None
    ) -> Response:
        """The page of a view; without a checkout it shows no payment."""
        handset = view.handset if self._shows_handset else None
        values: dict[str, Hashable] = {
            **_ABSENT,
            "chosen": request.chosen,
            "page": view.page,
            "heading": view.heading,
            "handset": handset,
            "numbers": view.numbers,
            "refresh_s": ANSWERING_REFRESH_S if handset is Screen.ASKING else view.refresh_s,
            **view.values,
        }
        texts = {"root": request.root, **view.texts}
        if checkout is not None:
            payment = checkout.payment
            amount = request.texts.money(payment.amount_minor)
            values["mode"] = checkout.mode.value
            values["status"] = checkout.status
            if payment.status is Status.PENDING and checkout.failed_attempts:
                values["failure"], _ = TEXTS_OF_REASON[checkout.failed_attempts[-1]]
            values["is_long"] = len(amount) > _LONG_AMOUNT
            values["is_watched"] = view.leaf is not None
            # A reload of the same address keeps the place to which the bar has scrolled.
            values["is_reloaded"] = handset is Screen.ASKING and request.path.endswith("/wait")
            texts |= {
                "checkout": f"{request.root}c/{checkout.token}",
                "form_token": checkout.form_token,
                "merchant": checkout.merchant,
                "monogram": checkout.merchant.strip()[:1],
                "amount": amount,
                "reference": payment.id[-_REFERENCE_LENGTH:],
                "rate": str(rate_number(checkout.rate_thousandths)),
                "now_ms": str(checkout.now),
                "time_of_day": i18n.time_of_day(checkout.now),
            }
            left_ms = open_ms(checkout)
            if left_ms is not None:
                values["has_open"] = True
                texts |= {"open_ms": str(left_ms), "open_left": i18n.minutes(left_ms)}
            if view.leaf is not None:
                texts |= _watched(request, view, checkout, view.leaf)
        page = self._cached_page(request.texts.language, tuple(values.items()))
        return Html(page.fill(texts), view.status)

    def _render(self, language: str, items: tuple[tuple[str, Hashable], ...]) -> CachedPage:
        values = dict(items)
        numbers = cast("tuple[TestNumber, ...]", values["numbers"])
        template = self._environments[language].get_template(f"{values['page']}.html")
        return CachedPage(
            template.render(
                **_SLOTS,
                merchant=_MERCHANT,
                **_QUERIES[cast("str | None", values["chosen"])],
                **{**values, "numbers": [offered(number) for number in numbers]},
            )
        )


def _watched(request: PageRequest, view: PageView, checkout: Checkout, leaf: str) -> dict[str, str]:
    """The address of this page in both languages, and the state that it shows."""
    other = {**view.query, "lang": request.texts.other_language}
    return {
        "here": request.address(checkout.token, leaf, **view.query),
        "switch": request.address(checkout.token, leaf, **other),
        "moment": checkout.moment,
    }


def _label(outcome: Outcome) -> str:
    if isinstance(outcome, Handset):
        return "number_asks"
    if not outcome.steps:
        return "number_stays"
    last = outcome.steps[-1]
    if last.status is Status.FAILED:
        _, label = TEXTS_OF_REASON[last.reason or DEFAULT_REASON]
        return label
    return _LABEL_OF_STATUS[last.status]
