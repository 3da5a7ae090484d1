import socket
from threading import Thread

import httpx
import pytest
import uvicorn
from shop_api import app


@pytest.fixture
def shop(payments, monkeypatch):
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    monkeypatch.setenv("WEBHOOK_SECRET", payments.deliver_to(f"{url}/webhooks").secret)
    server = uvicorn.Server(uvicorn.Config(app))
    thread = Thread(target=server.run, args=([listener],))
    thread.start()
    with httpx.Client(base_url=url) as client:
        yield client
    server.should_exit = True
    thread.join()


def test_an_order_is_paid(shop, payments):
    payment = shop.post("/orders").json()
    payments.pay(payment["id"])
    assert shop.get("/paid").json() == [payment["id"]]
