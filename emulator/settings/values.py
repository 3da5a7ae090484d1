"""The settings of `serve` as typed values with their defaults."""

from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from emulator.domain.accounts import DEMO_LIVE_KEY, DEMO_TEST_KEY, VARY_OFF, RateLimit
from emulator.domain.hosts import is_ip_literal
from emulator.domain.instants import ClockKind, ClockSpec
from emulator.domain.payment_methods import DEFAULT_METHODS

IN_MEMORY = ":memory:"
# The name of the form of webhooks that is read from no file.
STANDARD_WEBHOOKS = "standard"
REAL_CLOCK = ClockSpec(kind=ClockKind.REAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings; port 0 is any free port, `seed` None a random seed.

    `resolve` validates the values; the constructor does not.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    checkout_port: int = 8081
    checkout_url: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    database: str = IN_MEMORY
    clock: ClockSpec = REAL_CLOCK
    clock_file: str | None = None
    seed: int | None = None
    methods: tuple[str, ...] = DEFAULT_METHODS
    scenarios: tuple[str, ...] = ()
    watch: bool = False
    test_key: str = field(default=DEMO_TEST_KEY, repr=False)
    live_key: str = field(default=DEMO_LIVE_KEY, repr=False)
    auto_provision: bool = False
    webhook_url: str | None = None
    webhook_secret: str | None = field(default=None, repr=False)
    webhook_format: str = STANDARD_WEBHOOKS
    webhook_ca: str | None = None
    webhook_insecure: bool = False
    allow_http_localhost: bool = False
    allowed_hosts: tuple[str, ...] = ()
    rate_limit: RateLimit | None = None
    no_handset: bool = False
    strict: bool = False
    vary: str = VARY_OFF
    log_format: str = "text"
    ready_file: str | None = None
    config: str | None = None

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


def data_directory(name: str) -> Path:
    """The directory `templates`, `scenarios` or `docs/guides`: in the wheel, or the repository."""
    package = Path(__file__).resolve().parents[1]
    packaged = package / "data" / name
    return packaged if packaged.is_dir() else package.parent / name
