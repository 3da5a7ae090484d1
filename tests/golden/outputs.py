"""Runs the commands and calls whose outputs are recorded."""

import asyncio
import json
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.cli.processes import FREE_PORTS, run, serving
from tests.golden.invalid_files import write_files
from tests.world import START, World, headers, order, world

# Prints the modules that are loaded when the first request can be answered.
PRINT_MODULES = """
import os, signal, sys
from emulator.cli import commands

def announce(running):
    print("\\n".join(sorted(sys.modules)), flush=True)
    os.kill(os.getpid(), signal.SIGTERM)

commands._announce = announce
from emulator.cli import main
main()
"""
WRONG: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1.5,
    10**20,
    "",
    "unknown",
    [],
    [1],
    {},
    {"unknown": 1},
)


def path_of(name: str) -> Path:
    return Path(__file__).with_name("recorded") / name


def printed(*arguments: str) -> str:
    ended = run(*arguments)
    return f"{ended.stdout}{ended.stderr}exit code {ended.returncode}\n"


def helps() -> str:
    commands = re.findall(r"^  ([a-z][a-z-]*)  ", run("--help").stdout, re.MULTILINE)
    return "\n".join(
        f"$ {' '.join(command)}\n{printed(*command)}"
        for command in [("--help",), *((name, "--help") for name in commands)]
    )


def checks() -> str:
    with TemporaryDirectory() as directory:
        write_files(Path(directory))
        return printed("check", directory).replace(f"{directory}/", "")


def banner() -> str:
    with TemporaryDirectory() as directory:
        options = ("--seed", "1", "--clock", f"frozen@{START}", "--scenarios", "scenarios")
        with serving(*options, logs=Path(directory)) as server:
            ports = {str(server.api_port): "API_PORT", str(server.checkout_port): "PAGES_PORT"}
            return re.sub("|".join(ports), lambda found: ports[found[0]], server.banner)


@cache
def replayed() -> dict[str, str]:
    """The three outputs of one run; the JUnit file without the time that it took."""
    with TemporaryDirectory() as directory:
        junit, report = Path(directory, "junit.xml"), Path(directory, "report.html")
        files = ("--junit", str(junit), "--report", str(report))
        console = printed("replay", "scenarios", "tests/cases", "-v", *files)
        return {
            "console": console.replace(directory, ""),
            "junit": re.sub(r' time="[\d.]+"', "", junit.read_text(encoding="utf-8")),
            "report": report.read_text(encoding="utf-8"),
        }


def modules() -> str:
    ended = run("serve", *FREE_PORTS, command=(sys.executable, "-c", PRINT_MODULES))
    assert ended.returncode == 0, ended.stderr
    return "".join(
        f"{name}\n" for name in ended.stdout.split() if not name.startswith(("emulator", "_"))
    )


def recorded_file() -> str:
    return asyncio.run(_recorded_file())


async def _recorded_file() -> str:
    async with world() as emulator:
        await _live(emulator)
        response = await emulator.control("GET", "/recording")
        assert response.status_code == 200, response.text
        return response.text


async def _live(emulator: World) -> list[str]:
    """Each operation of the control API once or more; the ids of what there is in the end."""
    rule = {"when": {"event": "payment.completed"}, "then": {"copies": 2}}
    outcome = {"when": {"phone": "0911111111"}, "then": [{"status": "completed"}], "times": 2}
    fault = {"when": {"request": "list_payments", "nth": 1}, "then": {"status": 503}}
    scenario = {"version": 1, "name": "golden", "outcomes": [outcome], "webhooks": [rule]}
    await _change(emulator, "PUT", "/scenarios/golden", scenario)
    await _change(emulator, "POST", "/faults", fault)
    first = await emulator.create(metadata={"order": "1"}, idempotency_key="one")
    second = await emulator.create(amount=100, methods=["mpesa"])
    third = await emulator.create()
    pay = {"method": "telebirr", "phone": "0911111111"}
    await _change(emulator, "POST", f"/payments/{first['id']}/pay", pay)
    await emulator.advance(5)
    pay = {"method": "mpesa", "phone": "0700000003"}
    await _change(emulator, "POST", f"/payments/{second['id']}/pay", pay)
    await emulator.api.get("/v1/payments", headers=headers())
    await emulator.api.post("/v1/payments", json=order(currency="USD"), headers=headers())
    await _change(emulator, "POST", f"/payments/{third['id']}/transition", {"status": "expired"})
    await emulator.advance(3_600)
    await _change(emulator, "POST", f"/payments/{first['id']}/transition", {"status": "refunded"})
    await _change(emulator, "PUT", "/snapshots/golden")
    return [payment["id"] for payment in (first, second, third)]


