"""The file of an integration: what it must hold, and the message for each mistake."""

import json
from pathlib import Path

import jsonschema_rs
import pytest
import yaml

from emulator.clock import RealClock
from emulator.domain.webhooks import STANDARD
from emulator.scenarios.entries import ScenarioError
from emulator.tools.explore.integration_file import (
    INTEGRATION,
    integration_schema,
    parse_integration,
    read_integration,
)
from emulator.tools.explore.response_value import ResponseValue, missing_at, read_path
from emulator.tools.explore.shop import Shop
from emulator.tools.explore.shop_client import ShopClient
from tests.docs.document import sections_of
from tests.tools.explore.small_shop import integration_text

FILES = sections_of("docs/guides/explore-any-shop.md")[0].files
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
    (
        "$.id",
        "id",
        "3:60: order must be a path such as $.id or $.data[0].status, or a mapping with 'header',"
        " 'match' or 'payment', not 'id'",
    ),
    (
        ", payment: $.payment_id",
        ", payment: $.payment_id, checkout_url: $.url",
        "3:8: start must have only one of 'payment' and 'checkout_url', once, or neither",
    ),
    (
        ", order: $.id",
        "",
        "3:8: start must have 'order' once: where a response has the order's id",
    ),
    ("order: $.id", "ordre: $.id", "3:53: start has no key 'ordre'; did you mean 'order'?"),
    (
        "request: POST http://127.0.0.1:3000/orders, ",
        "",
        "3:8: start must have 'request' or 'command'",
    ),
    ("order: $.id", "order: {}", "3:60: order must have 'path', 'header', 'match' or 'payment'"),
    (
        "order: $.id",
        "order: {header: a b}",
        "3:69: header must be the name of a header, such as location, not 'a b'",
    ),
    (
        "order: $.id",
        "order: {path: $.id, header: location}",
        "3:61: 'path' is not allowed beside 'header'",
    ),
    *(
        (
            "order: $.id",
            f"order: {{match: '{wrong}'}}",
            "3:68: match must be a regular expression of up to 500 characters that does not match"
            f" an empty text, not '{wrong[:20]}",
        )
        for wrong in ("(", "a{9999999999999}", ".*", "a" * 501)
    ),
    (
        "payment: $.payment_id",
        "payment: {path: $.id, payment: $.id}",
        "3:88: payment has no key 'payment'; it can have path, header and match",
    ),
    (
        ", order:",
        ", command: make order, order:",
        "3:9: 'request' is not allowed beside 'command'",
    ),
    (", order:", ", json: {}, form: {}, order:", "3:53: 'json' is not allowed beside 'form'"),
    (
        ", order:",
        ", form: {amount: 15000}, order:",
        '3:68: amount must be text, not the integer 15000; put it in quotes: "15000"',
    ),
    (
        ", order:",
        ", form: {token: '{token}'}, order:",
        "3:59: form has {token}, which is no value of an earlier entry (known: none)",
    ),
    (
        "POST http://127.0.0.1:3000/orders, ",
        '"POST http://127.0.0.1:3000/{order}", ',
        "3:18: request has {order}, which is no value of an earlier entry (known: none)",
    ),
    (
        ", order:",
        ", values: {Token: $.t}, order:",
        "3:62: a key of values must be 1 to 40 lower-case letters, digits and _, and no key of"
        " start, not 'Token'",
    ),
    (
        ", order:",
        ", values: {payment: $.t}, order:",
        "3:62: a key of values must be 1 to 40 lower-case letters, digits and _, and no key of"
        " start, not 'payment'",
    ),
    (
        "/{order}",
        "",
        "5:12: request must be a request with {order} in its URL, which stands for the order's"
        " id, not 'GET http://127.0.0.1:3000/orders'",
    ),
    ("[paid]", "[]", "6:30: in must have a value or more, or the condition is never true"),
    (
        "request: GET http://127.0.0.1:3000/orders/{order}",
        "command: show-orders",
        "5:12: command must be a command with {order} in it, which stands for the order's id, not"
        " 'show-orders'",
    ),
    (
        "path: $.status, in: [paid]",
        "in: [paid]",
        "6:9: paid must have 'path' or 'match'",
    ),
    (
        "path: $.status, in: [paid]",
        "match: paid, in: [paid]",
        "6:23: 'in' is not allowed beside 'match'",
    ),
    (
        "webhook:",
        "  idle: /flush\nwebhook:",
        "9:9: idle must be a method and an absolute URL, such as POST http://127.0.0.1:3000/idle,"
        " not '/flush'",
    ),
    (
        "webhook:",
        "  idle: POST http://127.0.0.1:3000/idle\n  within: 1s\nwebhook:",
        "10:3: 'within' is not allowed beside 'idle'",
    ),
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


