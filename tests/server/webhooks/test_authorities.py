"""Webhooks to endpoints whose certificate is of a private authority, or of none."""

import asyncio
from pathlib import Path

from tests.cli.processes import serving
from tests.server.webhooks.receiver import SELF_SIGNED, receiving, self_signed


async def attempt(*options: str, logs: Path) -> tuple[int, str]:
    """The status of an attempt to a self-signed endpoint, and what was logged."""
    async with receiving(tls=self_signed()) as receiver:
        with serving("--webhook-url", receiver.url, *options, logs=logs) as server:
            await asyncio.to_thread(server.create)
            path = "/_emulator/deliveries/wait?event=payment.created"
            waited = (await asyncio.to_thread(server.request, "GET", path)).json
            return waited["delivery"]["attempts"][0]["status"], server.stderr


async def test_a_private_authority_of_an_endpoint_is_trusted(tmp_path: Path) -> None:
    status, log = await attempt("--webhook-ca", str(SELF_SIGNED), logs=tmp_path)
    assert status == 200
    assert "WARNING" not in log


async def test_without_verification_each_endpoint_is_trusted_with_a_warning(tmp_path: Path) -> None:
    status, log = await attempt("--webhook-insecure", logs=tmp_path)
    assert status == 200
    assert log.startswith(
        "WARNING --webhook-insecure: the certificates of https webhook endpoints are not verified\n"
    )
