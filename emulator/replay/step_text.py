"""A step of a script in one line, much as it stands in its file."""

import json
import re

from emulator.scenarios.steps import Json, List, Repeat, Step
from emulator.scenarios.writing import step_json

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./:@?=&%+-]*(?<!:)|[0-9.]+(?:ms|s|m|h|d)", re.ASCII)
_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}", re.ASCII)
# What YAML takes for a boolean or for nothing.
_WORDS_OF_YAML = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})


def step_text(step: Step) -> str:
    [(name, said)] = step_json(step).items()
    if isinstance(step, Repeat):
        said = {"times": step.times}
    elif isinstance(step, List):
        said = {key: _as_number(value) for key, value in said.items()}
    return f"{name}: {_flow(said)}"


def _as_number(value: str) -> str | int:
    """What a query says is all text; nobody writes a number in quotes there."""
    return int(value) if _NUMBER.fullmatch(value) else value


def name_of(step: Step) -> str:
    """What a step is called in a file."""
    [name] = step_json(step)
    return name


def _flow(value: Json) -> str:
    match value:
        case dict():
            return f"{{{', '.join(f'{_flow(key)}: {_flow(one)}' for key, one in value.items())}}}"
        case list() | tuple():
            return f"[{', '.join(map(_flow, value))}]"
        case str() if _PLAIN.fullmatch(value) and value.lower() not in _WORDS_OF_YAML:
            return value
        case _:
            return json.dumps(value, ensure_ascii=False)
