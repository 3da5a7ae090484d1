"""Declares the file of an integration: its keys, its JSON Schema, and how it is read and written.

The file says how a customer starts an order in the merchant's application, where the state of the
order is, and where the application receives webhooks.
"""

import re
from collections.abc import Collection, Mapping
from pathlib import Path

from msgspec.structs import replace

from emulator.domain.hosts import ACCEPTED_URL
from emulator.files import ListNode
from emulator.files.yaml_tree import read_tree
from emulator.http.addresses import is_web_url
from emulator.scenarios.entries import (
    Entry,
    FileContext,
    ScenarioError,
    listed,
    read_items,
    with_others_in,
)
from emulator.scenarios.kinds import (
    PATTERN,
    Boolean,
    Duration,
    JsonSchema,
    JsonValue,
    Kind,
    ListOf,
    PairsOf,
    Text,
    WholeNumber,
    Word,
)
from emulator.scenarios.loader import file_text, read_document
from emulator.scenarios.mappings import Key, MappingOf, Members, OrMapping, excludes, needs_one
from emulator.scenarios.scenario_file import NAME_FORM, NAME_PATTERN, VERSION_KEY
from emulator.scenarios.values import Json
from emulator.tools.explore.anomalies import ANOMALY_BY_NAME
from emulator.tools.explore.histories import HistoryName
from emulator.tools.explore.integration import (
    VALUE_NAME,
    Account,
    FileMistake,
    Integration,
    Run,
    ShopCall,
    StartCall,
    State,
)
from emulator.tools.explore.response_value import (
    JSON_PATH,
    Amount,
    Condition,
    Count,
    ResponseValue,
    Unit,
)
from emulator.tools.explore.steps import Outcome

ORDER = "{order}"
MAX_START_CALLS = 20
_HOST = " http://127.0.0.1:3000"
_URL = re.compile(r"https?://[^\s/?#@]+(?:[/?][^\s#]*)?", re.ASCII)
_METHODS = "(GET|POST|PUT|PATCH|DELETE)"
_REQUEST = re.compile(rf"{_METHODS} {_URL.pattern}", re.ASCII)
_START_REQUEST = re.compile(rf"{_METHODS} (?:{VALUE_NAME.pattern}|{_URL.pattern})", re.ASCII)
_NO_VALUES = "in must have a value or more, or the condition is never true"


def path_kind(or_else: str = "") -> Text:
    """A path; `or_else` says in messages what else is accepted."""
    expected = f"a path such as $.id or $.data[0].status{or_else}"
    return Text(JSON_PATH, expected=expected, examples=["$.id"], accepts=bool)


def value_kind(**more: Key) -> Kind[ResponseValue]:
    """A path, or a mapping that says where a response has a value."""
    keys = {"path": PATH_KEY, "header": _HEADER_KEY, "match": MATCH_KEY, **more}
    return OrMapping(
        MappingOf(ResponseValue, keys, needs_one(*keys), excludes("header", "path")),
        path_kind(f", or a mapping with {listed(map(repr, [*keys][1:]), 'or')}"),
        lambda path: ResponseValue(path=path),
        lambda value: value.path if value == ResponseValue(path=value.path) else None,
    )


_HEADER_NAME = Text(
    re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", re.ASCII),
    expected="the name of a header, such as location",
    examples=["location"],
)
PATH_KEY = Key(path_kind(), "The path of the value in the JSON of the response.")
_HEADER_KEY = Key(_HEADER_NAME, "The header that has the value.")
MATCH_KEY = Key(PATTERN, "A regular expression; its first group, if it has one, is the value.")
VALUE = value_kind()
_PLACE, _ONE_PLACE = {"path": PATH_KEY, "match": MATCH_KEY}, needs_one("path", "match")
_VALUES = ListOf(JsonValue(), "a list of values", "an entry of in")
_IN_TEXT = "The values for which the condition is true."
_IN = Key(_VALUES, _IN_TEXT, field="values", default_text="true")
CONDITION = MappingOf(
    Condition,
    {**_PLACE, "in": _IN},
    _ONE_PLACE,
    excludes("match", "in"),
    lambda each: None if each.values["in"] != () else each.known["in"].note(_NO_VALUES),
)
COUNT = MappingOf(Count, _PLACE, _ONE_PLACE)
UNIT_KEY = Key(Word(Unit), "What the number counts.")
AMOUNT = MappingOf(Amount, {**_PLACE, "unit": UNIT_KEY}, _ONE_PLACE)

