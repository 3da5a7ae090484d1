"""Reads scenario files again when they were edited (`--watch`)."""

from collections.abc import Sequence
from pathlib import Path

from emulator.scenarios.loader import files_of_paths, read_files
from emulator.scenarios.problems import Problem
from emulator.scenarios.values import Scenario


class WatchedFiles:
    """The scenarios of files; of a file with a mistake, its last valid version."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._versions: dict[Path, tuple[int, int, int]] = {}
        self._valid: dict[Path, Scenario] = {}

    def read_edited(self) -> tuple[tuple[Scenario, ...], list[Problem]] | None:
        """The scenarios and the problems; None if nothing has changed since the last call."""
        versions = {}
        for path in files_of_paths(self._paths, []):
            if path.is_file():
                status = path.stat()
                versions[path] = (status.st_mtime_ns, status.st_size, status.st_ino)
        if versions == self._versions:
            return None
        self._versions = versions
        by_file, problems = read_files(self._paths)
        names = {scenario.name for scenario in by_file.values() if scenario is not None}
        valid = {}
        for path, scenario in by_file.items():
            last = self._valid.get(path) if path in versions else None
            if last is not None and last.name in names:
                last = None
            if (current := scenario or last) is not None:
                valid[path] = current
        self._valid = valid
        return tuple(valid.values()), problems
