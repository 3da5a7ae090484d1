"""Builds and signs the requests that carry webhooks in a form, genuine or tampered with.

The receiver checks signatures with code of its own, which would otherwise not notice an error here.
"""

import hmac
import json
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple
from urllib.parse import quote_plus

from emulator import __version__
from emulator.domain.webhook_forms import (
    PLACEHOLDER,
    SECRET_PREFIX,
    STANDARD,
    ContentType,
    Encoding,
    SecretFormat,
    WebhookForm,
)
from emulator.domain.webhooks import Tamper, WebhookRequest, tamper_problem

USER_AGENT = f"etb-payments-emulator/{__version__}"
# Receivers tolerate five minutes.
TOO_OLD_S = 3_600
MAX_COMPILED_FORMS = 64

# A text that is one placeholder, or a placeholder within a text. In JSON, a quote within a text
# follows a backslash, so that the first alternative begins at the quote that begins a text.
_IN_JSON = re.compile(rf'(?<!\\)"{PLACEHOLDER.pattern}"|{PLACEHOLDER.pattern}')

Values = Mapping[str, Any]
Writer = Callable[[Values], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
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
) -> WebhookRequest:
    """Build a webhook that verifies with each secret, or with none when it is tampered with.

    The bodies are events in our own form. The newest secret comes first; it signs alone where the
    form has no separator. BODY: `other_body` is sent instead of the signed body. SIGNATURE: other
    secrets sign. TIMESTAMP: the timestamp is one hour older than the signed one, and so also too
    old. STALE: the signed timestamp is one hour old. UNSIGNED: no signature. Raises ValueError for
    a tamper that the form cannot express.
    """
    if tamper is not None and (problem := tamper_problem(form, tamper)):
        raise ValueError(problem)
    event = message.body
    sent = message = replace(message, body=render_body(form, event))
    match tamper:
        case Tamper.BODY:
            sent = replace(message, body=tampered_body(form, event, other_body))
        case Tamper.SIGNATURE:
            secrets = [foreign_secret(secret, form) for secret in secrets]
        case Tamper.TIMESTAMP:
            sent = replace(message, timestamp_s=message.timestamp_s - TOO_OLD_S)
        case Tamper.STALE:
            sent = message = replace(message, timestamp_s=message.timestamp_s - TOO_OLD_S)
        case Tamper.UNSIGNED:
            secrets = ()
        case None:
            pass
    separator = form.signature.separator
    signing = secrets if form.is_signed and separator else secrets[: form.is_signed]
    signatures = separator.join(sign(secret, message, form) for secret in signing)
    headers = _headers(form, sent, event, signatures)
    return WebhookRequest(url=url, headers=headers, body=sent.body)


def render_body(form: WebhookForm, event: bytes) -> bytes:
    """The body of an event, which is given in our own form."""
    write = _writers(form).body
    return event if write is None else write(_event_values(form, event)).encode()


def tampered_body(form: WebhookForm, event: bytes, other_event: bytes) -> bytes:
    """The body of another event, in place of that of an event."""
    body, other = render_body(form, event), render_body(form, other_event)
    # The form may leave out what differs.
    return other if other != body else other + b" "


def sign(secret: str, message: Message, form: WebhookForm = STANDARD) -> str:
    """Return one signature, with its prefix, of a message with the body that is sent."""
    values = {"id": message.event_id, "timestamp": str(message.timestamp_s)}
    start, *parts = PLACEHOLDER.split(form.signature.content)
    content = [start.encode()]
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        content += [message.body if name == "body" else values[name].encode(), text.encode()]
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
    writers = _writers(form)
    values = _event_values(form, event) if writers.headers_need_event else {}
    values.update(id=sent.event_id, timestamp=str(sent.timestamp_s), signature=signatures)
    return (
        ("content-type", form.content_type.value),
        ("user-agent", USER_AGENT),
        *(
            (name, write(values))
            for name, write, has_signature in writers.headers
            if signatures or not has_signature
        ),
    )


class _Writers(NamedTuple):
    """What writes the parts of a form; `body` is None where the event is sent as it is."""

    body: Writer | None
    headers: tuple[tuple[str, Writer, bool], ...]
    """Each with its name, and whether it has the signature."""
    headers_need_event: bool


@lru_cache(MAX_COMPILED_FORMS)
def _writers(form: WebhookForm) -> _Writers:
    body: Writer | None = None
    if form.content_type is ContentType.FORM:
        body = _form_writer(json.loads(form.body_json))
    elif form.events or form.body_json != STANDARD.body_json:
        body = _json_writer(form.body_json)
    return _Writers(
        body=body,
        headers=tuple(
            (name, _text_writer(template), "{signature}" in template)
            for name, template in form.headers
        ),
        headers_need_event=any(
            "." in name for _, template in form.headers for name in PLACEHOLDER.findall(template)
        ),
    )


def _event_values(form: WebhookForm, event: bytes) -> dict[str, Any]:
    members = json.loads(event)
    payment = members["data"]
    sent_type = form.type_of(members["type"]) or members["type"]
    values = {f"event.{name}": members[name] for name in ("id", "timestamp", "mode")}
    values |= {f"payment.{name}": value for name, value in payment.items()}
    return {**values, "id": members["id"], "event.type": sent_type, "payment": payment}


def _text_writer(template: str) -> Writer:
    start, *parts = PLACEHOLDER.split(template)
    pairs = list(zip(parts[::2], parts[1::2], strict=True))
    return lambda values: start + "".join(_text(values.get(name)) + text for name, text in pairs)


def _form_writer(fields: Mapping[str, Any]) -> Writer:
    writers = [(quote_plus(name), _text_writer(_text(value))) for name, value in fields.items()]
    return lambda values: "&".join(f"{name}={quote_plus(write(values))}" for name, write in writers)


def _json_writer(template: str) -> Writer:
    start, *parts = _IN_JSON.split(template)
    triples = list(zip(parts[::3], parts[1::3], parts[2::3], strict=True))

    def write(values: Values) -> str:
        return start + "".join(
            (_json(values.get(whole)) if whole else _json(_text(values.get(part)))[1:-1]) + text
            for whole, part, text in triples
        )

    return write


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
