"""Sends a webhook handler what it may meet, and judges its answers."""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import NamedTuple

from msgspec import Struct

from emulator.clock import SystemClock
from emulator.domain.payment import EVENT_TYPES, UNKNOWN_EVENT_TYPE, Status
from emulator.domain.payment_methods import DEFAULT_METHODS, DEFAULT_ORDER, customer_submission
from emulator.domain.user_error import UserError
from emulator.domain.variant_effects import VariedMessage
from emulator.domain.webhooks import MAX_TIMEOUT_MS, ContentType, Tamper, WebhookForm
from emulator.http import emulator_calls as calls
from emulator.http.client import EmulatorClient, HttpClient
from emulator.http.diagnosis import cause_of
from emulator.http.response import HttpResponse
from emulator.http.webhook_messages import Message, foreign_secret, webhook_request
from emulator.tools.json_results import ProbedCase, ProbeVerdict

EVENT = EVENT_TYPES[Status.COMPLETED]
UNKNOWN_ORDER = {
    "reason": "unknown order, use `--metadata`",
    "what_to_do": "Name an order of yours, such as `--metadata order=17`;"
    " or no handler serves this path.",
}


class Case(NamedTuple):
    """A webhook, or two, and the fix of a handler that does not answer as it should.

    `accepted` is whether the right answer is 2xx. `need` is whether a form can show the case, after
    what its webhooks lack if it cannot.
    """

    name: str
    accepted: bool
    fix: str
    need: tuple[str, Callable[[WebhookForm], object]] = ("", lambda _: True)
    tamper: Tamper | None = None
    rewrite: Callable[[bytes], bytes] = bytes

    def reason_against(self, form: WebhookForm) -> str:
        """Why webhooks of a form cannot show the case, or an empty text."""
        lack, can_show = self.need
        if self.tamper is not None and not form.is_signed:
            lack = "have no signature"
        elif can_show(form):
            return ""
        return f"webhooks in the form {form.name} {lack}"

    def result(self, result: ProbeVerdict, answered: str = "", **more: str) -> ProbedCase:
        """The result, with the `reason` why there is no verdict, or with `what_to_do`."""
        expected = "2xx" if self.accepted else "4xx"
        texts = {"reason": None, "what_to_do": None, **more}
        return ProbedCase(
            case=self.name, result=result, answered=answered, expected=expected, **texts
        )


_JSON = ("have no JSON", lambda form: form.content_type is ContentType.JSON)


def _other_serialisation(body: bytes) -> bytes:
    return VariedMessage(value=json.loads(body), indent=2, is_escaped=True).body().encode()


