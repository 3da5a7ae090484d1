"""Runs the commands whose outputs are recorded, as a digest for each part of an output."""

import asyncio
import json
from collections import defaultdict
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.cli.processes import run
from tests.golden.exchanges import exchanges
from tests.golden.invalid_files import write_files

# Each output has a section, whose lines are the digests of its parts.
FILE = Path(__file__).with_name("recorded.txt")


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:12]


def document(*options: str) -> list[str]:
    """The digest of an OpenAPI document, and of each operation, component and other member."""
    ended = run("openapi", *options)
    assert (ended.returncode, ended.stderr) == (0, "")
    parts: dict[str, Any] = {}
    for member, value in json.loads(ended.stdout).items():
        if member == "paths":
            for path, item in value.items():
                parts |= {f"{name.upper()} {path}": part for name, part in item.items()}
        elif member == "components":
            for kind, components in value.items():
                parts |= {f"{kind} {name}": part for name, part in components.items()}
        else:
            parts[member] = value
    lines = [f"{digest(json.dumps(part))} {name}" for name, part in parts.items()]
    return [f"{digest(ended.stdout)} the document", *lines]


def checks() -> list[str]:
    """The digest of what `check` prints about each kind of place in the scenario files."""
    with TemporaryDirectory() as directory:
        write_files(Path(directory))
        ended = run("check", directory)
    assert (ended.returncode, ended.stderr) == (2, "")
    kinds: defaultdict[str, str] = defaultdict(str)
    for line in ended.stdout.replace(f"{directory}/", "").splitlines(keepends=True):
        kinds[line.partition(".yaml")[0].rpartition("-")[0]] += line
    return [f"{digest(lines)} {kind}" for kind, lines in kinds.items()]


def responses_of_v1() -> list[str]:
    """The digest of each response of `/v1`: its status, its headers without `Date`, its body."""

    async def lines() -> list[str]:
        return [
            f"{digest(in_usual_form(sent.decode('latin-1')))} {name}"
            async for name, sent in exchanges()
        ]

    return asyncio.run(lines())


OUTPUTS: dict[str, Callable[[], list[str]]] = {
    "openapi": document,
    "openapi --control": lambda: document("--control"),
    "check": checks,
    "/v1": responses_of_v1,
}


def in_usual_form(response: str) -> str:
    """A response with its headers in lower case and in order, and without those of the server."""
    head, _, body = response.partition("\r\n\r\n")
    status, *headers = head.split("\r\n")
    own = sorted(line.lower() for line in headers if not line.lower().startswith("date:"))
    return "\n".join([status.split(" ")[1], *own, body])


def recorded(section: str) -> list[str]:
    """The lines of a section of the file."""
    text = FILE.read_text(encoding="utf-8")
    return text.partition(f"[{section}]\n")[2].partition("\n\n")[0].splitlines()


def record() -> None:
    sections = ("\n".join([f"[{name}]", *output()]) for name, output in OUTPUTS.items())
    FILE.write_text("\n\n".join(sections) + "\n", encoding="utf-8")
