"""The parsers of the program, each with valid inputs and a check of what it makes of any bytes.

A parser returns a value or raises its own error. Any other exception is a defect.
"""

import asyncio
import json
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from emulator.domain.durations import duration_text, parse_duration_ms
from emulator.domain.errors import Refusal
from emulator.domain.hosts import (
    authority,
    hide_url_secrets,
    is_ip_literal,
    is_local_name,
    parse_url,
    parse_url_host,
    split_host,
)
from emulator.domain.instants import format_clock, format_instant, parse_clock, parse_instant
from emulator.domain.payment_methods import DEFAULT_METHODS, normalise_phone
from emulator.domain.webhook_forms import STANDARD, SecretFormat
from emulator.http.addresses import BaseUrl, host_and_port, is_web_url, with_host, with_scheme
from emulator.http.received_webhooks import ReceivedRequest
from emulator.http.receiver import parse_head
from emulator.http.webhook_messages import Message, webhook_request
from emulator.scenarios.loader import parse_scenario, read_fault_rule_text
from emulator.scenarios.problems import ScenarioError
from emulator.scenarios.scenario_file import fault_rule_json
from emulator.scenarios.webhook_form_file import (
    SHIPPED_FORMS,
    parse_webhook_form,
    shipped_form,
    webhook_form_json,
    webhook_form_of,
)
from emulator.server.api.bodies import decode_object
from emulator.server.api.errors import error_body
from emulator.server.api.parameters import CreateRules, check_order
from emulator.server.api.queries import KNOWN, page_query, parse_query
from emulator.server.api.request_warnings import RequestWarning
from emulator.settings.config_file import read_config_file
from emulator.settings.options import SettingsError
from emulator.tools.explore.integration_file import parse_integration
from emulator.tools.recorded_traffic import UnusableTraffic, read_traffic
from emulator.tools.traffic_import import import_traffic
from emulator.tools.verify.recording import compare_recording
from tests.cli.processes import REPOSITORY
from tests.tools.recordings import Recorder, tour
from tests.world import ORDER, TEST_KEY, world

MAX_ERROR_BYTES = 4_096
Check = Callable[[bytes], object]
SECRETS = {
    SecretFormat.BASE64: "whsec_" + "QUJD" * 10,
    SecretFormat.HEX: "ab" * 20,
    SecretFormat.TEXT: "secret" * 5,
}
EVENT = json.dumps(
    {
        "id": "evt_1",
        "object": "event",
        "type": "payment.completed",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "mode": "test",
        "data": {**ORDER, "id": "pay_1", "object": "payment", "status": "completed"},
    }
).encode()
FORMS = [webhook_form_json(STANDARD), webhook_form_json(shipped_form("form-fields"))]


def is_one_line(text: str) -> bool:
    return len(text.splitlines()) == 1


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def checked(parse: Callable[[str, str], Any], text: str) -> Any:
    """What a reader of YAML makes of a text; None after a check of its problems."""
    try:
        return parse(text, "fuzz.yaml")
    except ScenarioError as error:
        problems = error.problems
    assert problems
    for problem in problems:
        # The end of a text is on a line of its own.
        assert problem.source == "fuzz.yaml", problem
        assert 1 <= problem.line <= len(text.splitlines()) + 1, problem
        assert problem.column >= 1
        assert is_one_line(str(problem)), problem
        str(problem).encode()
    return None


def _check_refusal(refusal: Refusal) -> None:
    assert len(error_body(refusal)) < MAX_ERROR_BYTES, refusal


def _check_slugs(warnings: Iterable[RequestWarning]) -> None:
    for warning in warnings:
        assert warning.slug.isascii(), warning
        assert warning.slug.isprintable(), warning


def scenario(data: bytes) -> None:
    checked(parse_scenario, _text(data))


def fault(data: bytes) -> None:
    rule = checked(read_fault_rule_text, _text(data))
    if rule is not None:
        assert read_fault_rule_text(json.dumps(fault_rule_json(rule)), "body") == rule


def integration(data: bytes) -> None:
    checked(parse_integration, _text(data))


