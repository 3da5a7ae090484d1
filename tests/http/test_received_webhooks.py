"""Received webhooks: what they say and whether they are genuine, in each shipped form.

The receiver does not use the code that signs; here the two are compared.
"""

import json
from base64 import b64encode
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.domain.payment import EVENT_TYPES, Status
from emulator.domain.webhooks import (
    Algorithm,
    Encoding,
    SecretFormat,
    SignatureForm,
    Tamper,
    WebhookForm,
    tamper_problem,
)
from emulator.http.received_webhooks import (
    MAX_HEADER_CHARACTERS,
    MAX_SIGNATURES,
    TOLERANCE_S,
    ReceivedRequest,
    ReceivedWebhook,
)
from emulator.http.webhook_messages import Message, foreign_secret, sign, webhook_request
from emulator.scenarios.entries import ScenarioError
from emulator.scenarios.webhook_form_file import (
    SHIPPED_FORMS,
    shipped_form,
    webhook_form_json,
    webhook_form_of,
)
from tests.depth import usually

KEY = b"a secret of twenty-four b"
SECRETS = {
    SecretFormat.BASE64: "whsec_" + b64encode(KEY).decode(),
    SecretFormat.HEX: KEY.hex(),
    SecretFormat.TEXT: "secret of the shop ☕",
}
NOW_S = 1_767_225_600
PAYMENT = {"id": "pay_1", "amount": 15_000, "currency": "ETB", "status": "completed"}
PAYMENT |= {"metadata": {"ደንበኛ": "a & b"}, "method": None}
EVENT: dict[str, Any] = {"id": "evt_1", "object": "event", "type": "payment.completed"}
EVENT |= {"timestamp": "2026-01-01T00:00:00.000Z", "mode": "test", "data": PAYMENT}
STANDARD = webhook_form_json(shipped_form("standard"))
SECRET = SECRETS[SecretFormat.BASE64]
SIGNED_FORMS = [name for name in SHIPPED_FORMS if shipped_form(name).is_signed]
FORGERIES = [Tamper.BODY, Tamper.SIGNATURE, Tamper.TIMESTAMP, Tamper.UNSIGNED]

each_form = pytest.mark.parametrize("name", SHIPPED_FORMS)
each_signed_form = pytest.mark.parametrize("name", SIGNED_FORMS)


def encoded(event: dict[str, Any]) -> bytes:
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()


def received(
    name: str, event: dict[str, Any] = EVENT, tamper: Tamper | None = None, *secrets: str
) -> ReceivedWebhook:
    """What the sender builds in a shipped form, as it is received."""
    return sent_as(shipped_form(name), *(secrets or (secret_of(name),)), event=event, tamper=tamper)


def sent_as(
    form: WebhookForm,
    *secrets: str,
    event: dict[str, Any] = EVENT,
    tamper: Tamper | None = None,
) -> ReceivedWebhook:
    """What the sender builds in a form, as it is received."""
    message = Message(event_id=event["id"], timestamp_s=NOW_S, body=encoded(event))
    other = encoded({**event, "data": {**event["data"], "amount": 15_001}})
    sent = webhook_request(
        message,
        form=form,
        url="http://localhost/",
        secrets=secrets,
        tamper=tamper,
        other_body=other,
    )
    request = ReceivedRequest(headers=dict(sent.headers), body=sent.body)
    return request.read(json.loads(json.dumps(webhook_form_json(form))))


def secret_of(name: str) -> str:
    return SECRETS[shipped_form(name).signature.secret]


@each_form
def test_a_webhook_says_what_happened_to_which_payment(name: str) -> None:
    webhook = received(name)
    assert (webhook.type, webhook.payment) == ("payment.completed", "pay_1")
    contains_id = name in ("standard", "timestamped-hex", "form-fields")
    assert webhook.id == ("evt_1" if contains_id else "")
    assert str(webhook.data["amount"]) == "15000"
    assert webhook.is_signed is (name != "unsigned")
    assert webhook.timestamp == (str(NOW_S) if shipped_form(name).signs_timestamp else "")


@each_form
@pytest.mark.parametrize("status", Status)
def test_each_type_has_the_name_of_the_emulator(name: str, status: Status) -> None:
    event = {**EVENT, "type": EVENT_TYPES[status], "data": {**PAYMENT, "status": status}}
    assert received(name, event).type == EVENT_TYPES[status]


