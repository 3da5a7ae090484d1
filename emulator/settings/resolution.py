"""Resolves the settings: a flag, then a variable, then the configuration file, then the default."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from emulator.domain.payment_methods import METHODS
from emulator.settings.option_types import Form
from emulator.settings.options import OPTIONS, Option, OptionValue, SettingsError, option_named
from emulator.settings.values import STANDARD_WEBHOOKS, Settings

# What Kubernetes sets in every pod beside a Service with the name `emulator`.
_OF_KUBERNETES = ("SERVICE_", "PORT_")
_PREFIX = "EMULATOR_"


class OptionRule(NamedTuple):
    """A rule for several options; the message names the first given one of `options`."""

    options: tuple[str, ...]
    is_broken: Callable[[Settings], bool]
    problem: str | Callable[[], str]


def _is_unfit_for_standard(settings: Settings) -> bool:
    """Other forms are known when their files are read."""
    secret = settings.webhook_secret
    if secret is None or settings.webhook_format != STANDARD_WEBHOOKS:
        return False
    from emulator.domain.webhook_forms import SecretFormat

    return not SecretFormat.BASE64.accepts(secret)


def _unfit_secret() -> str:
    from emulator.domain.webhook_forms import SecretFormat

    return f"found a secret of another form, expected {SecretFormat.BASE64.expected}"


RULES = (
    OptionRule(
        options=("checkout-port", "port"),
        is_broken=lambda settings: settings.port == settings.checkout_port != 0,
        problem="found the same port for the API and the checkout pages, expected two ports",
    ),
    OptionRule(
        options=("tls-cert", "tls-key"),
        is_broken=lambda settings: (settings.tls_cert is None) != (settings.tls_key is None),
        problem="found one of --tls-cert and --tls-key, expected both",
    ),
    OptionRule(
        options=("methods",),
        is_broken=lambda settings: not settings.methods,
        problem="found no method, expected at least one",
    ),
    OptionRule(
        options=("methods",),
        is_broken=lambda settings: len(set(settings.methods)) < len(settings.methods),
        problem="found a method twice, expected each once",
    ),
    OptionRule(
        options=("webhook-secret",),
        is_broken=lambda settings: bool(settings.webhook_secret) and not settings.webhook_url,
        problem="found a secret without a webhook URL, expected --webhook-url too",
    ),
    OptionRule(
        options=("webhook-secret",), is_broken=_is_unfit_for_standard, problem=_unfit_secret
    ),
    OptionRule(
        options=("watch",),
        is_broken=lambda settings: settings.watch and not settings.scenarios,
        problem="found no scenario files to watch, expected --scenarios too",
    ),
)


def resolve(flags: Mapping[str, object], environ: Mapping[str, str]) -> Settings:
    """The settings of flags, variables and the configuration file.

    `flags` has the given values by the name of the option, with dashes or underscores; None and
    an empty tuple mean not given. Raises SettingsError, and KeyError for an unknown flag.
    """
    given = _from_variables(environ) | _from_flags(flags)
    config = given.get("config")
    if config is not None:
        from emulator.settings.config_file import read_config_file

        path = config.read()
        in_file = read_config_file(str(path), named_by=config.where, overridden=given)
        given = {**in_file, **given}
    # The table of options determines the types, which the type checker does not know.
    values: dict[str, Any] = {
        option.attribute: given[option.name].read() for option in OPTIONS if option.name in given
    }
    settings = Settings(**values)
    problems = [
        f"{next(given[name].where for name in rule.options if name in given)}: "
        f"{rule.problem if isinstance(rule.problem, str) else rule.problem()}"
        for rule in RULES
        if rule.is_broken(settings)
    ]
    if problems:
        raise SettingsError(*problems)
    return settings


def start_warnings(settings: Settings, environ: Mapping[str, str]) -> Iterator[str]:
    """Describes variables similar to those of options, insecure settings and unknown methods."""
    known = [option.variable.removeprefix(_PREFIX) for option in OPTIONS]
    for variable in environ:
        name = variable.removeprefix(_PREFIX)
        if name not in {variable, *known} and not name.startswith(_OF_KUBERNETES):
            from emulator.domain.message_text import nearest_word

            nearest = nearest_word(name, known)
            if nearest is not None:
                yield f"variable {variable} is unknown; the nearest option is {_PREFIX}{nearest}"
    if settings.webhook_insecure:
        yield "--webhook-insecure: the certificates of https webhook endpoints are not verified"
    for method in settings.methods:
        if method not in METHODS:
            from emulator.domain.message_text import nearest_word_hint

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
        if value and not _is_of_kubernetes(option, value):
            texts = _split(value) if option.is_repeatable else (value,)
            where = f"variable {option.variable}"
            given[option.name] = OptionValue(option=option, where=where, texts=texts)
    return given


def _is_of_kubernetes(option: Option, value: str) -> bool:
    # Kubernetes sets EMULATOR_PORT=tcp://10.0.0.1:80 in every pod beside a Service `emulator`.
    return option.variable.endswith("_PORT") and value.startswith("tcp://")


def _split(text: str) -> tuple[str, ...]:
    return tuple(entry.strip() for entry in text.split(","))
