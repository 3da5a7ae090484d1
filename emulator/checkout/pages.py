"""What each page and each form of a checkout does: decode, one verb, a view or a redirect."""

import asyncio
from collections import Counter
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from emulator.checkout import views
from emulator.checkout.forms import check_origin, check_token, read_form
from emulator.checkout.rendering import Renderer, Visit
from emulator.domain.errors import (
    IllegalTransition,
    InvalidField,
    MissingParameter,
    PaymentNotPayable,
)
from emulator.domain.payment import Payment, Status
from emulator.domain.payment_methods import BANK_TRANSFER, PHONE_METHODS
from emulator.engine.payments.checkouts import Checkout, Checkouts
from emulator.engine.payments.customer import PhoneAnswer, Submission

SEE_OTHER = 303
WATCH_MS = 10_000
# A held request takes one of the six connections that a browser opens to a host; a page beyond
# that many asks again and again instead.
MAX_WAITING_REQUESTS = 3
AGAIN_MS = 150


class Pages:
    """The endpoints of `/c/{token}`. All raise UnknownCheckout and UnknownAccount.

    Those of forms raise ForbiddenOrigin and InvalidRequest, too.
    """

    def __init__(self, checkouts: Checkouts, renderer: Renderer) -> None:
        self._checkouts = checkouts
        self._renderer = renderer
        self._held: Counter[str] = Counter()

    async def show(self, request: Request, token: str) -> Response:
        """`GET /c/{token}`: the checkout opened afresh."""
        visit = self._renderer.visit(request)
        checkout = await self._checkouts.open(token)
        method = views.phone_method(checkout.payment, visit.query)
        numbers = await self._checkouts.test_numbers(checkout, method) if method else ()
        view = views.opened(checkout, asked=visit.query, numbers=numbers)
        return self._renderer.page(visit, view, checkout)

    async def follow(self, request: Request, token: str) -> Response:
        """`GET /c/{token}/wait`: where the customer is after the submit."""
        visit = self._renderer.visit(request)
        checkout = await self._checkouts.open(token)
        view = views.followed(checkout, asked=visit.query)
        if view is None:
            return _see(visit, token)
        return self._renderer.page(visit, view, checkout)

    async def bank(self, request: Request, token: str) -> Response:
        """`GET /c/{token}/bank`: the bank's simulated page, as often as it is opened."""
        visit = self._renderer.visit(request)
        checkout = await self._checkouts.open(token)
        view = views.at_bank(checkout)
        if view is None:
            return _see(visit, token, "wait")
        return self._renderer.page(visit, view, checkout)

    async def watch(self, request: Request, token: str) -> Response:
        """`GET /c/{token}/status?seen=…`: what a page that is open watches, in JSON.

        Answered as soon as it differs from what the page has seen, unless as many requests of the
        same machine are held already: then at once, and `again_ms` says when to come back. Raises
        NotReady, and ClientDisconnect once the page was left.
        """
        seen = request.query_params.get("seen", "")
        machine = "" if request.client is None else request.client.host
        holds = self._held[machine] < MAX_WAITING_REQUESTS
        self._held[machine] += holds
        try:
            timeout_ms = WATCH_MS if holds else 0
            changed = self._checkouts.changed(token, seen, timeout_ms=timeout_ms)
            checkout = await (_unless_left(request, changed) if holds else changed)
        finally:
            self._held[machine] -= holds
            if not self._held[machine]:
                del self._held[machine]
        return JSONResponse(
            {
                "status": checkout.payment.status,
                "moment": checkout.moment,
                "left_ms": views.left_ms(checkout),
                "is_flowing": checkout.is_flowing,
                "again_ms": 0 if holds else AGAIN_MS,
            }
        )

    async def leave(self, request: Request, token: str) -> Response:
        """`GET /c/{token}/cancelled`: on the way back to the merchant, nothing submitted.

        A page of its own, as Chromium applies `form-action` to what a POST redirects to.
        """
        visit = self._renderer.visit(request)
        checkout = await self._checkouts.open(token)
        if checkout.payment.status is not Status.PENDING:
            return _see(visit, token)
        return self._renderer.page(visit, views.leaving_cancelled(checkout.payment), checkout)

    async def pay(self, request: Request, token: str) -> Response:
        """`POST /c/{token}`: submit a method; with the method alone, go to its form."""
        visit = self._renderer.visit(request)
        checkout, form = await self._form(request, token)
        if checkout.payment.status is not Status.PENDING:
            return _see(visit, token, _leaf_after_submit(checkout.payment))
        method, phone, bank = form.get("method", ""), form.get("phone"), form.get("bank")
        try:
            payment = await self._checkouts.pay(
                checkout, Submission(method=method, phone=phone, bank=bank)
            )
        except MissingParameter:
            return _see(visit, token, method=method)
        except PaymentNotPayable:
            return _see(visit, token, "wait")
        except InvalidField as refusal:
            if refusal.param != "phone" or method not in PHONE_METHODS:
                raise
            wrong = views.wrong_phone(phone or "", method)
            return _see(visit, token, method=method, **wrong.query)
        return _see(visit, token, _leaf_after_submit(payment))

    async def answer(self, request: Request, token: str) -> Response:
        """`POST /c/{token}/answer`: what the customer decides at the bank, or on the phone."""
        visit = self._renderer.visit(request)
        checkout, form = await self._form(request, token)
        payment = checkout.payment
        try:
            answer = PhoneAnswer(form.get("answer", ""))
        except ValueError:
            raise InvalidField("answer", "There is no such answer.") from None
        # Where somebody else was first, or nobody is asked, the present state says so.
        with suppress(IllegalTransition):
            payment = await self._checkouts.answer(checkout, answer)
        return _see(visit, token, _leaf_after_submit(payment))

    async def cancel(self, request: Request, token: str) -> Response:
        """`POST /c/{token}/cancel`: leave before anything was submitted."""
        visit = self._renderer.visit(request)
        checkout, _ = await self._form(request, token)
        try:
            await self._checkouts.cancel(checkout)
        except IllegalTransition:
            return _see(visit, token)
        return _see(visit, token, "cancelled")

    async def _form(self, request: Request, token: str) -> tuple[Checkout, dict[str, str]]:
        checkout = await self._checkouts.open(token)
        check_origin(request.headers, public_url=checkout.payment.terms.checkout_url)
        form = await read_form(request)
        check_token(form, checkout.form_token)
        return checkout, form


def _see(visit: Visit, token: str, leaf: str = "", **query: str) -> Response:
    return RedirectResponse(visit.address(token, leaf, **query), SEE_OTHER)


async def _unless_left(request: Request, changed: Coroutine[Any, Any, Checkout]) -> Checkout:
    """What is waited for, given up when the client hangs up. Raises as it, and ClientDisconnect."""
    waiting = asyncio.create_task(changed)
    leaving = asyncio.create_task(_left(request))
    try:
        await asyncio.wait({waiting, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not waiting.done():
            raise ClientDisconnect
        return waiting.result()
    finally:
        for task in (waiting, leaving):
            task.cancel()
        await asyncio.gather(waiting, leaving, return_exceptions=True)


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _leaf_after_submit(payment: Payment) -> str:
    is_at_bank = payment.method == BANK_TRANSFER and payment.status is Status.PROCESSING
    return "bank" if is_at_bank else "wait"
