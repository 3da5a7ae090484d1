"""Says what an application must have for an anomaly, and what is missing otherwise."""

from collections.abc import Callable
from operator import attrgetter

from emulator.domain.webhook_forms import ContentType, WebhookForm
from emulator.tools.explore.steps import Capabilities

Need = Callable[[Capabilities], str]
"""What an application must have for an anomaly: why it is left out, or an empty text."""


def _need(is_met: Callable[[Capabilities], bool], problem: str) -> Need:
    return lambda can: "" if is_met(can) else problem


def _webhooks(fit: Callable[[WebhookForm], object], lack: str) -> Need:
    return lambda can: "" if fit(can.form) else f"webhooks in the form {can.form.name} {lack}"


def _shows_mode(form: WebhookForm) -> bool:
    return "{event.mode}" in repr((form.body_json, form.headers))


WEBHOOK = _need(lambda can: can.has_webhook, "the file has no `webhook`")
PAGE = _need(lambda can: can.has_return, "the file has no `return`")
JOB = _need(lambda can: can.has_settle, "the file has no `settle`")
COMMON_JOB = _need(lambda can: can.settles_all, "the file has no `settle` for all orders")
DISK = _need(lambda can: can.is_durable, "the file has no `run` with `durable: true`")
AGAIN = _need(lambda can: can.has_again, "the file has no `again`")
BETWEEN = _need(lambda can: can.has_between, "the file has no `between`")
TAMPER = _need(lambda can: can.has_tamper, "the file has no `tamper`")
NAMED = _need(lambda can: can.names_payment, "the file has no `payment` or `checkout_url`")
CLOCK: Need = attrgetter("no_clock")
UNSIGNED = _webhooks(lambda form: not form.is_signed, "are signed")
SIGNATURE = _webhooks(lambda form: form.is_signed, "have no signature")
SIGNATURES = _webhooks(
    lambda form: form.is_signed and form.signature.separator, "never have two signatures"
)
TIMESTAMP = _webhooks(lambda form: form.signs_timestamp, "have no signed timestamp")
AMOUNT = _webhooks(lambda form: form.signs_amount or not form.is_signed, "have no signed amount")
TYPE = _webhooks(lambda form: form.shows_type, "do not contain the event's type")
MODE = _webhooks(_shows_mode, "do not contain the event's mode")
JSON = _webhooks(lambda form: form.content_type is ContentType.JSON, "are no JSON")
