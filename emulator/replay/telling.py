"""A step of a script in one line, much as it stands in its file."""

import json
import re

from emulator.scenarios.steps import Json, Repeat, Step
from emulator.scenarios.writing import step_json

LONGEST_TEXT = 110

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./:@?=&%+-]*(?<!:)", re.ASCII)
# What YAML takes for a boolean or for nothing.
_WORDS_OF_YAML = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})


def tell(step: Step) -> str:
    [(name, said)] = step_json(step).items()
    if isinstance(step, Repeat):
        said = {"times": step.times}
    text = f"{name}: {_flow(said)}"
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1]}…"


def name_of(step: Step) -> str:
    """What a step is called in a file."""
    [name] = step_json(step)
    return name


def _flow(value: Json) -> str:
    match value:
        case dict():
            return f"{{{', '.join(f'{key}: {_flow(one)}' for key, one in value.items())}}}"
        case list() | tuple():
            return f"[{', '.join(map(_flow, value))}]"
        case str() if _PLAIN.fullmatch(value) and value.lower() not in _WORDS_OF_YAML:
            return value
        case _:
            return json.dumps(value, ensure_ascii=False)
