import os
from contextlib import asynccontextmanager

import aiosqlite
import httpx
from fastapi import FastAPI, Request, Response
from standardwebhooks import Webhook, WebhookVerificationError


@asynccontextmanager
async def lifespan(app):
    headers = {"Authorization": f"Bearer {os.environ['PAYMENTS_KEY']}"}
    async with (
        httpx.AsyncClient(base_url=os.environ["PAYMENTS_URL"], headers=headers) as payments,
        aiosqlite.connect(":memory:", isolation_level=None) as database,
    ):
        await database.execute("CREATE TABLE paid (payment TEXT PRIMARY KEY)")
        app.state.payments, app.state.database = payments, database
        yield


app = FastAPI(lifespan=lifespan)


@app.post("/orders")
async def order():
    body = {"amount": 15000, "currency": "ETB", "methods": ["telebirr"]}
    body |= {"success_url": "http://localhost:4000/ok", "cancel_url": "http://localhost:4000/cart"}
    return (await app.state.payments.post("/v1/payments", json=body)).json()


@app.get("/paid")
async def paid():
    async with app.state.database.execute("SELECT payment FROM paid") as rows:
        return [payment async for (payment,) in rows]


@app.post("/webhooks")
async def webhook(request: Request):
    try:
        library = Webhook(os.environ["WEBHOOK_SECRET"])
        event = library.verify(await request.body(), dict(request.headers))
    except WebhookVerificationError:
        return Response(status_code=400)
    payment = (await app.state.payments.get(f"/v1/payments/{event['data']['id']}")).json()
    if payment["status"] == "completed":
        await app.state.database.execute("INSERT OR IGNORE INTO paid VALUES (?)", (payment["id"],))
    return Response(status_code=204)
