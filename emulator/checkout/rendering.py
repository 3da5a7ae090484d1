"""How a view becomes HTML: the templates, compiled once, and what all of them may show."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import jinja2
from starlette.requests import Request
from starlette.responses import HTMLResponse

from emulator.checkout.assets import Assets
from emulator.checkout.forms import TOKEN_FIELD
from emulator.checkout.texts import LANGUAGES, Texts, load_catalogues, preferred_language
from emulator.checkout.views import View
from emulator.domain.accounts import Mode
from emulator.engine.checkouts import Checkout

_BANNERS = {Mode.TEST: "test_banner", Mode.LIVE: "live_banner"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """In which language a request is answered, and where the listener's root is from there.

    `chosen` is the language that the address asks for; every link keeps it. Links are relative,
    so that the pages work below whatever path a proxy puts them.
    """

    texts: Texts
    root: str
    chosen: str | None

    def address(self, path: str, **query: str) -> str:
        """A path below the listener's root, as a reference relative to this request."""
        if self.chosen is not None:
            query = {"lang": self.chosen, **query}
        return f"{self.root}{path}{'?' if query else ''}{urlencode(query)}"

    def checkout(self, token: str, leaf: str = "", **query: str) -> str:
        """A page of a checkout."""
        return self.address(f"c/{token}/{leaf}" if leaf else f"c/{token}", **query)


class Renderer:
    """Renders views."""

    def __init__(self, directory: Path, assets: Assets) -> None:
        self._catalogues = load_catalogues(directory)
        self._assets = assets
        environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(directory),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            auto_reload=False,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates = {
            name.removesuffix(".html"): environment.get_template(name)
            for name in environment.list_templates(extensions=["html"])
        }

    def visit(self, request: Request) -> Visit:
        """How a request is to be answered: `?lang=` decides, then `Accept-Language`."""
        asked = request.query_params.get("lang")
        chosen = asked if asked in LANGUAGES else None
        language = chosen or preferred_language(request.headers.get("accept-language", ""))
        raw_path: bytes = request.scope.get("raw_path") or request.scope["path"].encode()
        depth = raw_path.partition(b"?")[0].count(b"/") - 1
        return Visit(texts=self._catalogues[language], root="../" * depth or "./", chosen=chosen)

    def page(self, request: Request, view: View, checkout: Checkout | None = None) -> HTMLResponse:
        """The page of a view; without a checkout one that knows of no payment."""
        visit = self.visit(request)
        values: dict[str, object] = {
            "t": visit.texts,
            "visit": visit,
            "page": view.page,
            "heading": view.heading,
            "stylesheet": visit.root + self._assets.path("checkout.css"),
            "icon": visit.root + self._assets.path("icon.svg"),
            "banner": "simulation_banner" if checkout is None else _BANNERS[checkout.mode],
            "merchant": "",
            "refresh_s": None,
            "destination": None,
            "token": None,
            "status": None,
            "languages": [],
            **view.values,
        }
        if checkout is not None:
            values |= self._checkout_values(visit, view, checkout)
        return HTMLResponse(self._templates[view.page].render(values), view.status)

    def _checkout_values(self, visit: Visit, view: View, checkout: Checkout) -> dict[str, object]:
        values: dict[str, object] = {
            "token": checkout.token,
            "status": checkout.payment.status.value,
            "merchant": checkout.merchant,
            "amount": visit.texts.money(checkout.payment.amount_minor),
            "form_token_field": TOKEN_FIELD,
            "form_token": checkout.form_token,
        }
        if view.leaf is not None:
            values["here"] = visit.checkout(checkout.token, view.leaf, **view.query)
            values["languages"] = [
                (language, visit.checkout(checkout.token, view.leaf, **view.query, lang=language))
                for language in LANGUAGES
            ]
        return values