async def _change(emulator: World, method: str, path: str, body: Any = None) -> None:
    response = await emulator.control(method, path, body)
    assert response.is_success, response.text


def control_responses() -> str:
    """The response to each wrong value of each member and parameter of the control API."""
    return asyncio.run(_control_responses())


async def _control_responses() -> str:
    lines = []
    async with world() as emulator:
        [payment_id, *_] = await _live(emulator)
        document = (await emulator.api.get("/_emulator/openapi/control")).json()
        names = {"payment_id": payment_id, "name": "golden"}
        for method, template, operation in _operations(document):
            path = re.sub(r"\{(\w+)\}", lambda found: names.get(found[1], "unknown"), template)
            for body in _bodies(operation, document):
                line = await _response(emulator, method, path, body)
                lines.append(line)
            for query in _queries(operation, document):
                line = await _response(emulator, method, f"{path}?{query}")
                lines.append(line)
            if method == "GET":
                lines.append(await _response(emulator, method, path))
    return "\n".join(lines) + "\n"


def _operations(document: Any) -> Iterator[tuple[str, str, Any]]:
    for path, methods in sorted(document["paths"].items()):
        for method, operation in sorted(methods.items()):
            if "/wait" not in path and method in {"get", "post", "put", "delete", "patch"}:
                yield method.upper(), path, operation


def _bodies(operation: Any, document: Any) -> Iterator[Any]:
    content = _resolved(operation.get("requestBody", {}), document).get("content", {})
    if "application/json" not in content:
        return
    schema = _resolved(content["application/json"]["schema"], document)
    yield from ([], 1, "text", {"unknown": 1})
    for part in schema.get("anyOf", schema.get("oneOf", [schema])):
        for name in sorted(_resolved(part, document).get("properties", {})):
            yield from ({name: wrong} for wrong in WRONG)


def _queries(operation: Any, document: Any) -> Iterator[str]:
    yield "unknown=1"
    parameters = [_resolved(one, document) for one in operation.get("parameters", [])]
    for parameter in sorted(parameters, key=lambda parameter: str(parameter["name"])):
        if parameter["in"] == "query":
            yield from (
                f"{parameter['name']}={value}" for value in ("", "0", "-1", "x", "1e9", "%00")
            )


def _resolved(part: Any, document: Any) -> Any:
    while "$ref" in part:
        found = document
        for name in part["$ref"].split("/")[1:]:
            found = found[name]
        part = found
    return part


async def _response(emulator: World, method: str, path: str, body: Any = None) -> str:
    path = path.removeprefix("/_emulator")
    response = await emulator.control(method, path, body)
    sent = "" if body is None else f" {json.dumps(body)}"
    return f"{method} {path}{sent}\n  {response.status_code} {response.text}"


OUTPUTS: dict[str, Callable[[], str]] = {
    "v1.json": lambda: printed("openapi"),
    "control.json": lambda: printed("openapi", "--control"),
    "schema.json": lambda: printed("schema"),
    "help.txt": helps,
    "check.txt": checks,
    "banner.txt": banner,
    "replay.txt": lambda: replayed()["console"],
    "replay.xml": lambda: replayed()["junit"],
    "replay.html": lambda: replayed()["report"],
    "recording.yaml": recorded_file,
    "control_responses.txt": control_responses,
    "modules.txt": modules,
}
