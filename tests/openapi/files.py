"""Which file of the package holds which examples, and what makes them."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from tests.architecture.tools import PACKAGE
from tests.openapi.control import control_answers
from tests.openapi.examples import Example
from tests.openapi.v1 import v1_answers

FILES: Mapping[Path, Callable[[], Awaitable[dict[str, Example]]]] = {
    PACKAGE / "api" / "examples.json": v1_answers,
    PACKAGE / "control" / "examples.json": control_answers,
}
