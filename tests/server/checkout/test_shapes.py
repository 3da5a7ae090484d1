"""The queries that a page costs."""

from tests.server.checkout.visiting import customer
from tests.world import World


async def test_a_page_reads_a_payment_and_its_timers_and_no_more(emulator: World) -> None:
    visitor = await customer(emulator)
    raw = emulator.app.engine.checkouts._database._raw
    for leaf in ("", "?method=telebirr", "?method=bank_transfer", "/status"):
        queries: list[str] = []
        raw.set_trace_callback(queries.append)
        response = await emulator.pages.get(visitor.path + leaf)
        raw.set_trace_callback(None)
        assert response.status_code == 200
        assert len(queries) == 2, (leaf, queries)
