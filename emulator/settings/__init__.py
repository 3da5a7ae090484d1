"""The settings of `serve`, from flags, variables and a file."""

from emulator.settings.option_types import IN_MEMORY, Form, parse_checkout_url
from emulator.settings.options import OPTIONS, Option, Settings, data_directory
from emulator.settings.resolution import WrongSettings, resolve, start_warnings

__all__ = [
    "IN_MEMORY",
    "OPTIONS",
    "Form",
    "Option",
    "Settings",
    "WrongSettings",
    "data_directory",
    "parse_checkout_url",
    "resolve",
    "start_warnings",
]
