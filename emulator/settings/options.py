"""The one table of `serve`'s options, from which flags, variables and configuration keys come."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from enum import Enum, auto

from emulator.domain.instants import ClockSpec, format_clock, parse_clock
from emulator.settings import parsing
from emulator.settings.values import Settings


class Form(Enum):
    """What is given for an option: one value or several, and of which type in a YAML file."""

    TEXT = auto()
    INTEGER = auto()
    SWITCH = auto()
    """A flag without a value."""
    NAMES = auto()
    """A flag that may be repeated; commas separate, too."""
    PATHS = auto()
    """A flag that may be repeated; a comma in it is part of the path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option: `parse` reads one entry and `expected` says, in words, what it reads."""

    name: str
    parse: Callable[[str], object]
    expected: str
    help: str
    form: Form = Form.TEXT
    metavar: str | None = None
    is_secret: bool = False
    is_file_key: bool = True

    @property
    def field(self) -> str:
        """The name of the attribute of `Settings`, and of click's parameter."""
        return self.name.replace("-", "_")

    @property
    def flag(self) -> str:
        return f"--{self.name}"

    @property
    def variable(self) -> str:
        return f"EMULATOR_{self.field.upper()}"

    @property
    def is_switch(self) -> bool:
        return self.form is Form.SWITCH

    @property
    def is_repeatable(self) -> bool:
        return self.form in {Form.NAMES, Form.PATHS}

    @property
    def default(self) -> object:
        """The typed value when nothing is given."""
        return _DEFAULTS[self.field]

    @property
    def default_text(self) -> str | None:
        """The default as one would write it, None when the option is then off or empty."""
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

_PORT = "an integer from 0 to 65535"
_KEY = "and 4 to 128 letters, digits or _, not a key of the second account"

OPTIONS = (
    Option(
        name="host",
        parse=parsing.parse_host,
        expected="an IP address or a host name",
        metavar="ADDRESS",
        help="Address of both listeners.",
    ),
    Option(
        name="port",
        form=Form.INTEGER,
        parse=parsing.parse_port,
        expected=_PORT,
        metavar="PORT",
        help="Port of the API and the control API; 0 is any free port.",
    ),
    Option(
        name="checkout-port",
        form=Form.INTEGER,
        parse=parsing.parse_port,
        expected=_PORT,
        metavar="PORT",
        help="Port of the checkout pages; 0 is any free port.",
    ),
    Option(
        name="checkout-url",
        parse=parsing.parse_checkout_url,
        expected="an absolute http or https URL without query and fragment",
        metavar="URL",
        help="Public base URL of the checkout pages, when a container or proxy changes it; "
        "otherwise derived from host and port.",
    ),
    Option(
        name="database",
        parse=parsing.parse_path,
        expected="the path of a file, or :memory:",
        metavar="FILE",
        help="SQLite file that keeps the state across restarts.",
    ),
    Option(
        name="clock",
        parse=parse_clock,
        expected="real, frozen, or frozen@ and an instant from 1970 to 9988, such as"
        " frozen@2026-01-01T00:00:00Z",
        metavar="CLOCK",
        help="Business time: real, frozen (at the present instant) or frozen@2026-01-01T00:00:00Z.",
    ),
    Option(
        name="seed",
        form=Form.INTEGER,
        parse=parsing.parse_seed,
        expected="an integer of at most 64 bits",
        metavar="INTEGER",
        help="Seed that makes ids, tokens, secrets and random choices repeatable; "
        "otherwise random.",
    ),
    Option(
        name="methods",
        form=Form.NAMES,
        parse=parsing.parse_method,
        expected="a small letter followed by at most 39 small letters, digits or _",
        metavar="METHOD",
        help="Payment methods of the service; repeatable or comma-separated.",
    ),
    Option(
        name="scenarios",
        form=Form.PATHS,
        parse=parsing.parse_path,
        expected="the path of a file or directory",
        metavar="PATH",
        help="Scenario file, or directory of such files; repeatable.",
    ),
    Option(
        name="test-key",
        parse=parsing.parse_test_key,
        expected=f"test_ {_KEY}",
        metavar="KEY",
        is_secret=True,
        help="Test key of the first account.",
    ),
    Option(
        name="live-key",
        parse=parsing.parse_live_key,
        expected=f"live_ {_KEY}",
        metavar="KEY",
        is_secret=True,
        help="Live key of the first account; its payments are also simulated.",
    ),
    Option(
        name="auto-provision",
        form=Form.SWITCH,
        parse=parsing.parse_switch,
        expected="true or false",
        help="Create a new, empty account for each unknown well-formed test_ key.",
    ),
    Option(
        name="webhook-url",
        parse=parsing.parse_url,
        expected="an absolute http or https URL",
        metavar="URL",
        help="URL of a webhook endpoint to register for the first account, in both modes.",
    ),
    Option(
        name="webhook-secret",
        parse=parsing.parse_webhook_secret,
        expected="whsec_ and the base64 of 24 to 64 bytes",
        metavar="SECRET",
        is_secret=True,
        help="Secret of the endpoint of --webhook-url, whsec_ and base64; otherwise generated.",
    ),
    Option(
        name="allow-http-localhost",
        form=Form.SWITCH,
        parse=parsing.parse_switch,
        expected="true or false",
        help="Accept http:// redirect URLs on local names: IP loopback, a name without a dot, "
        "*.localhost, *.test, host.docker.internal, host.containers.internal.",
    ),
    Option(
        name="allowed-hosts",
        form=Form.NAMES,
        parse=parsing.parse_allowed_host,
        expected="a host name without scheme and port",
        metavar="HOST",
        help="Additional host names that the control API accepts in requests; "
        "repeatable or comma-separated.",
    ),
    Option(
        name="rate-limit",
        parse=parsing.parse_rate_limit,
        expected="1 to 1000000 requests per s or min, such as 100/s or 1000/min",
        metavar="LIMIT",
        help="Maximum request rate per account and mode, such as 100/s or 1000/min; "
        "otherwise unlimited.",
    ),
    Option(
        name="no-handset",
        form=Form.SWITCH,
        parse=parsing.parse_switch,
        expected="true or false",
        help="Hide the simulated handset beside the checkout page.",
    ),
    Option(
        name="strict",
        form=Form.SWITCH,
        parse=parsing.parse_switch,
        expected="true or false",
        help="Reject with 400 each request that is otherwise accepted with a warning.",
    ),
    Option(
        name="log-format",
        parse=parsing.parse_log_format,
        expected="text or json",
        metavar="FORMAT",
        help="Format of the request log: text or json, one line per request.",
    ),
    Option(
        name="config",
        parse=parsing.parse_path,
        expected="the path of a YAML file",
        metavar="FILE",
        is_file_key=False,
        help="YAML file with any of the other options, named as here without the leading dashes.",
    ),
)


def option_named(name: str, options: Iterable[Option] = OPTIONS) -> Option | None:
    """The option of a name, written with dashes or underscores."""
    return next((option for option in options if option.field == name.replace("-", "_")), None)
