"""The file of an integration: what it must hold, and the message for each mistake."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from emulator.clock import RealClock
from emulator.scenarios.problems import ScenarioError
from emulator.tools.explore.connections import Connections
from emulator.tools.explore.integration import (
    INTEGRATION,
    integration_schema,
    parse_integration,
    read_integration,
)
from emulator.tools.explore.json_path import JsonPath
from emulator.tools.explore.shop import Shop
from tests.tools.explore.small_shop import integration_text

TEXT = integration_text("http://127.0.0.1:3000")
FULL = (
    TEXT
    + """settle: {request: "POST http://127.0.0.1:3000/jobs/{order}", headers: {x-job: "1"}}
run: {command: npm start, ready: GET http://127.0.0.1:3000/health}
history: {outcome: paid, anomalies: [twice payment.completed]}
"""
)
METHOD_AND_URL = "a method and an absolute URL, such as POST http://127.0.0.1:3000/orders"
MISTAKES = [
    ("version: 1", "version: 2", "1:10: version must be 1, not 2"),
    (
        "name: small-shop",
        "name: My Shop",
        "2:7: name must be 1 to 64 lower-case letters, digits, - and _, a letter or digit first,"
        " not 'My Shop'",
    ),
    (
        "POST http://127.0.0.1:3000/orders,",
        "FETCH /orders,",
        f"3:18: request must be {METHOD_AND_URL}, not 'FETCH /orders'",
    ),
    *(
        ("127.0.0.1:3000/orders,", f"{wrong},", f"3:18: request must be {METHOD_AND_URL}")
        for wrong in ("a:70000/", "a:b/", "a/\u00e9")
    ),
    ("$.id", "id", "3:60: order must be a path such as $.id or $.data[0].status, not 'id'"),
    (
        ", payment: $.payment_id",
        "",
        "3:8: start must have 'payment' or 'checkout_url', and not both: the path of the"
        " payment's id, or of its checkout URL, in the response",
    ),
    (
        "/{order}",
        "",
        "5:12: request must be a request with {order} in its URL, which stands for the order's"
        " id, not 'GET http://127.0.0.1:3000/orders'",
    ),
    ("[paid]", "[]", "6:30: in must have a value or more, or the condition is never true"),
    ("[paid]", "paid", "6:30: in must be a list of values, not 'paid'"),
    ("webhook: http", "webhook: ftp", "9:10: webhook must be an absolute http or https URL,"),
    ("3000/webhooks", "70000/", "9:10: webhook must be an absolute http or https URL,"),
    (
        "return: success_url",
        "return: cancel_url",
        "10:9: return must be success_url, not 'cancel_url'; did you mean 'success_url'?",
    ),
    (
        "return: success_url",
        "history: {outcome: paid, anomalies: [thrice]}",
        "10:38: an entry of anomalies must be an anomaly that `explore --save` writes,"
        " not 'thrice'",
    ),
    ("return:", "retrun:", "10:1: an integration has no key 'retrun'; did you mean 'return'?"),
]


@pytest.mark.parametrize(("right", "wrong", "message"), MISTAKES)
def test_a_mistake_has_its_position_and_what_is_accepted(
    right: str, wrong: str, message: str
) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse_integration(TEXT.replace(right, wrong, 1), "shop.yaml")
    [problem] = caught.value.problems
    assert str(problem).startswith(f"shop.yaml:{message}")


def test_every_mistake_is_reported() -> None:
    text = TEXT.replace("version: 1", "version: 2").replace("$.status", "status")
    with pytest.raises(ScenarioError) as caught:
        parse_integration(text, "shop.yaml")
    assert [problem.line for problem in caught.value.problems] == [1, 6, 8]


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "cannot be read: No such file"), (b"\xff", "the byte 0xff here is not UTF-8")],
)
def test_a_file_that_cannot_be_read_is_reported(
    content: bytes | None, message: str, tmp_path: Path
) -> None:
    file = tmp_path / "shop.yaml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ScenarioError, match=message):
        read_integration(file)


def test_a_written_integration_reads_as_the_same_value() -> None:
    integration = parse_integration(FULL, "shop.yaml")
    text = yaml.safe_dump({"version": 1, **INTEGRATION.write(integration)})
    assert parse_integration(text, "shop.yaml") == integration


def test_a_header_replaces_the_usual_one_in_any_case() -> None:
    text = FULL.replace('{x-job: "1"}', "{Content-Type: text/json}, json: {}")
    wall = RealClock()
    shop = Shop(parse_integration(text, "shop.yaml"), Connections(), secret="", wall=wall)
    assert shop.settle_request("7").headers == {"content-type": "text/json"}


def test_the_schema_accepts_what_the_reader_accepts() -> None:
    validator = jsonschema.Draft202012Validator(integration_schema())
    assert validator.is_valid(yaml.safe_load(FULL))
    assert not validator.is_valid(yaml.safe_load(TEXT.replace(", payment: $.payment_id", "")))
    assert json.dumps(integration_schema())


DOCUMENT = {"a": {"b": [{"c": 1}, {"c": 2}]}, "d": 3}


@pytest.mark.parametrize(
    ("path", "value", "rest"),
    [
        ("$.a.b[1].c", 2, {"a": {"b": [{"c": 1}, {}]}, "d": 3}),
        ("$.a.b[0]", {"c": 1}, {"a": {"b": [{"c": 2}]}, "d": 3}),
        ("$.d", 3, {"a": {"b": [{"c": 1}, {"c": 2}]}}),
        ("$.a.x[7].y", None, DOCUMENT),
        ("$", DOCUMENT, None),
    ],
)
def test_a_path_finds_a_value_and_leaves_it_out(path: str, value: object, rest: object) -> None:
    parsed = JsonPath.parse(path)
    assert (str(parsed), parsed.read(DOCUMENT), parsed.without(DOCUMENT)) == (path, value, rest)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$.a.b[1].c", None),
        ("$.a.c", "$.a has the members: b"),
        ("$.a.b[2]", "$.a.b is a list of 2 items"),
        ("$.d.e", "$.d is 3"),
        ("$.n", None),
        ("$.n.x", "$.n is null"),
    ],
)
def test_a_path_that_does_not_exist_is_reported_with_what_there_is(
    path: str, found: str | None
) -> None:
    assert JsonPath.parse(path).missing_in({**DOCUMENT, "n": None}) == found
