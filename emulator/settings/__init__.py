"""What `serve` can be told, by flag, by variable or by file, and how it is read."""

from emulator.settings.option_value import SettingsError
from emulator.settings.options import OPTIONS, Form, Option
from emulator.settings.parsing import parse_checkout_url, parse_url, parse_webhook_secret
from emulator.settings.resolution import resolve
from emulator.settings.values import (
    IN_MEMORY,
    Settings,
    data_directory,
)

__all__ = [
    "IN_MEMORY",
    "OPTIONS",
    "Form",
    "Option",
    "Settings",
    "SettingsError",
    "data_directory",
    "parse_checkout_url",
    "parse_url",
    "parse_webhook_secret",
    "resolve",
]
