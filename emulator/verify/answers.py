"""What a check asks, and what it was answered: the words in which both are told."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from emulator import __version__

MAX_SHOWN_CHARACTERS = 60
JSON = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request; `key` is None where it goes without one."""

    method: str = "GET"
    path: str = "/v1/payments"
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    media_type: str = JSON
    key: str | None = None
    scheme: str = "Bearer"

    @property
    def headers(self) -> dict[str, str]:
        """What it carries beside what every request does."""
        headers = {
            "accept": JSON,
            "user-agent": f"payments-emulator-verify/{__version__}",
        }
        if self.key is not None:
            headers["authorization"] = f"{self.scheme} {self.key}"
        if self.body is not None:
            headers["content-type"] = self.media_type
        return headers


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A whole answer, whatever is in it; header names are in small letters."""

    request: Request
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def is_refusal(self) -> bool:
        """Whether it says that the request was wrong."""
        return 400 <= self.status < 500

    @property
    def is_json(self) -> bool:
        return self.has_json_type and self._strictly_parsed[0]

    @property
    def has_json_body(self) -> bool:
        """Whether the body can be read as JSON, whatever its media type and its encoding are."""
        return self._parsed[0]

    @property
    def has_json_type(self) -> bool:
        media_type = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        return media_type == JSON or media_type.endswith("+json")

    @property
    def json(self) -> Any:
        """The body, or None where it is no JSON."""
        return self._parsed[1]

    @cached_property
    def members(self) -> Mapping[str, Any]:
        """The body where it is an object, else nothing."""
        return self.json if isinstance(self.json, dict) else {}

    @property
    def data(self) -> list[Any]:
        """What a list holds, in its order; nothing where it is no list."""
        data = self.members.get("data")
        return data if isinstance(data, list) else []

    @property
    def payments(self) -> list[dict[str, Any]]:
        return [one for one in self.data if isinstance(one, dict)]

    @property
    def ids(self) -> list[str]:
        return [str(payment.get("id")) for payment in self.payments]

    @property
    def has_error(self) -> bool:
        """Whether the body has an error object, which may be empty."""
        return isinstance(self.members.get("error"), dict)

    @property
    def error(self) -> Mapping[str, Any]:
        """The error object (contract, section 7); empty where there is none."""
        error = self.members.get("error")
        return error if isinstance(error, dict) else {}

    @property
    def code(self) -> object:
        return self.error.get("code")

    @property
    def param(self) -> object:
        return self.error.get("param")

    @property
    def told(self) -> str:
        """The status, with the code of an error."""
        if isinstance(self.code, str):
            return f"{self.status} `{cleaned(self.code)}`"
        return str(self.status)

    @cached_property
    def _parsed(self) -> tuple[bool, Any]:
        if self._strictly_parsed[0]:
            return self._strictly_parsed
        try:
            return True, json.loads(self.body)
        except (ValueError, RecursionError):
            return False, None

    @cached_property
    def _strictly_parsed(self) -> tuple[bool, Any]:
        """What RFC 8259 requires: UTF-8 without a byte order mark, and no NaN."""
        try:
            return True, json.loads(self.body.decode(), parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            return False, None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def shown(value: object) -> str:
    """A JSON value as a report shows it: in a line, not too long, without control characters."""
    return f"`{cleaned(json.dumps(value, ensure_ascii=False))}`"


def shown_member(members: Mapping[str, Any], name: str) -> str:
    """A member's JSON value as a report shows it, or that the member is absent."""
    return shown(members[name]) if name in members else "absent"


def cleaned(text: str) -> str:
    """What a service wrote, harmless to a terminal and short."""
    line = "".join(
        character if character.isprintable() and character != "`" else "�" for character in text
    )
    return line if len(line) <= MAX_SHOWN_CHARACTERS else f"{line[: MAX_SHOWN_CHARACTERS - 1]}…"
