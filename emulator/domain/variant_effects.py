"""The effect of each variant: a function on a finished message, whose docstring begins with it.

Each function returns whether it has changed the message. Three variants are stored, because they
are the same in all messages about a payment: the engine makes them, and their functions recognise
them.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from emulator.domain.payment import UNKNOWN_EVENT_TYPE

Json = dict[str, Any]

ADDED_MEMBER = "additional_member"
UNKNOWN_METHOD = "mobile_wallet"
UNKNOWN_CODE = "unusual_condition"
_STATED_CODE = "invalid_amount"
# Letters that are not ASCII: "additional information" in Amharic.
_ADDED = {"note": "ተጨማሪ መረጃ"}
_LONG_ID = "pay_[A-Za-z0-9]{25,}"
_TIMESTAMPS = ("created_at", "expires_at", "completed_at", "timestamp")
_FRACTION = r"(\.[0-9]{3})Z"


@dataclass(slots=True, kw_only=True)
class VariedMessage:
    """A response, or an event, whose status is 0. `value` is its JSON object, or None.

    `now_ms` is the present of the system clock, for dates in headers. `has_fields`: the body of the
    event is not JSON but the fields of a form.
    """

    value: Json | None
    status: int = 0
    headers: dict[bytes, bytes] = field(default_factory=dict)
    is_replay: bool = False
    now_ms: int = 0
    indent: int | None = None
    is_escaped: bool = False
    has_fields: bool = False
    charset: str = ""

    def of_kind(self, kind: str) -> list[Json]:
        """Its objects of a kind."""
        return [found for found in _objects(self.value) if _KINDS[kind](found)]

    def body(self) -> str:
        if self.has_fields:
            return urlencode(self.value or {})
        separators = (",", ":") if self.indent is None else None
        text = json.dumps(
            self.value, ensure_ascii=self.is_escaped, separators=separators, indent=self.indent
        )
        # A slash occurs only within texts.
        return text.replace("/", r"\/") if self.is_escaped else text


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


def _texts(value: Any) -> Iterator[str]:
    """All texts that are values of members, except those that the merchant has sent."""
    for found in _objects(value):
        yield from (member for member in found.values() if isinstance(member, str))


_KINDS: dict[str, Callable[[Json], bool]] = {
    "object": bool,
    "payment": lambda found: found.get("object") == "payment",
    "event": lambda found: found.get("object") == "event",
    "list": lambda found: "has_more" in found,
    "error": lambda found: {"code", "message"} <= found.keys(),
}


def member_order(message: VariedMessage) -> bool:
    """The members of each object are in the reverse order."""
    before = message.body()
    message.value = _reversed(message.value)
    return message.body() != before


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
    if message.value is None or message.status:
        return False
    is_text = message.has_fields
    message.value[ADDED_MEMBER] = _ADDED["note"] if is_text else _ADDED
    return True


def _add_member(message: VariedMessage, kind: str) -> bool:
    found = message.of_kind(kind)
    for each in found:
        each[ADDED_MEMBER] = _ADDED
    return bool(found)


def pretty_json(message: VariedMessage) -> bool:
    """JSON has line breaks and blanks."""
    message.indent = 2
    return message.value is not None and not message.has_fields


def escaped_json(message: VariedMessage) -> bool:
    """JSON has escaped slashes and letters, such as `\\/` and `\\u1230`."""
    before, message.is_escaped = message.body(), True
    return message.value is not None and message.body() != before


def charset(message: VariedMessage) -> bool:
    """The media type is `application/json; charset=utf-8`."""
    has_json = message.value is not None and not message.has_fields
    message.charset = "; charset=utf-8" if has_json else ""
    return has_json


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
    return _change_timestamps(message, lambda text: re.sub(_FRACTION, "Z", text))


def timestamps_microseconds(message: VariedMessage) -> bool:
    """Timestamps have six digits of a second."""
    return _change_timestamps(message, lambda text: re.sub(_FRACTION, r"\g<1>000Z", text))


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


def unknown_error_code(message: VariedMessage) -> bool:
    """An error has the code `unusual_condition`, unless its code is `invalid_amount`."""
    found = [error for error in message.of_kind("error") if error["code"] != _STATED_CODE]
    for error in found:
        error["code"] = UNKNOWN_CODE
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


def long_ids(message: VariedMessage) -> bool:
    """The id of a payment has 40 characters after `pay_`."""
    return any(re.fullmatch(_LONG_ID, text) for text in _texts(message.value))


def unknown_method(message: VariedMessage) -> bool:
    """Another client has created a payment, which was paid by the method `mobile_wallet`.

    It is the first payment of the account and mode.
    """
    return UNKNOWN_METHOD in _texts(message.value)


def unknown_event(message: VariedMessage) -> bool:
    """An event of the type `payment.reviewed` arrives before an event of a known type."""
    return UNKNOWN_EVENT_TYPE in _texts(message.value)
