"""Reads scenario files again when they were edited (`--watch`)."""

from collections.abc import Sequence
from pathlib import Path

from emulator.scenarios.loader import Loaded, files_of_paths, read_paths
from emulator.scenarios.values import Scenario


class WatchedFiles:
    """The scenarios of files; of a file with a mistake, its last valid version."""

    def __init__(self, paths: Sequence[Path], methods: Sequence[str]) -> None:
        self._paths = paths
        self._methods = methods
        self._versions: dict[Path, tuple[int, int, int]] = {}
        self._valid: dict[Path, Scenario] = {}

    def read_edited(self) -> tuple[tuple[Scenario, ...], Loaded] | None:
        """The scenarios, and what was read; None if nothing has changed since the last call."""
        versions = {}
        for path in files_of_paths(self._paths, []):
            if path.is_file():
                status = path.stat()
                versions[path] = (status.st_mtime_ns, status.st_size, status.st_ino)
        if versions == self._versions:
            return None
        self._versions = versions
        loaded = read_paths(self._paths, methods=self._methods)
        names = {scenario.name for scenario in loaded.by_file.values() if scenario is not None}
        valid = {}
        for path, scenario in loaded.by_file.items():
            last = self._valid.get(path) if path in versions else None
            if last is not None and last.name in names:
                last = None
            if (current := scenario or last) is not None:
                valid[path] = current
        self._valid = valid
        return tuple(valid.values()), loaded
