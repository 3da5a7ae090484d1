"""Unexpected errors are pages without details."""

from types import SimpleNamespace
from typing import cast

import httpx
import pytest

from emulator.domain.errors import IllegalTransition, UnknownAccount
from emulator.server.checkout.app import CheckoutApp
from emulator.server.engine.engine import Engine
from emulator.server.engine.payments.checkouts import Checkout
from emulator.settings import Settings
from tests.server.api.raw_requests import RawRequest, send_raw
from tests.server.checkout.reading import Page
from tests.server.checkout.visiting import customer
from tests.world import CHECKOUT_PORT, World


class Failing:
    """Checkouts that cannot be opened."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def open(self, token: str) -> Checkout:  # noqa: ARG002
        raise self._error


@pytest.mark.parametrize(
    ("error", "status", "heading"),
    [
        (RuntimeError("secret detail"), 500, "Something went wrong."),
        (IllegalTransition("secret detail"), 409, "Something went wrong."),
        (UnknownAccount("secret detail"), 404, "We could not find this payment"),
    ],
)
async def test_an_unexpected_error_is_a_page_without_details(
    error: Exception, status: int, heading: str
) -> None:
    engine = SimpleNamespace(checkouts=Failing(error), settings=Settings())
    app = CheckoutApp(cast("Engine", engine), check_host=lambda _: None)
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as pages:
        page = Page(await pages.get("/c/token"))
    assert page.response.status_code == status
    assert page.heading == heading
    assert "secret detail" not in page.response.text


async def test_a_customer_who_disconnects_while_sending_changes_nothing(emulator: World) -> None:
    visitor = await customer(emulator)
    request = RawRequest(
        method="POST",
        path=visitor.path,
        headers=[(b"host", b"localhost"), (b"content-type", b"application/x-www-form-urlencoded")],
        chunks=(b"method=telebirr&",),
        is_whole=False,
        port=CHECKOUT_PORT,
    )
    assert (await send_raw(emulator, request)).status == 0
    assert await visitor.statuses() == ["pending"]
