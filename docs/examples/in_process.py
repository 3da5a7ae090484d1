import asyncio

import httpx

from emulator.server import create_app
from emulator.settings import resolve

ORDER = {
    "amount": 15000,
    "currency": "ETB",
    "methods": ["telebirr"],
    "success_url": "https://shop.example/thanks",
    "cancel_url": "https://shop.example/cart",
}


async def main():
    app = create_app(resolve({"clock": "frozen"}, {}))
    client = httpx.AsyncClient(
        transport=httpx.ASGITransport(app),
        base_url="http://127.0.0.1",
        headers={"Authorization": "Bearer test_demo_key"},
    )
    async with app.router.lifespan_context(app), client:
        payment = (await client.post("/v1/payments", json=ORDER)).json()
        page = await client.get(payment["checkout_url"])
        await client.post("/_emulator/clock/advance", json={"seconds": 1800})
        expired = (await client.get(f"/v1/payments/{payment['id']}")).json()
        print(page.status_code, expired["status"])


asyncio.run(main())
