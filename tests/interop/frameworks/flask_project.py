"""The application of the guide, with an address that has CSRF protection."""

from flask_webhooks import app


@app.post("/orders")
def orders() -> str:
    return "an order"
