"""Serves the example shop as it is."""

import os

import uvicorn
from shop import Shop

PORT = int(os.environ["PORT"])
payments = (
    os.environ[f"PAYMENTS_EMULATOR_{name}"] for name in ("URL", "TEST_KEY", "WEBHOOK_SECRET")
)
uvicorn.run(Shop(f"http://127.0.0.1:{PORT}", *payments).app, port=PORT, log_level="error")
