"""The running shop, with its own account at the payments emulator."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from threading import Thread

import httpx
import pytest
import uvicorn
from etb_payments_emulator_pytest import PaymentsAccount
from shop import Shop
from starlette.applications import Starlette


@pytest.fixture
def shop(payments_account: PaymentsAccount) -> Iterator[httpx.Client]:
    """A client of the shop, in place of a visitor's browser."""

    async def wait(seconds: float) -> None:
        """Wait by the account's clock, and so at once."""
        await asyncio.to_thread(payments_account.advance, seconds)

    with serving_shop(payments_account, wait) as browser:
        yield browser


@contextmanager
def serving_shop(
    account: PaymentsAccount, wait: Callable[[float], Awaitable[object]]
) -> Iterator[httpx.Client]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        webhooks = account.deliver_to(f"{url}/webhooks")
        shop = Shop(url, account.base_url, account.test_key, webhooks.secret, wait)
        with serving(shop.app, listener), httpx.Client(base_url=url) as browser:
            yield browser


@contextmanager
def serving(app: Starlette, listener: socket.socket) -> Iterator[None]:
    """Serve on a thread; connections wait until it is ready."""
    server = uvicorn.Server(uvicorn.Config(app, ws="none", log_level="warning"))
    thread = Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()
