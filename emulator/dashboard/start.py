"""The start page: addresses, test numbers and the next step; for programs a JSON index."""

from base64 import b64encode
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path

import jinja2
import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from emulator import __version__
from emulator.scenarios.designated_numbers import designated_numbers
from emulator.scenarios.values import Scenario

ICON = "/favicon.ico"

_ICON_HEADERS = {"Cache-Control": "public, max-age=86400", "Content-Type": "image/svg+xml"}


def build(
    *,
    templates: Path,
    checkout_base: Callable[[], str],
    scenarios: Callable[[], Iterable[Scenario]],
    methods: tuple[str, ...],
) -> ASGIApp:
    """The application behind `GET /` and `GET /_emulator/` (design, section 11).

    `checkout_base` returns the public address of the checkout pages, and `scenarios` those of
    the first account; both may change while the program runs.
    """
    files = (templates / "reports" / "page.css", templates / "dashboard" / "start.css")
    style = "".join(file.read_text(encoding="utf-8") for file in files)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(templates / "dashboard"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
    )
    page = environment.get_template("start.html")
    icon = (templates / "checkout" / "static" / "icon.svg").read_bytes()
    headers = {
        "Content-Security-Policy": (
            f"default-src 'none'; style-src 'sha256-{_digest(style)}'; img-src 'self';"
            " frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
        ),
        "Referrer-Policy": "same-origin",
        "Vary": "Accept",
        "X-Content-Type-Options": "nosniff",
    }

    def index(request: Request) -> dict[str, str]:
        base = f"http://{request.headers['host']}"
        return {
            "name": "etb-payments-emulator",
            "version": __version__,
            "api": f"{base}/v1",
            "checkout": checkout_base(),
            "control": f"{base}/_emulator",
            "health": f"{base}/_emulator/health",
            "openapi": f"{base}/_emulator/openapi",
        }

    def respond(request: Request) -> Response:
        if "text/html" not in request.headers.get("accept", ""):
            content = msgspec.json.encode(index(request))
            return Response(content, media_type="application/json", headers={"Vary": "Accept"})
        numbers = designated_numbers(scenarios(), methods)
        text = page.render(index=index(request), numbers=numbers, methods=methods, style=style)
        return Response(text, media_type="text/html", headers=headers)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == ICON:
            response = Response(icon, headers=_ICON_HEADERS)
        else:
            response = respond(Request(scope, receive))
        await response(scope, receive, send)

    return app


def _digest(style: str) -> str:
    return b64encode(sha256(style.encode()).digest()).decode()
