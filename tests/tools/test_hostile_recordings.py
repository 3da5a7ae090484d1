"""Whatever a recording contains, it is compared and imported, or refused with one line."""

import copy
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from emulator.domain.user_error import UserError
from emulator.domain.webhooks import STANDARD
from emulator.scenarios.loader import parse_scenario
from emulator.scenarios.webhook_form_file import webhook_form_json
from emulator.tools.recorded_traffic import read_traffic
from emulator.tools.traffic_import import import_traffic
from emulator.tools.verify.comparison import compare_recording
from tests.depth import usually
from tests.tools.recordings import Draws, Recorder, tour
from tests.world import TEST_KEY, world

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.sampled]

HOSTILE: tuple[Any, ...] = (
    *(None, True, -1, 0.5, 1e400, 10**30, "", "x", "\ud800", "\x1b[2J", [], {}, [[]], [{}]),
    *({"id": []}, {"id": {}}, {"data": None}, [None], "2026-01-01T00:00:00Z", "9999-12-31T00:00Z"),
)


def spoil(value: Any, draws: Draws, depth: int = 0) -> Any:
    """The value with something hostile at a random place."""
    if depth == 6 or not isinstance(value, dict | list) or not value or draws.below(6) == 0:
        return draws.one_of(HOSTILE)
    if isinstance(value, list):
        place = draws.below(len(value))
        return [*value[:place], spoil(value[place], draws, depth + 1), *value[place + 1 :]]
    name = draws.one_of(list(value))
    if draws.below(4) == 0:
        return {key: item for key, item in value.items() if key != name}
    return {**value, name: spoil(value[name], draws, depth + 1)}


def spoiled(har: dict[str, Any], draws: Draws) -> Any:
    har = copy.deepcopy(har)
    for entry in har["log"]["entries"]:
        content, sent = entry["response"]["content"], entry["request"].get("postData", {})
        for text in (content, sent):
            if "text" in text and draws.below(3) == 0:
                text["text"] = json.dumps(spoil(json.loads(text["text"]), draws))
    return spoil(har, draws) if draws.below(2) == 0 else har


@pytest.mark.parametrize("value", HOSTILE, ids=repr)
async def test_any_value_of_a_member_of_an_entry_can_be_read(value: Any, tmp_path: Path) -> None:
    entry: dict[str, Any] = {
        "startedDateTime": "2026-01-01T00:00:00Z",
        "time": 5,
        "request": {"method": "GET", "url": "https://service.example/v1/payments", "headers": []},
        "response": {"status": 200, "headers": [], "content": {"text": "{}", "size": 2}},
    }
    places = [
        (each, name) for each in (entry, *entry.values()) if isinstance(each, dict) for name in each
    ]
    for holder, name in places:
        before, holder[name] = holder[name], value
        path = tmp_path / "recording.har"
        path.write_text(json.dumps({"log": {"entries": [entry]}}))
        with suppress(UserError):
            read_traffic([path])
        holder[name] = before


@pytest.fixture(scope="module")
def har() -> dict[str, Any]:
    return {}


@pytest.mark.parametrize("seed", usually(range(5), deep=range(20)))
async def test_a_spoiled_recording_has_a_result_or_one_line(
    seed: int, har: dict[str, Any], tmp_path: Path
) -> None:
    if not har:
        async with world() as emulator:
            recorder = Recorder(emulator, TEST_KEY)
            await tour(recorder)
        har |= recorder.har()
    path = tmp_path / "recording.har"
    path.write_text(json.dumps(spoiled(har, Draws(seed))))
    with suppress(UserError):
        traffic = read_traffic([path])
        await compare_recording(traffic, base_url=None, key=None, accepted=frozenset())
    with suppress(UserError):
        form = webhook_form_json(STANDARD)
        [script] = import_traffic(read_traffic([path]), name="spoiled", keep=(), form=form)
        text = script.text
        parse_scenario(text, "spoiled.yaml")
