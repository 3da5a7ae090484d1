"""The response to a request, or the reason why there is none."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import Any

from ..domain.instants import Instant

MAX_SHOWN_CHARACTERS = 60


@dataclass(frozen=True, kw_only=True)
class HttpResponse:
    """A response; without a complete one, `failure` says why and the rest is empty.

    `is_refused`: no connection was possible.
    """

    status: int = 0
    headers: Sequence[tuple[str, str]] = ()
    body: bytes = b""
    failure: str | None = None
    is_refused: bool = False

    @property
    def is_error(self) -> bool:
        """Whether the status is an error, or no complete response was received."""
        return self.failure is not None or self.status >= 400

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def is_replay(self) -> bool:
        """Whether it repeats an earlier response because of its idempotency key."""
        return self.header("idempotent-replayed") == "true"

    @property
    def text(self) -> str:
        """The result in one word or phrase."""
        return self.failure or str(self.status)

    @property
    def summary(self) -> str:
        """The status, with the error code if there is one."""
        code = self.error.get("code")
        return f"{self.status} {code}" if code and isinstance(code, str) else str(self.status)

    @property
    def description(self) -> str:
        """The failure, or the status with the most specific detail, in a few words."""
        if self.failure is not None:
            return self.failure
        server = self.header("server")
        details = (server and f"Server: {server}", self.header("content-type"))
        words = (self.summary, *(() if "code" in self.error else details))
        return ", ".join(word for word in words if word)[:MAX_SHOWN_CHARACTERS]

    @property
    def explanation(self) -> str:
        """Why a call has failed: its status, error code, field and message, or its failure."""
        if self.failure is not None:
            return f"no response: {self.failure}"
        param, message = self.error.get("param"), self.error.get("message")
        text = self.summary + (f" ({param})" if param else "")
        return f"{text}: {message}" if message else text

    def header(self, name: str) -> str | None:
        """The first value of a header; its name is in lower case."""
        return next((value for key, value in self.headers if key == name), None)

    @cached_property
    def json(self) -> Any:
        """The parsed body, or None when it is not JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None

    def member(self, name: str) -> Any:
        """A member of a body that is an object; None when there is no such member."""
        return self.json.get(name) if isinstance(self.json, dict) else None

    @property
    def error(self) -> Mapping[str, Any]:
        """The error object of the body (contract, section 7); empty when there is none."""
        error = self.member("error")
        return error if isinstance(error, dict) else {}


def parse_date(text: str) -> Instant | None:
    """The instant of a date in the form of headers; None for another text."""
    try:
        parsed = parsedate_to_datetime(text)
        return int(parsed.replace(tzinfo=parsed.tzinfo or UTC).timestamp()) * 1000
    except (ValueError, OverflowError):
        return None


def timed_out(after_s: float) -> HttpResponse:
    return HttpResponse(failure=f"timed out after {after_s:g} s")
