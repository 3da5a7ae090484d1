"""The step `expect`: what can be checked, of a payment or of the last answer, and how."""

from collections.abc import Callable
from functools import partial

from emulator.domain.payment import Reason, Status
from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER
from emulator.scenarios.entries import (
    Entry,
    is_empty,
    note_unknown_key,
    read_boolean,
    read_items,
    read_listed,
    read_pairs,
    read_text,
    read_whole_number,
)
from emulator.scenarios.json_values import read_json
from emulator.scenarios.names import Names
from emulator.scenarios.nodes import MapNode
from emulator.scenarios.steps import Expect, FieldCheck, Json, Place
from emulator.scenarios.vocabulary import (
    ANSWER_CHECKS,
    EXPECT_KEYS,
    MAX_HTTP_STATUS,
    MAX_RETRY_AFTER_S,
    MIN_HTTP_STATUS,
)

SAME_AS = "same_as"


def read_expect(entry: Entry, place: Place, names: Names) -> Expect | None:
    pairs = read_pairs(entry)
    if pairs is None:
        return None
    payment = pairs.pop("payment", None)
    name = None if payment is None else names.use(payment[1])
    checks = [
        _read_check(key, key_entry, value, names)
        for key, (key_entry, value) in pairs.items()
        if _makes_sense(entry, key, key_entry, is_of_payment=payment is not None)
    ]
    if not pairs and not _has_more_keys(entry, than=0 if payment is None else 1):
        entry.note("expect must have something to check, such as 'status'")
    return Expect(place=place, payment=name, checks=tuple(checks))


def _has_more_keys(entry: Entry, *, than: int) -> bool:
    """Whether there are keys that were wrong, and so noted already."""
    return isinstance(entry.node, MapNode) and len(entry.node.pairs) > than


def _makes_sense(entry: Entry, key: str, key_entry: Entry, *, is_of_payment: bool) -> bool:
    if key not in EXPECT_KEYS:
        senseless = ANSWER_CHECKS if is_of_payment else {SAME_AS}
        offered = [known for known in EXPECT_KEYS if known not in senseless]
        note_unknown_key(entry, key_entry, key, EXPECT_KEYS, offered=offered)
        return False
    if is_of_payment and key in ANSWER_CHECKS:
        key_entry.note(f"'{key}' is of the last answer, so it cannot stand beside 'payment'")
    if not is_of_payment and key == SAME_AS:
        key_entry.note(f"'{key}' compares with a payment, so it needs 'payment' beside it")
    return True


def _read_check(key: str, key_entry: Entry, value: Entry, names: Names) -> FieldCheck:
    place = Place(line=key_entry.node.line, column=key_entry.node.column)
    expected: Json
    if key == SAME_AS:
        expected = names.use(value)
    elif key == "payments":
        items = read_items(value, "a list of payments, by their names", "a payment") or []
        expected = [names.use(item) for item in items]
    else:
        expected = _READERS.get(key, read_json)(value)
    return FieldCheck(place=place, key=key, expected=expected)


def _read_events(entry: Entry) -> list[str | None]:
    items = read_items(entry, "a list of event types", f"an entry of {entry.label}") or []
    return [read_listed(item, EVENT_TYPES_IN_ORDER) for item in items]


def _or_null(read: Callable[[Entry], Json]) -> Callable[[Entry], Json]:
    def read_or_null(entry: Entry) -> Json:
        return None if is_empty(entry) else read(entry)

    return read_or_null


# All others may be anything that JSON can say.
_READERS: dict[str, Callable[[Entry], Json]] = {
    "status": partial(read_listed, words=[status.value for status in Status]),
    "method": _or_null(read_text),
    "reason": _or_null(partial(read_listed, words=[reason.value for reason in Reason])),
    "events": _read_events,
    "webhooks": _read_events,
    "forged": _read_events,
    "http_status": partial(read_whole_number, at_least=MIN_HTTP_STATUS, at_most=MAX_HTTP_STATUS),
    "code": _or_null(read_text),
    "param": _or_null(read_text),
    "retry_after": _or_null(partial(read_whole_number, at_least=0, at_most=MAX_RETRY_AFTER_S)),
    "replayed": read_boolean,
    "lost": read_boolean,
    "has_more": read_boolean,
}
