"""What each page and each form of a checkout does: decode, one verb, a view or a redirect."""

from contextlib import suppress

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from emulator.checkout import views
from emulator.checkout.forms import check_origin, check_token, read_form
from emulator.checkout.rendering import Renderer
from emulator.domain.errors import (
    IllegalTransition,
    InvalidField,
    MissingParameter,
    PaymentNotPayable,
)
from emulator.domain.payment import PHONE_METHODS, Status
from emulator.engine.checkouts import Checkout, Checkouts
from emulator.engine.customer import Answer, Submission

SEE_OTHER = 303


class Pages:
    """The endpoints of `/c/{token}`. All raise UnknownCheckout and UnknownAccount.

    Those of forms raise ForbiddenOrigin and InvalidRequest, too.
    """

    def __init__(self, checkouts: Checkouts, renderer: Renderer) -> None:
        self._checkouts = checkouts
        self._renderer = renderer

    async def show(self, request: Request, token: str) -> Response:
        """`GET /c/{token}`: the checkout opened afresh."""
        checkout = await self._checkouts.open(token)
        view = views.opened(checkout, asked=request.query_params)
        return self._renderer.page(request, view, checkout)

    async def follow(self, request: Request, token: str) -> Response:
        """`GET /c/{token}/wait`: where the customer is after the submit."""
        checkout = await self._checkouts.open(token)
        view = views.followed(checkout)
        if view is None:
            return self._see(request, token)
        return self._renderer.page(request, view, checkout)

    async def leave(self, request: Request, token: str) -> Response:
        """`GET /c/{token}/cancelled`: on the way back to the merchant, nothing submitted.

        A page of its own, as Chromium applies `form-action` to what a POST redirects to.
        """
        checkout = await self._checkouts.open(token)
        if checkout.payment.status is not Status.PENDING:
            return self._see(request, token)
        return self._renderer.page(request, views.leaving_cancelled(checkout.payment), checkout)

    async def pay(self, request: Request, token: str) -> Response:
        """`POST /c/{token}`: submit a method; with the method alone, go to its form."""
        checkout, form = await self._form(request, token)
        if checkout.payment.status is not Status.PENDING:
            return self._see(request, token, "wait")
        method, phone, bank = form.get("method", ""), form.get("phone"), form.get("bank")
        try:
            await self._checkouts.pay(token, Submission(method=method, phone=phone, bank=bank))
        except MissingParameter:
            return self._see(request, token, method=method)
        except PaymentNotPayable:
            return self._see(request, token, "wait")
        except InvalidField as refusal:
            if refusal.param != "phone" or method not in PHONE_METHODS:
                raise
            wrong = views.wrong_phone(phone or "", method)
            return self._see(request, token, method=method, **wrong.query)
        return self._see(request, token, "wait")

    async def answer(self, request: Request, token: str) -> Response:
        """`POST /c/{token}/answer`: what the customer decides at the bank, or on the phone."""
        _, form = await self._form(request, token)
        try:
            answer = Answer(form.get("answer", ""))
        except ValueError:
            raise InvalidField("answer", "There is no such answer.") from None
        # Where somebody else was first, or nobody is asked, the present state says so.
        with suppress(IllegalTransition):
            await self._checkouts.answer(token, answer)
        return self._see(request, token, "wait")

    async def cancel(self, request: Request, token: str) -> Response:
        """`POST /c/{token}/cancel`: leave before anything was submitted."""
        await self._form(request, token)
        try:
            await self._checkouts.cancel(token)
        except IllegalTransition:
            return self._see(request, token)
        return self._see(request, token, "cancelled")

    async def _form(self, request: Request, token: str) -> tuple[Checkout, dict[str, str]]:
        checkout = await self._checkouts.open(token)
        check_origin(request.headers, public_url=checkout.payment.terms.checkout_url)
        form = await read_form(request)
        check_token(form, checkout.form_token)
        return checkout, form

    def _see(self, request: Request, token: str, leaf: str = "", **query: str) -> Response:
        address = self._renderer.visit(request).checkout(token, leaf, **query)
        return RedirectResponse(address, SEE_OTHER)