_VALUE_NAMES = Text(
    re.compile(rf"(?!(?:order|payment|checkout_url)$){VALUE_NAME.pattern[3:-3]}", re.ASCII),
    expected="1 to 40 lower-case letters, digits and _, and no key of start",
)


def _line(example: str, pattern: re.Pattern[str] = _REQUEST, *, may_name: bool = True) -> Text:
    """A method and a URL, whose path may name a value if `may_name`."""

    def accepts(line: str) -> bool:
        url = line.partition(" ")[2]
        is_whole = VALUE_NAME.fullmatch(url) is not None
        return is_whole or (is_web_url(url) and (may_name or ORDER not in url))

    full = example.replace(" ", _HOST)
    expected = f"a method and an absolute URL, such as {full}"
    return Text(pattern, expected=expected, examples=[full], accepts=accepts)


class _Start(Kind[tuple[StartCall, ...]]):
    """A call of the customer, or a list of calls that share cookies."""

    def read(self, entry: Entry) -> tuple[StartCall, ...] | None:
        items, before = [entry], len(entry.context.problems)
        if isinstance(entry.node, ListNode):
            items = read_items(entry, "", "an entry of start") or []
        if not 1 <= len(items) <= MAX_START_CALLS:
            entry.note(f"start must have 1 to {MAX_START_CALLS} entries, not {len(items)}")
        items = [with_others_in(each, "values", _START_CALL.keys) for each in items]
        calls = [call for item in items if (call := _START_CALL.read(item)) is not None]
        if len(entry.context.problems) > before:
            return None
        if sum(call.order is not None for call in calls) != 1:
            entry.note("start must have 'order' once: where a response has the order's id")
        if sum(bool(call.payment) + bool(call.checkout_url) for call in calls) > 1:
            entry.note("start must have only one of 'payment' and 'checkout_url', once, or neither")
        # What a call uses itself comes from the response before.
        for number, call in list(enumerate(calls))[1:]:
            used = tuple(each for each in call.values if f"{{{each[0]}}}" in call.texts)
            calls[number] = replace(call, values=tuple(e for e in call.values if e not in used))
            calls[number - 1] = replace(calls[number - 1], values=calls[number - 1].values + used)
        names: set[str] = set()
        for item, call in zip(items, calls, strict=True):
            _note_unknown_names(item, call, names)
            names |= call.found_values.keys()
        return tuple(calls)

    def schema(self) -> JsonSchema:
        other = {"allOf": [{"type": "object"}, VALUE.schema()]}
        one = {**_START_CALL.schema(), "additionalProperties": other}
        return {"anyOf": [one, {"type": "array", "items": one, "maxItems": MAX_START_CALLS}]}

    def write(self, value: tuple[StartCall, ...]) -> Json:
        calls = [_START_CALL.write(call) for call in value]
        return calls if len(calls) > 1 else calls[0]


def _note_unknown_names(item: Entry, call: StartCall, names: Collection[str]) -> None:
    """Note each name in the request or the form that no earlier response has."""
    for key, text in (("request", call.url), ("form", "".join(value for _, value in call.form))):
        for name in dict.fromkeys(VALUE_NAME.findall(text)):
            if name not in names:
                known = ", ".join(sorted(names)) or "none"
                item.child(key).note(
                    f"{key} has {{{name}}}, which is no value of an earlier entry (known: {known})"
                )


def _needs_order(members: Members) -> None:
    key = "command" if "command" in members.known else "request"
    given = [members.values[name] for name in (key, "json", "form")]
    if given[0] is not None and ORDER not in repr(given):
        place = "its URL" if key == "request" else "it"
        entry = members.known[key]
        entry.refuse(f"a {key} with {ORDER} in {place}, which stands for the order's id")


def _needs_members(members: Members) -> None:
    body = members.values["json"]
    if "tamper" in members.known and not (isinstance(body, dict) or members.values["form"]):
        members.known["tamper"].note("tamper needs a json or form whose members it replaces")


def _needs_amount(members: Members) -> None:
    state = members.values["state"]
    if "between" in members.known and state is not None and state.amount is None:
        members.known["between"].note("between needs state.amount: the price of the order")


