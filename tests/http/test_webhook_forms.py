"""Webhooks in each form: their bytes, what a receiver finds in them, and tampering."""

import hmac
import json
import re
from base64 import b64encode
from typing import Any
from urllib.parse import parse_qs

import pytest

from emulator import __version__
from emulator.domain.payment import PAYMENT_MEMBERS
from emulator.domain.webhooks import (
    CONTENT_PLACEHOLDERS,
    STANDARD,
    SecretFormat,
    Tamper,
    WebhookForm,
    WebhookRequest,
    tamper_problem,
)
from emulator.http.received_webhooks import ReceivedRequest, ReceivedWebhook
from emulator.http.webhook_messages import (
    TOO_OLD_S,
    Message,
    foreign_secret,
    sign,
    webhook_request,
)
from emulator.scenarios.webhook_form_file import (
    SHIPPED_FORMS,
    parse_webhook_form,
    shipped_form,
    webhook_form_json,
)
from tests.docs.document import REPOSITORY

URL = "https://shop.example/hook"
FORMS = {name: shipped_form(name) for name in SHIPPED_FORMS}
SECRETS = {
    SecretFormat.BASE64: "whsec_" + b64encode(bytes(range(24))).decode(),
    SecretFormat.HEX: bytes(range(32)).hex(),
    SecretFormat.TEXT: "correct horse ባትሪ",
}
PAYMENT = {
    "id": "pay_1",
    "object": "payment",
    "amount": 15_000,
    "currency": "ETB",
    "status": "completed",
    "method": None,
    "checkout_url": "http://127.0.0.1:8081/c/1",
    "success_url": "https://shop.example/ok",
    "cancel_url": "https://shop.example/no",
    "metadata": {"ደንበኛ": 'አበበ "☕"\n'},
    "created_at": "2026-01-01T00:00:00.000Z",
    "expires_at": "2026-01-01T00:30:00.000Z",
    "completed_at": "2026-01-01T00:00:05.000Z",
}


def event(**changes: object) -> bytes:
    members = {
        "id": "evt_1",
        "object": "event",
        "type": "payment.completed",
        "timestamp": "2026-01-01T00:00:05.000Z",
        "mode": "test",
        "data": {**PAYMENT, **changes},
    }
    return json.dumps(members, ensure_ascii=False, separators=(",", ":")).encode()


def request(
    form: WebhookForm, tamper: Tamper | None = None, *, secrets: int = 1, body: bytes = b""
) -> WebhookRequest:
    secret = SECRETS[form.signature.secret]
    return webhook_request(
        Message(event_id="evt_1", timestamp_s=1_767_225_605, body=body or event()),
        form=form,
        url=URL,
        secrets=[secret, foreign_secret(secret, form)][:secrets],
        tamper=tamper,
        other_body=event(amount=15_001),
    )


def mine(rest: str) -> WebhookForm:
    return parse_webhook_form(f"version: 1\nname: mine\nsignature: {{algorithm: none}}\n{rest}", "")


def body_of(form: WebhookForm) -> Any:
    return json.loads(request(form).body)


def received(form: WebhookForm, sent: WebhookRequest) -> ReceivedWebhook:
    request = ReceivedRequest(headers=dict(sent.headers), body=sent.body)
    return request.read(webhook_form_json(form))


def is_genuine(form: WebhookForm, sent: WebhookRequest) -> bool:
    """As a receiver verifies it, apart from the age."""
    return received(form, sent).is_signed_with(SECRETS[form.signature.secret])


@pytest.mark.clause("6.3", "6.5")
def test_the_bytes_of_a_webhook_in_the_form_standard() -> None:
    body = event()
    sent = request(STANDARD)
    assert sent.body == body
    assert sent.headers == (
        ("content-type", "application/json"),
        ("user-agent", f"etb-payments-emulator/{__version__}"),
        ("webhook-id", "evt_1"),
        ("webhook-timestamp", "1767225605"),
        ("webhook-signature", "v1,jPIM5E8NsU9OBEZqd9Dm77dOlv2c9+gorIZoa2Bp66s="),
    )


# The example in the tests of the Standard Webhooks libraries.
PUBLISHED_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # noqa: S105
PUBLISHED = Message(
    event_id="msg_p5jXN8AQM9LWM0D4loKWxJek",
    timestamp_s=1_614_265_330,
    body=b'{"test": 2432232314}',
)


