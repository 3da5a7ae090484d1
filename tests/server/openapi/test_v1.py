"""The document of `/v1` agrees with the contract and the program."""

import json
import re
from urllib.parse import parse_qsl

import pytest
from click.testing import CliRunner
from jsonschema_rs import Draft202012Validator

from emulator.cli.commands import cli
from emulator.domain.effects import ApiRequest
from emulator.domain.payment_methods import DEFAULT_METHODS
from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER, SecretFormat
from emulator.http.webhook_messages import Message, webhook_request
from emulator.scenarios.webhook_form_file import SHIPPED_FORMS, shipped_form
from emulator.server.api.parameter_types import Parameter, ParameterTable
from emulator.server.api.parameters import CREATE, LIST
from tests.cli.invocation import usage_error
from tests.server.api.calls import CODES
from tests.server.api.parameter_values import values_of
from tests.server.openapi.navigation import Json, objects, operations, resolved, validator
from tests.world import order


def test_it_has_the_calls_of_the_contract(v1: Json) -> None:
    """4: there are three."""
    assert {
        (operation.method.upper(), operation.path): operation.name for operation in operations(v1)
    } == {
        ("POST", "/v1/payments"): ApiRequest.CREATE_PAYMENT,
        ("GET", "/v1/payments/{id}"): ApiRequest.RETRIEVE_PAYMENT,
        ("GET", "/v1/payments"): ApiRequest.LIST_PAYMENTS,
    }


def test_it_describes_every_code_under_its_status_and_no_other(v1: Json) -> None:
    """7: the full list is not shown; ours is closed."""
    described: dict[str, int] = {}
    for operation in operations(v1):
        for status, response in operation.definition["responses"].items():
            if int(status) >= 400:
                codes = re.findall(r"`([a-z_]+)`", response["description"].split("Codes:")[1])
                described |= dict.fromkeys(codes, int(status))
    assert described == CODES


@pytest.mark.parametrize(("call", "table"), [("create_payment", CREATE), ("list_payments", LIST)])
def test_the_codes_of_invalid_fields_are_those_of_the_call(
    v1: Json, call: str, table: ParameterTable
) -> None:
    [operation] = [found for found in operations(v1) if found.name == call]
    description = operation.definition["responses"]["400"]["description"]
    codes = {f"invalid_{row.kind}" for row in table.rows}
    assert (
        set(re.findall(r"`(invalid_\w+)`", description)) - {"invalid_json", "invalid_request_body"}
        == codes
    )


def test_it_has_every_event_with_the_headers_of_its_webhook(v1: Json) -> None:
    """6: webhooks are the recommended way to follow a payment's status."""
    assert tuple(v1["webhooks"]) == EVENT_TYPES_IN_ORDER
    for event_type, item in v1["webhooks"].items():
        example = item["post"]["requestBody"]["content"]["application/json"]["example"]
        assert example["type"] == event_type


@pytest.mark.parametrize("name", SHIPPED_FORMS)
def test_a_webhook_is_described_in_the_form_in_which_it_is_sent(v1: Json, name: str) -> None:
    form = shipped_form(name)
    document = json.loads(CliRunner().invoke(cli, ("openapi", "--webhook-format", name)).output)
    assert list(document["webhooks"]) == [each for each in v1["webhooks"] if form.sends(each)]
    secret = "00" * 32 if form.signature.secret is SecretFormat.HEX else "whsec_" + "A" * 32
    for event_type, item in document["webhooks"].items():
        event = v1["webhooks"][event_type]["post"]["requestBody"]["content"]["application/json"]
        message = Message(
            event_id="evt_1", timestamp_s=1, body=json.dumps(event["example"]).encode()
        )
        sent = webhook_request(message, form=form, url="http://127.0.0.1/", secrets=[secret])
        described = {parameter["name"] for parameter in item["post"]["parameters"]}
        assert described == dict(sent.headers).keys() - {"content-type", "user-agent"}
        [(media_type, content)] = item["post"]["requestBody"]["content"].items()
        assert media_type == dict(sent.headers)["content-type"]
        body = sent.body.decode()
        is_json = media_type == "application/json"
        received = json.loads(body) if is_json else dict(parse_qsl(body, keep_blank_values=True))
        assert content["example"] == received
        schema = validator(document, content["schema"])
        assert schema.is_valid(received)
        assert not schema.is_valid({})


