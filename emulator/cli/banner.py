"""Formats the text that `serve` prints at start: addresses, keys and test numbers."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from emulator import __version__
from emulator.domain.accounts import DEMO_LIVE_KEY, DEMO_TEST_KEY, VARY_OFF, mask_key
from emulator.domain.durations import duration_text
from emulator.domain.hosts import hide_url_secrets
from emulator.domain.instants import REAL_RATE, format_instant, rate_number
from emulator.domain.message_text import json_line
from emulator.scenarios.rules import designated_numbers
from emulator.server.app.application import Application
from emulator.server.engine.state.account import Account
from emulator.settings import IN_MEMORY, Settings
from emulator.settings.options import STANDARD_WEBHOOKS

_PUBLIC_KEYS = {DEMO_TEST_KEY, DEMO_LIVE_KEY}
_NAME_WIDTH = 11


class Fact(NamedTuple):
    """A line of the banner; in JSON it has the value, which is a fact without words."""

    name: str
    text: str
    value: object


def banner(app: Application) -> str:
    """The banner, or one line of JSON."""
    settings = app.settings
    account = app.engine.accounts.first
    title = f"ETB payments emulator {__version__}"
    addresses, keys = _addresses(settings), _keys(account)
    state = [*_state(account, settings), *_switched_on(settings), *_webhooks(account, settings)]
    numbers = designated_numbers(account.rules.scenarios, settings.methods)
    if settings.log_format == "json":
        lines = [*addresses, *keys, *state]
        members = {line.name.lower().replace(" ", "_"): line.value for line in lines}
        at_ms = app.engine.wall.system_ms()
        return json_line(at_ms, "info", title, **members, test_numbers=numbers) + "\n"
    numbered = _test_numbers(numbers, settings)
    blocks = [[title], _named(addresses), _named(keys), numbered, _named(state)]
    return "".join("\n".join(block) + "\n\n" for block in blocks if block)


def _named(lines: Iterable[Fact]) -> list[str]:
    return [f"  {name:<{_NAME_WIDTH}} {text}" for name, text, _ in lines]


def _addresses(settings: Settings) -> list[Fact]:
    api = settings.local_url(settings.port)
    checkout, public = settings.local_url(settings.checkout_port), settings.checkout_url
    pages = f"{public}  (listens at {checkout})" if public else checkout
    return [
        Fact("API", api, api),
        Fact("Checkout", pages, public or checkout),
        Fact("Control API", f"{api}/_emulator", f"{api}/_emulator"),
        Fact("Open", f"{api}/  in a browser", f"{api}/"),
    ]


def _keys(account: Account) -> list[Fact]:
    test_key, live_key = _shown(account.profile.test_key), _shown(account.profile.live_key)
    live = f"{live_key}  (its payments are also simulated)"
    return [Fact("Test key", test_key, test_key), Fact("Live key", live, live_key)]


def _shown(key: str) -> str:
    return key if key in _PUBLIC_KEYS else mask_key(key)


def _test_numbers(numbers: Mapping[str, Mapping[str, str]], settings: Settings) -> list[str]:
    """A line for each outcome, with the numbers of the methods."""
    if not numbers:
        return []
    used = {method for phones in numbers.values() for method in phones}
    methods = [method for method in settings.methods if method in used]
    width = max(map(len, numbers))

    def row(title: str, cells: Iterable[str]) -> str:
        return f"{title}  {'  '.join(f'{cell:<13}' for cell in cells)}".rstrip()

    rows = (
        row(f"    {outcome:<{width}}", [phones.get(method, "") for method in methods])
        for outcome, phones in numbers.items()
    )
    return [row(f"  {'Test numbers':<{width + 2}}", methods), *rows]


def _state(account: Account, settings: Settings) -> list[Fact]:
    """The state of the database, which can differ from the settings."""
    clock = account.clock
    now = format_instant(clock.now())
    rate = None if clock.is_frozen else rate_number(clock.rate_thousandths)
    if clock.is_frozen:
        clock_text = f"frozen at {now}"
    elif clock.rate_thousandths != REAL_RATE:
        clock_text = f"{now} and running at {rate} times the speed of real time"
    else:
        clock_text = f"{now} and running, not the real time" if clock.offset_ms else "real"
    variants = [] if settings.vary == VARY_OFF else [settings.vary]
    database = settings.database
    kept = "in memory, lost at the end" if database == IN_MEMORY else database
    return [
        Fact("Clock", clock_text, {"now": now, "frozen": clock.is_frozen, "rate": rate}),
        Fact("Seed", "random" if account.seed is None else str(account.seed), account.seed),
        *(Fact("Variants", vary, vary) for vary in variants),
        Fact("Database", kept, database),
    ]


def _webhooks(account: Account, settings: Settings) -> list[Fact]:
    """The endpoint of the settings, and its secret unless the user has set it."""
    given = (e for e in account.test.endpoints.values() if e.url == settings.webhook_url)
    endpoint = next(given, None)
    if endpoint is None:
        return []
    url, secret = hide_url_secrets(endpoint.url), None
    signed = "signed with the secret in the database"
    if settings.webhook_secret is None:
        secret, signed = endpoint.secret, f"secret {endpoint.secret}"
    elif endpoint.secret == settings.webhook_secret:
        signed = "signed with the given secret"
    return [Fact("Webhooks", f"{url}, {signed}", {"url": url, "secret": secret})]


def _switched_on(settings: Settings) -> list[Fact]:
    """The options that are not at their defaults; a value that is false is left out."""
    limit, form = settings.rate_limit, settings.webhook_format
    files = ", ".join(settings.scenarios)
    rate = limit and f"{limit.requests} requests in {duration_text(limit.period_ms)}"
    lines = [
        Fact("Scenarios", f"{files}, before the built-in ones", settings.scenarios),
        Fact("Format", f"{form}, of new webhook endpoints", form != STANDARD_WEBHOOKS and form),
        Fact("Strict", "refuses what is otherwise tolerated with a warning", settings.strict),
        Fact("Accounts", "an unknown test_ key becomes a new one", settings.auto_provision),
        Fact("Redirects", "http:// is accepted on local names", settings.allow_http_localhost),
        Fact("Rate limit", f"{rate}, per account and mode", limit and limit._asdict()),
    ]
    return [line for line in lines if line.value]
