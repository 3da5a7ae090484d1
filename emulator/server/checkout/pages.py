"""The endpoints of a checkout: each decodes, calls the engine, and renders or redirects."""

import hmac
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from emulator.domain import errors
from emulator.domain.hosts import authority
from emulator.domain.instants import rate_number
from emulator.domain.payment import Payment, Reason, Status
from emulator.domain.payment_methods import BANK_TRANSFER, PHONE_METHODS
from emulator.server.api.bodies import read_body, unless_disconnected
from emulator.server.checkout import views
from emulator.server.checkout.rendering import PageRequest, Renderer
from emulator.server.engine.engine import Engine
from emulator.server.engine.payments.checkouts import Checkout, Checkouts
from emulator.server.engine.payments.customer import PhoneAnswer, Submission
from emulator.server.engine.state.account import OWNER_OF_REQUEST

SEE_OTHER = 303
WATCH_MS = 10_000
# A held request takes one of the six connections that a browser opens to a host; further pages
# poll instead.
MAX_WAITING_REQUESTS = 3
POLL_MS = 150

TOKEN_FIELD = "form_token"  # noqa: S105 - the name of a field
MAX_FORM_BYTES = 16 * 1024
MAX_FORM_FIELDS = 20

_SCHEMES = ("http", "https")
_FORM_TYPE = "application/x-www-form-urlencoded"


