"""Plays a recording in another world, independently of `replay`."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml
from hypothesis import strategies as st

from emulator.domain.durations import parse_duration_ms
from emulator.domain.instants import parse_clock, parse_instant
from emulator.domain.payment_methods import DEFAULT_METHODS
from emulator.scenarios.loader import parse_scenario
from emulator.settings import Settings
from tests.world import TEST_KEY, World, headers, world

# Later than any history begins: only how far things are apart may count.
ANOTHER_START = "frozen@2031-07-01T12:34:56Z"
# Texts that parsers may misread, and texts that people cannot read.
HOSTILE = (
    *("", " ", "yes", "No", "y", "null", "~", "0700", "1e3", "0x1F", "1_000", "12:30:45"),
    *("=", "<<", "2026-01-01", ".inf", "-", "- a", "a: b", "a #b", "#", "{a}", "[a]", "!a", "&a"),
    *("*a", "@a", " lead", "trail ", "tab\t", "line\nline", "\r\n", "\x00", "\x85", "\u2028"),
    *("\ufeff", "\ufffe", "it's", '"', "\\", "%", "?", "|", ">", "ሰላም ለዓለም", "👩🏽‍🚀"),
    *("\u202egnp.exe", "30s", "-1.5"),
)
TEXTS = st.sampled_from(HOSTILE) | st.text(max_size=20)


async def recorded(emulator: World, key: str = TEST_KEY) -> str:
    response = await emulator.control("GET", "/recording", key=key)
    assert response.status_code == 200, response.text
    return response.text


async def act(
    emulator: World, payment: dict[str, Any], action: str, key: str = TEST_KEY, **body: Any
) -> None:
    path = f"/payments/{payment['id']}/{action}"
    response = await emulator.control("POST", path, body or None, key)
    assert response.status_code == 200, response.text


@asynccontextmanager
async def replayed(
    text: str, directory: Path, methods: tuple[str, ...] = DEFAULT_METHODS
) -> AsyncIterator[World]:
    """A world in which a recording was played, each of its expectations held against it."""
    document = yaml.safe_load(text)
    script = document.pop("script")
    rules = directory / "rules.yaml"
    rules.write_text(json.dumps(document), encoding="utf-8")
    settings = Settings(
        clock=parse_clock(ANOTHER_START), seed=2, scenarios=(str(rules),), methods=methods
    )
    async with world(settings) as emulator:
        player = Player(emulator)
        for step in script:
            ((verb, argument),) = step.items()
            if verb in ("pay", "answer", "transition"):
                await player.call(verb, argument)
            else:
                await getattr(player, verb)(argument)
        yield emulator


class Player:
    """Does the steps of a script through the control API."""

    def __init__(self, emulator: World) -> None:
        self._emulator = emulator
        self._ids: dict[str, str] = {}

    async def create(self, argument: dict[str, Any]) -> None:
        name = argument.pop("as")
        self._ids[name] = (await self._emulator.create(**argument))["id"]

    async def advance(self, argument: str) -> None:
        await self._emulator.advance(parse_duration_ms(argument) / 1000)

    async def cancel(self, argument: dict[str, Any] | str) -> None:
        await self.call("cancel", {"payment": argument} if isinstance(argument, str) else argument)

    async def call(self, verb: str, argument: dict[str, Any]) -> None:
        payment = f"/payments/{self._ids[argument.pop('payment')]}"
        response = await self._emulator.control("POST", f"{payment}/{verb}", argument)
        assert response.status_code == 200, response.text

    async def expect(self, argument: dict[str, Any]) -> None:
        if "payment" not in argument:
            kinds = [kind for _, kind, *_ in await history(self._emulator) if kind]
            assert argument == {"events": kinds}
            return
        detail = await self._emulator.control(
            "GET", f"/payments/{self._ids[argument.pop('payment')]}"
        )
        seen = detail.json()
        seen = {
            **seen["payment"],
            "reason": seen["reason"],
            "events": [event["type"] for event in seen["timeline"] if event["type"]],
        }
        assert argument == {key: seen[key] for key in argument}


async def history(emulator: World, key: str = TEST_KEY) -> list[tuple[Any, ...]]:
    """All that can be seen of what happened: whose, what, how long after the first, how, why.

    The last failed attempts of payments, after which nothing happened, are at the end.
    """
    events = (await emulator.shown("/events?limit=1000", key=key))["data"][::-1]
    numbers: dict[str, int] = {}
    details: dict[str, list[dict[str, Any]]] = {}
    seen: list[tuple[Any, ...]] = []

    def see(number: int, entry: dict[str, Any]) -> None:
        after_ms = parse_instant(entry["at"]) - parse_instant(events[0]["timestamp"])
        seen.append((number, entry["type"], after_ms, entry["method"], entry["reason"]))

    for event in events:
        payment_id = event["data"]["id"]
        if payment_id not in numbers:
            numbers[payment_id] = len(numbers)
            detail = await emulator.control("GET", f"/payments/{payment_id}", key=key)
            details[payment_id] = detail.json()["timeline"]
        while details[payment_id][0]["type"] is None:
            see(numbers[payment_id], details[payment_id].pop(0))
        assert details[payment_id][0]["type"] == event["type"]
        see(numbers[payment_id], details[payment_id].pop(0))
    for payment_id, rest in details.items():
        for attempt in rest:
            assert attempt["type"] is None
            see(numbers[payment_id], attempt)
    return seen


async def payments(emulator: World, key: str = TEST_KEY) -> list[dict[str, Any]]:
    """What the merchant sees of each payment, but for ids, addresses and instants."""
    response = await emulator.api.get("/v1/payments?limit=100", headers=headers(key))
    return [
        {name: payment[name] for name in ("amount", "status", "method", "metadata")}
        | {"open_ms": parse_instant(payment["expires_at"]) - parse_instant(payment["created_at"])}
        for payment in response.json()["data"]
    ]


def parts(text: str) -> dict[str, Any]:
    """What a recording makes happen: all but what it says of where it is from."""
    document = yaml.safe_load(text)
    del document["description"]
    return dict(document)


async def check_replay(emulator: World, directory: Path, key: str = TEST_KEY) -> str:
    """Returns what was recorded."""
    text = await recorded(emulator, key)
    parse_scenario(text, "recording.yaml")
    async with replayed(text, directory) as again:
        assert await history(again) == await history(emulator, key)
        assert await payments(again) == await payments(emulator, key)
        assert parts(await recorded(again)) == parts(text)
    return text