def test_a_type_that_several_events_have_follows_from_the_status() -> None:
    form = {**STANDARD, "events": {"payment.failed": "ended", "payment.expired": "ended"}}
    body = b'{"type":"ended","data":{"status":"expired"}}'
    assert ReceivedWebhook(headers={}, body=body, form=form).type == "payment.expired"
    assert ReceivedWebhook(headers={}, body=b'{"type":"ping"}', form=form).type == "ping"


def test_a_field_without_a_value_is_an_empty_text() -> None:
    form = webhook_form_json(shipped_form("form-fields"))
    assert ReceivedWebhook(headers={}, body=b"a=&b=1", form=form).event == {"a": "", "b": "1"}


@each_signed_form
def test_the_right_secret_verifies(name: str) -> None:
    webhook = received(name)
    assert webhook.is_signed_with(secret_of(name))
    assert not webhook.is_signed_with(foreign_secret(secret_of(name), shipped_form(name)))


@each_signed_form
def test_after_a_rotation_the_new_secret_verifies_and_the_old_one_where_both_sign(
    name: str,
) -> None:
    form, old = shipped_form(name), secret_of(name)
    new = foreign_secret(old, form)
    webhook = received(name, EVENT, None, new, old)
    assert webhook.is_signed_with(new)
    assert webhook.is_signed_with(old) is bool(form.signature.separator)


@each_signed_form
@pytest.mark.parametrize("tamper", FORGERIES)
def test_a_forged_webhook_does_not_verify(name: str, tamper: Tamper) -> None:
    if tamper_problem(shipped_form(name), tamper) is None:
        assert not received(name, EVENT, tamper).is_signed_with(secret_of(name))


@pytest.mark.parametrize("name", ["standard", "timestamped-hex"])
def test_a_timestamp_is_valid_for_five_minutes(name: str) -> None:
    webhook, stale = received(name), received(name, EVENT, Tamper.STALE)
    assert stale.is_signed_with(secret_of(name))
    for age_s, is_recent in {-301: False, -300: True, 0: True, 300: True, 301: False}.items():
        assert webhook.is_recent(NOW_S + age_s) is is_recent
    assert TOLERANCE_S == 300
    assert not stale.is_recent(NOW_S)


@pytest.mark.parametrize("name", ["hex-header", "unsigned", "form-fields"])
def test_a_form_without_a_timestamp_has_no_age(name: str) -> None:
    assert received(name).is_recent(NOW_S + 86_400)


def test_nothing_verifies_a_webhook_without_a_signature() -> None:
    assert not received("unsigned").is_signed_with("")


@pytest.mark.parametrize("algorithm", [each for each in Algorithm if each.startswith("hmac-")])
@pytest.mark.parametrize("encoding", Encoding)
@pytest.mark.parametrize("secret_format", SecretFormat)
def test_each_algorithm_encoding_and_kind_of_secret_verifies(
    algorithm: Algorithm, encoding: Encoding, secret_format: SecretFormat
) -> None:
    signature = SignatureForm(algorithm, secret_format, "a {id}/{body}", encoding, "p=", "; ")
    form = shipped_form("standard")._replace(signature=signature)
    secret = SECRETS[secret_format]
    signed = sign(secret, Message(event_id="evt_1", timestamp_s=0, body=BODY), form)
    headers = {"webhook-id": "evt_1", "webhook-signature": f"p=AA; {signed}"}
    webhook = ReceivedWebhook(headers=headers, body=BODY, form=webhook_form_json(form))
    assert webhook.is_signed_with(secret)
    assert not replace(webhook, body=BODY + b" ").is_signed_with(secret)


BODY = b'{"type":"payment.created","data":{"id":"pay_1"}}'
TIMESTAMP = str(NOW_S)


def signature(body: bytes = BODY) -> str:
    return sign(SECRET, Message(event_id="evt_1", timestamp_s=NOW_S, body=body))


def webhook(signatures: str, *, body: bytes = BODY, timestamp: str = TIMESTAMP) -> ReceivedWebhook:
    headers = {
        "webhook-id": "evt_1",
        "webhook-timestamp": timestamp,
        "webhook-signature": signatures,
    }
    return ReceivedWebhook(headers=headers, body=body, form=STANDARD)


