"""Builds and signs the requests that carry webhooks in a form, genuine or tampered with.

The receiver checks signatures with code of its own, which would otherwise not notice an error here.
"""

import hmac
import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple
from urllib.parse import urlencode

from emulator import __version__
from emulator.domain.webhooks import (
    METADATA_PREFIX,
    PLACEHOLDER,
    SECRET_PREFIX,
    STANDARD,
    Algorithm,
    ContentType,
    Encoding,
    SecretFormat,
    Tamper,
    WebhookForm,
    WebhookRequest,
    tamper_problem,
)

USER_AGENT = f"etb-payments-emulator/{__version__}"
# Receivers tolerate five minutes.
TOO_OLD_S = 3_600


class Message(NamedTuple):
    """The signed content: an event, and the time of this attempt to deliver it."""

    event_id: str
    timestamp_s: int
    body: bytes


def webhook_request(
    message: Message,
    *,
    form: WebhookForm = STANDARD,
    url: str,
    secrets: Sequence[str],
    tamper: Tamper | None = None,
    other_body: bytes = b"",
    rewrite: Callable[[bytes], bytes] = bytes,
) -> WebhookRequest:
    """Build a webhook that verifies with each secret, or with none when it is tampered with.

    The bodies are events in our own form. The newest secret comes first; it signs alone where the
    form has no separator. BODY: `other_body` is sent instead of the signed body. SIGNATURE: other
    secrets sign. TIMESTAMP: the timestamp is one hour older than the signed one, and so also too
    old. STALE: the signed timestamp is one hour old. UNSIGNED: no signature. `rewrite` changes the
    finished body before it is signed. Raises ValueError for a tamper that the form cannot express.
    """
    if tamper is not None and (problem := tamper_problem(form, tamper)):
        raise ValueError(problem)
    event = message.body
    sent = message = message._replace(body=rewrite(render_body(form, event)))
    match tamper:
        case Tamper.BODY:
            sent = message._replace(body=tampered_body(form, event, other_body, rewrite))
        case Tamper.SIGNATURE:
            secrets = [foreign_secret(secret, form) for secret in secrets]
        case Tamper.TIMESTAMP:
            sent = message._replace(timestamp_s=message.timestamp_s - TOO_OLD_S)
        case Tamper.STALE:
            sent = message = message._replace(timestamp_s=message.timestamp_s - TOO_OLD_S)
        case Tamper.UNSIGNED:
            secrets = ()
        case None:
            pass
    separator = form.signature.separator
    signing = secrets if form.is_signed and separator else secrets[: form.is_signed]
    signatures = separator.join(sign(secret, message, form, event) for secret in signing)
    # A signature that does not cover the body covers what headers repeat of it.
    is_other = tamper is Tamper.BODY and "body" not in form.signature.signed
    headers = _headers(form, sent, other_body if is_other else event, signatures)
    return WebhookRequest(url=url, headers=headers, body=sent.body)


def render_body(form: WebhookForm, event: bytes) -> bytes:
    """The body of an event, which is given in our own form."""
    is_json = form.content_type is ContentType.JSON
    if is_json and not form.events and form.body_json == STANDARD.body_json:
        return event
    body = _filled(json.loads(form.body_json), _event_values(form, event))
    fields = {} if is_json else {name: _text(value) for name, value in body.items()}
    return (_json(body) if is_json else urlencode(fields)).encode()


def tampered_body(
    form: WebhookForm,
    event: bytes,
    other_event: bytes,
    rewrite: Callable[[bytes], bytes] = bytes,
) -> bytes:
    """The body of another event, in place of an event's own body."""
    body, other = (rewrite(render_body(form, each)) for each in (event, other_event))
    # The form may leave out what differs.
    return other if other != body else other + b" "


def sign(secret: str, message: Message, form: WebhookForm = STANDARD, event: bytes = b"") -> str:
    """Return one signature, with its prefix, of a message with the body that is sent.

    The event, in our own form, is read where the form signs parts of it.
    """
    if form.signature.algorithm is Algorithm.TOKEN:
        return form.signature.prefix + secret
    needs_event = form.signature.signed - {"id", "timestamp", "body"}
    values = _event_values(form, event) if needs_event else {}
    values |= {"id": message.event_id, "timestamp": message.timestamp_s}
    start, *parts = PLACEHOLDER.split(form.signature.content)
    content = [start.encode()]
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        value = message.body if name == "body" else _text(values.get(name)).encode()
        content += [value, text.encode()]
    key = _key(secret, form.signature.secret)
    digest = hmac.digest(key, b"".join(content), form.signature.algorithm.digest)
    is_hex = form.signature.encoding is Encoding.HEX
    return form.signature.prefix + (digest.hex() if is_hex else b64encode(digest).decode("ascii"))


def foreign_secret(secret: str, form: WebhookForm = STANDARD) -> str:
    """Derive another secret that fits the form, always the same one."""
    digest = sha256(b"foreign" + _key(secret, form.signature.secret))
    if form.signature.secret is SecretFormat.BASE64:
        return SECRET_PREFIX + b64encode(digest.digest()).decode("ascii")
    return digest.hexdigest()


def _key(secret: str, secret_format: SecretFormat) -> bytes:
    match secret_format:
        case SecretFormat.BASE64:
            return b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
        case SecretFormat.HEX:
            return bytes.fromhex(secret)
        case SecretFormat.TEXT:
            return secret.encode()


def _headers(
    form: WebhookForm, sent: Message, event: bytes, signatures: str
) -> tuple[tuple[str, str], ...]:
    needs_event = any("." in name for _, text in form.headers for name in PLACEHOLDER.findall(text))
    values = _event_values(form, event) if needs_event else {}
    values |= {"id": sent.event_id, "timestamp": sent.timestamp_s, "signature": signatures}
    return (
        ("content-type", form.content_type.value),
        ("user-agent", USER_AGENT),
        *(
            (name, _filled_text(text, values))
            for name, text in form.headers
            if signatures or "{signature}" not in text
        ),
    )


def _event_values(form: WebhookForm, event: bytes) -> dict[str, Any]:
    members = json.loads(event)
    payment = members["data"]
    sent_type = form.type_of(members["type"]) or members["type"]
    values = {f"event.{name}": members[name] for name in ("id", "timestamp", "mode")}
    values |= {f"payment.{name}": value for name, value in payment.items()}
    if "amount" in payment:
        birr, cents = divmod(payment["amount"], 100)
        values["payment.amount_birr"] = f"{birr}.{cents:02}"
    metadata = payment.get("metadata", {})
    values |= {f"{METADATA_PREFIX}{name}": value for name, value in metadata.items()}
    return {**values, "id": members["id"], "event.type": sent_type, "payment": payment}


def _filled(template: Any, values: Mapping[str, Any]) -> Any:
    """The JSON value of a template; a text that is one placeholder keeps the type of its value."""
    if isinstance(template, dict):
        return {name: _filled(value, values) for name, value in template.items()}
    if isinstance(template, list):
        return [_filled(value, values) for value in template]
    if not isinstance(template, str):
        return template
    placeholder = PLACEHOLDER.fullmatch(template)
    if placeholder is None:
        return _filled_text(template, values)
    # A name that a payment does not have is an empty text.
    absent = "" if placeholder[1].startswith(METADATA_PREFIX) else None
    return values.get(placeholder[1], absent)


def _filled_text(template: str, values: Mapping[str, Any]) -> str:
    return PLACEHOLDER.sub(lambda found: _text(values.get(found[1])), template)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