GENUINE = Case("genuine", True, "See the handler's own log; it must return 2xx.")
TWICE = Case(
    "the same twice", True, "Store the event's id; return 2xx, and change nothing, for a stored id."
)
AT_ONCE = Case(
    "twice at once",
    True,
    "Insert the event's id in the transaction of the change; return 2xx on a conflict.",
)
ROTATED = Case(
    "two signatures, the newer first",
    True,
    "Accept a webhook if one of its signatures is right: the other is of a new secret.",
    ("have one signature at most", lambda form: form.is_signed and form.signature.separator),
)
UNKNOWN = Case(
    "unknown event",
    True,
    "Return 2xx for a type of event that you do not know.",
    ("have no type of the event", lambda form: form.shows_type),
)
CASES = (
    GENUINE,
    TWICE,
    AT_ONCE,
    Case(
        "changed body",
        False,
        "Verify the signature of the raw body before anything else; else return 400.",
        ("have no signed amount", lambda form: form.signs_amount),
        Tamper.BODY,
    ),
    Case(
        "wrong secret",
        False,
        "Compare the whole signature with your secret's signature; else return 400.",
        tamper=Tamper.SIGNATURE,
    ),
    Case("no signature", False, "Return 400 without a signature.", tamper=Tamper.UNSIGNED),
    Case(
        "an hour old",
        False,
        "Return 400 where the signed timestamp is more than five minutes old.",
        ("have no signed timestamp", lambda form: form.signs_timestamp),
        Tamper.STALE,
    ),
    ROTATED,
    UNKNOWN,
    Case(
        "JSON in another serialisation",
        True,
        "Verify the body as it was received, not JSON that your code has written again.",
        _JSON,
        rewrite=_other_serialisation,
    ),
    Case(
        "broken body",
        False,
        "Catch the error of the JSON parser, and return 400.",
        _JSON,
        rewrite=lambda body: body[: len(body) // 2],
    ),
    Case("empty body", False, "Return 400 for a body without a payment.", rewrite=lambda _: b""),
)


class Probe(Struct, kw_only=True):
    """The probe of a handler at `url`; `client` is the emulator that has the payments."""

    url: str
    form: WebhookForm
    secret: str
    metadata: Mapping[str, str]
    client: EmulatorClient
    wall: SystemClock

    async def run(self, show: Callable[[ProbedCase], None]) -> None:
        """Show each answer. Raises UserError when the handler or the emulator is unreachable."""
        first = await self._event()
        genuine = await self._send(GENUINE, first)
        if genuine.is_refused:
            raise UserError(f"cannot reach the handler: {self.url}: {genuine.failure}")
        show(self._genuine(genuine))
        for case in CASES[1:]:
            if reason := case.reason_against(self.form):
                show(case.result("not_applicable", reason=reason))
            elif genuine.failure is not None:
                show(case.result("not_judged", reason="the genuine webhook has no answer"))
            else:
                event = first if case is TWICE else await self._event()
                sending = (self._send(case, event) for _ in range(1 + (case is AT_ONCE)))
                show(_judged(case, await asyncio.gather(*sending), genuine))

    def _genuine(self, response: HttpResponse) -> ProbedCase:
        if response.is_success:
            return GENUINE.result("right", response.text)
        if response.status in (404, 422):
            return GENUINE.result("not_judged", response.text, **UNKNOWN_ORDER)
        fix = cause_of(response, self.url) or GENUINE.fix
        return GENUINE.result("wrong", response.text, what_to_do=fix)

    async def _event(self) -> bytes:
        """The event of a new payment that is completed."""
        call = self.client.call
        order = {**DEFAULT_ORDER, "metadata": dict(self.metadata)}
        payment = await call(calls.CREATE_PAYMENT(body=order))
        await call(calls.PAY(payment["id"], body=customer_submission(DEFAULT_METHODS[0])))
        await call(calls.TRANSITION(payment["id"], body={"status": Status.COMPLETED}))
        for event in await call(calls.EVENTS()):
            if (event["type"], event["data"]["id"]) == (EVENT, payment["id"]):
                return _encoded(event)
        raise UserError(f"the payment {payment['id']} has no {EVENT}")

    async def _send(self, case: Case, event: bytes) -> HttpResponse:
        members = json.loads(event)
        if case is UNKNOWN:
            event = _encoded({**members, "type": UNKNOWN_EVENT_TYPE})
        other = {**members, "data": members["data"] | {"amount": members["data"]["amount"] + 1}}
        request = webhook_request(
            Message(event_id=members["id"], timestamp_s=self.wall.system_ms() // 1_000, body=event),
            form=self.form,
            url=self.url,
            # The newest secret comes first.
            secrets=[foreign_secret(self.secret, self.form)] * (case is ROTATED) + [self.secret],
            tamper=case.tamper,
            other_body=_encoded(other),
            rewrite=case.rewrite,
        )
        client, timeout_s = HttpClient(keeps_connections=False), MAX_TIMEOUT_MS / 1_000
        headers = dict(request.headers)
        return await client.send("POST", self.url, headers, request.body, timeout_s=timeout_s)


def _judged(case: Case, responses: list[HttpResponse], genuine: HttpResponse) -> ProbedCase:
    """The verdict on a case; the answer to all webhooks that are not genuine says nothing."""
    answered = " and ".join(response.text for response in responses)
    if not genuine.is_success and all(each.status == genuine.status for each in responses):
        reason = "the genuine webhook has the same answer"
        return case.result("not_judged", answered, reason=reason)
    right = range(200, 300) if case.accepted else range(400, 500)
    if all(response.status in right for response in responses):
        return case.result("right", answered)
    return case.result("wrong", answered, what_to_do=case.fix)


def _encoded(event: object) -> bytes:
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()
