"""Shell lines that repeat an attempt, and verify its signature by the form of the webhook."""

from collections.abc import Mapping
from shlex import quote
from typing import Any

from emulator.domain.webhooks import (
    SECRET_PREFIX,
    Algorithm,
    Encoding,
    SecretFormat,
    WebhookForm,
)
from emulator.http.received_webhooks import ReceivedRequest
from emulator.scenarios.webhook_form_file import webhook_form_json

_AS_HEX = "od -An -v -tx1 | tr -d ' \\n'"
_KEYS = {
    SecretFormat.BASE64: f'$(printf %s "${{SECRET#{SECRET_PREFIX}}}" | base64 -d | {_AS_HEX})',
    SecretFormat.HEX: "$SECRET",
    SecretFormat.TEXT: f'$(printf %s "$SECRET" | {_AS_HEX})',
}
_WRITERS = {Encoding.BASE64: "base64 | tr -d '\\n'", Encoding.HEX: _AS_HEX}


def attempt_commands(request: Mapping[str, Any], form: WebhookForm | None) -> Mapping[str, str]:
    """The attempt as a command, and what verifies it if its endpoint still exists.

    A receiver may refuse the timestamp of the command after five minutes.
    """
    lines = [f"curl {quote(request['url'])}"]
    lines += [f"-H {quote(f'{name}: {value}')}" for name, value in request["headers"].items()]
    command = " \\\n  ".join([*lines, f"--data-raw {quote(request['body'])}"])
    return {"curl": command, **({} if form is None else _verification(request, form))}


def _verification(request: Mapping[str, Any], form: WebhookForm) -> Mapping[str, str]:
    """What is signed, how, and a shell line that prints whether it is valid for `$SECRET`.

    Empty for a request without a signature.
    """
    body = request["body"]
    sent = ReceivedRequest(headers=request["headers"], body=body.encode())
    webhook = sent.read(webhook_form_json(form))
    if not webhook.signature:
        return {}
    algorithm = form.signature.algorithm
    signatures = quote(" ".join(webhook.signatures))
    if algorithm is Algorithm.TOKEN:
        verification = f'case {signatures} in "$SECRET") echo valid;; *) echo invalid;; esac'
        return {"verification": verification, "signature": "the secret itself, as a token"}
    signed = webhook.signed_content.decode("utf-8", "replace")
    line = (
        f"$(printf %s {quote(signed)} | openssl dgst -{algorithm.digest} -mac HMAC"
        f' -macopt "hexkey:{_KEYS[form.signature.secret]}" -binary'
        f" | {_WRITERS[form.signature.encoding]})"
    )
    return {
        "signed": signed,
        "verification": f'case " "{signatures}" " in *" {line} "*) echo valid;;'
        " *) echo invalid;; esac",
        "signature": f"{algorithm} in {form.signature.encoding}, with the secret as"
        f" {form.signature.secret}",
    }
