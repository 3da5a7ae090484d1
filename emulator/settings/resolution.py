"""Resolves the settings: a flag, then a variable, then the configuration file, then the default."""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from emulator.domain.message_text import nearest_word, nearest_word_hint
from emulator.domain.payment_methods import METHODS
from emulator.domain.user_error import UserError
from emulator.domain.webhooks import SecretFormat
from emulator.settings.option_types import IN_MEMORY, Form
from emulator.settings.options import (
    OPTIONS,
    STANDARD_WEBHOOKS,
    OptionValue,
    Settings,
    option_named,
)

# What Kubernetes sets in every pod beside a Service, such as `emulator` or `emulator-checkout`.
_OF_KUBERNETES = r"(?s).*(?:SERVICE_HOST|SERVICE_PORT(?:_.*)?|PORT_[0-9]+_(?:TCP|UDP|SCTP)(?:_.*)?)"
_PREFIX = "EMULATOR_"


class OptionRule(NamedTuple):
    """A rule for several options; the message names the first given one of `options`.

    It is not checked if one of them has a mistake of its own.
    """

    options: tuple[str, ...]
    is_broken: Callable[[Settings], bool]
    problem: str


def _is_unfit_for_standard(settings: Settings) -> bool:
    """Other forms are known when their files are read."""
    secret = settings.webhook_secret
    if secret is None or settings.webhook_format != STANDARD_WEBHOOKS:
        return False
    return not SecretFormat.BASE64.accepts(secret)


def _has_one_path_twice(settings: Settings) -> bool:
    files = [settings.clock_file, settings.ready_file]
    files += [None if settings.database == IN_MEMORY else settings.database]
    paths = [os.path.realpath(path) for path in files if path is not None]
    return len({*paths}) < len(paths)


RULES = (
    OptionRule(
        ("checkout-port", "port"),
        lambda settings: settings.port == settings.checkout_port != 0,
        "found the same port for the API and the checkout pages, expected two ports",
    ),
    OptionRule(
        ("tls-cert", "tls-key"),
        lambda settings: (settings.tls_cert is None) != (settings.tls_key is None),
        "found one of --tls-cert and --tls-key, expected both",
    ),
    OptionRule(
        ("methods",),
        lambda settings: not settings.methods,
        "found no method, expected at least one",
    ),
    OptionRule(
        ("methods",),
        lambda settings: len({*settings.methods}) < len(settings.methods),
        "found a method twice, expected each once",
    ),
    OptionRule(
        ("webhook-secret", "webhook-url"),
        lambda settings: bool(settings.webhook_secret) and not settings.webhook_url,
        "found a secret without a webhook URL, expected --webhook-url too",
    ),
    OptionRule(
        ("webhook-secret", "webhook-format"),
        _is_unfit_for_standard,
        f"found a secret of another form, expected {SecretFormat.BASE64.expected}",
    ),
    OptionRule(
        ("ready-file", "clock-file", "database"),
        _has_one_path_twice,
        "found the path of --clock-file, --ready-file or --database, expected another one",
    ),
    OptionRule(
        ("watch", "scenarios"),
        lambda settings: settings.watch and not settings.scenarios,
        "found no scenario files to watch, expected --scenarios too",
    ),
)


class WrongSettings(UserError):
    """All mistakes of the settings.

    `settings` are the others; the files that they name may have mistakes, too.
    """

    def __init__(self, *messages: str, settings: Settings) -> None:
        super().__init__(*messages)
        self.settings = settings


def resolve(flags: Mapping[str, object], environ: Mapping[str, str]) -> Settings:
    """The settings of flags, variables and the configuration file.

    `flags` has the given values by the name of the option, with dashes or underscores; None and
    an empty tuple mean not given. Raises WrongSettings, and KeyError for an unknown flag.
    """
    given = _from_variables(environ) | _from_flags(flags)
    config = given.get("config")
    problems: list[str] = []
    # The table of options determines the types, which the type checker does not know.
    values: dict[str, Any] = {}
    if config is not None:
        from emulator.settings.config_file import read_config_file

        with _noted(problems):
            path = values["config"] = config.read()
            in_file = read_config_file(str(path), named_by=config.where, overridden=given)
            given = {**in_file, **given}
    # An option of a file with mistakes may be wrong, too.
    wrong = {option.name for option in OPTIONS if problems and option.name not in given}
    for name, value in given.items():
        if value is not config:
            with _noted(problems):
                values[value.option.attribute] = value.read()
            if value.option.attribute not in values:
                wrong.add(name)
    settings = Settings(**values)
    problems += [
        f"{next(given[name].where for name in rule.options if name in given)}: {rule.problem}"
        for rule in RULES
        if wrong.isdisjoint(rule.options) and rule.is_broken(settings)
    ]
    if problems:
        raise WrongSettings(*problems, settings=settings)
    return settings


@contextmanager
def _noted(problems: list[str]) -> Iterator[None]:
    """Collect the mistakes in the block."""
    try:
        yield
    except UserError as error:
        problems += error.lines


def start_warnings(settings: Settings, environ: Mapping[str, str]) -> Iterator[str]:
    """Describes variables similar to options' variables, insecure settings and unknown methods."""
    known = [option.variable.removeprefix(_PREFIX) for option in OPTIONS]
    for variable, value in environ.items():
        name = variable.removeprefix(_PREFIX)
        if name in {variable, *known}:
            continue
        if not (re.fullmatch(_OF_KUBERNETES, name) or _is_address(name, value)):
            nearest = nearest_word(name, known)
            if nearest is not None:
                yield f"variable {variable} is unknown; the nearest option is {_PREFIX}{nearest}"
    if settings.webhook_insecure:
        yield "--webhook-insecure: the certificates of https webhook endpoints are not verified"
    for method in settings.methods:
        if method not in METHODS:
            hint = (
                nearest_word_hint(method, METHODS) or f" The known ones are {', '.join(METHODS)}."
            )
            yield f"--methods: the method {method!r} is unknown.{hint}"


def _from_flags(flags: Mapping[str, object]) -> dict[str, OptionValue]:
    given: dict[str, OptionValue] = {}
    for name, value in flags.items():
        option = option_named(name)
        if option is None:
            raise KeyError(name)
        if value is None or value == ():
            continue
        texts = tuple(map(str, value)) if isinstance(value, list | tuple) else (str(value),)
        if option.type.form is Form.NAMES:
            texts = tuple(entry for text in texts for entry in _split(text))
        given[option.name] = OptionValue(option=option, where=f"flag {option.flag}", texts=texts)
    return given


def _from_variables(environ: Mapping[str, str]) -> dict[str, OptionValue]:
    given: dict[str, OptionValue] = {}
    for option in OPTIONS:
        value = environ.get(option.variable, "")
        if value and not _is_address(option.variable, value):
            texts = _split(value) if option.is_repeatable else (value,)
            where = f"variable {option.variable}"
            given[option.name] = OptionValue(option=option, where=where, texts=texts)
    return given


def _is_address(variable: str, value: str) -> bool:
    # Kubernetes sets EMULATOR_PORT=tcp://10.0.0.1:80 in every pod beside a Service `emulator`.
    return variable.endswith("PORT") and value.startswith(("tcp://", "udp://", "sctp://"))


def _split(text: str) -> tuple[str, ...]:
    return tuple(entry.strip() for entry in text.split(","))
