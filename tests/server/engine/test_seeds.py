"""The same seed, keys and requests give the same bytes (design 3)."""

from collections.abc import Awaitable, Callable
from typing import Any

from tests.world import LIVE_KEY, OTHER_TEST_KEY, TEST_KEY, World, headers, order, world

Others = Callable[[World], Awaitable[Any]]


async def nothing(emulator: World) -> None:
    """There are no other clients."""


async def busy_others(emulator: World) -> None:
    """Other accounts and the other mode do all kinds of things."""
    for key in (OTHER_TEST_KEY, LIVE_KEY, "test_passer_by"):
        payment = await emulator.create(key, idempotency_key="k")
        await emulator.api.get("/v1/nothing", headers=headers(key))
        body = {"method": "telebirr", "phone": "0911111111"}
        await emulator.control("POST", f"/payments/{payment['id']}/pay", body, key)
    await emulator.api.get("/nowhere")
    await emulator.api.get("/v1/payments")
    await emulator.advance(3600, OTHER_TEST_KEY)


async def run(emulator: World, others: Others, key: str = TEST_KEY) -> list[bytes]:
    """A merchant's day, as bytes: answers, ids of requests, events."""
    seen: list[bytes] = []

    async def ask(method: str, path: str, body: Any = None) -> Any:
        await others(emulator)
        response = await emulator.api.request(method, path, json=body, headers=headers(key))
        kept = [(name, value) for name, value in response.headers.raw if name != b"date"]
        seen.append(response.content + repr(kept).encode())
        return response.json()

    payment = await ask("POST", "/v1/payments", order(idempotency_key="k"))
    await ask("POST", "/v1/payments", order(idempotency_key="k"))
    await ask("POST", "/v1/payments", order(amount=1))
    path = f"/_emulator/payments/{payment['id']}"
    await ask("POST", f"{path}/pay", {"method": "telebirr", "phone": "0900000003"})
    await ask("POST", "/_emulator/clock/advance", {"seconds": 30})
    await ask("GET", f"/v1/payments/{payment['id']}")
    await ask("GET", "/v1/payments")
    events = await emulator.api.get("/_emulator/events", headers=headers(key))
    return [*seen, events.content]


async def test_requests_of_others_do_not_change_the_bytes() -> None:
    """Calls of the control API are excluded: all accounts share their Request-Ids."""
    everyone = {"auto_provision": True}
    async with world(**everyone) as alone, world(**everyone) as crowded:
        ours, theirs = await run(alone, nothing), await run(crowded, busy_others)
    assert [*ours[:3], *ours[5:]] == [*theirs[:3], *theirs[5:]]


async def test_earlier_accounts_do_not_change_the_bytes_of_a_new_one() -> None:
    """Design 3: tests that run in parallel each take a fresh account."""
    seen = []
    for before in ([], ["test_one_more", "test_another"]):
        async with world(auto_provision=True) as emulator:
            for key in before:
                await emulator.create(key)
            seen.append(await emulator.create("test_of_this_run"))
    assert seen[0] == seen[1]


async def test_each_seed_and_each_run_without_a_seed_give_other_ids() -> None:
    ids = set()
    seeds = (1, 2, None, None, None)
    for seed in seeds:
        async with world(seed=seed) as emulator:
            payment = await emulator.create()
            ids |= {payment["id"], payment["checkout_url"]}
            if seed is None:
                await emulator.control("POST", "/reset")
                ids.add((await emulator.create())["id"])
    assert len(ids) == 2 * len(seeds) + seeds.count(None)


async def test_two_accounts_never_collide() -> None:
    """Design 3: a stream of its own for each seed, key and mode."""
    seen: set[str] = set()
    count = 0
    async with world(auto_provision=True) as emulator:
        keys = [TEST_KEY, LIVE_KEY, OTHER_TEST_KEY, *(f"test_worker_{one}" for one in range(10))]
        for key in keys:
            for _ in range(10):
                payment = await emulator.create(key)
                seen |= {payment["id"], payment["checkout_url"]}
                count += 2
            events = (await emulator.shown("/events", key=key))["data"]
            seen |= {event["id"] for event in events}
            count += 10
    assert len(seen) == count


async def test_the_seed_of_an_account_overrides_the_programs_seed() -> None:
    """Design 10: `POST /accounts` takes a seed."""
    seen = []
    for seed in (1, 2):
        async with world(seed=seed) as emulator:
            wanted = {"test_key": "test_of_its_own", "live_key": "live_of_its_own", "seed": 7}
            created = await emulator.control("POST", "/accounts", wanted)
            assert created.status_code == 201, created.text
            seen.append(await emulator.create("test_of_its_own"))
    assert seen[0] == seen[1]
