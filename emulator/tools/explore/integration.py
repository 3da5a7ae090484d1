"""Holds an integration: how customers start orders, where their state is, where webhooks go."""

import re
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from emulator.domain.user_error import UserError
from emulator.http.addresses import host_and_port, is_loopback, with_host
from emulator.scenarios.values import Json
from emulator.tools.explore.histories import HistoryName
from emulator.tools.explore.response_value import Amount, Condition, Count, ResponseValue, Unit

VALUE_NAME = re.compile(r"\{([a-z][a-z0-9_]{0,39})\}", re.ASCII)
"""A name in braces in a request or command; it stands for a value of an earlier response."""

Keys = tuple[str, ...]
"""The way to a value of the file: keys of mappings, and indices of lists."""

Pairs = tuple[tuple[str, str], ...]
_VALUES = ("order", "payment", "checkout_url", "paid", "fulfilled", "closed", "refunded", "amount")


class FileMistake(UserError):
    """A value of the file does not fit the responses of the application."""

    def __init__(self, keys: Keys, message: str) -> None:
        super().__init__(message)
        self.keys = keys


class ShopCall(Struct, frozen=True, kw_only=True):
    """A request to the merchant's application, or a command; the texts may have `{order}`.

    Later calls may use the `values` of the response.
    """

    request: str | None = None
    command: str | None = None
    json: Json = None
    form: Pairs = ()
    headers: Pairs = ()
    values: tuple[tuple[str, ResponseValue], ...] = ()

    @property
    def found_values(self) -> dict[str, ResponseValue]:
        """What the response has, by name."""
        values = {name: getattr(self, name, None) for name in _VALUES}
        return {name: each for name, each in values.items() if each} | dict(self.values)

    @property
    def line(self) -> str:
        return self.request or self.command or ""

    @property
    def texts(self) -> str:
        """All that is sent, in which names may stand for values."""
        return repr((self.line, self.json, self.form, self.headers))

    @property
    def url(self) -> str:
        """The URL of the request, or an empty text."""
        return "" if self.request is None else self.request.partition(" ")[2]


class StartCall(ShopCall, frozen=True, kw_only=True):
    """A call of the customer who starts an order, and where its response has what others need."""

    order: ResponseValue | None = None
    payment: ResponseValue | None = None
    checkout_url: ResponseValue | None = None
    tamper: tuple[tuple[str, Json], ...] = ()
    """Members of the body that a dishonest customer replaces."""

    @property
    def tampered(self) -> "StartCall":
        """The call of a dishonest customer."""
        form = {**dict(self.form), **{name: str(value) for name, value in self.tamper}}
        if isinstance(self.json, dict):
            return replace(self, json={**self.json, **dict(self.tamper)})
        return replace(self, form=tuple(form.items())) if self.form else self


class Account(ShopCall, frozen=True, kw_only=True):
    """The call that reads a number beside the orders, which grows by what was paid.

    With `by`, it grows by this for each payment.
    """

    path: str | None = None
    match: str | None = None
    unit: Unit = Unit.CENTS
    by: int | None = None

    @property
    def value(self) -> Amount:
        return Amount(path=self.path, match=self.match, unit=self.unit)

    @property
    def is_common(self) -> bool:
        """Whether all orders have the same account."""
        return not VALUE_NAME.search(self.texts)


class State(ShopCall, frozen=True, kw_only=True):
    """The call that reads an order, and what its response means.

    `idle` is a request that is answered when the application's background work is done.
    """

    paid: Condition
    fulfilled: Count | None = None
    closed: Condition | None = None
    refunded: Condition | None = None
    amount: Amount | None = None
    once: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    within_ms: int
    idle: str | None = None

    @property
    def declared(self) -> dict[Keys, ResponseValue]:
        """What the file says about the state."""
        values: dict[Keys, ResponseValue]
        values = {("state", key, "path"): value for key, value in self.found_values.items()}
        for index, path in enumerate(self.once):
            values["state", "once", str(index)] = Count(path=path)
        return values

    @property
    def max_wait_ms(self) -> int:
        """How long to wait for an expected state."""
        return 0 if self.idle else self.within_ms


class Run(Struct, frozen=True, kw_only=True):
    """The command that runs the merchant's application, and the request that shows it is ready."""

    command: str
    ready: str | None = None
    durable: bool = False
    clock: bool = False


class Integration(Struct, frozen=True, kw_only=True):
    """A merchant's integration."""

    name: str
    start: tuple[StartCall, ...]
    state: State
    webhook: str | None = None
    return_to: str | None = None
    again: StartCall | None = None
    between: ShopCall | None = None
    account: Account | None = None
    settle: ShopCall | None = None
    unusual: bool = False
    run: Run | None = None
    history: HistoryName | None = None
    reference: HistoryName | None = None
    before: tuple[HistoryName, ...] = ()

    @property
    def start_line(self) -> str:
        """The calls that start an order, in words."""
        return self.start_line_after(0)

    def start_line_after(self, number: int) -> str:
        """The calls of `start` after the first ones, in words."""
        return ", ".join(call.line for call in self.start[number:])

    @property
    def customer_calls(self) -> int:
        """The number of first calls of `start` that only return values for later ones.

        Such a value may be the id of the customer.
        """
        for number, call in enumerate(self.start):
            users = (*self.start[number + 1 :], *filter(None, [self.account]))
            texts = "".join(each.texts for each in users)
            is_order = call.order or call.payment or call.checkout_url
            if is_order or not any(f"{{{name}}}" in texts for name in call.found_values):
                return number
        return 0

    @property
    def order(self) -> ResponseValue:
        """Where the id of an order is."""
        return next(call.order for call in self.start if call.order)

    @property
    def url(self) -> str:
        """A URL of the application; empty where it only has commands."""
        urls = (*(call.url for call in (*self.start, self.state)), self.webhook)
        return next((url for url in urls if url and not url.startswith("{")), "")

    def names(self, url: str) -> bool:
        """Whether the file names the host of a URL, which may have another name of this machine."""
        calls = (*self.start, self.state, self.settle, self.again, self.between, self.account)
        urls = (self.webhook or "", *(call.url for call in calls if call))
        return _host(url) in map(_host, urls)

    @property
    def settles_each(self) -> bool:
        """Whether the job is run for one order."""
        return self.settle is not None and "{order}" in self.settle.texts

    @property
    def keys(self) -> frozenset[str]:
        """What the file has, by keys; `payment` where a response identifies the payment."""
        given = {
            **{key: getattr(self, key) for key in ("webhook", "settle", "again", "between")},
            "return": self.return_to,
            "unusual": self.unusual,
            "durable": self.run is not None and self.run.durable,
            "tamper": any(call.tamper for call in self.start),
            "payment": any(call.payment or call.checkout_url for call in self.start),
            "common job": self.settle and not self.settles_each,
        }
        return frozenset(key for key, value in given.items() if value)


def _host(url: str) -> str:
    is_local = is_loopback(urlsplit(url).hostname or "")
    return host_and_port(with_host(url, "localhost") if is_local else url)
