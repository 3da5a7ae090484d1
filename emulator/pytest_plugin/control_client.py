"""The way to the control API: a call and its answer, or why there is none."""

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

# The longest that a call may take: waiting for a payment's status.
MAX_RESPONSE_S = 330
# Where a test has failed, the place in the test is what is worth showing.
__tracebackhide__ = True
JSON = "application/json"
YAML = "application/yaml"

_CONNECTIONS = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}
_BAD_REQUEST = 400
_NO_CONTENT = 204


class PaymentsEmulatorError(Exception):
    """The emulator refused what a test asked of it, or does not answer.

    `status`, `code` and `param` are those of a refusal.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str | None = None,
        param: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.param = param


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlClient:
    """The control API of one emulator, for the owner of a key or for nobody in particular.

    `log` is the file in which the emulator tells what goes wrong with it, where that is here.
    """

    base_url: str
    key: str | None = None
    log: Path | None = None
    longest_answer_s: int = MAX_RESPONSE_S

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Call `/_emulator{path}`; the answer's JSON, or None. Raises PaymentsEmulatorError.

        A body that is text is YAML.
        """
        headers = {} if self.key is None else {"Authorization": f"Bearer {self.key}"}
        content = None
        if isinstance(body, str):
            content, headers["Content-Type"] = body.encode(), YAML
        elif body is not None:
            content, headers["Content-Type"] = json.dumps(body).encode(), JSON
        status, answer = self._exchange(method, path, content, headers)
        if status == _NO_CONTENT:
            return None
        try:
            value = json.loads(answer)
        except ValueError:
            value = None
        if status < _BAD_REQUEST and value is not None:
            return value
        raise self._refusal(f"{method} /_emulator{path}", status, value)

    def _exchange(
        self, method: str, path: str, content: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, bytes]:
        """On a connection of its own: several threads may call, and none is closed on us."""
        url = urlsplit(self.base_url)
        connection = _CONNECTIONS[url.scheme](
            url.hostname or "", url.port, timeout=self.longest_answer_s
        )
        try:
            connection.request(method, f"{url.path}/_emulator{path}", content, dict(headers))
            response = connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            hint = "" if self.log is None else f"; what it logged is in {self.log}"
            raise PaymentsEmulatorError(
                f"the payments emulator at {self.base_url} does not answer: {reason}{hint}"
            ) from None
        finally:
            connection.close()

    def _refusal(self, call: str, status: int, value: object) -> PaymentsEmulatorError:
        error = value.get("error") if isinstance(value, dict) else None
        if not isinstance(error, dict):
            return PaymentsEmulatorError(
                f"{self.base_url} answers {status} to {call}, as no payments emulator does",
                status=status,
            )
        return PaymentsEmulatorError(
            f"{error.get('code')}: {error.get('message')}",
            status=status,
            code=error.get("code"),
            param=error.get("param"),
        )
