"""How a view becomes HTML: the templates, compiled once a language, and what all may show."""

from collections.abc import Hashable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import cast
from urllib.parse import parse_qsl, urlencode

import jinja2
import msgspec
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from emulator.checkout.assets import Assets
from emulator.checkout.i18n import (
    LANGUAGES,
    Texts,
    language_of,
    load_catalogues,
    preferred_language,
)
from emulator.checkout.page_cache import CachedPage, Placeholder
from emulator.checkout.test_numbers import offered
from emulator.checkout.views import ANSWERING_REFRESH_S, Screen, View
from emulator.domain.payment_methods import BANKS
from emulator.engine.payments.checkouts import Checkout, TestNumber

# There are a few dozen; with the scenarios' test numbers and all languages, a few hundred.
_MAX_CACHED_SHAPES = 512
_MAX_CACHED_QUERIES = 256
# No page of ours says more; what is remembered has to have an end.
_MAX_QUERY_LENGTH = 1_024
_MAX_ACCEPT_LANGUAGE_LENGTH = 1_000
_LONG_AMOUNT = 16

_HTML = b"text/html; charset=utf-8"

# What differs from customer to customer.
_SLOTS = {
    name: Placeholder(name)
    for name in (
        *("root", "checkout", "here", "switch", "token", "form_token", "moment"),
        *("monogram", "amount", "phone", "masked_phone", "left", "left_ms"),
        *("back", "destination", "detail"),
    )
}
# A name may be written from right to left; the sentence around it is not.
_MERCHANT = Markup("<bdi>{}</bdi>").format(Placeholder("merchant"))

# What most pages lack.
_ABSENT: dict[str, Hashable] = {
    "mode": None,
    "status": None,
    "is_watched": False,
    "is_leaving": False,
    "has_others": False,
}

# By the language that the address asks for: the query of a link to a page, and the beginning of
# the query of one that says more.
_QUERIES: dict[str | None, dict[str, Hashable]] = {
    None: {"only_query": "", "query": "?"},
    **{
        language: {"only_query": f"?lang={language}", "query": f"?lang={language}&"}
        for language in LANGUAGES
    },
}


class Html(Response):
    """A page as an answer; its two headers are not worked out anew each time."""

    def __init__(self, html: str, status: int) -> None:
        self.status_code = status
        self.background = None
        self.body = html.encode()
        length = b"%d" % len(self.body)
        self.raw_headers = [(b"content-type", _HTML), (b"content-length", length)]


class Visit(msgspec.Struct, frozen=True, kw_only=True):
    """A request of a page: what it asks for, in which language, and how far the root is from it.

    `chosen` is the language that the address asks for; every link keeps it. Links are relative,
    so that the pages work below whatever path a proxy puts them.
    """

    query: Mapping[str, str]
    texts: Texts
    chosen: str | None
    root: str

    def address(self, token: str, leaf: str = "", **query: str) -> str:
        """The address of a page of a checkout, as a reference relative to this request."""
        if self.chosen is not None:
            query = {"lang": self.chosen, **query}
        path = f"{self.root}c/{token}/{leaf}" if leaf else f"{self.root}c/{token}"
        return f"{path}?{_written(tuple(query.items()))}" if query else path


@lru_cache(_MAX_CACHED_QUERIES)
def _read(query_string: bytes) -> Mapping[str, str]:
    """What a query says; of a name that is given twice the last counts."""
    pairs = parse_qsl(query_string.decode("latin-1"), keep_blank_values=True)
    return MappingProxyType(dict(pairs))


@lru_cache(_MAX_CACHED_QUERIES)
def _written(query: tuple[tuple[str, str], ...]) -> str:
    return urlencode(query)


def _accept_language(headers: Iterable[tuple[bytes, bytes]]) -> str:
    values = [value for name, value in headers if name == b"accept-language"]
    return b",".join(values)[:_MAX_ACCEPT_LANGUAGE_LENGTH].decode("latin-1")


class Renderer:
    """Renders views."""

    def __init__(self, directory: Path, assets: Assets, *, shows_handset: bool) -> None:
        self._catalogues = load_catalogues(directory)
        self._environments = {
            texts.language: _environment(directory, texts, assets)
            for texts in self._catalogues.values()
        }
        self._shows_handset = shows_handset
        self._shape = lru_cache(_MAX_CACHED_SHAPES)(self._render)

    def visit(self, request: Request) -> Visit:
        """How a request is to be answered: `?lang=` decides, then `Accept-Language`."""
        scope = request.scope
        query = _read(scope["query_string"][:_MAX_QUERY_LENGTH])
        chosen = language_of(query.get("lang", ""))
        language = chosen or preferred_language(_accept_language(scope["headers"]))
        raw_path: bytes = scope.get("raw_path") or scope["path"].encode()
        depth = raw_path.partition(b"?")[0].count(b"/") - 1
        return Visit(
            query=query,
            texts=self._catalogues[language],
            chosen=chosen,
            root="../" * depth or "./",
        )

    def page(self, visit: Visit, view: View, checkout: Checkout | None = None) -> Response:
        """The page of a view; without a checkout one that knows of no payment."""
        handset = view.handset if self._shows_handset else None
        values: dict[str, Hashable] = {
            **_ABSENT,
            "chosen": visit.chosen,
            "page": view.page,
            "heading": view.heading,
            "handset": handset,
            "numbers": view.numbers,
            "refresh_s": ANSWERING_REFRESH_S if handset is Screen.ASKING else view.refresh_s,
            **view.values,
        }
        texts = {"root": visit.root, **view.texts}
        if checkout is not None:
            payment = checkout.payment
            amount = visit.texts.money(payment.amount_minor)
            values["mode"] = checkout.mode.value
            values["status"] = payment.status.value
            values["is_long"] = len(amount) > _LONG_AMOUNT
            values["is_watched"] = view.leaf is not None
            texts |= {
                "checkout": f"{visit.root}c/{checkout.token}",
                "form_token": checkout.form_token,
                "merchant": checkout.merchant,
                "monogram": checkout.merchant.strip()[:1],
                "amount": amount,
            }
            if view.leaf is not None:
                texts |= _watched(visit, view, checkout, view.leaf)
        shape = self._shape(visit.texts.language, tuple(values.items()))
        return Html(shape.fill(texts), view.status)

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


def _watched(visit: Visit, view: View, checkout: Checkout, leaf: str) -> dict[str, str]:
    """Where this very page is found, in this language and the other, and what it has seen."""
    other = {**view.query, "lang": visit.texts.other_language}
    return {
        "here": visit.address(checkout.token, leaf, **view.query),
        "switch": visit.address(checkout.token, leaf, **other),
        "moment": checkout.moment,
    }


def _environment(directory: Path, texts: Texts, assets: Assets) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(directory),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "t": texts,
        "method_name": texts.method,
        "language": texts.language,
        "other_language": texts.other_language,
        "asset": assets.path,
        "banks": BANKS,
    }
    return environment