@pytest.mark.clause("6.5")
def test_the_example_of_standard_webhooks_has_its_signature() -> None:
    published = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert sign(PUBLISHED_SECRET, PUBLISHED) == published


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_foreign_secret_fits_the_form_and_is_always_the_same(form: WebhookForm) -> None:
    secret = SECRETS[form.signature.secret]
    foreign = foreign_secret(secret, form)
    assert form.signature.secret.accepts(foreign)
    assert secret != foreign == foreign_secret(secret, form)


def test_tampering_changes_one_part_of_a_webhook() -> None:
    right = request(STANDARD)
    assert request(STANDARD, Tamper.BODY) == right._replace(body=event(amount=15_001))
    foreign = request(STANDARD, Tamper.SIGNATURE)
    assert (foreign.body, foreign.headers[:-1]) == (right.body, right.headers[:-1])
    signature, other_signature = (sent.headers[-1][1] for sent in (right, foreign))
    assert len(other_signature) == len(signature)
    assert other_signature != signature
    signed, older, stale = (
        dict(request(STANDARD, tamper).headers) for tamper in (None, Tamper.TIMESTAMP, Tamper.STALE)
    )
    assert int(older["webhook-timestamp"]) == int(signed["webhook-timestamp"]) - TOO_OLD_S
    assert older["webhook-signature"] == signed["webhook-signature"]
    assert stale["webhook-timestamp"] == older["webhook-timestamp"]
    assert stale["webhook-signature"] != signed["webhook-signature"]


def test_the_standard_form_written_in_a_file_has_the_same_bytes() -> None:
    renamed = STANDARD._replace(events=(("payment.created", "order.created"),))
    assert request(renamed) == request(STANDARD)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_form_allows_the_tampering_for_which_it_has_a_place(form: WebhookForm) -> None:
    allowed = {tamper for tamper in Tamper if tamper_problem(form, tamper) is None}
    of_time = {Tamper.TIMESTAMP, Tamper.STALE}
    if form.name == "unsigned":
        assert allowed == {Tamper.BODY}
    else:
        assert allowed == ({*Tamper} if form.signs_timestamp else {*Tamper} - of_time)
    for tamper in set(Tamper) - allowed:
        with pytest.raises(ValueError, match=f"webhooks of the format '{form.name}' have no"):
            request(form, tamper)


def test_a_body_without_what_differs_is_tampered_with_all_the_same() -> None:
    form = mine("body: {id: '{payment.id}'}")
    assert request(form, Tamper.BODY).body == request(form).body + b" "


def test_a_header_with_a_missing_signature_is_left_out() -> None:
    sent = request(FORMS["timestamped-hex"], Tamper.UNSIGNED)
    assert [name for name, _ in sent.headers] == ["content-type", "user-agent"]


def test_the_separator_joins_the_signatures_of_two_secrets() -> None:
    form = FORMS["timestamped-hex"]
    header = dict(request(form, secrets=2).headers)["payments-signature"]
    timestamp, new, old = header.split(",")
    assert timestamp == "t=1767225605"
    assert f"{timestamp},{new}" == dict(request(form).headers)["payments-signature"]
    assert new[:3] == old[:3] == "v1="
    assert new != old
    new, _ = dict(request(STANDARD, secrets=2).headers)["webhook-signature"].split(" ")
    assert new == dict(request(STANDARD).headers)["webhook-signature"]
    alone = FORMS["hex-header"]
    assert request(alone, secrets=2) == request(alone), "only the new secret signs"


def test_a_text_that_is_one_placeholder_keeps_the_type_of_its_value() -> None:
    form = mine(
        'body: {a: "{payment.amount}", m: "{payment.method}", d: "{payment.metadata}",'
        ' t: "ETB {payment.amount} \\"{payment.method}\\"", n: [1, null, "{id}"]}'
    )
    assert body_of(form) == {
        "a": 15_000,
        "m": None,
        "d": PAYMENT["metadata"],
        "t": 'ETB 15000 ""',
        "n": [1, None, "evt_1"],
    }


def test_a_quote_beside_a_placeholder_does_not_end_a_text() -> None:
    form = mine("""body: ['"{id}', '{id}"', '\\"{id}"', '"{payment.amount}"']""")
    assert body_of(form) == ['"evt_1', 'evt_1"', '\\"evt_1"', '"15000"']


