"""Says what an application must have for an anomaly, and what is missing otherwise."""

from collections.abc import Callable

from emulator.domain.webhook_forms import ContentType, WebhookForm
from emulator.tools.explore.steps import Capabilities

Need = Callable[[Capabilities], str]
"""What an application must have for an anomaly: why it is left out, or an empty text."""


def _need(is_met: Callable[[Capabilities], bool], problem: str) -> Need:
    return lambda can: "" if is_met(can) else problem


def _webhooks(fit: Callable[[WebhookForm], bool], lack: str = "") -> Need:
    def problem(can: Capabilities) -> str:
        does_fit = can.has_webhook and fit(can.form)
        return "" if does_fit else f"webhooks in the form {can.form.name} {lack}"

    return lambda can: WEBHOOK(can) or problem(can)


def _has(form: WebhookForm, placeholder: str) -> bool:
    return any(placeholder in text for text in (form.body_json, *dict(form.headers).values()))


def clock(can: Capabilities) -> str:
    return can.no_clock


def night_job(can: Capabilities) -> str:
    return JOB(can) or can.no_clock


NOTHING = _need(lambda _: True, "")
WEBHOOK = _need(lambda can: can.has_webhook, "the file has no `webhook`")
PAGE = _need(lambda can: can.has_return, "the file has no `return`")
JOB = _need(lambda can: can.has_settle, "the file has no `settle`")
DISK = _need(lambda can: can.is_durable, "the file has no `run` with `durable: true`")
UNSIGNED = _webhooks(lambda form: not form.is_signed, "are signed")
SIGNATURE = _webhooks(lambda form: form.is_signed, "have no signature")
SIGNATURES = _webhooks(
    lambda form: form.is_signed and form.signature.separator != "", "never have two signatures"
)
TIMESTAMP = _webhooks(lambda form: form.signs_timestamp, "have no signed timestamp")
AMOUNT = _webhooks(lambda form: form.signs_amount or not form.is_signed, "have no signed amount")
TYPE = _webhooks(lambda form: _has(form, "{event.type}"), "do not contain the event's type")
MODE = _webhooks(lambda form: _has(form, "{event.mode}"), "do not contain the event's mode")
JSON = _webhooks(lambda form: form.content_type is ContentType.JSON, "are no JSON")


AGAIN = _need(lambda can: can.has_again, "the file has no `again`")
BETWEEN = _need(lambda can: can.has_between, "the file has no `between`")
TAMPER = _need(lambda can: can.has_tamper, "the file has no `tamper`")
NAMED = _need(lambda can: can.names_payment, "the file has no `payment` or `checkout_url`")
COMMON_JOB = _need(lambda can: can.settles_all, "the file has no `settle` for all orders")