class Pages:
    """The endpoints of `/c/{token}`. All raise UnknownCheckout and UnknownAccount.

    The endpoints of forms also raise ForbiddenOrigin and InvalidRequest.
    """

    def __init__(self, engine: Engine, renderer: Renderer) -> None:
        self._engine = engine
        self._renderer = renderer
        self._held: Counter[str] = Counter()

    @property
    def _checkouts(self) -> Checkouts:
        return self._engine.checkouts

    async def show(self, request: Request, token: str) -> Response:
        """`GET /c/{token}`: the page of the present state."""
        page, checkout = await self._open(request, token)
        method = views.phone_method(checkout.payment, page.query)
        numbers = await self._checkouts.test_numbers(checkout, method) if method else ()
        view = views.opened(checkout, query=page.query)
        return self._renderer.page(page, view, checkout, numbers)

    async def follow(self, request: Request, token: str) -> Response:
        """`GET /c/{token}/wait`: the page after the submit."""
        page, checkout = await self._open(request, token)
        redirects = True
        if checkout.payment.status is Status.COMPLETED:
            may_redirect = self._checkouts.may_redirect(checkout)
            redirects = await unless_disconnected(request.receive, may_redirect)
        view = views.followed(checkout, query=page.query, redirects=redirects)
        if view is None:
            return _redirect(page, token)
        if view.page == views.LEAVING and checkout.payment.status is Status.COMPLETED:
            self._checkouts.note_departure(checkout)
        return self._renderer.page(page, view, checkout)

    async def bank(self, request: Request, token: str) -> Response:
        """`GET /c/{token}/bank`: the bank's simulated page."""
        page, checkout = await self._open(request, token)
        view = views.at_bank(checkout)
        if view is None:
            return _redirect(page, token, "wait")
        return self._renderer.page(page, view, checkout)

    async def watch(self, request: Request, token: str) -> Response:
        """`GET /c/{token}/status?seen=…`: the state for the script of an open page, in JSON.

        The response waits until the state differs from `seen`, unless the maximum number of
        requests of the same machine waits already; then it is immediate, and `again_ms` is the
        time until the next request. Raises NotReady, and ClientDisconnect when the page is closed.
        """
        seen = request.query_params.get("seen", "")
        machine = "" if request.client is None else request.client.host
        holds = self._held[machine] < MAX_WAITING_REQUESTS
        self._held[machine] += holds
        try:
            timeout_ms = WATCH_MS if holds else 0
            changed = self._checkouts.changed(token, seen, timeout_ms=timeout_ms)
            checkout = await (unless_disconnected(request.receive, changed) if holds else changed)
            self._note_owner(request, checkout)
        finally:
            self._held[machine] -= holds
            if not self._held[machine]:
                del self._held[machine]
        return JSONResponse(
            {
                "status": checkout.status,
                "moment": checkout.moment,
                "left_ms": views.left_ms(checkout),
                "open_ms": views.open_ms(checkout),
                "now_ms": checkout.now,
                "rate": rate_number(checkout.rate_thousandths),
                "again_ms": 0 if holds else POLL_MS,
            }
        )

    async def leave(self, request: Request, token: str) -> Response:
        """`GET /c/{token}/cancelled`: the redirect to the merchant before a method was submitted.

        It is a separate page because Chromium applies `form-action` to the target of a redirect.
        """
        page, checkout = await self._open(request, token)
        payment = checkout.payment
        has_failed = payment.method is None and payment.reason is Reason.USER_CANCELLED
        if payment.status is not Status.PENDING and not has_failed:
            return _redirect(page, token)
        return self._renderer.page(page, views.leaving_cancelled(payment), checkout)

    async def pay(self, request: Request, token: str) -> Response:
        """`POST /c/{token}`: submit a method; with the method alone, redirect to its form."""
        page, checkout, form = await self._form(request, token)
        if checkout.payment.status is not Status.PENDING:
            return _redirect(page, token, _leaf_after_submit(checkout.payment))
        method, phone, bank = form.get("method", ""), form.get("phone"), form.get("bank")
        try:
            submission = Submission(method=method, phone=phone, bank=bank)
            payment = await self._engine.customer.pay(
                checkout.owner, checkout.payment.id, submission
            )
        except errors.MissingParameter:
            return _redirect(page, token, method=method)
        except errors.PaymentNotPayable:
            return _redirect(page, token, "wait")
        except errors.InvalidField as refusal:
            if refusal.param != "phone" or method not in PHONE_METHODS:
                raise
            return _redirect(page, token, method=method, phone=views.shown_phone(phone or ""))
        return _redirect(page, token, _leaf_after_submit(payment))

    async def answer(self, request: Request, token: str) -> Response:
        """`POST /c/{token}/answer`: the customer's decision at the bank or on the phone."""
        page, checkout, form = await self._form(request, token)
        payment = checkout.payment
        try:
            answer = PhoneAnswer(form.get("answer", ""))
        except ValueError:
            raise errors.InvalidField("answer", "There is no such answer.") from None
        # After an earlier answer, or without a pending question, the page shows the present state.
        with suppress(errors.IllegalTransition):
            payment = await self._engine.customer.answer(checkout.owner, payment.id, answer)
        return _redirect(page, token, _leaf_after_submit(payment))

    async def cancel(self, request: Request, token: str) -> Response:
        """`POST /c/{token}/cancel`: cancel before a method was submitted."""
        page, checkout, _ = await self._form(request, token)
        try:
            await self._engine.customer.cancel(checkout.owner, checkout.payment.id)
        except errors.IllegalTransition:
            return _redirect(page, token)
        return _redirect(page, token, "cancelled")

    async def _open(self, request: Request, token: str) -> tuple[PageRequest, Checkout]:
        checkout = await self._checkouts.open(token)
        self._note_owner(request, checkout)
        return self._renderer.page_request(request), checkout

    def _note_owner(self, request: Request, checkout: Checkout) -> None:
        """Note whose payment it is, for the log."""
        request.scope[OWNER_OF_REQUEST] = checkout.owner

    async def _form(
        self, request: Request, token: str
    ) -> tuple[PageRequest, Checkout, dict[str, str]]:
        page, checkout = await self._open(request, token)
        check_origin(request.headers, public_url=checkout.payment.terms.checkout_url)
        form = await read_form(request)
        token_of_form = form.get(TOKEN_FIELD, "").encode()
        if not hmac.compare_digest(token_of_form, checkout.form_token.encode()):
            raise errors.ForbiddenOrigin("The form does not come from this checkout's page.")
        return page, checkout, form


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a form; the last of a repeated field counts.

    Raises UnsupportedContentType, RequestTooLarge, InvalidRequestBody.
    """
    _check_content_type(request.headers.get("content-type", ""))
    try:
        headers = dict(request.scope["headers"])
        text = (await read_body(headers, request.receive, MAX_FORM_BYTES)).decode()
        # Strict about percent-encoded bytes too: our pages send UTF-8.
        pairs = parse_qsl(
            text, keep_blank_values=True, errors="strict", max_num_fields=MAX_FORM_FIELDS
        )
    except ValueError:
        raise errors.InvalidRequestBody from None
    return dict(pairs)


def check_origin(headers: Mapping[str, str], *, public_url: str) -> None:
    """Refuse a form of another web site by its `Origin`, where the browser sends one.

    Behind a proxy, the origin of the checkout's public URL is accepted. Raises ForbiddenOrigin.
    """
    origin = headers.get("origin")
    scheme = (origin or "").partition("://")[0]
    ours = (authority(f"{scheme}://{headers.get('host', '')}"), authority(public_url))
    if origin is not None and (scheme not in _SCHEMES or authority(origin) not in ours):
        raise errors.ForbiddenOrigin("A web page of another origin may not pay.")


def _check_content_type(content_type: str) -> None:
    media_type, _, parameters = content_type.partition(";")
    charset = parameters.strip().lower().removeprefix("charset=").strip('"')
    if media_type.strip().lower() != _FORM_TYPE or charset not in ("", "utf-8", "utf8"):
        raise errors.UnsupportedContentType(f"Expected a form: {_FORM_TYPE} in UTF-8.")


def _redirect(page: PageRequest, token: str, leaf: str = "", **query: str) -> Response:
    return RedirectResponse(page.address(token, leaf, **query), SEE_OTHER)


def _leaf_after_submit(payment: Payment) -> str:
    if payment.status is Status.PENDING:
        return ""
    is_at_bank = payment.method == BANK_TRANSFER and payment.status is Status.PROCESSING
    return "bank" if is_at_bank else "wait"
