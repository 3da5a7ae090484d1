"""A recording with deliveries reproduces their order, repetitions and omissions in `replay`."""

from itertools import count, permutations
from pathlib import Path

import pytest
import yaml

from emulator.scenarios.loader import parse_scenario
from emulator.tools.replay.case_runner import play
from emulator.tools.replay.results import Case
from tests.server.engine.webhook_world import WebhookWorld, webhook_world
from tests.server.webhooks.receiver import Reply, replies
from tests.tools.replay.player import Player

pytestmark = pytest.mark.asyncio(loop_scope="session")

# Two cases with one name would have one key.
_NUMBERS = count(1)

TYPES = ("payment.created", "payment.processing", "payment.completed")

# The actions on the deliveries of `TYPES`, in order; the second word is the index of a type.
ACTS: dict[str, tuple[str, ...]] = {
    **{
        " ".join(map(str, order)): tuple(f"release {index}" for index in order)
        for order in permutations(range(3))
    },
    "drop": ("release 0", "drop 1", "release 2"),
    "drop all": ("drop 0", "drop 1", "drop 2"),
    "repeat": ("release 0", "release 1", "release 2", "resend 2"),
    "mixed": ("release 2", "resend 2", "drop 1", "release 0"),
}


async def act(hooks: WebhookWorld, *acts: str) -> None:
    """Pause, pay a payment, and act on its deliveries."""
    await hooks.emulator.control("PUT", "/deliveries/paused", {"paused": True})
    payment = await hooks.emulator.create()
    await hooks.pay(payment)
    deliveries = await hooks.deliveries(f"?payment={payment['id']}")
    for action, index in map(str.split, acts):
        path = f"/deliveries/{deliveries[int(index)]['id']}/{action}"
        assert (await hooks.emulator.control("POST", path)).status_code == 200


async def recorded(hooks: WebhookWorld) -> str:
    response = await hooks.emulator.control("GET", "/recording?deliveries=true")
    assert response.status_code == 200, response.text
    return response.text


async def replayed(player: Player, text: str) -> list[str]:
    """The webhooks that arrive in a replay, which has the expectations of the file."""
    path = Path("recording.yaml")
    text = text.replace("name: recording", f"name: recording-{next(_NUMBERS)}")
    case = Case(source=str(path), path=path, text=text, scenario=parse_scenario(text, str(path)))
    result = await play(case, player.context, lambda _: None)
    assert result.failure is None, (result.failure, text)
    assert result.trace is not None
    return [webhook.type for webhook in result.trace.webhooks]


@pytest.mark.parametrize("acts", ACTS.values(), ids=ACTS)
async def test_a_replay_delivers_in_the_recorded_order(
    player: Player, acts: tuple[str, ...]
) -> None:
    async with webhook_world() as hooks:
        await act(hooks, *acts)
        assert await replayed(player, await recorded(hooks)) == hooks.types


async def test_each_payment_has_its_own_order(player: Player) -> None:
    async with webhook_world() as hooks:
        for acts in (ACTS["0 1 2"], ACTS["0 2 1"], ACTS["drop"], ACTS["0 1 2"], ACTS["repeat"]):
            await act(hooks, *acts)
        assert await replayed(player, await recorded(hooks)) == hooks.types


async def test_a_late_retry_is_a_late_delivery(player: Player) -> None:
    async with webhook_world(replies(Reply(status=500), Reply())) as hooks:
        payment = await hooks.create()
        await hooks.pay(payment)
        await hooks.advance(5)
        assert hooks.types[1:] == [*TYPES[1:], TYPES[0]]
        assert await replayed(player, await recorded(hooks)) == hooks.types[1:]


async def test_a_usual_order_needs_no_rule() -> None:
    async with webhook_world() as hooks:
        await hooks.pay(await hooks.create())
        await hooks.settle()
        recording = yaml.safe_load(await recorded(hooks))
        assert "webhooks" not in recording
        assert recording["script"][-1] == {"expect": {"payment": "order", "webhooks": [*TYPES]}}
        response = await hooks.emulator.control("GET", "/recording?deliveries=yes")
        assert response.json()["error"]["code"] == "invalid_deliveries"
