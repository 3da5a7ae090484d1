"""Serves the start page: addresses, test numbers and a first call; for programs a JSON index."""

from base64 import b64encode
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path

import jinja2
import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from emulator import __version__
from emulator.domain.payment_methods import BANK_TRANSFER
from emulator.scenarios.numbers import designated_numbers
from emulator.scenarios.values import Scenario

ICON = "/favicon.ico"

_ICON_HEADERS = {"Cache-Control": "public, max-age=86400", "Content-Type": "image/svg+xml"}


class StartPage:
    """The application behind `GET /` and `GET /_emulator/`."""

    def __init__(
        self,
        *,
        templates: Path,
        checkout_base: Callable[[], str],
        scenarios: Callable[[], Iterable[Scenario]],
        methods: tuple[str, ...],
    ) -> None:
        """`checkout_base` returns the public address of the checkout pages.

        `scenarios` returns those of the first account. Both may change while the program runs.
        """
        self._checkout_base = checkout_base
        self._scenarios = scenarios
        self._methods = methods
        files = (templates / "reports" / "page.css", templates / "dashboard" / "start.css")
        self._style = "".join(file.read_text(encoding="utf-8") for file in files)
        environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(templates / "dashboard"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
        )
        self._page = environment.get_template("start.html")
        self._icon = (templates / "checkout" / "static" / "icon.svg").read_bytes()
        self._page_headers = {
            "Content-Security-Policy": (
                f"default-src 'none'; style-src 'sha256-{_digest(self._style)}'; img-src 'self';"
                " frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
            ),
            "Referrer-Policy": "same-origin",
            "Vary": "Accept",
            "X-Content-Type-Options": "nosniff",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        if scope["path"] == ICON:
            response = Response(self._icon, headers=_ICON_HEADERS)
        elif "text/html" in request.headers.get("accept", ""):
            response = self._html(request)
        else:
            content = msgspec.json.encode(self._index(request))
            headers = {"Vary": "Accept"}
            response = Response(content, media_type="application/json", headers=headers)
        await response(scope, receive, send)

    def _html(self, request: Request) -> Response:
        text = self._page.render(
            index=self._index(request),
            numbers=designated_numbers(self._scenarios(), self._methods),
            methods=[method for method in self._methods if method != BANK_TRANSFER],
            style=self._style,
        )
        return Response(text, media_type="text/html", headers=self._page_headers)

    def _index(self, request: Request) -> dict[str, str]:
        base = f"http://{request.headers['host']}"
        return {
            "name": "etb-payments-emulator",
            "version": __version__,
            "api": f"{base}/v1",
            "checkout": self._checkout_base(),
            "control": f"{base}/_emulator",
            "health": f"{base}/_emulator/health",
            "openapi": f"{base}/_emulator/openapi",
        }


def _digest(style: str) -> str:
    return b64encode(sha256(style.encode()).digest()).decode()
