"""Says what an application or its webhooks must have for a test, and what is missing otherwise."""

from collections.abc import Callable, Iterable
from operator import attrgetter

from emulator.domain.webhooks import ContentType, WebhookForm
from emulator.tools.explore.steps import Capabilities

Need = Callable[[Capabilities], str]
"""What an application must have: why a test is left out, or an empty text."""


def missing(needs: Iterable[Need], can: Capabilities) -> str:
    """Why a test is left out for an application; empty where it is not."""
    return next(filter(None, (need(can) for need in needs)), "")


def _key(key: str, text: str = "") -> Need:
    return lambda can: "" if key in can.keys else f"the file has no {text or f'`{key}`'}"


def _webhooks(fit: Callable[[WebhookForm], object], lack: str) -> Need:
    return lambda can: "" if fit(can.form) else f"webhooks in the form {can.form.name} {lack}"


def _shows_mode(form: WebhookForm) -> bool:
    return "{event.mode}" in repr((form.body_json, form.headers))


WEBHOOK, PAGE, JOB = _key("webhook"), _key("return"), _key("settle")
AGAIN, BETWEEN, TAMPER = _key("again"), _key("between"), _key("tamper")
COMMON_JOB = _key("common job", "`settle` for all orders")
DISK = _key("durable", "`run` with `durable: true`")
NAMED = _key("payment", "`payment` or `checkout_url`")
UNUSUAL = _key("unusual", "`unusual: true`")
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
