"""The settings of `serve` as options of commands, and the settings of private emulators."""

from collections.abc import Callable, Mapping
from typing import Any

import click

from emulator.settings import OPTIONS, Option, Settings, resolve


def settings_options(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a command with these options of `serve`, in their order there, or with all."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(OPTIONS):
            if not names or option.name in names:
                command = _click_option(option)(command)
        return command

    return decorate


def _click_option(option: Option) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    default = f"  [default: {option.default_text}]" if option.default_text else ""
    if option.is_switch:
        return click.option(option.flag, is_flag=True, default=None, help=option.help)
    return click.option(
        option.flag,
        metavar=option.type.metavar,
        multiple=option.is_repeatable,
        help=option.help + default,
    )


def private_settings(flags: Mapping[str, object]) -> Settings:
    """The settings of these flags; the variables of `serve` do not apply. Raises UserError."""
    return resolve(flags, {})