def webhook_form(data: bytes) -> None:
    """A form that is accepted builds a webhook, and is accepted as JSON."""
    form = checked(parse_webhook_form, _text(data))
    if form is None:
        return
    written = webhook_form_json(form)
    assert webhook_form_of(written) == form
    message = Message(event_id="evt_1", timestamp_s=1, body=EVENT)
    secret = SECRETS[form.signature.secret]
    request = webhook_request(message, form=form, url="http://a", secrets=[secret])
    headers = {name.lower(): value for name, value in request.headers}
    received = ReceivedRequest(headers=headers, body=request.body).read(written)
    assert received.is_signed_with(secret) == form.is_signed


def form_in_json(data: bytes) -> None:
    with suppress(Refusal, ScenarioError):
        webhook_form_of(decode_object(data)[0])


@cache
def _file() -> Path:
    return Path(tempfile.mkdtemp()) / "file"


def config(data: bytes) -> None:
    _file().write_bytes(data)
    try:
        given = read_config_file(str(_file()), named_by="--config", overridden=())
        for value in given.values():
            value.read()
    except SettingsError as error:
        lines = error.lines
    else:
        return
    assert lines
    assert all(map(is_one_line, lines)), lines


def body(data: bytes) -> None:
    """A body that is accepted is what the standard library makes of it."""
    warnings: list[RequestWarning] = []
    try:
        value, _ = decode_object(data)
        assert value.keys() == json.loads(data).keys()
        order = check_order(value, RULES, warnings)
        assert order.amount_minor == json.loads(data)["amount"]
    except Refusal as refusal:
        _check_refusal(refusal)
    _check_slugs(warnings)


RULES = CreateRules(methods=tuple(DEFAULT_METHODS), allow_http_localhost=True)


def query(data: bytes) -> None:
    warnings: list[RequestWarning] = []
    try:
        page_query(parse_query(data, KNOWN, warnings), tuple(DEFAULT_METHODS), warnings)
        names = (*KNOWN, "amount_gte", "amount_lte", "phone", "metadata")
        page_query(parse_query(data, names, warnings), tuple(DEFAULT_METHODS), warnings)
    except Refusal as refusal:
        _check_refusal(refusal)
    _check_slugs(warnings)


def url(data: bytes) -> None:
    text = _text(data)
    hide_url_secrets(text)
    host = split_host(text)
    is_ip_literal(host)
    is_local_name(host)
    parse_url_host(text)
    try:
        parse_url(text)
    except ValueError:
        assert not is_web_url(text)
    else:
        authority(text)
        if is_web_url(text):
            base = BaseUrl.parse(text)
            assert BaseUrl.parse(str(base)) == base
            host_and_port(text)
            assert is_web_url(with_host(text, "shop.example"))
            assert is_web_url(with_scheme(text, "https"))
    order = {**ORDER, "success_url": text, "cancel_url": text}
    with suppress(Refusal):
        check_order(order, RULES, [])


def value(data: bytes) -> None:
    """Timestamps, clocks, durations and phones."""
    text = _text(data)
    with suppress(ValueError):
        instant = parse_instant(text)
        assert parse_instant(format_instant(instant)) == instant
    with suppress(ValueError):
        clock = parse_clock(text)
        assert parse_clock(format_clock(clock)) == clock
    with suppress(ValueError):
        span_ms = parse_duration_ms(text)
        assert parse_duration_ms(duration_text(span_ms)) == span_ms
    with suppress(ValueError):
        assert normalise_phone(normalise_phone(text)) == normalise_phone(text)


def traffic(data: bytes) -> None:
    """What is read is compared and imported, and the script is a scenario."""
    _file().write_bytes(data)
    with suppress_unusable():
        recorded = read_traffic([_file()])
        with suppress_unusable():
            asyncio.run(compare_recording(recorded, base_url=None, key=None, accepted=frozenset()))
        for form in FORMS:
            with suppress_unusable():
                imported = import_traffic(recorded, name="fuzz", keep=("a",), form=form)
                parse_scenario(imported.text, "fuzz.yaml")


