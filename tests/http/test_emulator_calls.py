"""The declared calls exist in the OpenAPI documents, and a wrong response is an error."""

import json
import re
from typing import Any

import pytest

from emulator import __version__
from emulator.http import emulator_calls as calls
from emulator.http.emulator_calls import EmulatorCall, PaymentsEmulatorError
from emulator.http.response import HttpResponse
from tests.server.openapi.conftest import printed
from tests.server.openapi.navigation import operations

AGENT = {"user-agent": f"payments-emulator/{__version__}"}
URL = "http://127.0.0.1:8080"
DECLARED = {name: call for name, call in vars(calls).items() if isinstance(call, EmulatorCall)}
DOCUMENTED = {
    (operation.method.upper(), re.sub(r"\{\w+\}", "{}", operation.path)): operation.definition
    for name in ("v1", "control")
    for operation in operations(json.loads(printed(name)))
}


def documented_response(call: EmulatorCall[Any]) -> HttpResponse:
    """The first successful response in the document, with its example."""
    responses = DOCUMENTED[call.method, call.path]["responses"]
    status = next(status for status in responses if status.startswith("2"))
    for media_type, content in responses[status].get("content", {}).items():
        examples = content.get("examples", {"": {"value": content.get("example")}})
        body = json.dumps(next(iter(examples.values()))["value"]).encode()
        headers = [("content-type", media_type)]
        return HttpResponse(status=int(status), headers=headers, body=body)
    return HttpResponse(status=int(status))


@pytest.mark.parametrize("name", DECLARED)
def test_the_documented_response_of_each_call_has_a_result(name: str) -> None:
    response = documented_response(DECLARED[name])
    result: Any = DECLARED[name].result(response, URL)
    results = [response.json, response.member("data"), response.body.decode()]
    assert result in results


@pytest.mark.parametrize(
    ("call", "body"),
    [
        (calls.CLOCK, b"<html>"),
        (calls.CLOCK, b"[]"),
        (calls.CLOCK, b"[" * 100_000),
        (calls.RESET, b"<html>"),
        (calls.EVENTS, b"{}"),
        (calls.EVENTS, b'{"data":{}}'),
        (calls.EVENTS, b'{"data":[1]}'),
        *((calls.HEALTH, body) for body in (b'{"status":"ok"}', b"\xff", b'"ok"')),
        (calls.HEALTH, b'{"status":"down","version":"1"}'),
        (calls.RECORDING, b"version: 1"),
    ],
)
def test_another_response_is_not_that_of_an_emulator(call: EmulatorCall[Any], body: bytes) -> None:
    with pytest.raises(PaymentsEmulatorError) as raised:
        call.result(HttpResponse(status=200, body=body), URL)
    line = f"{URL} returned 200 for {call.method} {call.path}: this is not a payments emulator"
    assert (str(raised.value), raised.value.lines, raised.value.code) == (line, (line,), None)


@pytest.mark.parametrize(
    ("response", "text", "line"),
    [
        (
            HttpResponse(status=400, body=b'{"error":{"code":"x","message":"No.","param":"p"}}'),
            "x: No.",
            "the emulator refused a request: 400 x (p): No.",
        ),
        (
            HttpResponse(failure="connection refused", is_refused=True),
            f"the payments emulator at {URL} does not respond: connection refused",
            f"the payments emulator at {URL} does not respond: connection refused",
        ),
        (
            HttpResponse(status=503, body=b'{"status":"unavailable","version":"1"}'),
            f"the payments emulator at {URL} is not ready",
            f"the payments emulator at {URL} is not ready",
        ),
        (
            HttpResponse(status=503, body=b"<html>no upstream</html>"),
            f"{URL} returned 503 for GET /_emulator/clock: this is not a payments emulator",
            f"{URL} returned 503 for GET /_emulator/clock: this is not a payments emulator",
        ),
    ],
    ids=["refusal", "no response", "not ready", "proxy without a server"],
)
def test_an_error_has_a_text_for_tests_and_a_line_for_commands(
    response: HttpResponse, text: str, line: str
) -> None:
    with pytest.raises(PaymentsEmulatorError) as raised:
        calls.CLOCK.result(response, URL)
    assert (str(raised.value), raised.value.lines) == (text, (line,))
    assert raised.value.response is response


def test_an_object_of_the_journal_may_have_an_error() -> None:
    entry = HttpResponse(status=200, body=b'{"error":{"code":"x"}}')
    assert calls.PAYMENT.result(entry, URL) == {"error": {"code": "x"}}


def test_ids_and_queries_are_quoted_and_a_text_is_yaml() -> None:
    assert calls.PAYMENT("a/b?{}").path == "/_emulator/payments/a%2Fb%3F%7B%7D"
    assert calls.REQUESTS(limit=1, path="/v1/*").path == (
        "/_emulator/requests?limit=1&path=%2Fv1%2F%2A"
    )
    assert calls.PUT_SCENARIO("own", body="name: ብር").encode("test_key") == (
        {**AGENT, "authorization": "Bearer test_key", "content-type": "application/yaml"},
        "name: ብር".encode(),
    )
    assert calls.CLOCK.encode(None) == (AGENT, b"")
