"""Resolves the settings of the private emulators of commands."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from emulator.cli.output import cli_error

if TYPE_CHECKING:
    from emulator.settings import Settings


def private_settings(flags: Mapping[str, object]) -> "Settings":
    """The settings of these flags; the variables of `serve` do not apply. Raises CliError."""
    from emulator.settings import SettingsError, resolve

    try:
        return resolve(flags, {})
    except SettingsError as error:
        cli_error(*error.lines)
