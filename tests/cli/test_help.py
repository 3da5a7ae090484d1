"""The list of commands is printed without importing them."""

import click

from emulator.cli.commands import MODULES, cli
from tests.cli.processes import COMMAND, run


def test_each_listed_summary_begins_the_description_of_its_command() -> None:
    for name, (_, summary) in MODULES.items():
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        assert " ".join((command.help or "").split()).startswith(summary)


def test_help_imports_no_command() -> None:
    ended = run("--help", command=(COMMAND[0], "-X", "importtime", *COMMAND[1:]))
    for module in ("cli.replay", "cli.serve", "scenarios", "server.engine"):
        assert f"emulator.{module}" not in ended.stderr
    assert "  verify     Compare a service with the contract" in ended.stdout
