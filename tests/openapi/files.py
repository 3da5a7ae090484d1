"""The files of examples, and the functions that record them."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from tests.architecture.tools import PACKAGE
from tests.openapi.control import control_examples
from tests.openapi.recorder import Example
from tests.openapi.v1 import v1_examples

FILES: Mapping[Path, Callable[[], Awaitable[dict[str, Example]]]] = {
    PACKAGE / "api" / "examples.json": v1_examples,
    PACKAGE / "control" / "examples.json": control_examples,
}
