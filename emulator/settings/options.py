"""The settings of `serve`: each is declared once, as the field of an option.

Flags, variables, keys of the file and their defaults follow from the fields.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple, TypeVar

from emulator.domain.accounts import (
    DEMO_LIVE_KEY,
    DEMO_TEST_KEY,
    VARY_OFF,
    RateLimit,
    mask_key,
    mask_keys,
)
from emulator.domain.hosts import is_ip_literal, public_part
from emulator.domain.instants import ClockKind, ClockSpec, format_clock
from emulator.domain.message_text import copied_ends
from emulator.domain.payment_methods import DEFAULT_METHODS
from emulator.domain.user_error import UserError
from emulator.settings import option_types as types
from emulator.settings.option_types import IN_MEMORY, Form, OptionType

MAX_SHOWN_CHARACTERS = 80
# The name of the form of webhooks that is read from no file.
STANDARD_WEBHOOKS = "standard"
REAL_CLOCK = ClockSpec(kind=ClockKind.REAL)


class Option(NamedTuple):
    """An option of `serve`."""

    name: str
    type: OptionType
    help: str
    default: object
    is_file_key: bool

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


T = TypeVar("T")


def _option(default: T, type_: OptionType, help_: str, *, is_file_key: bool = True) -> T:
    """The field of an option; its name is the name of the option."""
    option = {"type": type_, "help": help_, "is_file_key": is_file_key}
    return field(default=default, repr=not type_.is_secret, metadata=option)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings, one for each option; port 0 is any free port, `seed` None a random seed.

    `resolve` validates the values; the constructor does not.
    """

    host: str = _option("127.0.0.1", types.HOST, "Address of both listeners.")
    port: int = _option(
        8080, types.PORT, "Port of the API and the control API; 0 is any free port."
    )
    checkout_port: int = _option(
        8081, types.PORT, "Port of the checkout pages; 0 is any free port."
    )
    checkout_url: str | None = _option(
        None,
        types.CHECKOUT_URL,
        "Public base URL of the checkout pages, when a container or proxy changes it; "
        "otherwise derived from host and port.",
    )
    tls_cert: str | None = _option(
        None,
        types.PEM_FILE,
        "Certificate of both listeners, which then serve HTTPS; a PEM file, with --tls-key.",
    )
    tls_key: str | None = _option(
        None, types.PEM_FILE, "Key of that certificate, without a passphrase; a PEM file."
    )
    database: str = _option(
        IN_MEMORY, types.DATABASE, "SQLite file that keeps the state across restarts."
    )
    clock: ClockSpec = _option(
        REAL_CLOCK,
        types.CLOCK,
        "Business time: real, frozen (at the present instant), frozen@2026-01-01T00:00:00Z, or a "
        "rate: x60 runs sixty times as fast as real time.",
    )
    clock_file: str | None = _option(
        None,
        types.FILE,
        "File for libfaketime with the clock of the first account.",
    )
    seed: int | None = _option(
        None,
        types.SEED,
        "Seed of all random values; otherwise random.",
    )
    methods: tuple[str, ...] = _option(
        DEFAULT_METHODS,
        types.METHODS,
        "Payment methods of the service; repeatable or comma-separated.",
    )
    scenarios: tuple[str, ...] = _option(
        (), types.SCENARIO_PATHS, "Scenario file, or directory of such files; repeatable."
    )
    watch: bool = _option(False, types.SWITCH, "Reload the files of --scenarios when they change.")
    test_key: str = _option(DEMO_TEST_KEY, types.TEST_KEY, "Test key of the first account.")
    live_key: str = _option(DEMO_LIVE_KEY, types.LIVE_KEY, "Live key of the first account.")
    auto_provision: bool = _option(
        False, types.SWITCH, "Create a new, empty account for each unknown well-formed test_ key."
    )
    webhook_url: str | None = _option(
        None,
        types.URL,
        "URL of a webhook endpoint to register for the first account, in both modes.",
    )
    webhook_secret: str | None = _option(
        None,
        types.WEBHOOK_SECRET,
        "Secret of the endpoint of --webhook-url, in the form of --webhook-format; otherwise "
        "generated.",
    )
    webhook_format: str = _option(
        STANDARD_WEBHOOKS,
        types.WEBHOOK_FORMAT,
        "Form of webhooks: standard, timestamped-hex, hex-header, unsigned, form-fields, "
        "or a YAML file.",
    )
    webhook_ca: str | None = _option(
        None,
        types.PEM_FILE,
        "Certificates of further authorities for https webhook endpoints; a PEM file.",
    )
    webhook_insecure: bool = _option(
        False, types.SWITCH, "Do not verify the certificates of https webhook endpoints."
    )
    allow_http_localhost: bool = _option(
        False,
        types.SWITCH,
        "Accept http:// redirect URLs on local names: IP loopback, a name without a dot, "
        "*.localhost, *.test, host.docker.internal, host.containers.internal.",
    )
    allowed_hosts: tuple[str, ...] = _option(
        (),
        types.ALLOWED_HOSTS,
        "Additional host names that the control API accepts in requests; "
        "repeatable or comma-separated.",
    )
    rate_limit: RateLimit | None = _option(
        None,
        types.RATE_LIMIT,
        "Maximum request rate per account and mode, such as 100/s or 1000/min; "
        "otherwise unlimited.",
    )
    no_handset: bool = _option(
        False, types.SWITCH, "Hide the simulated handset beside the checkout page."
    )
    strict: bool = _option(
        False,
        types.SWITCH,
        "Reject with 400 each request that is otherwise accepted with a warning.",
    )
    vary: str = _option(
        VARY_OFF,
        types.VARY,
        "Other forms of responses and webhooks that the contract allows: names of variants, "
        "comma-separated, or a seed that chooses some for each response.",
    )
    log_format: str = _option(
        "text",
        types.LOG_FORMAT,
        "Format of the output: text or json, one line per request; json also for messages.",
    )
    ready_file: str | None = _option(
        None,
        types.FILE,
        "JSON file that is written when both listeners respond, and removed at exit: "
        "api, checkout, pid, test_key, version.",
    )
    config: str | None = _option(
        None,
        types.CONFIG_FILE,
        "YAML file with any of the other options, named as here without the leading dashes.",
        is_file_key=False,
    )

    @property
    def scheme(self) -> str:
        """The scheme of both listeners."""
        return "http" if self.tls_cert is None else "https"

    def local_url(self, port: int) -> str:
        """The address of a listener for a browser on this machine, without a trailing slash."""
        host = self.host
        if is_ip_literal(host):
            address = ip_address(host)
            host = f"[{address}]" if address.version == 6 else str(address)
            host = "localhost" if address.is_unspecified else host
        return f"{self.scheme}://{host}:{port}"

    @property
    def public_checkout_url(self) -> str:
        """The base of every `checkout_url`, without a trailing slash."""
        return self.checkout_url or self.local_url(self.checkout_port)


OPTIONS = tuple(
    Option(each.name.replace("_", "-"), default=each.default, **each.metadata)
    for each in fields(Settings)
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


def data_directory(name: str) -> Path:
    """The directory `templates`, `scenarios` or `docs/guides`: in the wheel, or the repository."""
    package = Path(__file__).resolve().parents[1]
    packaged = package / "data" / name
    return packaged if packaged.is_dir() else package.parent / name
