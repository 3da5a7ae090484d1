"""Reads the files that the settings name: scenarios, and the form of webhooks.

What reads YAML takes 40 ms to import, and is imported when there is a file to read.
"""

import logging
from functools import cache
from typing import TYPE_CHECKING, Literal

from emulator.domain.user_error import UserError
from emulator.server.engine.state.rules import Origin
from emulator.settings import Settings, data_directory
from emulator.settings.options import STANDARD_WEBHOOKS

if TYPE_CHECKING:
    from emulator.domain.webhooks import WebhookForm
    from emulator.scenarios.values import Scenario

logger = logging.getLogger(__name__)
_OFF_AT_START = "\nenabled: false\n"


def read_settings_files(
    settings: Settings,
) -> "tuple[WebhookForm | None, tuple[Scenario, ...]]":
    """The form of webhooks, None for `standard`, and the scenarios, the newest first.

    Raises ScenarioError with every problem of every file, and UserError for the secret.
    """
    if settings.webhook_format == STANDARD_WEBHOOKS and not settings.scenarios:
        return None, ()
    from emulator.scenarios.entries import ScenarioError
    from emulator.scenarios.loader import method_warnings
    from emulator.scenarios.webhook_form_file import read_files_of_settings

    form, scenarios, problems = read_files_of_settings(settings.webhook_format, settings.scenarios)
    if problems:
        raise ScenarioError(problems)
    secret = settings.webhook_secret
    if form and secret and (problem := form.signature.secret_problem(secret)):
        expected = f"for --webhook-format {settings.webhook_format} {problem}"
        raise UserError(f"flag --webhook-secret: expected {expected}")
    for warning in method_warnings(scenarios, settings.methods):
        logger.warning("%s", warning)
    return form, tuple(scenarios[::-1])


def scenarios_in_force(
    given: "tuple[Scenario, ...]", shipped: Literal["all", "on", "none"]
) -> "tuple[tuple[Origin, Scenario], ...]":
    """The scenarios of the settings and the shipped ones, each with its origin."""
    if shipped == "none":
        return tuple((Origin.FILE, scenario) for scenario in given)
    from emulator.scenarios.loader import in_force

    named = {scenario.name for scenario in given}
    return tuple(
        (Origin.FILE if scenario.name in named else Origin.SHIPPED, scenario)
        for scenario in in_force(given, shipped_scenarios(only_on=shipped == "on"))
    )


@cache
def shipped_scenarios(*, only_on: bool = False) -> "tuple[Scenario, ...]":
    """The scenarios of the package, which have the lowest precedence, read on first use.

    Most are disabled at start, and read on request. A user enables one on purpose, so these come
    before those that are enabled at start.
    """
    from emulator.scenarios.loader import load_paths

    files = sorted(data_directory("scenarios").glob("*.yaml"))
    if only_on:
        files = [file for file in files if _OFF_AT_START not in file.read_text(encoding="utf-8")]
    return tuple(sorted(load_paths(files), key=lambda scenario: scenario.enabled))
