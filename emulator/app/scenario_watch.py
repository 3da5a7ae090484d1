"""Reloads edited scenario files while the program runs (`--watch`)."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from emulator.clock import SystemClock, pause
from emulator.domain.errors import NotReady
from emulator.engine.engine import Engine
from emulator.engine.state.rules import LoadScenarios
from emulator.scenarios.loader import method_warnings
from emulator.scenarios.values import Scenario
from emulator.scenarios.watched_files import WatchedFiles
from emulator.settings import Settings
from emulator.storage.database import DatabaseLost

EVERY_MS = 500

logger = logging.getLogger(__name__)


async def watch_scenarios(
    settings: Settings,
    engine: Engine,
    wall: SystemClock,
    given: Sequence[Scenario],
    loader_of: Callable[[Sequence[Scenario]], LoadScenarios],
) -> None:
    """Compare the files twice a second, on another thread; the owner of the task cancels it.

    `given` are the scenarios in use, the newest first.
    """
    logger.setLevel(logging.INFO)
    files = WatchedFiles([Path(path) for path in settings.scenarios])
    while True:
        try:
            edited = await asyncio.to_thread(files.read_edited)
            if edited is not None:
                scenarios, problems = edited[0][::-1], edited[1]
                for problem in problems:
                    logger.error("%s", problem)
                if scenarios != tuple(given):
                    before = {scenario.name: scenario for scenario in given}
                    after = {scenario.name: scenario for scenario in scenarios}
                    names = [n for n in {**before, **after} if before.get(n) != after.get(n)]
                    await engine.scenarios.reload(
                        engine.accounts.all(), loader_of(scenarios), names
                    )
                    for warning in method_warnings(scenarios, settings.methods):
                        logger.warning("%s", warning)
                    logger.info("scenarios reloaded: %s", ", ".join(names))
                    given = scenarios
        except (NotReady, DatabaseLost):
            return
        except Exception:
            logger.exception("the scenario files could not be reloaded")
        await pause(wall, EVERY_MS)