MANY = " ".join(["v1,b2xk"] * (MAX_SIGNATURES - 1))
RECEIVED = {
    "genuine": webhook(signature()),
    "one of two signatures is genuine": webhook(f"v1,b2xk {signature()}"),
    "the last of as many signatures as are compared is genuine": webhook(f"{MANY} {signature()}"),
    "one signature too many": webhook(f"v1,b2xk {MANY} {signature()}"),
    "too long a header": webhook(f"{signature()} {'a' * 2 * MAX_HEADER_CHARACTERS}"),
    "changed body": webhook(signature(), body=BODY.replace(b"created", b"failed!")),
    "changed timestamp": webhook(signature(), timestamp="1767222000"),
    "other signature": webhook("v1,Zm9yZWlnbg=="),
    "no signature": webhook(""),
    "not ASCII": webhook("v1,ÿ"),
    "not Latin": webhook("v1,☕", timestamp="☕"),
    "no headers": ReceivedWebhook(headers={}, body=BODY, form=STANDARD),
}


@pytest.mark.parametrize("name", RECEIVED)
def test_a_change_after_signing_is_noticed(name: str) -> None:
    assert RECEIVED[name].is_signed_with(SECRET) is name.endswith("genuine")


@pytest.mark.parametrize("body", [b"", b"[]", b'{"data":1}', b"\xff", b"[" * 100_000])
def test_a_body_without_an_event_has_no_payment(body: bytes) -> None:
    received = webhook(signature(body), body=body)
    assert (received.is_signed_with(SECRET), received.payment) == (True, None)
    assert (received.type, dict(received.data)) == ("", {})


@pytest.mark.parametrize("timestamp", ["", "now", "-1", "１２", "9" * 16])
def test_a_timestamp_that_is_no_number_is_not_recent(timestamp: str) -> None:
    received = webhook("", timestamp=timestamp)
    assert received.timestamp_s is None
    assert not received.is_recent(NOW_S)


PLACEHOLDERS = ("id", "timestamp", "signature", "event.type", "payment.created_at")
BETWEEN = ("", ".", ",", ", ", "-", "=", ";t=", "_", "/", " a", ":", "+", "v1")


@st.composite
def forms_with_one_header(draw: st.DrawFn) -> dict[str, Any]:
    """A form with all that a receiver needs in one header; many are ambiguous."""
    between = st.sampled_from(BETWEEN)
    names = draw(st.permutations(PLACEHOLDERS))
    return {
        "version": 1,
        "name": "one-header",
        "events": {"payment.completed": draw(st.sampled_from(("charge.paid", "a=b, c/d")))},
        "signature": {
            "algorithm": "hmac-sha256",
            "content": "{id}{timestamp}{body}",
            "encoding": draw(st.sampled_from(Encoding)),
            "prefix": draw(st.sampled_from(("", "v1=", "v1,"))),
            "separator": draw(st.sampled_from((",", " ", "; ", "=", "a"))),
        },
        "headers": {"x-all": "".join(f"{{{name}}}{draw(between)}" for name in names) + "!"},
    }


@settings(max_examples=usually(25, deep=200))
@given(forms_with_one_header())
def test_each_value_of_a_header_is_found_in_each_form_that_is_accepted(
    form: dict[str, Any],
) -> None:
    with suppress(ScenarioError):
        webhook = sent_as(webhook_form_of(form), SECRETS[SecretFormat.TEXT], "other")
        assert webhook.is_signed_with(SECRETS[SecretFormat.TEXT])
        assert webhook.is_signed_with("other")
        assert (webhook.id, webhook.timestamp_s) == ("evt_1", NOW_S)
        assert (webhook.type, webhook.payment) == ("payment.completed", "pay_1")


def test_a_header_of_another_form_has_no_values() -> None:
    form = webhook_form_json(shipped_form("timestamped-hex"))
    for text in ("", "v1=aa", "t=1", "x t=1,v1=aa"):
        headers = {"payments-signature": text}
        other = ReceivedWebhook(headers=headers, body=BODY, form=form)
        assert (other.timestamp, other.signature) == ("", "")
