"""A recorded history, imported and replayed, has the same events, statuses and webhooks."""

import json
from itertools import count
from pathlib import Path

import pytest

from emulator.domain.webhooks import STANDARD
from emulator.scenarios.loader import parse_scenario
from emulator.scenarios.runner.case_runner import play
from emulator.scenarios.runner.results import Case, CaseResult
from emulator.scenarios.webhook_form_file import webhook_form_json
from emulator.tools.recorded_traffic import read_traffic
from emulator.tools.traffic_import import ImportedScript, import_traffic
from tests.depth import usually
from tests.server.engine.webhook_world import webhook_world
from tests.tools.replay.player import Player
from tests.tools.traffic_import.lives import (
    ANOMALIES,
    DROP,
    NO_ANOMALIES,
    History,
    Life,
    history,
)
from tests.world import TEST_KEY

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.sampled]

FORM = webhook_form_json(STANDARD)
# Webhooks that arrived at one instant in another order than their events are a millisecond apart.
MAX_SHIFT_MS = 5
_NUMBERS = count(1)


def imported(*paths: Path) -> ImportedScript:
    name = f"imported-{next(_NUMBERS)}"
    [script] = import_traffic(read_traffic(paths), name=name, keep=(), form=FORM)
    return script


async def replayed(player: Player, text: str) -> CaseResult:
    path = Path("imported.yaml")
    case = Case(source=str(path), path=path, text=text, scenario=parse_scenario(text, str(path)))
    result = await play(case, player.context, lambda _: None)
    assert result.failure is None, (result.failure, text)
    return result


def untimed(events: History) -> list[list[str]]:
    return sorted([event_type for event_type, _ in of_payment] for of_payment in events)


def instants(webhooks: History) -> list[int]:
    return sorted(at for of_payment in webhooks for _, at in of_payment)


@pytest.mark.parametrize("seed", usually(range(1, 4, 2), deep=range(24)))
async def test_a_history_is_replayed_from_each_kind_of_file(
    player: Player, seed: int, tmp_path: Path
) -> None:
    anomalies = (NO_ANOMALIES, ANOMALIES, NO_ANOMALIES, (*ANOMALIES, DROP))[seed % 4]
    async with webhook_world() as hooks:
        life = Life(hooks, TEST_KEY, seed)
        await life.live(8, anomalies)
        webhooks, events = await life.webhooks(), await life.events()
    har, lines = tmp_path / "recording.har", tmp_path / "webhooks.jsonl"
    har.write_text(json.dumps(life.recorder.har()))
    lines.write_text("".join(f"{json.dumps(each)}\n" for each in webhooks))
    arrived = history((json.loads(each["body"]), each["at"]) for each in webhooks)
    for files in ((har,), (har, lines), (lines,)):
        if files == (lines,) and DROP in anomalies:
            continue
        text = imported(*files).text
        trace = (await replayed(player, text)).trace
        assert trace is not None
        played = history(
            ({"type": each.type, "data": {"id": each.payment}}, each.at) for each in trace.events
        )
        if lines in files:
            if DROP not in anomalies:
                assert played == events, text
            received = history((json.loads(each.body), each.at) for each in trace.webhooks)
            assert untimed(received) == untimed(arrived), text
            assert instants(received) == pytest.approx(instants(arrived), abs=MAX_SHIFT_MS), text
        assert untimed(played) == untimed(events), text