LIST = """[
  {request: GET http://127.0.0.1:3000/login, values: {csrf: {match: '"(.*)"'}}},
  {request: "POST http://127.0.0.1:3000/orders?csrf={csrf}", order: $.id},
]
"""


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        (
            "{csrf}",
            "{scrf}",
            "5:13: request has {scrf}, which is no value of an earlier entry (known: csrf)",
        ),
        (", order: $.id", "", "3:8: start must have 'order' once: where a response has"),
        ("(.*)", "(.*", "4:69: match must be a regular expression of up to 500 characters"),
        (LIST, "[]\n", "3:8: start must have 1 to 20 entries, not 0"),
        (LIST, "[1]\n", "3:9: an entry of start must be a mapping, not 1"),
        (LIST, f"{['x'] * 21}\n", "3:8: start must have 1 to 20 entries, not 21"),
    ],
)
def test_a_mistake_in_a_list_of_requests_has_its_position(
    right: str, wrong: str, message: str
) -> None:
    first, _, rest = TEXT.partition("start: ")
    text = f"{first}start: {LIST}{rest.partition(chr(10))[2]}"
    assert len(parse_integration(text, "shop.yaml").start) == 2
    with pytest.raises(ScenarioError) as caught:
        parse_integration(text.replace(right, wrong, 1), "shop.yaml")
    assert str(caught.value.problems[0]).startswith(f"shop.yaml:{message}")


TAKEN = "csrf: {match: '(.+)'}"


@pytest.mark.parametrize(
    ("login", "order"),
    [
        (f"values: {{{TAKEN}}}", ""),
        (TAKEN, ""),
        (f"values: {{id: $.id}}, {TAKEN}", ""),
        ("", f", {TAKEN}"),
        ("", f", values: {{{TAKEN}}}"),
    ],
)
def test_a_value_stands_at_the_request_that_has_or_uses_it(login: str, order: str) -> None:
    """Beside the other keys, too: a request that uses it takes it from the response before."""
    first, _, rest = TEXT.partition("start: ")
    text = f"""{first}start:
  - {{request: GET http://127.0.0.1:3000/login, {login}}}
  - {{request: POST http://127.0.0.1:3000/orders, form: {{a: "{{csrf}}"}}, order: $.id{order}}}
{rest.partition(chr(10))[2]}"""
    before, using = parse_integration(text, "shop.yaml").start
    assert dict(before.values)["csrf"] == ResponseValue(match="(.+)")
    assert using.values == ()
    written = INTEGRATION.write(parse_integration(text, "shop.yaml"))
    for each in (yaml.safe_load(text), {"version": 1, **written}):
        jsonschema_rs.validate(integration_schema(), each)


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


def test_every_value_of_a_state_is_compared_by_default() -> None:
    assert parse_integration(TEXT, "shop.yaml").state.ignore == ()


def test_a_written_integration_reads_as_the_same_value() -> None:
    integration = parse_integration(FULL, "shop.yaml")
    text = yaml.safe_dump({"version": 1, **INTEGRATION.write(integration)})
    assert parse_integration(text, "shop.yaml") == integration


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_the_guide_is_valid_and_is_written_as_the_same_value(name: str) -> None:
    text = FILES[name].text
    integration = parse_integration(text, name)
    written = {"version": 1, **INTEGRATION.write(integration)}
    assert parse_integration(yaml.safe_dump(written), name) == integration
    validator = jsonschema_rs.Draft202012Validator(integration_schema())
    for document in (yaml.safe_load(text), written):
        assert validator.is_valid(document)


def test_a_header_replaces_the_usual_one_in_any_case() -> None:
    text = FULL.replace('{x-job: "1"}', "{Content-Type: text/json}, json: {}")
    wall = RealClock()
    shop = Shop(parse_integration(text, "shop.yaml"), ShopClient(wall), "", STANDARD, wall, {})
    assert shop.settle_request("7").headers == {"content-type": "text/json"}


def test_the_schema_accepts_what_the_reader_accepts() -> None:
    validator = jsonschema_rs.Draft202012Validator(integration_schema())
    assert validator.is_valid(yaml.safe_load(FULL))
    assert not validator.is_valid(
        yaml.safe_load(TEXT.replace("path: $.status, in", "other: x, in"))
    )
    assert json.dumps(integration_schema())


DOCUMENT = {"a": {"b": [{"c": 1}, {"c": 2}]}, "d": 3}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("$.a.b[1].c", 2),
        ("$.a.b[0]", {"c": 1}),
        ("$.d", 3),
        ("$.a.x[7].y", None),
        ("$", DOCUMENT),
    ],
)
def test_a_path_finds_a_value(path: str, value: object) -> None:
    assert read_path(path, DOCUMENT) == value


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
    assert missing_at(path, {**DOCUMENT, "n": None}) == found
