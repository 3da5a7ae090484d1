"""Declares the calls of the control API and of the contract that clients of an emulator make.

`EmulatorClient` and `BlockingEmulator` send them.

    PaymentsEmulatorError    the emulator refused a call or did not respond, or is another program
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, Generic, TypeVar
from urllib.parse import quote, urlencode

from .. import __version__
from ..domain.user_error import UserError
from .response import HttpResponse

CONTROL = "/_emulator"
JSON = "application/json"
YAML = "application/yaml"
# The maximum number of entries that a list of the control API returns.
MAX_ENTRIES = 1_000
# A scenario's latency may be five minutes.
MAX_RESPONSE_S = 330
# A server that needs longer for its health check is not an emulator.
MAX_IDENTIFICATION_S = 10
# Pytest shows the line of the test instead.
__tracebackhide__ = True

T_co = TypeVar("T_co", covariant=True)
Json = dict[str, Any]
"""An object of the API."""
# The environment variables of a program that a command starts beside an emulator.
URL_VARIABLE = "PAYMENTS_EMULATOR_URL"
TEST_KEY_VARIABLE = "PAYMENTS_EMULATOR_TEST_KEY"
WEBHOOK_SECRET_VARIABLE = "PAYMENTS_EMULATOR_WEBHOOK_SECRET"  # noqa: S105 - a name


class PaymentsEmulatorError(UserError):
    """The emulator refused a call, or did not respond.

    `status`, `code` and `param` are members of the refusal.
    """

    # The public module, by which reports of tests name the class.
    __module__ = "etb_payments_emulator_pytest"

    def __init__(self, message: str, response: HttpResponse | None = None) -> None:
        super().__init__(message)
        self.response = response or HttpResponse()
        self.status: int | None = self.response.status or None
        self.code: str | None = self.response.error.get("code")
        self.param: str | None = self.response.error.get("param")
        if self.code is not None:
            # For the user of a command, with the status and the field.
            self.lines = (f"the emulator refused a request: {self.response.explanation}",)


@dataclass(frozen=True, slots=True)
class EmulatorCall(Generic[T_co]):
    """A call, whose `path` has `{}` in place of each id until the call is completed.

    `parse` returns the result of a successful response, and raises TypeError if it is not from
    an emulator. A body of type str is YAML.
    """

    method: str
    path: str
    parse: Callable[[HttpResponse], T_co]
    body: object = None

    def __call__(self, *ids: str, body: object = None, **query: object) -> "EmulatorCall[T_co]":
        """The call with its ids, its body and its query."""
        path = self.path.format(*(quote(each, safe="") for each in ids))
        return replace(self, path=f"{path}?{urlencode(query)}" if query else path, body=body)

    def encode(self, key: str | None) -> tuple[dict[str, str], bytes]:
        """The headers, with an API key if there is one, and the body."""
        headers = {"user-agent": f"payments-emulator/{__version__}"}
        if key is not None:
            headers["authorization"] = f"Bearer {key}"
        if self.body is None:
            return headers, b""
        if isinstance(self.body, str):
            return {**headers, "content-type": YAML}, self.body.encode()
        text = json.dumps(self.body, ensure_ascii=False, separators=(",", ":"))
        return {**headers, "content-type": JSON}, text.encode("utf-8", "surrogatepass")

    def result(self, response: HttpResponse, base_url: object) -> T_co:
        """The result in a response. Raises PaymentsEmulatorError.

        An emulator that is starting or stopping, or has lost its database, is not ready.
        """
        with suppress(TypeError):
            if response.is_success:
                return self.parse(response)
        if response.failure is not None:
            message = f"the payments emulator at {base_url} does not respond: {response.failure}"
        elif response.error:
            message = f"{response.error.get('code')}: {response.error.get('message')}"
        elif response.status == 503 and _is_health(response, "unavailable"):
            message = f"the payments emulator at {base_url} is not ready"
        else:
            message = (
                f"{base_url} returned {response.status} for {self.method} {self.path}:"
                " this is not a payments emulator"
            )
        raise PaymentsEmulatorError(message, response)


def without_none(members: Mapping[str, object]) -> Json:
    """The members of a body that are not None."""
    return {name: value for name, value in members.items() if value is not None}


def any_json(response: HttpResponse) -> Any:
    """The JSON of a response, or None without content."""
    if response.json is None and response.status != HTTPStatus.NO_CONTENT:
        raise TypeError
    return response.json


def _object(response: HttpResponse) -> Json:
    if not isinstance(response.json, dict):
        raise TypeError
    return response.json


def _list(response: HttpResponse) -> list[Json]:
    data = response.member("data")
    if not isinstance(data, list) or not all(isinstance(entry, dict) for entry in data):
        raise TypeError
    return data


def _health(response: HttpResponse) -> Json:
    if not _is_health(response, "ok"):
        raise TypeError
    return _object(response)


def _is_health(response: HttpResponse, status: str) -> bool:
    return response.member("status") == status and isinstance(response.member("version"), str)


def _yaml(response: HttpResponse) -> str:
    if (response.header("content-type") or "").partition(";")[0] != YAML:
        raise TypeError
    return response.body.decode("utf-8", "replace")


HEALTH = EmulatorCall("GET", "/_emulator/health", _health)
CHECKOUT_URL = EmulatorCall("GET", "/_emulator/checkout_url", _object)
RECORDING = EmulatorCall("GET", "/_emulator/recording", _yaml)
CHECKLIST = EmulatorCall("GET", "/_emulator/checklist", _list)

ACCOUNTS = EmulatorCall("GET", "/_emulator/accounts", _list)
CREATE_ACCOUNT = EmulatorCall("POST", "/_emulator/accounts", _object)
DELETE_ACCOUNT = EmulatorCall("DELETE", "/_emulator/accounts/{}", any_json)
RESET = EmulatorCall("POST", "/_emulator/reset", any_json)
CLOCK = EmulatorCall("GET", "/_emulator/clock", _object)
ADVANCE = EmulatorCall("POST", "/_emulator/clock/advance", _object)

NEWEST_PAYMENTS = EmulatorCall("GET", "/_emulator/payments", _list)
PAYMENT = EmulatorCall("GET", "/_emulator/payments/{}", _object)
PAY = EmulatorCall("POST", "/_emulator/payments/{}/pay", _object)
ANSWER = EmulatorCall("POST", "/_emulator/payments/{}/answer", _object)
CANCEL = EmulatorCall("POST", "/_emulator/payments/{}/cancel", _object)
TRANSITION = EmulatorCall("POST", "/_emulator/payments/{}/transition", _object)
EVENTS = EmulatorCall("GET", "/_emulator/events", _list)
REQUESTS = EmulatorCall("GET", "/_emulator/requests", _list)
DELIVERIES = EmulatorCall("GET", "/_emulator/deliveries", _list)
AWAIT_DELIVERY = EmulatorCall("GET", "/_emulator/deliveries/wait", _object)

FAULTS = EmulatorCall("GET", "/_emulator/faults", _list)
ADD_FAULT = EmulatorCall("POST", "/_emulator/faults", _object)
DELETE_FAULT = EmulatorCall("DELETE", "/_emulator/faults/{}", any_json)
PUT_SCENARIO = EmulatorCall("PUT", "/_emulator/scenarios/{}", _object)
DELETE_SCENARIO = EmulatorCall("DELETE", "/_emulator/scenarios/{}", any_json)
ENABLE_SCENARIO = EmulatorCall("PUT", "/_emulator/scenarios/{}/enabled", _object)

ENDPOINTS = EmulatorCall("GET", "/_emulator/webhook_endpoints", _list)
CREATE_ENDPOINT = EmulatorCall("POST", "/_emulator/webhook_endpoints", _object)
CHANGE_ENDPOINT = EmulatorCall("PATCH", "/_emulator/webhook_endpoints/{}", _object)
DELETE_ENDPOINT = EmulatorCall("DELETE", "/_emulator/webhook_endpoints/{}", any_json)
PING_ENDPOINT = EmulatorCall("POST", "/_emulator/webhook_endpoints/{}/ping", _object)

# The calls of the contract.
CREATE_PAYMENT = EmulatorCall("POST", "/v1/payments", _object)
RETRIEVE_PAYMENT = EmulatorCall("GET", "/v1/payments/{}", _object)
LIST_PAYMENTS = EmulatorCall("GET", "/v1/payments", _list)


def program_variables(url: str, test_key: str, webhook_secret: str) -> dict[str, str]:
    return {URL_VARIABLE: url, TEST_KEY_VARIABLE: test_key, WEBHOOK_SECRET_VARIABLE: webhook_secret}
