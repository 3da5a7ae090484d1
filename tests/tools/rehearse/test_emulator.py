"""The emulators of a rehearsal: what distinguishes them from others, and what each costs."""

import sys
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from itertools import count
from types import FrameType

from emulator.cli.rehearse import _emulator
from emulator.cli.settings_options import private_settings
from emulator.clock import RealClock
from emulator.domain.webhooks import STANDARD
from emulator.http.addresses import BaseUrl
from emulator.http.client import EmulatorClient
from emulator.http.emulator_calls import (
    ADVANCE,
    CREATE_ACCOUNT,
    CREATE_ENDPOINT,
    CREATE_PAYMENT,
    TEST_KEY_VARIABLE,
    URL_VARIABLE,
    WEBHOOK_SECRET_VARIABLE,
)
from emulator.http.received_webhooks import WebhookReceiver
from emulator.scenarios.webhook_form_file import webhook_form_json
from emulator.tools.rehearse.rehearsal import Traffic
from emulator.tools.rehearse.variants import read_variants
from tests.world import order

# Of functions of the emulator; other tasks and libraries do not count.
MAX_CALLS = 1_000
FLAGS = {"port": 0, "checkout-port": 0}
VARIANTS = {variant.name: variant for variant in read_variants([])[0]}


async def test_each_emulator_has_its_own_address_and_secret() -> None:
    start = partial(_emulator, private_settings(FLAGS), None)
    async with start(Traffic()) as first, start(Traffic()) as second:
        assert first[URL_VARIABLE] != second[URL_VARIABLE]
        assert first[WEBHOOK_SECRET_VARIABLE] != second[WEBHOOK_SECRET_VARIABLE]
        assert first[TEST_KEY_VARIABLE] == second[TEST_KEY_VARIABLE] == "test_demo_key"


async def test_a_webhook_has_the_real_time_and_the_secret_of_the_variable() -> None:
    receiver = WebhookReceiver()
    received = []
    port = await receiver.listen("127.0.0.1")
    url = f"http://127.0.0.1:{port}{receiver.register(received.append)}"
    settings = private_settings({**FLAGS, "webhook-url": url, "clock": "frozen@2020-01-01T00:00Z"})
    async with _emulator(settings, None, Traffic()) as variables:
        client = EmulatorClient(
            BaseUrl.parse(variables[URL_VARIABLE]), key=variables[TEST_KEY_VARIABLE]
        )
        async with client:
            await client.call(CREATE_PAYMENT(body=order()))
            await client.call(ADVANCE(body={"seconds": 0}))
    await receiver.close()
    webhook = received[0].read(webhook_form_json(STANDARD))
    assert len(received) == 1
    assert webhook.is_signed_with(variables[WEBHOOK_SECRET_VARIABLE])
    assert webhook.is_recent(RealClock().system_ms() // 1_000)


async def test_a_variant_is_on_for_every_account() -> None:
    settings = private_settings(FLAGS)
    async with AsyncExitStack() as stack:
        emulator = _emulator(settings, VARIANTS["create-429"], Traffic())
        variables = await stack.enter_async_context(emulator)
        client = EmulatorClient(BaseUrl.parse(variables[URL_VARIABLE]))
        await stack.enter_async_context(client)
        account = await client.call(CREATE_ACCOUNT(body={}))
        for key in (variables[TEST_KEY_VARIABLE], account["test_key"]):
            owner = replace(client, key=key)
            assert (await owner.send(CREATE_PAYMENT(body=order()))).status == 429


async def test_the_traffic_has_the_requests_of_the_contract() -> None:
    traffic = Traffic()
    async with _emulator(private_settings(FLAGS), None, traffic) as variables:
        client = EmulatorClient(
            BaseUrl.parse(variables[URL_VARIABLE]), key=variables[TEST_KEY_VARIABLE]
        )
        async with client:
            await client.call(CREATE_ENDPOINT(body={"url": "http://127.0.0.1:9/"}))
            await client.call(CREATE_PAYMENT(body=order()))
    assert (traffic.api_requests, traffic.own_scenarios) == (1, 0)


async def test_an_emulator_costs_a_small_number_of_calls() -> None:
    settings, calls = private_settings(FLAGS), count()

    def observe(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_globals.get("__name__", "").startswith("emulator."):
            next(calls)

    async def start_and_end() -> None:
        async with _emulator(settings, VARIANTS["read-slow"], Traffic()):
            pass

    await start_and_end()  # The first one imports modules and reads files.
    usual = sys.getprofile()
    sys.setprofile(observe)
    try:
        await start_and_end()
    finally:
        sys.setprofile(usual)
    assert 0 < next(calls) < MAX_CALLS
