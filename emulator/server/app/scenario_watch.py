"""Reloads edited scenario files while the program runs (`--watch`)."""

import asyncio
import logging
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from emulator.clock import pause
from emulator.domain.errors import NotReady
from emulator.scenarios.entries import Problem
from emulator.scenarios.loader import Forms, files_of_paths, method_warnings, read_files
from emulator.scenarios.values import Scenario
from emulator.server.app.settings_files import scenarios_in_force
from emulator.server.engine.engine import Engine
from emulator.server.storage.database import DatabaseLost

EVERY_MS = 500
_Scenarios = tuple[Scenario, ...]

logger = logging.getLogger(__name__)


async def watch_scenarios(engine: Engine, given: _Scenarios) -> None:
    """Compare the files twice a second, on another thread; the owner of the task cancels it.

    `given` are the scenarios in use, the newest first.
    """
    logger.setLevel(logging.INFO)
    settings, form = engine.settings, engine.config.webhook_form
    files = _WatchedFiles(
        [Path(path) for path in settings.scenarios], frozenset(() if form is None else (form,))
    )
    while True:
        try:
            edited = await asyncio.to_thread(files.read_edited)
            scenarios, problems = edited or (given, [])
            for problem in problems:
                logger.error("%s", problem)
            if scenarios != given:
                both = [scenario for scenario in given if scenario in scenarios]
                names = {each.name for each in (*given, *scenarios) if each not in both}
                load = partial(scenarios_in_force, scenarios)
                await engine.scenarios.reload(engine.accounts.all(), load, names)
                given = scenarios
                for warning in method_warnings(scenarios, settings.methods):
                    logger.warning("%s", warning)
                left = {each.name for each in scenarios}
                for change, listed in (("reloaded", names & left), ("removed", names - left)):
                    if listed:
                        logger.info("scenarios %s: %s", change, ", ".join(sorted(listed)))
        except (NotReady, DatabaseLost):
            return
        except Exception:
            logger.exception("the scenario files could not be reloaded")
        await pause(engine.wall, EVERY_MS)


class _WatchedFiles:
    """The scenarios of files; of a file with a mistake, its last valid version."""

    def __init__(self, paths: Sequence[Path], forms: Forms) -> None:
        self._paths = paths
        self._forms = forms
        self._versions: dict[Path, tuple[int, int, int]] = {}
        self._valid: dict[Path, Scenario] = {}

    def read_edited(self) -> tuple[_Scenarios, list[Problem]] | None:
        """The scenarios, the newest first, and the problems; None if no file has changed."""
        versions = {}
        for path in files_of_paths(self._paths, []):
            if path.is_file():
                status = path.stat()
                versions[path] = (status.st_mtime_ns, status.st_size, status.st_ino)
        if versions == self._versions:
            return None
        self._versions = versions
        by_file, problems = read_files(self._paths, self._forms)
        names = {scenario.name for scenario in by_file.values() if scenario is not None}
        for path in by_file.keys() & versions.keys() & self._valid.keys():
            if by_file[path] is None and self._valid[path].name not in names:
                by_file[path] = self._valid[path]
        self._valid = {path: scenario for path, scenario in by_file.items() if scenario is not None}
        return tuple(self._valid.values())[::-1], problems
