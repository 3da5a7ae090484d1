"""The application of the checkout listener: routes, headers, and a page for every refusal."""

import re
from collections.abc import Awaitable, Callable
from functools import cache

from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from emulator.domain import errors
from emulator.server.api.exchange import log_failure
from emulator.server.assets import DIRECTORY, Assets
from emulator.server.checkout import views
from emulator.server.checkout.pages import Pages
from emulator.server.checkout.rendering import Renderer
from emulator.server.checkout.views import PageView
from emulator.server.engine.engine import Engine
from emulator.settings import data_directory

Endpoint = Callable[[Request, str], Awaitable[Response]]
CheckHost = Callable[[Scope], object]

STATUS = "status"
ICON = "/favicon.ico"

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self';"
    " font-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)

_HEADERS = [
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    # Under `no-referrer` browsers send `Origin: null` with a form of our own page.
    (b"referrer-policy", b"same-origin"),
]
_CHECKOUT = re.compile(r"/c/(?P<token>[A-Za-z0-9]{1,64})(?:/(?P<leaf>[a-z]+))?", re.ASCII)
_FILE = re.compile(rf"/{DIRECTORY}/(?P<name>[a-z0-9.-]+)", re.ASCII)
_READING = ("GET", "HEAD")
_API_PATHS = ("/v1", "/_emulator")
_OTHER_PORT = (
    "This port has only the checkout pages: send the request to the address of the API, which the"
    " emulator prints at start (port 8080 by default)."
)
_INDEX = "ETB payments emulator: the checkout pages. The API and the dashboard have another port.\n"
_ANY_CHECKOUT = re.compile(r"/c/[^/]+")


class CheckoutApp:
    """Responds in HTML, errors included."""

    def __init__(self, engine: Engine, *, check_host: CheckHost) -> None:
        """`check_host` raises ForbiddenOrigin for a request with a foreign `Host`."""
        self._check_host = check_host
        self._assets, self._renderer = _renderer(shows_handset=not engine.settings.no_handset)
        pages = Pages(engine, self._renderer)
        self._routes: dict[tuple[str, str | None], Endpoint] = {
            ("GET", None): pages.show,
            ("POST", None): pages.pay,
            ("GET", "wait"): pages.follow,
            ("GET", "bank"): pages.bank,
            ("GET", STATUS): pages.watch,
            ("POST", "answer"): pages.answer,
            ("POST", "cancel"): pages.cancel,
            ("GET", "cancelled"): pages.leave,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Raises the refusals that need no page, because no person sees them."""
        request = Request(scope, receive)
        if scope["path"].startswith(_API_PATHS):
            raise errors.UnknownRoute(scope["method"], scope["path"], advice=_OTHER_PORT)
        try:
            self._check_host(scope)
            response = await self._respond(request)
        except errors.Refusal as refusal:
            if _needs_no_page(request, refusal):
                raise
            response = self._problem(request, _view_of(refusal, request))
        except ClientDisconnect:
            return
        except Exception as error:  # noqa: BLE001 - logged; the customer gets a page
            log_failure(request.method, request.scope["path"], error)
            response = self._problem(request, views.problem("wrong", None, status=500))
        response.raw_headers += _HEADERS
        await response(scope, receive, send)

    def _problem(self, request: Request, view: PageView) -> Response:
        return self._renderer.page(self._renderer.page_request(request), view)

    async def _respond(self, request: Request) -> Response:
        path: str = request.scope["path"]
        method = "GET" if request.method == "HEAD" else request.method
        if match := _CHECKOUT.fullmatch(path):
            endpoint = self._routes.get((method, match["leaf"]))
            if endpoint is not None:
                return await endpoint(request, match["token"])
        elif method == "GET" and _ANY_CHECKOUT.fullmatch(path):
            raise errors.UnknownCheckout
        elif method == "GET" and (match := _FILE.fullmatch(path)):
            file = self._assets.response(match["name"])
            if file is not None:
                return file
        elif method == "GET" and path == ICON:
            return self._assets.icon()
        elif method == "GET" and path == "/":
            # Tools that wait for a port expect a 2xx here.
            return PlainTextResponse(_INDEX)
        raise errors.UnknownRoute(request.method, path)


@cache
def _renderer(*, shows_handset: bool) -> tuple[Assets, Renderer]:
    """Compiles the templates once for all emulators of a process.

    `shows_handset` shows the simulated phone beside the pages.
    """
    templates = data_directory("templates")
    assets = Assets(templates / "checkout" / DIRECTORY, templates / "tokens.css")
    return assets, Renderer(templates / "checkout", assets, shows_handset=shows_handset)


def _view_of(refusal: errors.Refusal, request: Request) -> PageView:
    match = _CHECKOUT.fullmatch(request.scope["path"])
    token = match and match["token"]
    match refusal:
        case errors.UnknownRoute():
            return views.problem("page_not_found", None, status=404)
        case errors.NotFound():
            return views.problem("not_found", "not_found_body", status=404)
        case errors.NotReady():
            return views.problem("wrong", None, status=503)
        case errors.ForbiddenOrigin() if request.method in _READING:
            # Only the operator can solve this, so the page shows the whole message.
            return views.problem("forbidden_host", None, status=403, detail=refusal.message)
        case errors.ForbiddenOrigin():
            return views.problem("forbidden", "nothing_changed", status=403, token=token)
        case errors.InvalidRequest():
            return views.problem("bad_request", "nothing_changed", status=400, token=token)
    return views.problem("wrong", "nothing_changed", status=409, token=token)


def _needs_no_page(request: Request, refusal: errors.Refusal) -> bool:
    """Whether no person sees the response: the client is our script, or no browser."""
    match = _CHECKOUT.fullmatch(request.scope["path"])
    if match is not None and match["leaf"] == STATUS:
        return True
    # At a foreign `Host`, and for a submit at an unknown path, only browsers get a page.
    expected = errors.ForbiddenOrigin if request.method in _READING else errors.UnknownRoute
    is_browser = "text/html" in request.headers.get("accept", "")
    return isinstance(refusal, expected) and not is_browser
