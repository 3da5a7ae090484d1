"""The table of the options of `serve`, from which flags, variables and file keys are derived."""

from collections.abc import Iterable
from dataclasses import fields
from typing import NamedTuple

from emulator.domain.accounts import mask_key, mask_keys
from emulator.domain.hosts import public_part
from emulator.domain.instants import ClockSpec, format_clock
from emulator.domain.message_text import copied_ends
from emulator.domain.user_error import UserError
from emulator.settings import option_types as types
from emulator.settings.option_types import Form, OptionType
from emulator.settings.values import Settings

MAX_SHOWN_CHARACTERS = 80


class Option(NamedTuple):
    """An option of `serve`."""

    name: str
    type: OptionType
    help: str
    is_file_key: bool = True

    @property
    def attribute(self) -> str:
        """The attribute of `Settings`, and click's parameter."""
        return self.name.replace("-", "_")

    @property
    def flag(self) -> str:
        return f"--{self.name}"

    @property
    def variable(self) -> str:
        return f"EMULATOR_{self.attribute.upper()}"

    @property
    def is_switch(self) -> bool:
        return self.type.form is Form.SWITCH

    @property
    def is_repeatable(self) -> bool:
        return self.type.form in {Form.NAMES, Form.PATHS}

    @property
    def default(self) -> object:
        """The typed default."""
        return _DEFAULTS[self.attribute]

    @property
    def default_text(self) -> str | None:
        """The default as a text; None when the option is off or empty by default."""
        match self.default:
            case None | False | ():
                return None
            case ClockSpec() as clock:
                return format_clock(clock)
            case tuple() as entries:
                return ",".join(entries)
            case value:
                return str(value)


_DEFAULTS: dict[str, object] = {member.name: member.default for member in fields(Settings)}


OPTIONS = (
    Option("host", types.HOST, "Address of both listeners."),
    Option("port", types.PORT, "Port of the API and the control API; 0 is any free port."),
    Option("checkout-port", types.PORT, "Port of the checkout pages; 0 is any free port."),
    Option(
        "checkout-url",
        types.CHECKOUT_URL,
        "Public base URL of the checkout pages, when a container or proxy changes it; "
        "otherwise derived from host and port.",
    ),
    Option(
        "tls-cert",
        types.PEM_FILE,
        "Certificate of both listeners, which then serve HTTPS; a PEM file, with --tls-key.",
    ),
    Option("tls-key", types.PEM_FILE, "Key of that certificate, without a passphrase; a PEM file."),
    Option("database", types.DATABASE, "SQLite file that keeps the state across restarts."),
    Option(
        "clock",
        types.CLOCK,
        "Business time: real, frozen (at the present instant), frozen@2026-01-01T00:00:00Z, or a "
        "rate: x60 runs sixty times as fast as real time.",
    ),
    Option(
        "clock-file",
        types.FILE,
        "File with the clock of the first account for libfaketime, which gives the processes of a "
        "shop the same time.",
    ),
    Option(
        "seed",
        types.SEED,
        "Seed that makes ids, tokens, secrets and random choices repeatable; otherwise random.",
    ),
    Option(
        "methods", types.METHODS, "Payment methods of the service; repeatable or comma-separated."
    ),
    Option(
        "scenarios", types.SCENARIO_PATHS, "Scenario file, or directory of such files; repeatable."
    ),
    Option("watch", types.SWITCH, "Reload the files of --scenarios when they change."),
    Option("test-key", types.TEST_KEY, "Test key of the first account."),
    Option(
        "live-key",
        types.LIVE_KEY,
        "Live key of the first account; its payments are also simulated.",
    ),
    Option(
        "auto-provision",
        types.SWITCH,
        "Create a new, empty account for each unknown well-formed test_ key.",
    ),
    Option(
        "webhook-url",
        types.URL,
        "URL of a webhook endpoint to register for the first account, in both modes.",
    ),
    Option(
        "webhook-secret",
        types.WEBHOOK_SECRET,
        "Secret of the endpoint of --webhook-url, in the form of --webhook-format; otherwise "
        "generated.",
    ),
    Option(
        "webhook-format",
        types.WEBHOOK_FORMAT,
        "Form of webhooks: standard, timestamped-hex, hex-header, unsigned, form-fields, "
        "or a YAML file.",
    ),
    Option(
        "webhook-ca",
        types.PEM_FILE,
        "Certificates of further authorities for https webhook endpoints; a PEM file.",
    ),
    Option(
        "webhook-insecure",
        types.SWITCH,
        "Do not verify the certificates of https webhook endpoints.",
    ),
    Option(
        "allow-http-localhost",
        types.SWITCH,
        "Accept http:// redirect URLs on local names: IP loopback, a name without a dot, "
        "*.localhost, *.test, host.docker.internal, host.containers.internal.",
    ),
    Option(
        "allowed-hosts",
        types.ALLOWED_HOSTS,
        "Additional host names that the control API accepts in requests; "
        "repeatable or comma-separated.",
    ),
    Option(
        "rate-limit",
        types.RATE_LIMIT,
        "Maximum request rate per account and mode, such as 100/s or 1000/min; "
        "otherwise unlimited.",
    ),
    Option("no-handset", types.SWITCH, "Hide the simulated handset beside the checkout page."),
    Option(
        "strict",
        types.SWITCH,
        "Reject with 400 each request that is otherwise accepted with a warning.",
    ),
    Option(
        "vary",
        types.VARY,
        "Other forms of responses and webhooks that the contract allows: names of variants, "
        "comma-separated, or a seed that chooses some for each response.",
    ),
    Option(
        "log-format",
        types.LOG_FORMAT,
        "Format of the output: text or json, one line per request; json also for messages.",
    ),
    Option(
        "ready-file",
        types.FILE,
        "JSON file that is written when both listeners respond, and removed at exit: "
        "api, checkout, pid, test_key, version.",
    ),
    Option(
        "config",
        types.CONFIG_FILE,
        "YAML file with any of the other options, named as here without the leading dashes.",
        is_file_key=False,
    ),
)


class OptionValue(NamedTuple):
    """The texts for an option from one source; a repeatable option may have several."""

    option: Option
    where: str
    texts: tuple[str, ...]

    def read(self) -> object:
        """The typed value. Raises UserError with every mistake."""
        entries: list[object] = []
        problems: list[str] = []
        for text in self.texts:
            try:
                entries.append(self.option.type.parse(text))
            except ValueError as error:
                found = show(getattr(error, "found", text), self.option)
                expected = getattr(error, "expected", self.option.type.expected)
                expected += copied_ends(text) if self.option.type.is_secret else ""
                problems += wrong(self.where, found, expected).lines
        if problems:
            raise UserError(*problems)
        return tuple(entries) if self.option.is_repeatable else entries[0]


def show(text: str, option: Option) -> str:
    """A text for a message: shortened, and without what may be secret."""
    if option.type.is_secret:
        return repr(mask_key(text))
    text = public_part(text) if option.type.metavar == "URL" else mask_keys(text, lambda _: False)
    return repr(text if len(text) <= MAX_SHOWN_CHARACTERS else f"{text[:MAX_SHOWN_CHARACTERS]}…")


def wrong(where: str, found: str, expected: str) -> UserError:
    return UserError(f"{where}: found {found}, expected {expected}")


def option_named(name: str, options: Iterable[Option] = OPTIONS) -> Option | None:
    """The option with a name, written with dashes or underscores."""
    return next((option for option in options if option.attribute == name.replace("-", "_")), None)