class suppress_unusable:  # noqa: N801 - as `contextlib.suppress`
    """Suppresses UnusableTraffic, whose message is one line."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, *__: object) -> bool:
        if isinstance(error, UnusableTraffic):
            assert is_one_line(str(error)), error
        return isinstance(error, UnusableTraffic)


def webhook(data: bytes) -> None:
    """A request of a receiver, with its head and its body, in each form."""
    head, _, content = data.partition(b"\r\n\r\n")
    try:
        _, headers = parse_head(head + b"\r\n\r\n")
    except ValueError:
        return
    for form in FORMS:
        received = ReceivedRequest(headers=headers, body=content).read(form)
        assert isinstance(received.type, str)
        assert isinstance(received.id, str)
        assert received.payment is None or isinstance(received.payment, str)
        received.is_recent(1)
        assert not received.is_signed_with(SECRETS[SecretFormat(form["signature"]["secret"])])


def _files(*patterns: str) -> list[bytes]:
    return [path.read_bytes() for pattern in patterns for path in sorted(REPOSITORY.glob(pattern))]


def _recordings() -> list[bytes]:
    async def record() -> dict[str, Any]:
        async with world() as emulator:
            recorder = Recorder(emulator, TEST_KEY)
            await tour(recorder)
        return recorder.har()

    har = asyncio.run(record())
    har["log"]["entries"] = har["log"]["entries"][:6]
    lines = {
        "at": "2026-01-01T00:00:00Z",
        "headers": {"webhook-id": "evt_1"},
        "body": EVENT.decode(),
    }
    return [
        json.dumps(har).encode(),
        json.dumps(lines).encode() + b"\n" + json.dumps(lines).encode(),
    ]


FAULT = b'{"when":{"request":"create_payment","nth":2},"then":{"status":500},"times":1}'
CONFIG = b"port: 8080\nclock: frozen@2026-01-01T00:00:00Z\nmethods: [telebirr, mpesa]\nseed: 1\n"
URLS = [
    "https://shop.example:8443/ok?a=b#c",
    "http://[::1]/",
    "https://u:p@\u1265.example",
    "1.2.3.4",
]
TEXTS = [
    "2026-01-01T00:00:00.000+03:00",
    "frozen@2026-01-01",
    "x60",
    "1.5h",
    "30s",
    "+251 911 223344",
]
REQUEST = b"POST /1 HTTP/1.1\r\nwebhook-id: evt_1\r\nwebhook-signature: v1,QQ==\r\n\r\n" + EVENT
QUERY = b"limit=10&after=pay_1&status=pending&method=mpesa&created_gte=2026-01-01T00:00:00Z"
TARGETS: dict[str, tuple[Check, Callable[[], Iterable[bytes]]]] = {
    "scenario": (scenario, lambda: _files("scenarios/*.yaml", "tests/cases/*.yaml")),
    "fault": (fault, lambda: [FAULT]),
    "integration": (integration, lambda: _files("tests/examples/*.yaml")),
    "webhook_form": (webhook_form, lambda: _files("scenarios/webhook-forms/*.yaml")),
    "form_in_json": (
        form_in_json,
        lambda: [
            json.dumps(webhook_form_json(shipped_form(name))).encode() for name in SHIPPED_FORMS
        ],
    ),
    "config": (config, lambda: [CONFIG]),
    "body": (body, lambda: [json.dumps({**ORDER, "metadata": {"a": "\u1265"}}).encode()]),
    "query": (query, lambda: [QUERY]),
    "url": (url, lambda: map(str.encode, URLS)),
    "value": (value, lambda: map(str.encode, TEXTS)),
    "traffic": (traffic, _recordings),
    "webhook": (webhook, lambda: [REQUEST]),
}


def words(seeds: Iterable[bytes]) -> list[bytes]:
    """The words of the valid inputs, which a mutation puts into others."""
    return sorted(set(chain.from_iterable(seed.replace(b'"', b" ").split() for seed in seeds)))[
        :2_000
    ]