_WEB_ADDRESS = Text(_URL, expected=ACCEPTED_URL, examples=[_HOST[1:]], accepts=is_web_url)
_ANOMALY = Text(
    expected="an anomaly that `explore --save` writes",
    accepts=lambda name: name in ANOMALY_BY_NAME,
)
_ANOMALIES = ListOf(_ANOMALY, "a list of anomalies", "an entry of anomalies")
_PATHS = ListOf(path_kind(), "a list of paths", "an entry of ignore")
_COUNTS = ListOf(path_kind(), "a list of paths", "an entry of once")
_ORDER = value_kind(payment=Key(path_kind(), "The path of the value in the payment."))
_CONTENT = {
    "json": Key(JsonValue(), "The JSON body.", default_text="no body"),
    "form": Key(PairsOf(Text()), "The fields of a form.", default_text="no body"),
    "headers": Key(PairsOf(Text()), "Headers of the request.", default_text="none"),
}
_ONE_BODY = excludes("form", "json")
_ONE_CALL = (
    _ONE_BODY,
    needs_one("request", "command"),
    excludes("command", "request", "json", "form", "headers"),
)
_COMMAND = Key(Text(), "A command of the system's shell, whose output is the response.")


def _call(example: str, description: str, pattern: re.Pattern[str] = _REQUEST) -> Mapping[str, Key]:
    """The keys of a request, or of a command in its place."""
    request = Key(_line(example, pattern), description)
    return {"request": request, "command": _COMMAND, **_CONTENT}


