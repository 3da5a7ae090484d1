"""Formats the text that `serve` prints at start: addresses, keys and test numbers."""

from collections.abc import Iterable, Iterator, Mapping

from emulator import __version__
from emulator.domain.accounts import DEMO_LIVE_KEY, DEMO_TEST_KEY, VARY_OFF, mask_key
from emulator.domain.durations import whole_duration_text
from emulator.domain.hosts import hide_url_secrets
from emulator.domain.instants import REAL_RATE, format_instant, rate_number
from emulator.server.app.composition import Running
from emulator.server.app.log import json_line
from emulator.server.engine.state.account import Account
from emulator.settings import IN_MEMORY, Settings
from emulator.settings.values import STANDARD_WEBHOOKS

_PUBLIC_KEYS = {DEMO_TEST_KEY, DEMO_LIVE_KEY}
_NAME_WIDTH = 11

Line = tuple[str, str]


def banner(running: Running) -> Iterator[str]:
    """The parts of the banner, or one line of JSON.

    The addresses and keys come first, because the shipped scenario files are read for the rest.
    """
    settings = running.settings
    account = running.engine.accounts.first
    title = f"ETB payments emulator {__version__}"
    addresses, keys = _addresses(running), _keys(account)
    is_json = settings.log_format == "json"
    if not is_json:
        yield _blocks([title], _named(addresses), _named(keys))
    from emulator.scenarios.rules import designated_numbers

    state = [*_state(account, settings), *_switched_on(settings), *_webhooks(account, settings)]
    numbers = designated_numbers(account.rules.scenarios, settings.methods)
    if is_json:
        lines = [*addresses, *keys, *state]
        members = {name.lower().replace(" ", "_"): text for name, text in lines}
        yield json_line("info", title, **members, test_numbers=numbers) + "\n"
    else:
        yield _blocks(_test_numbers(numbers, settings), _named(state))


def _blocks(*blocks: list[str]) -> str:
    return "".join("\n".join(block) + "\n\n" for block in blocks if block)


def _named(lines: Iterable[Line]) -> list[str]:
    return [f"  {name:<{_NAME_WIDTH}} {text}" for name, text in lines]


def _addresses(running: Running) -> list[Line]:
    settings = running.settings
    api = settings.local_url(running.api_port)
    checkout, public = settings.local_url(running.checkout_port), settings.checkout_url
    return [
        ("API", api),
        ("Checkout", f"{public}  (listens at {checkout})" if public else checkout),
        ("Control API", f"{api}/_emulator"),
        ("Open", f"{api}/  in a browser"),
    ]


def _keys(account: Account) -> list[Line]:
    profile = account.profile
    return [
        ("Test key", _shown(profile.test_key)),
        ("Live key", f"{_shown(profile.live_key)}  (its payments are also simulated)"),
    ]


def _shown(key: str) -> str:
    return key if key in _PUBLIC_KEYS else mask_key(key)


def _test_numbers(numbers: Mapping[str, Mapping[str, str]], settings: Settings) -> list[str]:
    """A line for each outcome, with the numbers of the methods."""
    if not numbers:
        return []
    methods = [
        method
        for method in settings.methods
        if any(method in phones for phones in numbers.values())
    ]
    width = max(map(len, numbers))
    head = "  ".join(f"{method:<13}" for method in methods)
    return [
        f"  {'Test numbers':<{width + 2}}  {head}".rstrip(),
        *(
            f"    {outcome:<{width}}  "
            + "  ".join(f"{phones.get(method, ''):<13}" for method in methods).rstrip()
            for outcome, phones in numbers.items()
        ),
    ]


def _state(account: Account, settings: Settings) -> list[Line]:
    """The state of the database, which can differ from the settings."""
    clock = account.clock
    now = format_instant(clock.now())
    if clock.is_frozen:
        clock_text = f"frozen at {now}"
    elif clock.rate_thousandths != REAL_RATE:
        rate = rate_number(clock.rate_thousandths)
        clock_text = f"{now} and running at {rate} times the speed of real time"
    else:
        clock_text = f"{now} and running, not the real time" if clock.offset_ms else "real"
    return [
        ("Clock", clock_text),
        ("Seed", "random" if account.seed is None else str(account.seed)),
        *([] if settings.vary == VARY_OFF else [("Variants", settings.vary)]),
        (
            "Database",
            "in memory, lost at the end" if settings.database == IN_MEMORY else settings.database,
        ),
    ]


def _webhooks(account: Account, settings: Settings) -> list[Line]:
    """The endpoint of the settings, and its secret unless the user has set it."""
    given = (e for e in account.test.endpoints.values() if e.url == settings.webhook_url)
    endpoint = next(given, None)
    if endpoint is None:
        return []
    signed = "signed with the secret in the database"
    if settings.webhook_secret is None:
        signed = f"secret {endpoint.secret}"
    elif endpoint.secret == settings.webhook_secret:
        signed = "signed with the given secret"
    return [("Webhooks", f"{hide_url_secrets(endpoint.url)}, {signed}")]


def _switched_on(settings: Settings) -> list[Line]:
    limit = settings.rate_limit
    lines = [
        (
            "Scenarios",
            f"{', '.join(settings.scenarios)}, before the built-in ones",
            settings.scenarios,
        ),
        (
            "Format",
            f"{settings.webhook_format}, of new webhook endpoints",
            settings.webhook_format != STANDARD_WEBHOOKS,
        ),
        ("Strict", "refuses what is otherwise tolerated with a warning", settings.strict),
        ("Accounts", "an unknown test_ key becomes a new one", settings.auto_provision),
        ("Redirects", "http:// is accepted on local names", settings.allow_http_localhost),
        (
            "Rate limit",
            limit
            and f"{limit.requests} requests in {whole_duration_text(limit.period_ms)},"
            " per account and mode",
            limit,
        ),
    ]
    return [(name, str(text)) for name, text, is_on in lines if is_on]
