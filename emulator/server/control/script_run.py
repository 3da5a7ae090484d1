"""Plays the script of a scenario inside this process, in an account of its own."""

import asyncio
from pathlib import Path

import httpx
from starlette.types import ASGIApp, Receive, Scope, Send

from emulator.http import emulator_calls as calls
from emulator.http.addresses import BaseUrl
from emulator.http.client import EmulatorClient, HttpClient
from emulator.http.received_webhooks import WebhookReceiver
from emulator.scenarios.runner.case_runner import (
    ACCOUNT_SETTINGS,
    BEGIN,
    RunContext,
    expects_webhooks,
    play,
)
from emulator.scenarios.runner.results import Case, Failure, PlayedStep, text_of
from emulator.scenarios.values import Scenario
from emulator.server.api.layers import TRANSPORT
from emulator.server.engine.engine import Engine

MAX_RUN_MS = 60_000
_TOO_LONG = Failure(place=BEGIN, message=f"it has not ended after {MAX_RUN_MS // 1000} s")
_LOCALHOST = "127.0.0.1"


class _Connection(asyncio.Transport):
    """The connection of a request without a socket: a fault that cuts it fails the request."""

    def abort(self) -> None:
        raise httpx.RemoteProtocolError("the connection was cut")

    close = abort


async def run_script(
    app: ASGIApp, engine: Engine, scenario: Scenario, *, text: str
) -> tuple[str, list[PlayedStep], Failure | None]:
    """Play a script for at most MAX_RUN_MS of real time: the account, the steps and the failure.

    The account has no endpoints: their retries would be due before what the script advances to.
    The accounts of earlier runs of the scenario are deleted. Raises PaymentsEmulatorError without
    an account.
    """

    async def with_connection(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, TRANSPORT: _Connection()}, receive, send)

    http = HttpClient(transport=httpx.ASGITransport(with_connection))
    url = BaseUrl.parse(f"http://{_LOCALHOST}:{engine.settings.port}")
    wall = engine.wall
    async with EmulatorClient(url, http=http) as client, WebhookReceiver() as receiver:
        name = f"script of {scenario.name}"
        settings = {"name": name, **ACCOUNT_SETTINGS}
        account = await client.call(calls.CREATE_ACCOUNT(body=settings))
        # After the creation, so that the newest account remains after several runs at once.
        named = [each["id"] for each in await client.call(calls.ACCOUNTS) if each["name"] == name]
        # Newest first, and a newer run deletes this account.
        for earlier in named[named.index(account["id"]) + 1 :] if account["id"] in named else ():
            await client.send(calls.DELETE_ACCOUNT(earlier))
        if expects_webhooks(scenario.script):
            await receiver.listen(_LOCALHOST)
        context = RunContext(
            client=client,
            is_private=False,
            wall=wall,
            receiver=receiver,
            key=account["test_key"],
        )
        case = Case(source=scenario.name, path=Path(), text=text, scenario=scenario)
        played: list[PlayedStep] = []
        playing = asyncio.create_task(play(case, context, played.append))
        has_ended = asyncio.Event()
        playing.add_done_callback(lambda _: has_ended.set())
        try:
            await wall.wait(has_ended, until=wall.now_ms() + MAX_RUN_MS)
            failure = playing.result().failure if playing.done() else _TOO_LONG
        finally:
            playing.cancel()
            await asyncio.wait([playing])
        return account["id"], played, failure


def step_result(step: PlayedStep) -> str:
    """The outcome, or the failure with each difference."""
    if step.failure is None:
        return step.outcome or "as expected"
    differences = [
        f"{each.subject}: expected {text_of(each.expected)}, got {text_of(each.seen)}"
        for each in step.failure.mismatches
    ]
    return f"failed: {'; '.join(differences) or step.failure.message}"
