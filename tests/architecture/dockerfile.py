"""Parses the Dockerfile into stages and instructions, with continued lines joined."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.architecture.tools import REPOSITORY

DOCKERFILE = REPOSITORY / "Dockerfile"

_CONTINUED = re.compile(r"\\\n(?:[ \t]*#.*\n)*")
_COMMENT = re.compile(r"^[ \t]*#.*\n", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Instruction:
    name: str
    text: str

    @property
    def command(self) -> list[str]:
        """The command of an instruction without a shell. Raises ValueError where it has one."""
        _, _, command = self.text.rpartition("CMD ")
        return list(json.loads(command))


def stages() -> list[list[Instruction]]:
    """The instructions of each stage, from its FROM on; what stands before is left out."""
    found: list[list[Instruction]] = []
    for instruction in _instructions():
        if instruction.name == "FROM":
            found.append([])
        if found:
            found[-1].append(instruction)
    return found


def of_image(name: str) -> Instruction | None:
    """The instruction of that name that the image has in the end."""
    return next((one for one in reversed(stages()[-1]) if one.name == name), None)


def _instructions() -> Iterator[Instruction]:
    text = DOCKERFILE.read_text(encoding="utf-8")
    for line in _COMMENT.sub("", _CONTINUED.sub(" ", text)).splitlines():
        name, _, rest = line.strip().partition(" ")
        if name:
            yield Instruction(name=name, text=rest.strip())