def test_a_form_that_cannot_be_read_is_an_error_of_the_command() -> None:
    error = usage_error("openapi", "--webhook-format", "nowhere.yaml")
    assert error.startswith("nowhere.yaml:1:1: cannot be read: No such file or directory")


@pytest.mark.clause("6.2")
def test_a_later_type_of_event_is_valid_because_the_contract_shows_none(v1: Json) -> None:
    event_type = v1["components"]["schemas"]["PaymentEvent"]["properties"]["type"]
    assert Draft202012Validator(event_type).is_valid("payment.disputed")
    assert event_type["x-extensible-enum"] == event_type["examples"] == [*EVENT_TYPES_IN_ORDER]


def test_without_webhooks_the_document_has_everything_else(v1: Json) -> None:
    assert json.loads(CliRunner().invoke(cli, ("openapi", "--no-webhooks")).output) == {
        name: value for name, value in v1.items() if name != "webhooks"
    }


BEYOND_A_SCHEMA = re.compile(r"://\[|\\u0085")


@pytest.mark.parametrize("row", CREATE.rows, ids=lambda row: row.name)
def test_a_member_is_valid_to_the_document_just_where_it_is_to_the_program(
    v1: Json, row: Parameter
) -> None:
    """Which values the program accepts: tests/server/api/test_parameters.py."""
    judge = validator(v1, {"$ref": "#/components/schemas/CreatePayment"})
    assert judge.is_valid(order(**{row.name: ...})) is not row.is_required
    assert judge.is_valid(order(**{row.name: None})) is not row.is_required
    values = values_of(row)
    for token in (*values.accepted, *values.unusual, *values.refused):
        # Python reads no longer integers, and to JSON Schema 1.0 is one. No pattern can say what
        # an address of IPv6 is, and not each language knows the control characters above ASCII.
        if (len(token) > 4_000 and '"' not in token) or BEYOND_A_SCHEMA.search(token):
            continue
        value = json.loads(token)
        if not isinstance(value, float):
            is_valid = token not in values.refused
            assert judge.is_valid(order(**{row.name: value})) is is_valid, token[:60]
    assert judge.is_valid(order(unknown={"what": "ever"}))


def test_methods_of_payments_are_no_closed_set_but_those_to_offer_are(v1: Json) -> None:
    """2.1: the complete list of method values is not shown, so that clients must expect more."""
    properties = v1["components"]["schemas"]["Payment"]["properties"]
    assert "enum" not in properties["method"]
    [methods] = [
        resolved(v1, found["methods"]["items"])
        for found in objects(v1)
        if isinstance(found.get("methods"), dict) and "items" in found["methods"]
    ]
    assert methods["enum"] == list(DEFAULT_METHODS)


def test_an_importer_makes_requests_that_are_accepted(v1: Json) -> None:
    """Postman's makes URLs of a pattern, and sends each example."""
    body = v1["components"]["schemas"]["CreatePayment"]["properties"]
    for name in ("success_url", "cancel_url"):
        assert body[name]["format"] == "uri"
        assert "pattern" not in body[name]
        assert body[name]["examples"][0].startswith("https://shop.example/")
    [listing] = [found for found in operations(v1) if found.name == ApiRequest.LIST_PAYMENTS]
    shown = [each["name"] for each in listing.definition["parameters"] if "example" in each]
    assert shown == ["limit", "status", "method"]
    for name in ("after", "created_gte", "created_lte"):
        [parameter] = [each for each in listing.definition["parameters"] if each["name"] == name]
        assert not {"example", "examples", "default"} & {*parameter, *parameter["schema"]}
