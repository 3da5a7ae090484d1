"""Pages that are rendered once for many requests."""

import asyncio

import pytest
from starlette.responses import Response

from emulator.domain.errors import UnknownPayment
from emulator.server.dashboard.shared_renders import MAX_STORED_PAGES, SharedRenders
from tests.server.dashboard import BROWSER, VIEW, texts
from tests.world import World


class Renders:
    """Renders that end when `ends` is set, numbered from 1; the clock is a number."""

    def __init__(self) -> None:
        self.now_ms = 0.0
        self.count = 0
        self.ends = asyncio.Event()
        self.shared = SharedRenders(lambda: self.now_ms)

    async def _render(self) -> Response:
        self.count += 1
        number = self.count
        await self.ends.wait()
        return Response(str(number))

    def request(self, *, since_ms: float | None = None, address: str = "a") -> asyncio.Task[str]:
        async def body() -> str:
            response = await self.shared.response(address, self._render, since_ms=since_ms)
            return bytes(response.body).decode()

        return asyncio.create_task(body())

    async def response(self, *, since_ms: float | None = None, address: str = "a") -> str:
        self.ends.set()
        return await self.request(since_ms=since_ms, address=address)


async def turns() -> None:
    """Let each task run until it waits."""
    for _ in range(5):
        await asyncio.create_task(_nothing())


async def _nothing() -> None: ...


async def test_requests_during_a_render_share_the_next_one() -> None:
    renders = Renders()
    first = renders.request()
    await turns()
    others = [renders.request() for _ in range(10)]
    await turns()
    assert renders.count == 1
    renders.ends.set()
    assert await first == "1"
    assert set(await asyncio.gather(*others)) == {"2"}
    assert await renders.response() == "3"


async def test_a_request_after_a_message_gets_a_page_that_was_rendered_since() -> None:
    renders = Renders()
    renders.now_ms = 10
    assert await renders.response(since_ms=5) == "1"
    assert await renders.response(since_ms=5) == "1"
    # A page of the same instant, or an older one, may lack what the message is about.
    assert await renders.response(since_ms=10) == "2"
    assert await renders.response() == "3"
    assert await renders.response(since_ms=5, address="b") == "4"


async def test_a_client_that_disconnects_does_not_cancel_the_render_of_the_others() -> None:
    renders = Renders()
    first, second, third = (renders.request() for _ in range(3))
    await turns()
    first.cancel()
    second.cancel()
    renders.ends.set()
    assert await third == "2"


async def test_a_failed_render_is_not_stored() -> None:
    renders = Renders()

    async def fail() -> Response:
        raise UnknownPayment("pay_1")

    with pytest.raises(UnknownPayment):
        await renders.shared.response("a", fail, since_ms=None)
    assert await renders.response(since_ms=-1) == "1"


async def test_the_number_of_stored_pages_is_limited() -> None:
    renders = Renders()
    renders.now_ms = 10
    for number in range(MAX_STORED_PAGES + 1):
        await renders.response(since_ms=5, address=str(number))
    assert await renders.response(since_ms=5, address="1") == "2"
    assert await renders.response(since_ms=5, address="0") == str(MAX_STORED_PAGES + 2)


@pytest.mark.parametrize(("since", "rows"), [("-1", 0), ("1e18", 1), ("x", 1), (None, 1)])
async def test_the_header_emulator_since_permits_an_older_page(
    emulator: World, since: str | None, rows: int
) -> None:
    async def shown(since: str | None) -> int:
        headers = {**BROWSER, **({"Emulator-Since": since} if since else {})}
        page = await emulator.api.get(f"{VIEW}/payments", headers=headers)
        return len(texts(page.text, "payment-row"))

    assert await shown(None) == 0
    await emulator.create()
    assert await shown(since) == rows
