"""Signatures of Standard Webhooks 1.0."""

from base64 import b64encode
from dataclasses import replace

import pytest

from emulator.domain.webhooks import SecretFormat
from emulator.http.webhook_messages import Message, foreign_secret, sign

# The example in the tests of the Standard Webhooks libraries.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # noqa: S105 - published
EXAMPLE = Message(
    event_id="msg_p5jXN8AQM9LWM0D4loKWxJek",
    timestamp_s=1_614_265_330,
    body=b'{"test": 2432232314}',
)


@pytest.mark.clause("6.5")
def test_the_example_of_standard_webhooks_has_its_signature() -> None:
    assert sign(SECRET, EXAMPLE) == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_each_part_of_a_message_is_signed() -> None:
    others = (
        replace(EXAMPLE, event_id="msg_other"),
        replace(EXAMPLE, timestamp_s=1_614_265_331),
        replace(EXAMPLE, body=b"{}"),
    )
    assert len({sign(SECRET, message) for message in (EXAMPLE, *others)}) == 4


def test_a_foreign_secret_is_well_formed_and_always_the_same_for_a_secret() -> None:
    foreign = foreign_secret(SECRET)
    assert SecretFormat.BASE64.accepts(foreign)
    assert foreign != SECRET
    assert foreign == foreign_secret(SECRET)
    assert foreign != foreign_secret("whsec_" + b64encode(bytes(24)).decode())
