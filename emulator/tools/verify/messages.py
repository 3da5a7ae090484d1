"""Requests to a service, its responses, and how a report quotes them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from emulator import __version__

MAX_QUOTED_CHARACTERS = 60
JSON = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceRequest:
    """A request; without a `key` it is not authenticated, and `media_type` may be empty."""

    method: str = "GET"
    path: str = "/v1/payments"
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    media_type: str = JSON
    key: str | None = None
    scheme: str = "Bearer"

    @property
    def headers(self) -> dict[str, str]:
        headers = {"accept": JSON, "user-agent": f"payments-emulator-verify/{__version__}"}
        if self.key is not None:
            headers["authorization"] = f"{self.scheme} {self.key}".strip()
        if self.body is not None and self.media_type:
            headers["content-type"] = self.media_type
        return headers


@dataclass(frozen=True, kw_only=True)
class ServiceResponse:
    """A complete response; header names are in lower case."""

    request: ServiceRequest
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def is_refusal(self) -> bool:
        """Whether the status is 4xx."""
        return 400 <= self.status < 500

    @property
    def is_json(self) -> bool:
        """Whether the body is strict JSON and its media type says so."""
        return self.has_json_type and self._strictly_parsed[0]

    @property
    def has_json_body(self) -> bool:
        """Whether the body can be parsed as JSON, with any media type and any Unicode encoding."""
        return self._parsed[0]

    @property
    def has_json_type(self) -> bool:
        return self.media_type == JSON or self.media_type.endswith("+json")

    @property
    def media_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def json(self) -> Any:
        """The parsed body; None if it is not JSON."""
        return self._parsed[1]

    @cached_property
    def members(self) -> Mapping[str, Any]:
        """The members of a body that is an object; otherwise empty."""
        return self.json if isinstance(self.json, dict) else {}

    @property
    def data(self) -> list[Any]:
        """The entries of a list; empty if the body is not a list."""
        data = self.members.get("data")
        return data if isinstance(data, list) else []

    @property
    def payments(self) -> list[dict[str, Any]]:
        return [entry for entry in self.data if isinstance(entry, dict)]

    @property
    def ids(self) -> list[str]:
        return [str(payment.get("id")) for payment in self.payments]

    @property
    def has_error(self) -> bool:
        """Whether the body has an error object, which may be empty."""
        return isinstance(self.members.get("error"), dict)

    @property
    def error(self) -> Mapping[str, Any]:
        """The error object (contract, section 7); empty if the body has none."""
        error = self.members.get("error")
        return error if isinstance(error, dict) else {}

    @property
    def code(self) -> object:
        return self.error.get("code")

    @property
    def param(self) -> object:
        return self.error.get("param")

    @property
    def summary(self) -> str:
        """The status, with the code of an error."""
        if isinstance(self.code, str):
            return f"{self.status} `{printable(self.code)}`"
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
        """Whether the body is JSON by RFC 8259: UTF-8, no byte order mark, no NaN."""
        try:
            return True, json.loads(self.body.decode(), parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            return False, None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def json_text(value: object) -> str:
    """A JSON value in one short line without control characters."""
    return f"`{printable(json.dumps(value, ensure_ascii=False))}`"


def member_text(members: Mapping[str, Any], name: str) -> str:
    """A member's JSON value, or that the member is absent."""
    return json_text(members[name]) if name in members else "absent"


def printable(text: str) -> str:
    """Text from a service, shortened and without characters that control a terminal."""
    line = "".join(
        character if character.isprintable() and character != "`" else "�" for character in text
    )
    return line if len(line) <= MAX_QUOTED_CHARACTERS else f"{line[: MAX_QUOTED_CHARACTERS - 1]}…"
