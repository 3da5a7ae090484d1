"""A program that follows the guide for agents by its JSON finds, fixes and proves."""

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.processes import COMMAND, REPOSITORY, free_port, run_program
from tests.tools.explore.zoo.integration import integration
from tests.tools.explore.zoo.table import SHOPS, Shop

MAX_RUN_S = 200
NAMES = ("remembers-before-read", "ships-every-event", "ignores-failure")
_COMMAND = re.compile(r"^payments-emulator (explore .+)$", re.MULTILINE)


def run_emulator(directory: Path, *words: str) -> tuple[int, str]:
    """The exit code and the standard output of a command."""
    variables = {"PYTHONPATH": str(REPOSITORY)}
    command = (*COMMAND, *words)
    ended = run_program(*command, directory=directory, variables=variables, timeout_s=MAX_RUN_S)
    return ended.returncode, ended.stdout


def results(directory: Path, command: str, document: str) -> tuple[int, list[dict[str, Any]]]:
    """The exit code of a command of the guide, and the results that it wrote."""
    code, _ = run_emulator(directory, *shlex.split(command))
    return code, json.loads((directory / document).read_text(encoding="utf-8"))["results"]


def write_shop(shop: Shop, directory: Path, port: int) -> None:
    """Write the program of a shop, which the command in its integration runs."""
    command = integration(shop, directory, port)["run"]["command"]
    (directory / "shop.sh").write_text(command, encoding="utf-8")


def write_file(shop: Shop, directory: Path, port: int) -> None:
    """Write the file of the integration, which does not change with the program."""
    document = integration(shop, directory, port)
    document["run"]["command"] = "exec sh shop.sh"
    text = yaml.safe_dump(document, sort_keys=False)
    (directory / "integration.yaml").write_text(text, encoding="utf-8")


@pytest.mark.interop
@pytest.mark.parametrize("name", NAMES)
def test_a_shop_is_found_wrong_fixed_and_proved_by_json_alone(name: str, tmp_path: Path) -> None:
    shop = SHOPS[name]
    port = free_port()
    write_shop(shop, tmp_path, port)
    write_file(shop, tmp_path, port)
    _, guide = run_emulator(tmp_path, "helper", "agent")
    find, prove = _COMMAND.findall(guide)
    code, found = results(tmp_path, find, "found.json")
    [failed] = [each for each in found if each["result"] == "failed"]
    assert (code, failed["verdict"]) == (1, shop.verdict)
    assert "`" in failed["what_to_do"]
    write_shop(replace(shop, bug=""), tmp_path, port)
    prove = prove.replace("explore/SAVED.yaml", shlex.quote(failed["saved"]))
    code, proof = results(tmp_path, prove, "proof.json")
    assert (code, [each["result"] for each in proof]) == (0, ["fixed"])
