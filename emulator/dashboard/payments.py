"""The pages about payments: the list, and one payment as a story."""

from collections.abc import Mapping
from typing import Any

from emulator.dashboard.page_request import PageRequest

ROWS_PER_PAGE = "25"


async def payment_list(page: PageRequest) -> Mapping[str, Any]:
    """The newest payments that match the filters in the address."""
    listed = await page.get("/payments", limit=ROWS_PER_PAGE, **page.query)
    return {"payments": listed["data"], "next_cursor": listed["next_cursor"]}


async def payment_story(page: PageRequest) -> Mapping[str, Any]:
    """A payment with its timeline, its scheduled changes and its deliveries."""
    detail = await page.get(f"/payments/{page.item}")
    deliveries = await page.get("/deliveries", payment=detail["payment"]["id"])
    return {"detail": detail, "payment": detail["payment"], "deliveries": deliveries["data"]}