def test_fields_of_a_form_are_texts() -> None:
    form = mine(
        "content_type: application/x-www-form-urlencoded\n"
        'body: {a b: "{payment.amount}", m: "{payment.method}", d: "{payment.metadata}", t: true}'
    )
    fields = parse_qs(request(form).body.decode(), keep_blank_values=True, strict_parsing=True)
    metadata = json.loads(fields.pop("d")[0])
    assert fields == {"a b": ["15000"], "m": [""], "t": ["true"]}
    assert metadata == PAYMENT["metadata"]


def test_the_sent_type_is_the_renamed_one() -> None:
    form = FORMS["hex-header"]
    assert body_of(form)["event"] == "charge.success"
    assert [form.sends(name) for name in ("payment.created", "payment.failed")] == [False, True]


ORDER = {"order": "A-17 ሀ", "Order no.": "x"}


def test_a_form_may_have_the_reference_of_the_merchant_and_the_amount_in_birr() -> None:
    text = (
        'body: {tx_ref: "{payment.metadata.order}", other: "{payment.metadata.Order no.}",'
        ' none: "{payment.metadata.none}", amount: "{payment.amount_birr}",'
        ' text: "ETB {payment.amount_birr} for {payment.metadata.order}"}'
    )
    for amount, birr in ((15_000, "150.00"), (105, "1.05"), (2**53 - 1, "90071992547409.91")):
        sent = request(mine(text), body=event(amount=amount, metadata=ORDER))
        members = {"tx_ref": "A-17 ሀ", "other": "x", "none": "", "amount": birr}
        assert json.loads(sent.body) == {**members, "text": f"ETB {birr} for A-17 ሀ"}
        data = received(mine(text), sent).data
        assert (data["metadata"]["order"], data["amount"]) == ("A-17 ሀ", amount)
    fields = f"content_type: application/x-www-form-urlencoded\n{text}"
    sent = request(mine(fields), body=event(metadata={}))
    assert parse_qs(sent.body.decode())["amount"] == ["150.00"]
    assert received(mine(fields), sent).data["metadata"] == {
        "order": "",
        "Order no.": "",
        "none": "",
    }


def signing(content: str, rest: str = "") -> WebhookForm:
    headers = 'headers: {x: "{signature}", t: "{timestamp}", b: "{payment.amount_birr}"}'
    signature = f"signature: {{algorithm: hmac-sha256, content: {json.dumps(content)}}}"
    return parse_webhook_form(f"version: 1\nname: mine\n{signature}\n{headers}\n{rest}", "")


@pytest.mark.parametrize("name", [each for each in CONTENT_PLACEHOLDERS if each != "body"])
def test_the_content_may_have_any_placeholder_but_the_signature(name: str) -> None:
    name = name.replace("NAME", "Order no.")
    form = signing(f"a{{{name}}}b")
    others = dict.fromkeys(PAYMENT_MEMBERS.keys() - PAYMENT.keys(), "a text")
    body = event(metadata=ORDER, **others)
    assert is_genuine(form, request(form, body=body))
    [value] = re.fullmatch("a(.*)b", content_of(form, body), re.DOTALL).groups()  # type: ignore[union-attr]
    members = {**json.loads(body)["data"], "amount_birr": "150.00"}
    members |= {f"metadata.{key}": text for key, text in ORDER.items()}
    expected = members.get(name.removeprefix("payment."), value) if "." in name else value
    written = "" if expected is None else expected
    assert value == (
        written
        if isinstance(written, str)
        else json.dumps(written, ensure_ascii=False, separators=(",", ":"))
    )
    assert value or name == "payment.method"
    assert not is_genuine(form, request(form, Tamper.SIGNATURE, body=body))
    problem = tamper_problem(form, Tamper.BODY)
    if name in {"payment", "payment.amount", "payment.amount_birr"}:
        assert not is_genuine(form, request(form, Tamper.BODY, body=body))
    else:
        assert problem is not None
        assert "have no signed amount; use 'tamper: signature' or 'unsigned'" in problem


def content_of(form: WebhookForm, body: bytes) -> str:
    """What is signed, which the signature of a copy of the form proves."""
    content = received(form, request(form, body=body)).signed_content
    digest = hmac.digest(SECRETS[SecretFormat.TEXT].encode(), content, "sha256").hex()
    assert dict(request(form, body=body).headers)["x"] == digest
    return content.decode()


