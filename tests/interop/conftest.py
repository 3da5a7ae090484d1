"""Marks the tests with other programs.

`python -m pytest -m interop`: it takes minutes, and needs the packages of `.ci/run`.
"""

from pathlib import Path

import pytest

_HERE = Path(__file__).parent
HANGS_AFTER_S = 900


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(_HERE):
            item.add_marker("interop")
            item.add_marker(pytest.mark.timeout(HANGS_AFTER_S))
