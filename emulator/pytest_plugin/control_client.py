"""Calls the control API, and raises its errors as exceptions."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..http.blocking_client import BlockingRequest, IdleConnections, NoResponse

# The longest call: waiting for a payment's status.
MAX_RESPONSE_S = 330
# Pytest shows the line of the test instead.
__tracebackhide__ = True
JSON = "application/json"
YAML = "application/yaml"

_BAD_REQUEST = 400
_NO_CONTENT = 204


class PaymentsEmulatorError(Exception):
    """The emulator refused a call, or did not respond.

    `status`, `code` and `param` are those of the refusal.
    """

    # The public module, by which reports of tests name the class.
    __module__ = "etb_payments_emulator_pytest"

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
    """The control API of one emulator, with or without an API key.

    `log` is the log file of an emulator on this machine.
    """

    base_url: str
    key: str | None = None
    log: Path | None = None
    timeout_s: int = MAX_RESPONSE_S
    idle_connections: IdleConnections | None = None

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Call `/_emulator{path}`; return the JSON of the response, or None without content.

        A body of type str is YAML. Raises PaymentsEmulatorError.
        """
        headers = {} if self.key is None else {"Authorization": f"Bearer {self.key}"}
        content = None
        if isinstance(body, str):
            content, headers["Content-Type"] = body.encode(), YAML
        elif body is not None:
            content, headers["Content-Type"] = json.dumps(body).encode(), JSON
        request = BlockingRequest(
            base_url=self.base_url,
            path=f"/_emulator{path}",
            method=method,
            headers=headers,
            body=content,
            timeout_s=self.timeout_s,
            idle_connections=self.idle_connections,
        )
        try:
            status, response = request.send()
        except NoResponse as error:
            hint = "" if self.log is None else f"; see its log {self.log}"
            raise PaymentsEmulatorError(
                f"the payments emulator at {self.base_url} does not respond: {error}{hint}"
            ) from None
        if status == _NO_CONTENT:
            return None
        try:
            value = json.loads(response)
        except ValueError:
            value = None
        if status < _BAD_REQUEST and value is not None:
            return value
        raise self._refusal(f"{method} /_emulator{path}", status, value)

    def _refusal(self, call: str, status: int, value: object) -> PaymentsEmulatorError:
        error = value.get("error") if isinstance(value, dict) else None
        if not isinstance(error, dict):
            return PaymentsEmulatorError(
                f"{self.base_url} returned {status} for {call}: this is not a payments emulator",
                status=status,
            )
        return PaymentsEmulatorError(
            f"{error.get('code')}: {error.get('message')}",
            status=status,
            code=error.get("code"),
            param=error.get("param"),
        )