def test_a_signature_may_cover_some_members_and_not_the_body() -> None:
    form = signing(
        "{payment.metadata.order}|{payment.amount_birr}|{timestamp}",
        'body: {o: "{payment.metadata.order}"}',
    )
    body = event(metadata=ORDER)
    assert content_of(form, body) == "A-17 ሀ|150.00|1767225605"
    for tamper in Tamper:
        assert tamper_problem(form, tamper) is None
        if tamper is not Tamper.STALE:
            assert not is_genuine(form, request(form, tamper, body=body)), tamper


def test_a_token_is_the_secret_itself() -> None:
    form = parse_webhook_form(
        "version: 1\nname: mine\nsignature: {algorithm: token, prefix: 'Bearer '}\n"
        "headers: {verif-hash: '{signature}'}",
        "",
    )
    secret = SECRETS[SecretFormat.BASE64]

    def headers(tamper: Tamper | None = None) -> dict[str, str]:
        message = Message(event_id="evt_1", timestamp_s=1, body=event())
        return dict(
            webhook_request(message, form=form, url=URL, secrets=[secret], tamper=tamper).headers
        )

    assert headers()["verif-hash"] == f"Bearer {secret}"
    assert headers(Tamper.SIGNATURE)["verif-hash"] == f"Bearer {foreign_secret(secret, form)}"
    assert "verif-hash" not in headers(Tamper.UNSIGNED)
    for sent, verdict in ((headers(), True), (headers(Tamper.SIGNATURE), False)):
        webhook = ReceivedRequest(headers=sent, body=event()).read(webhook_form_json(form))
        assert webhook.is_signed
        assert webhook.is_signed_with(secret) is verdict
    problems = {tamper: tamper_problem(form, tamper) for tamper in Tamper}
    assert [tamper for tamper, problem in problems.items() if problem is None] == [
        Tamper.SIGNATURE,
        Tamper.UNSIGNED,
    ]
    for unfit in ("ሚስጥር", "a\nb"):
        problem = form.signature.secret_problem(unfit)
        assert problem == "1 to 256 characters, all visible ASCII or blanks"
    assert form.signature.secret_problem(secret) is None


def test_a_ping_has_no_payment() -> None:
    ping = event().replace(b"payment.completed", b"ping")
    ping = json.dumps({**json.loads(ping), "data": {}}).encode()
    form = mine('body: {type: "{event.type}", amount: "{payment.amount}", data: "{payment}"}')
    sent = request(form, body=ping)
    assert json.loads(sent.body) == {"type": "ping", "amount": None, "data": {}}
    assert (received(form, sent).type, received(form, sent).payment) == ("ping", None)


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff", b'{"data":7}'])
def test_nothing_is_found_in_another_body(body: bytes) -> None:
    sent = WebhookRequest(url=URL, headers=(("x-signature", "a"),), body=body)
    assert [received(form, sent).payment for form in FORMS.values()] == [None] * len(FORMS)


@pytest.mark.parametrize(
    ("secret_format", "good", "bad"),
    [
        (SecretFormat.BASE64, ["whsec_" + b64encode(bytes(24)).decode()], ["whsec_", "a" * 64]),
        (SecretFormat.HEX, ["0a" * 24, "0A" * 64], ["", "0a" * 23, "0a" * 65, "0a" * 24 + "0"]),
        (SecretFormat.TEXT, ["s", "ሚ" * 256], ["", "s" * 257, "s" * 512]),
    ],
)
def test_a_secret_fits_a_form(secret_format: SecretFormat, good: list[str], bad: list[str]) -> None:
    assert all(map(secret_format.accepts, good))
    assert not any(map(secret_format.accepts, bad))


def test_the_guide_has_a_vector_of_the_form_standard() -> None:
    guide = (REPOSITORY / "docs/guides/webhook-forms.md").read_text(encoding="utf-8")
    section = guide.partition("## Test vector of standard")[2]
    cells = dict(re.findall(r"^\| `?([\w-]+)`? \| `([^`]+)`", section, re.MULTILINE))
    message = Message(
        event_id=cells["webhook-id"],
        timestamp_s=int(cells["webhook-timestamp"]),
        body=cells["body"].encode(),
    )
    sent = webhook_request(message, url=URL, secrets=[cells["secret"]])
    assert sent.body == cells["body"].encode()
    vector = {name: value for name, value in cells.items() if name.startswith("webhook-")}
    assert vector.items() <= dict(sent.headers).items()