_VALUES_TEXT = "What the response has for later entries, which use it as `{name}`."
_TAMPER_TEXT = "Members that a dishonest customer replaces: refused, or without effect."
_ONCE_TEXT = "What happens at most once: numbers, Booleans or lists."
_WITHIN_TEXT = "How long an expected state may take to appear."
_IDLE_TEXT = "A request that is answered when no background work is left, instead of `within`."
_START_CALL = MappingOf(
    StartCall,
    {
        **_call("POST /orders", "A request of the customer.", _START_REQUEST),
        "order": Key(_ORDER, "Where the response, or the payment, has the order's id."),
        "payment": Key(
            VALUE, "Where the response has the payment's id.", default_text="the new payment"
        ),
        "checkout_url": Key(VALUE, "Where the response has the checkout URL of the payment."),
        "values": Key(PairsOf(VALUE, _VALUE_NAMES), _VALUES_TEXT, default_text="none"),
        "tamper": Key(PairsOf(JsonValue()), _TAMPER_TEXT, default_text="no such customer"),
    },
    *_ONE_CALL,
    _needs_members,
)
_STATE = MappingOf(
    State,
    {
        **_call("GET /orders/{order}", "A request that reads the order."),
        "paid": Key(CONDITION, "Whether the order is paid.", required="what a paid order is"),
        "fulfilled": Key(COUNT, "How often the order is fulfilled: a number, Boolean or list."),
        "closed": Key(CONDITION, "Whether the order is closed, as after `failed` and `expired`."),
        "refunded": Key(CONDITION, "Whether the order is refunded, as after `refunded`."),
        "amount": Key(AMOUNT, "What the order costs; a paid order must have been paid with it."),
        "once": Key(_COUNTS, _ONCE_TEXT, default_text="nothing"),
        "ignore": Key(_PATHS, "Values that are not compared.", default_text="none"),
        "within": Key(Duration(), _WITHIN_TEXT, default=1_000),
        "idle": Key(_line("POST /idle", may_name=False), _IDLE_TEXT),
    },
    *_ONE_CALL,
    excludes("idle", "within"),
    _needs_order,
)
_JOB = "The request that starts the job."
_JOB_KEY = Key(_line("POST /jobs/poll"), _JOB, required="how the job is started")
_SETTLE = MappingOf(ShopCall, {"request": _JOB_KEY, **_CONTENT}, _ONE_BODY)
_AGAIN = MappingOf(
    StartCall,
    {
        **_call("POST /orders/{order}/pay", "The request of the customer."),
        **{key: _START_CALL.keys[key] for key in ("payment", "checkout_url")},
    },
    *_ONE_CALL,
    excludes("checkout_url", "payment"),
)
_BETWEEN = MappingOf(ShopCall, _call("POST /cart", "The request of the customer."), *_ONE_CALL)
_STEP = WholeNumber(at_least=-1_000, at_most=1_000)
_BY_TEXT = "How much it grows for each completed payment, such as -1 for stock."
_ACCOUNT = MappingOf(
    Account,
    {
        **_call("GET /wallet", "The request that reads the number."),
        **_PLACE,
        "unit": UNIT_KEY,
        "by": Key(_STEP, _BY_TEXT, default_text="the amount that was paid"),
    },
    *_ONE_CALL,
    _ONE_PLACE,
)
_READY = _line("GET /health", may_name=False)
_READY_TEXT = "A request that succeeds as soon as the application is ready."
_CLOCK_TEXT = "Whether libfaketime moves its clock; in Python, 0.9.10 breaks `time.sleep`."
_RUN = MappingOf(
    Run,
    {
        "command": Key(Text(), "A command of the system's shell.", required="the command to run"),
        "ready": Key(_READY, _READY_TEXT, default_text="a connection to the application's host"),
        "durable": Key(Boolean(), "Whether `explore` may kill the application."),
        "clock": Key(Boolean(), _CLOCK_TEXT),
    },
)
_HISTORY = MappingOf(
    HistoryName,
    {
        "outcome": Key(Word(Outcome), "What the customer does.", required="what the customer does"),
        "anomalies": Key(_ANOMALIES, "The anomalies, by name.", default_text="none"),
    },
)
_PAGE = Word(["success_url"])
_RETURN_TEXT = "The URL that the customer's browser opens after the payment."
_NAME = Text(NAME_PATTERN, expected=NAME_FORM)
_BETWEEN_TEXT = "What a customer may do between start and payment, such as a change of the cart."
_ACCOUNT_TEXT = "A number beside the orders, such as a balance, that grows by what was paid."
_RUN_TEXT = "The merchant's application, started before and stopped after."
_REFERENCE_TEXT = "The history with whose end the end is compared."
_HISTORIES = ListOf(_HISTORY, "a list of histories", "an entry of before")
KEYS = {
    "version": VERSION_KEY,
    "name": Key(_NAME, "The name of the integration.", required="what the integration is called"),
    "start": Key(_Start(), "How a customer starts an order.", required="how an order is started"),
    "state": Key(_STATE, "The order as the merchant sees it.", required="how an order is read"),
    "webhook": Key(_WEB_ADDRESS, "The URL that receives webhooks.", default_text="no webhooks"),
    "return": Key(_PAGE, _RETURN_TEXT, field="return_to", default_text="the browser opens nothing"),
    "again": Key(
        _AGAIN, "How a customer pays an order once more.", default_text="only one payment"
    ),
    "between": Key(_BETWEEN, _BETWEEN_TEXT, default_text="nothing"),
    "account": Key(_ACCOUNT, _ACCOUNT_TEXT, default_text="no such number"),
    "settle": Key(_SETTLE, "A job at the end of each history.", default_text="no job"),
    "unusual": Key(Boolean(), "Whether payments also change in unusual ways."),
    "run": Key(_RUN, _RUN_TEXT, default_text="the application is already running"),
    "history": Key(_HISTORY, "The history that `--replay` runs.", default_text="no history"),
    "reference": Key(_HISTORY, _REFERENCE_TEXT, default_text="no history"),
    "before": Key(_HISTORIES, "The last histories before.", default_text="none"),
}
INTEGRATION = MappingOf(Integration, KEYS, _needs_amount)


def read_integration(file: Path) -> Integration:
    """Read a file. Raises ScenarioError with every problem of the file."""
    return parse_integration(file_text(file), str(file))


def parse_integration(text: str, source: str) -> Integration:
    """Parse the text of a file. Raises ScenarioError with every problem of the text."""
    return read_document(text, FileContext(source), "an integration", INTEGRATION.read)


def located(file: Path, mistake: FileMistake) -> ScenarioError:
    """The error of a mistake with its place in the file."""
    context = FileContext(str(file))
    tree = read_tree(file_text(file), context.add, holds="")
    if tree is None:  # It was another file a moment ago.
        return ScenarioError(context.problems)
    entry = Entry(tree, "", context)
    for key in mistake.keys:
        if isinstance(entry.node, ListNode):
            entry = entry._replace(node=entry.node.items[int(key)])
        entry = entry.child(key)
    entry.note(mistake.lines[0])
    return ScenarioError(context.problems)


def integration_schema() -> JsonSchema:
    """The JSON Schema (2020-12) of files of an integration."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Integration of a merchant with the ETB payments service",
        "description": "What `payments-emulator explore` needs to know of an application.",
        **INTEGRATION.schema(),
    }
