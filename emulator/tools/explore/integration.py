"""Declares the file of an integration: its keys, its JSON Schema, and how it is read and written.

The file says how a customer starts an order in the merchant's application, where the state of the
order is, and where the application receives webhooks.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from emulator.domain.hosts import ACCEPTED_URL
from emulator.files.yaml_tree import read_file_text, read_tree
from emulator.http.addresses import is_web_url
from emulator.scenarios.entries import Entry, FileContext, read_text
from emulator.scenarios.kinds import (
    Boolean,
    Duration,
    JsonSchema,
    JsonValue,
    Kind,
    ListOf,
    Text,
    TextPairs,
    Word,
)
from emulator.scenarios.loader import unreadable
from emulator.scenarios.mappings import Key, KeyRule, MappingOf, Members
from emulator.scenarios.problems import ScenarioError
from emulator.scenarios.scenario_file import NAME_FORM, NAME_PATTERN, VERSION_KEY
from emulator.scenarios.values import Json
from emulator.tools.explore.anomalies import parse_anomaly
from emulator.tools.explore.histories import HistoryName
from emulator.tools.explore.json_path import JSON_PATH, JsonPath
from emulator.tools.explore.steps import Outcome

ORDER = "{order}"
_NO_VALUES = "in must have a value or more, or the condition is never true"
_EXPECTED = "a method and an absolute URL, such as"
_HOST = " http://127.0.0.1:3000"
_URL = re.compile(r"https?://[^\s/?#@]+(?:[/?][^\s#]*)?", re.ASCII)
_REQUEST = re.compile(rf"(GET|POST|PUT|PATCH|DELETE) {_URL.pattern}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShopRequest:
    """A request to the merchant's application; `{order}` in its URL is the order's id."""

    line: str
    json: Json = None
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def method(self) -> str:
        return self.line.partition(" ")[0]

    def url(self, order: str = "") -> str:
        return self.line.partition(" ")[2].replace(ORDER, order)


@dataclass(frozen=True, slots=True, kw_only=True)
class Start(ShopRequest):
    """The customer's request that starts an order, and where its response has the ids."""

    order: JsonPath
    payment: JsonPath | None = None
    checkout_url: JsonPath | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A value of the order's state, and the values for which the condition is true."""

    path: JsonPath
    values: tuple[Json, ...] = (True,)

    def holds(self, state: Json) -> bool:
        # Python's 1 == True is not JSON's.
        value = self.path.read(state)
        return any(type(value) is type(each) and value == each for each in self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """A value of the order's state that counts: a number, a Boolean, or a list."""

    path: JsonPath

    def read(self, state: Json) -> int:
        value = self.path.read(state)
        if isinstance(value, list):
            return len(value)
        return int(value) if isinstance(value, int | float) else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class State(ShopRequest):
    """The request that reads an order, and what its response means."""

    paid: Condition
    fulfilled: Count | None = None
    closed: Condition | None = None
    refunded: Condition | None = None
    ignore: tuple[JsonPath, ...] = ()
    within_ms: int = 1_000

    @property
    def paths(self) -> dict[str, JsonPath]:
        """The declared paths, by the key of each."""
        keys = ("paid", "fulfilled", "closed", "refunded")
        given = ((key, getattr(self, key)) for key in keys)
        return {key: value.path for key, value in given if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The command that runs the merchant's application, and the request that shows it is ready."""

    command: str
    ready: str | None = None
    durable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Integration:
    """A merchant's integration."""

    name: str
    start: Start
    state: State
    webhook: str | None = None
    return_to: str | None = None
    settle: ShopRequest | None = None
    run: Run | None = None
    history: HistoryName | None = None


def _line(example: str, *, accepts_order: bool = False) -> Text:
    def accepts(line: str) -> bool:
        return is_web_url(line.partition(" ")[2]) and (accepts_order or ORDER not in line)

    full = example.replace(" ", _HOST)
    return Text(_REQUEST, expected=f"{_EXPECTED} {full}", examples=[full], accepts=accepts)


class _Path(Kind[JsonPath]):
    def read(self, entry: Entry) -> JsonPath | None:
        text = read_text(entry)
        if text is not None and JSON_PATH.fullmatch(text):
            return JsonPath.parse(text)
        if text is not None:
            entry.refuse("a path such as $.id or $.data[0].status")
        return None

    def schema(self) -> JsonSchema:
        return {"type": "string", "pattern": f"^{JSON_PATH.pattern}$", "examples": ["$.id"]}

    def write(self, value: JsonPath) -> Json:
        return str(value)


def _needs_order(members: Members) -> None:
    line = members.values["request"]
    if line is not None and ORDER not in line:
        entry = members.known["request"]
        entry.refuse(f"a request with {ORDER} in its URL, which stands for the order's id")


def _has_payment(members: Members) -> None:
    given = [key for key in ("payment", "checkout_url") if key in members.known]
    if len(given) != 1:
        members.entry.note(
            "start must have 'payment' or 'checkout_url', and not both: the path of the payment's"
            " id, or of its checkout URL, in the response"
        )


_WEB_ADDRESS = Text(_URL, expected=ACCEPTED_URL, examples=[_HOST[1:]], accepts=is_web_url)
_ANOMALY = Text(
    expected="an anomaly that `explore --save` writes",
    accepts=lambda name: parse_anomaly(name) is not None,
)
_VALUE_PATH = Key(_Path(), "The path of the value.", required="the path of the value")
_CONDITION = MappingOf(
    Condition,
    {
        "path": _VALUE_PATH,
        "in": Key(
            ListOf(JsonValue(), "a list of values", "an entry of in"),
            "The values for which the condition is true.",
            field="values",
            default=(True,),
            default_text="true",
        ),
    },
    KeyRule(
        check=lambda each: None if each.values["in"] != () else each.known["in"].note(_NO_VALUES)
    ),
)
_COUNT = MappingOf(Count, {"path": _VALUE_PATH})


def _request_keys(
    description: str, example: str, *, accepts_order: bool = True
) -> Mapping[str, Key]:
    order = " `{order}` stands for the order's id." if accepts_order else ""
    return {
        "request": Key(
            _line(example, accepts_order=accepts_order),
            f"{description}{order}",
            required=f"a method and a URL, such as {example.replace(' ', _HOST)}",
            field="line",
        ),
        "json": Key(JsonValue(), "The JSON body.", default_text="no body"),
        "headers": Key(
            TextPairs(), "Headers of the request.", default=(), default_text="no others"
        ),
    }


_START = MappingOf(
    Start,
    {
        **_request_keys(
            "The request with which a customer starts an order.",
            "POST /orders",
            accepts_order=False,
        ),
        "order": Key(
            _Path(),
            "The path of the order's id in the response.",
            required="the path of the order's id in the response",
        ),
        "payment": Key(_Path(), "The path of the payment's id in the response."),
        "checkout_url": Key(
            _Path(), "The path of the payment's checkout URL in the response, instead of `payment`."
        ),
    },
    KeyRule(
        check_keys=_has_payment,
        schema={"oneOf": [{"required": ["payment"]}, {"required": ["checkout_url"]}]},
    ),
)
_STATE = MappingOf(
    State,
    {
        **_request_keys(
            "The request that reads an order; it must change nothing.",
            "GET /orders/{order}",
        ),
        "paid": Key(
            _CONDITION,
            "Whether the order is paid.",
            required="the path and the values of a paid order",
        ),
        "fulfilled": Key(_COUNT, "How often the order is fulfilled: a number, Boolean or list."),
        "closed": Key(
            _CONDITION, "Whether the order is closed; expected after `failed` and `expired`."
        ),
        "refunded": Key(_CONDITION, "Whether the order is refunded; expected after `refunded`."),
        "ignore": Key(
            ListOf(_Path(), "a list of paths", "an entry of ignore"),
            "Values that are not compared between histories.",
            default=(),
            default_text="empty",
        ),
        "within": Key(
            Duration(),
            "How long an expected state may take to appear.",
            field="within_ms",
            default=1_000,
            default_text="1s",
        ),
    },
    KeyRule(check=_needs_order),
)
_RUN = MappingOf(
    Run,
    {
        "command": Key(
            Text(), "The command, for the system's shell.", required="the command to run"
        ),
        "ready": Key(
            _line("GET /health"),
            "A request that succeeds as soon as the application is ready.",
            default_text="a connection to the host of `start`",
        ),
        "durable": Key(
            Boolean(),
            "Whether `explore` may kill the application at any moment, and start it again.",
            default=False,
        ),
    },
)
_HISTORY = MappingOf(
    HistoryName,
    {
        "outcome": Key(Word(Outcome), "What the customer does.", required="what the customer does"),
        "anomalies": Key(
            ListOf(_ANOMALY, "a list of anomalies", "an entry of anomalies"),
            "The anomalies, each by its name.",
            default=(),
            default_text="empty",
        ),
    },
)
KEYS = {
    "version": VERSION_KEY,
    "name": Key(
        Text(NAME_PATTERN, expected=NAME_FORM),
        "The name of the integration.",
        required="what the integration is called",
    ),
    "start": Key(_START, "How a customer starts an order.", required="how an order is started"),
    "state": Key(_STATE, "The order as the merchant sees it.", required="how an order is read"),
    "webhook": Key(_WEB_ADDRESS, "The URL that receives webhooks.", default_text="no webhooks"),
    "return": Key(
        Word(["success_url"]),
        "The URL that the customer's browser opens after the payment.",
        field="return_to",
        default_text="the browser opens nothing",
    ),
    "settle": Key(
        MappingOf(
            ShopRequest, _request_keys("The request that starts the job.", "POST /jobs/poll")
        ),
        "The merchant's reconciliation job, run at the end of each history.",
        default_text="no job",
    ),
    "run": Key(
        _RUN,
        "The merchant's application, started before and stopped after.",
        default_text="the application is already running",
    ),
    "history": Key(
        _HISTORY, "The history that `--replay` runs; `--save` writes it.", default_text="no history"
    ),
}
INTEGRATION = MappingOf(Integration, KEYS)


def read_integration(file: Path) -> Integration:
    """Read a file. Raises ScenarioError with every problem of the file."""
    context = FileContext(str(file))
    try:
        text = read_file_text(file, context.add)
    except (OSError, ValueError) as error:
        raise ScenarioError([unreadable(file, error)]) from None
    if text is None:
        raise ScenarioError(context.problems)
    return parse_integration(text, str(file))


def parse_integration(text: str, source: str) -> Integration:
    """Parse the text of a file. Raises ScenarioError with every problem of the text."""
    context = FileContext(source)
    tree = read_tree(text, context.add, holds="an integration")
    integration = None
    if tree is not None:
        integration = INTEGRATION.read(Entry(node=tree, label="an integration", context=context))
    if integration is None or context.problems:
        raise ScenarioError(context.problems)
    return integration


def integration_schema() -> JsonSchema:
    """The JSON Schema (2020-12) of files of an integration."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Integration of a merchant with the ETB payments service",
        "description": "What `payments-emulator explore` needs to know of an application.",
        **INTEGRATION.schema(),
    }
