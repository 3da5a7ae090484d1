"""Other forms of responses and webhooks that the contract allows (`--vary`).

A variant is a function on a finished message, which returns whether it has changed the message. Its
docstring is its effect. `VARIANTS` has the clauses that allow it, or that leave its subject open.
Three variants are stored, because they are the same in all messages about a payment: the engine
makes them, and their functions recognise them.

UnknownVariant    a setting of `--vary`, or one of its names, that is unknown
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any, NamedTuple

from emulator.domain.accounts import SEEDS, VARY_OFF
from emulator.domain.message_text import nearest_word_hint
from emulator.domain.wire import UNKNOWN_EVENT_TYPE

Json = dict[str, Any]

_SEED = re.compile(r"0|-?[1-9][0-9]{0,18}", re.ASCII)
# Of the variants, in a seeded choice.
SHARE = 0.25
ADDED_MEMBER = "additional_member"
UNKNOWN_METHOD = "mobile_wallet"
_USUAL_ID_LENGTH = len("pay_") + 24
# Of the token that a longer id is derived from.
_ADDED_LENGTH = 16
_TIMESTAMPS = ("created_at", "expires_at", "completed_at", "timestamp")
_FRACTION = re.compile(r"(\.[0-9]{3})Z")


@dataclass(slots=True, kw_only=True)
class VariedMessage:
    """A response, or an event, whose status is 0. `value` is its JSON object; None without one.

    `now_ms` is the present of the system clock, for dates in headers.
    """

    value: Json | None
    status: int = 0
    headers: dict[bytes, bytes] = field(default_factory=dict)
    is_replay: bool = False
    now_ms: int = 0
    indent: int | None = None
    charset: str = ""

    def of_kind(self, kind: str) -> list[Json]:
        """Its objects of a kind."""
        return [found for found in _objects(self.value) if _KINDS[kind](found)]

    def body(self) -> str:
        separators = (",", ":") if self.indent is None else None
        return json.dumps(self.value, ensure_ascii=False, separators=separators, indent=self.indent)


def _objects(value: Any) -> Iterator[Json]:
    """All JSON objects except those that the merchant has sent."""
    if isinstance(value, list):
        for item in value:
            yield from _objects(item)
    elif isinstance(value, dict):
        yield value
        for name, member in value.items():
            if name != "metadata":
                yield from _objects(member)


_KINDS: dict[str, Callable[[Json], bool]] = {
    "object": bool,
    "payment": lambda found: found.get("object") == "payment",
    "event": lambda found: found.get("object") == "event",
    "list": lambda found: "has_more" in found,
    "error": lambda found: {"code", "message"} <= found.keys(),
}


def member_order(message: VariedMessage) -> bool:
    """The members of each object are in the reverse order."""
    message.value = _reversed(message.value)
    return message.value is not None


def _reversed(value: Any) -> Any:
    if isinstance(value, list):
        return [_reversed(item) for item in value]
    if isinstance(value, dict):
        return {name: _reversed(value[name]) for name in reversed(value)}
    return value


def member_in_payment(message: VariedMessage) -> bool:
    """A payment has the additional member `additional_member`."""
    return _add_member(message, "payment")


def member_in_list(message: VariedMessage) -> bool:
    """A list has the additional member `additional_member`."""
    return _add_member(message, "list")


def member_in_error(message: VariedMessage) -> bool:
    """An error object has the additional member `additional_member`."""
    return _add_member(message, "error")


def member_in_event(message: VariedMessage) -> bool:
    """An event has the additional member `additional_member`."""
    return _add_member(message, "event")


def _add_member(message: VariedMessage, kind: str) -> bool:
    found = message.of_kind(kind)
    for each in found:
        each[ADDED_MEMBER] = {"note": "The contract does not exclude further members."}
    return bool(found)


def pretty_json(message: VariedMessage) -> bool:
    """JSON has line breaks and blanks."""
    message.indent = 2
    return message.value is not None


def charset(message: VariedMessage) -> bool:
    """The media type is `application/json; charset=utf-8`."""
    message.charset = "; charset=utf-8"
    return message.value is not None


def tie_order(message: VariedMessage) -> bool:
    """Payments of one instant are in the order of their creation, within a page.

    The last payment of a page that has a next page stays the last, because it is the cursor.
    """
    is_changed = False
    for page in message.of_kind("list"):
        data = page["data"]
        end = len(data) - bool(page["has_more"])
        runs = groupby(data[:end], key=lambda payment: payment["created_at"])
        page["data"] = [each for _, run in runs for each in reversed([*run])] + data[end:]
        is_changed |= page["data"] != data
    return is_changed


def timestamps_seconds(message: VariedMessage) -> bool:
    """Timestamps have no fraction of a second."""
    return _change_timestamps(message, lambda text: _FRACTION.sub("Z", text))


def timestamps_microseconds(message: VariedMessage) -> bool:
    """Timestamps have six digits of a second."""
    return _change_timestamps(message, lambda text: _FRACTION.sub(r"\g<1>000Z", text))


def timestamps_offset(message: VariedMessage) -> bool:
    """Timestamps are local time with the offset `+03:00`."""
    return _change_timestamps(message, _with_offset)


def _with_offset(text: str) -> str:
    local = datetime.fromisoformat(text[:19]) + timedelta(hours=3)
    return f"{local.isoformat()}{text[19:-1]}+03:00"


def _change_timestamps(message: VariedMessage, change: Callable[[str], str]) -> bool:
    is_changed = False
    for found in message.of_kind("object"):
        for name in _TIMESTAMPS:
            if isinstance(text := found.get(name), str) and (changed := change(text)) != text:
                found[name], is_changed = changed, True
    return is_changed


def next_cursor_omitted(message: VariedMessage) -> bool:
    """The last page of a list has no member `next_cursor`."""
    return _remove_nulls(message.of_kind("list"))


def event_nulls_omitted(message: VariedMessage) -> bool:
    """The payment in an event has no member that would be null."""
    return bool(message.of_kind("event")) and _remove_nulls(message.of_kind("payment"))


def _remove_nulls(objects: list[Json]) -> bool:
    nulls = [(found, name) for found in objects for name in found if found[name] is None]
    for found, name in nulls:
        del found[name]
    return bool(nulls)


def param_null(message: VariedMessage) -> bool:
    """An error about no field has a `param`, which is null."""
    found = [error for error in message.of_kind("error") if "param" not in error]
    for error in found:
        error["param"] = None
    return bool(found)


def param_omitted(message: VariedMessage) -> bool:
    """An error with the status 409 has no `param`."""
    found = [error for error in message.of_kind("error") if message.status == 409]
    return any(error.pop("param", None) for error in found)


def message_text(message: VariedMessage) -> bool:
    """Each `message` has another text."""
    found = message.of_kind("error")
    for error in found:
        error["message"] = f"Error: {error['code']}"
    return bool(found)


def replay_200(message: VariedMessage) -> bool:
    """The replay of a create call has the status 200, and the bytes of the first response."""
    is_changed = message.is_replay and message.status == 201
    message.status = 200 if is_changed else message.status
    return is_changed


def retry_after_date(message: VariedMessage) -> bool:
    """The `Retry-After` of a status other than 429 is a date."""
    seconds = message.headers.get(b"retry-after")
    if seconds is None or message.status == 429:  # the contract states seconds
        return False
    at = datetime.fromtimestamp(-(-message.now_ms // 1_000) + int(seconds), UTC)
    message.headers[b"retry-after"] = at.strftime("%a, %d %b %Y %H:%M:%S GMT").encode()
    return True


def connection_close(message: VariedMessage) -> bool:
    """The server closes the connection after the response."""
    return message.status != 0


def reason_phrase(message: VariedMessage) -> bool:
    """The status line has no reason phrase."""
    return message.status != 0


def long_ids(message: VariedMessage) -> bool:
    """The id of a payment has 40 characters after `pay_`."""
    return any(len(payment["id"]) > _USUAL_ID_LENGTH for payment in message.of_kind("payment"))


def unknown_method(message: VariedMessage) -> bool:
    """Another client has created a payment, which was paid by the method `mobile_wallet`.

    It is the first payment of the account and mode.
    """
    return any(payment.get("method") == UNKNOWN_METHOD for payment in message.of_kind("payment"))


def unknown_event(message: VariedMessage) -> bool:
    """An event of the type `payment.reviewed` arrives before an event of a known type."""
    return any(event["type"] == UNKNOWN_EVENT_TYPE for event in message.of_kind("event"))


class ContractVariant(NamedTuple):
    """A row: the function, the clauses, and whether a seeded choice is one for the account."""

    apply: Callable[[VariedMessage], bool]
    clauses: tuple[str, ...]
    is_of_account: bool = False
    is_stored: bool = False

    @property
    def name(self) -> str:
        return self.apply.__name__.replace("_", "-")

    @property
    def effect(self) -> str:
        """In one sentence."""
        return str(self.apply.__doc__).partition("\n")[0]


VARIANTS = (
    ContractVariant(member_order, ("2.1.11", "2.1.15", "4.3.9", "6.3", "7.1")),
    ContractVariant(member_in_payment, ("2.1.15",)),
    ContractVariant(member_in_list, ("4.3.9",)),
    ContractVariant(member_in_error, ("7.1",)),
    ContractVariant(member_in_event, ("6.3",)),
    ContractVariant(pretty_json, ("1.2",)),
    ContractVariant(charset, ("1.2",)),
    ContractVariant(tie_order, ("4.3.11",)),
    # Of the account: two responses with other fractions would be two instants.
    ContractVariant(timestamps_seconds, ("2.1.12", "2.1.13", "2.1.14"), is_of_account=True),
    ContractVariant(timestamps_microseconds, ("2.1.12", "2.1.13", "2.1.14")),
    ContractVariant(timestamps_offset, ("2.1.12", "2.1.13", "2.1.14")),
    ContractVariant(next_cursor_omitted, ("2.2.4",)),
    ContractVariant(event_nulls_omitted, ("6.3",)),
    ContractVariant(param_null, ("7.4",)),
    ContractVariant(param_omitted, ("7.10",)),
    ContractVariant(message_text, ("7.3",)),
    ContractVariant(replay_200, ("4.1.20",)),
    ContractVariant(retry_after_date, ("4.1.23", "7.12")),
    ContractVariant(connection_close, ("1.3",)),
    ContractVariant(reason_phrase, ("1.3",)),
    ContractVariant(long_ids, ("2.1.1",), is_stored=True),
    ContractVariant(unknown_method, ("2.1.17",), is_stored=True),
    ContractVariant(unknown_event, ("6.2",), is_stored=True),
)
NAMES = tuple(variant.name for variant in VARIANTS)
_LISTED = f" *(?:{'|'.join(NAMES)}) *"
SETTING_PATTERN = f"^(?:{VARY_OFF}|{_SEED.pattern}|{_LISTED}(?:,{_LISTED})*)$"


class UnknownVariant(ValueError):
    """The setting, or one of the names in it, is unknown.

    `found` is what is unknown, `accepted` what is accepted, and `advice` names the nearest variant.
    """

    def __init__(self, found: str, *, is_in_list: bool) -> None:
        super().__init__(found)
        names = f"names of {', '.join(NAMES)}"
        others = f"{VARY_OFF}, a seed (an integer of at most 64 bits), or "
        self.found = found
        self.accepted = names if is_in_list else others + names
        self.advice = nearest_word_hint(found, NAMES).strip()

    @property
    def expected(self) -> str:
        """What is accepted, with the nearest name."""
        return f"{self.accepted}. {self.advice}" if self.advice else self.accepted


def vary_setting(text: str) -> str:
    """The setting in its usual form. Raises UnknownVariant."""
    if text == VARY_OFF or (_SEED.fullmatch(text) and int(text) in SEEDS):
        return text
    names = [name.strip(" ") for name in text.split(",")]
    for name in names:
        if name not in NAMES:
            raise UnknownVariant(name, is_in_list=len(names) > 1)
    return ",".join(name for name in NAMES if name in names)


class VariedEvent(NamedTuple):
    """The body of an event, the names of its variants, and the parameter of its media type."""

    body: str
    names: tuple[str, ...]
    charset: str


class Variants:
    """The variants of an account: those that are named, or a seeded choice for each message."""

    def __init__(self, setting: str, draw_of: Callable[[int], Callable[[str, int], float]]) -> None:
        """`draw_of` returns, for a seed, the random number of a place and an ordinal."""
        self.setting = setting
        self._names = setting.split(",")
        self._draw = draw_of(int(setting)) if _SEED.fullmatch(setting) else None

    def chosen(self, name: str, place: str, ordinal: int = 0) -> bool:
        """Whether a variant is chosen at a place, such as a response, with an ordinal."""
        if self._draw is None:
            return name in self._names
        return self._draw(f"{name} {place}", ordinal) < SHARE

    def vary(self, message: VariedMessage, place: str, ordinal: int = 0) -> tuple[str, ...]:
        """Change a message; returns the names of the variants that it has."""
        names = []
        for variant in VARIANTS:
            of = ("account", 0) if variant.is_of_account else (place, ordinal)
            is_chosen = variant.is_stored or self.chosen(variant.name, *of)
            if is_chosen and variant.apply(message):
                names.append(variant.name)
        return tuple(names)

    def vary_event(self, body: str, place: str, ordinal: int) -> VariedEvent:
        """Change the JSON of an event; the same ordinal has the same variants."""
        message = VariedMessage(value=json.loads(body))
        names = self.vary(message, place, ordinal)
        return VariedEvent(message.body(), names, message.charset)

    def token(self, token: str, ordinal: int) -> str:
        """The token of a payment's checkout, from which the id is derived; longer for a long id."""
        return token + token[-_ADDED_LENGTH:] * self.chosen("long-ids", "payment", ordinal)
