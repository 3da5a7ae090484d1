"""Formats a step of a script in one line, in the form of a file."""

import json
import re

from emulator.scenarios.scenario_file import step_json
from emulator.scenarios.values import Json, List, Repeat, Step

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./:@?=&%+-]*(?<!:)|[0-9.]+(?:ms|s|m|h|d)", re.ASCII)
_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}", re.ASCII)
# YAML parses these as a Boolean or as null.
_YAML_KEYWORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})


def step_text(step: Step) -> str:
    [(name, content)] = step_json(step).items()
    if isinstance(step, Repeat):
        content = {"times": step.times}
    elif isinstance(step, List):
        content = {key: _unquoted_number(value) for key, value in content.items()}
    return f"{name}: {_flow(content)}"


def _unquoted_number(value: str) -> str | int:
    """A value of a query is always text; users write numbers there without quotes."""
    return int(value) if _NUMBER.fullmatch(value) else value


def step_name(step: Step) -> str:
    """The key of a step in a file."""
    [name] = step_json(step)
    return name


def _flow(value: Json) -> str:
    match value:
        case dict():
            members = ", ".join(f"{_flow(key)}: {_flow(item)}" for key, item in value.items())
            return f"{{{members}}}"
        case list() | tuple():
            return f"[{', '.join(map(_flow, value))}]"
        case str() if _PLAIN.fullmatch(value) and value.lower() not in _YAML_KEYWORDS:
            return value
        case _:
            return json.dumps(value, ensure_ascii=False)
