"""Webhooks that a merchant's library verifies, and those that it must refuse."""

import json
from base64 import b64encode
from typing import Any

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from emulator import __version__
from emulator.clock import RealClock
from emulator.domain.webhooks import Tamper, WebhookRequest
from emulator.http.webhook_messages import TOO_OLD_S, Message, webhook_request

URL = "https://shop.example/hook"
SECRET = "whsec_" + b64encode(bytes(range(24))).decode()
OLD_SECRET = "whsec_" + b64encode(bytes(range(64))).decode()
OTHER_SECRET = "whsec_" + b64encode(bytes(range(1, 33))).decode()
EVENT = {
    "id": "evt_1",
    "object": "event",
    "type": "payment.completed",
    "data": {"amount": 15_000, "metadata": {"ደንበኛ": "አበበ በቂላ ☕"}},
}
BODY = json.dumps(EVENT, ensure_ascii=False, separators=(",", ":")).encode()
OTHER_BODY = BODY.replace(b"15000", b"15")


def now_s() -> int:
    """The real time, which the library compares timestamps with."""
    return RealClock().now_ms() // 1000


def message(body: bytes = BODY) -> Message:
    return Message(event_id="evt_1", timestamp_s=now_s(), body=body)


def verified(sent: WebhookRequest, secret: str = SECRET) -> Any:
    return Webhook(secret).verify(sent.body, dict(sent.headers))


def test_the_signature_of_the_newest_secret_comes_first() -> None:
    both, new, old = (
        dict(webhook_request(message(), url=URL, secrets=secrets).headers)["webhook-signature"]
        for secrets in ([SECRET, OLD_SECRET], [SECRET], [OLD_SECRET])
    )
    assert both == f"{new} {old}"


def test_a_webhook_has_these_headers_and_no_other() -> None:
    signed = message()
    sent = webhook_request(signed, url=URL, secrets=[SECRET])
    *others, (last, signature) = sent.headers
    assert others == [
        ("content-type", "application/json"),
        ("user-agent", f"etb-payments-emulator/{__version__}"),
        ("webhook-id", "evt_1"),
        ("webhook-timestamp", str(signed.timestamp_s)),
    ]
    assert last == "webhook-signature"
    assert signature.startswith("v1,")


@pytest.mark.clause("6.5")
@pytest.mark.parametrize("secret", [SECRET, OLD_SECRET])
@pytest.mark.parametrize("tamper", [None, *Tamper])
def test_only_a_tampered_webhook_verifies_with_no_secret(
    tamper: Tamper | None, secret: str
) -> None:
    sent = webhook_request(
        message(), url=URL, secrets=[SECRET, OLD_SECRET], tamper=tamper, other_body=OTHER_BODY
    )
    if tamper is None:
        assert verified(sent, secret) == EVENT
        return
    with pytest.raises(WebhookVerificationError):
        verified(sent, secret)


def test_a_tampered_body_has_the_headers_of_the_signed_one() -> None:
    signed = message()
    sent = webhook_request(
        signed, url=URL, secrets=[SECRET], tamper=Tamper.BODY, other_body=OTHER_BODY
    )
    assert sent.body == OTHER_BODY
    assert sent.headers == webhook_request(signed, url=URL, secrets=[SECRET]).headers


def test_a_tampered_signature_is_well_formed() -> None:
    signed = message()
    right, foreign = (
        webhook_request(signed, url=URL, secrets=[SECRET, OLD_SECRET], tamper=tamper)
        for tamper in (None, Tamper.SIGNATURE)
    )
    assert foreign.body == right.body
    assert foreign.headers[:-1] == right.headers[:-1]
    right_signatures = right.headers[-1][1].split(" ")
    foreign_signatures = foreign.headers[-1][1].split(" ")
    assert list(map(len, foreign_signatures)) == list(map(len, right_signatures))
    assert set(foreign_signatures).isdisjoint(right_signatures)


def test_a_tampered_timestamp_is_too_old_and_not_the_signed_one() -> None:
    signed = message()
    sent = webhook_request(signed, url=URL, secrets=[SECRET], tamper=Tamper.TIMESTAMP)
    headers = dict(sent.headers)
    assert int(headers["webhook-timestamp"]) == signed.timestamp_s - TOO_OLD_S
    with pytest.raises(WebhookVerificationError, match="too old"):
        verified(sent)
    # A receiver that ignores the age notices it, too: another timestamp was signed.
    aged = Message(event_id="evt_1", timestamp_s=signed.timestamp_s - TOO_OLD_S, body=BODY)
    assert dict(webhook_request(aged, url=URL, secrets=[SECRET]).headers) != headers
