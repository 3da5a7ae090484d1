"""The types of the control API's members and parameters, with their limits and their parsing."""

import re
from collections.abc import Callable
from decimal import Context, Decimal, Inexact
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from emulator.domain import instants
from emulator.domain.accounts import SEEDS, Mode
from emulator.domain.hosts import ACCEPTED_URL, parse_url
from emulator.domain.message_text import not_accepted
from emulator.domain.payment import Reason, Status
from emulator.domain.transitions import ATTEMPT, TimerKind
from emulator.domain.variants import SETTING_PATTERN, UnknownVariant, vary_setting
from emulator.domain.webhooks import DeliveryState, Profile, Tamper, Trigger
from emulator.server.engine.accounts.checklist import ItemResult
from emulator.server.engine.payments.customer import PhoneAnswer
from emulator.server.engine.state.rules import Origin
from emulator.server.openapi.declarations import (
    Enumerations,
    JsonObject,
    doc,
    parsed,
    ref,
    refers_to,
)
from emulator.server.openapi.members import MAX_TEXT_LENGTH
from emulator.settings import parse_checkout_url

MAX_NAME_LENGTH = 100
MAX_URL_LENGTH = 2_048
DEFAULT_LIMIT = 100
MAX_LIMIT = 1_000
DEFAULT_TIMEOUT_S = 30
MAX_TIMEOUT_S = 300
YAML = "application/yaml"
EXAMPLE_BASE_URL = "http://localhost:49153"
EXAMPLE_URL = "http://127.0.0.1:3000/hook"
# The refusals of every field of a clock have the code `invalid_clock`.
CLOCK = "clock"

ENUMERATIONS: Enumerations = {
    Mode: ("Mode", "Test or live; both are simulated."),
    Status: ("PaymentStatus", "The status of a payment."),
    Reason: ("Reason", "The reason of a failure."),
    TimerKind: ("ChangeKind", "The cause of a scheduled change."),
    PhoneAnswer: ("CustomerAnswer", "The answer of the customer."),
    Profile: ("WebhookProfile", "The schedule of the retries."),
    Trigger: ("AttemptTrigger", "The reason for an attempt."),
    Tamper: ("Tampered", "The change that a scenario made after signing."),
    DeliveryState: ("DeliveryStatus", "The status of a delivery."),
    ItemResult: ("ChecklistResult", "The result of an item."),
    Origin: ("ScenarioOrigin", "Its origin: this API, `--scenarios` or the shipped files."),
}

_NAME = re.compile(r"[^\x00-\x1f\x7f-\x9f]+")
# As JSON writes a number; leading zeros are allowed.
_SECONDS = re.compile(r"-?[0-9]{1,20}(?:\.[0-9]{1,20})?(?:[eE][+-]?[0-9]{1,6})?", re.ASCII)
_FEW_DIGITS = re.compile(r"[0-9]{1,9}", re.ASCII)
# Multiplies without rounding: what would have to be rounded is finer than any millisecond.
_EXACT = Context(prec=40, traps=[Inexact])


class Body(Struct, frozen=True, forbid_unknown_fields=True):
    """The members of a request body."""


def text_parser(
    parse: Callable[[str], Any], accepted: str, *, advice: str = "", kind: str | None = None
) -> Meta:
    """How a string is parsed; a ValueError or KeyError of `parse` is InvalidField."""

    def parse_member(name: str, value: str) -> Any:
        try:
            return parse(value)
        except (ValueError, KeyError):
            raise not_accepted(name, value, accepted, advice=advice, kind=kind) from None

    return parsed(parse_member, kind=kind)


BOOLEAN_TEXT = text_parser({"true": True, "false": False}.__getitem__, '"true" or "false"')


def identifies(thing: str) -> Meta:
    """A parameter of a path that is the identifier of a thing."""
    return Meta(min_length=1, description=f"The identifier of {thing}.")


def matched(pattern: re.Pattern[str]) -> Callable[[str], str]:
    """A parser of texts that match a pattern as a whole. It raises ValueError for others."""

    def parse(text: str) -> str:
        if not pattern.fullmatch(text):
            raise ValueError
        return text

    return parse


def seed(name: str, value: object) -> int:
    """A signed integer of 64 bits. Raises InvalidField."""
    if type(value) is not int or value not in SEEDS:
        raise not_accepted(name, value, "a signed integer of 64 bits")
    return value


def vary(name: str, value: object) -> str:
    """A setting of variants. Raises InvalidField."""
    try:
        return vary_setting(str(value) if type(value) in {str, int} else "")
    except UnknownVariant as error:
        found = error.found if isinstance(value, str) else value
        raise not_accepted(name, found, error.accepted, advice=error.advice) from None


def span_ms(name: str, value: object) -> int:
    """Seconds, with at most three decimals, as milliseconds. Raises InvalidField."""
    last_s = instants.LAST_INSTANT // 1000
    exact = _thousandths(value, last_s)
    if exact is None:
        expected = f"a number of seconds from 0 to {last_s}, with at most three decimals"
        raise not_accepted(name, value, expected, kind=CLOCK)
    return exact


def rate_thousandths(name: str, value: object) -> int:
    """The rate of a clock, with at most three decimals. Raises InvalidField."""
    exact = _thousandths(value, instants.MAX_RATE // instants.REAL_RATE)
    if not exact:
        expected = "a number above 0 and at most 100000, with at most three decimals"
        raise not_accepted(name, value, expected, kind=CLOCK)
    return exact


def _thousandths(value: object, last: int) -> int | None:
    """A number from 0 to `last` multiplied by 1,000; None for others, and with more decimals."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal) or not 0 <= value <= last:
        return None
    try:
        exact = _EXACT.multiply(Decimal(value), Decimal(1000))
    except Inexact:
        return None
    return int(exact) if exact == exact.to_integral_value() else None


def limit(name: str, value: str) -> int:
    """The maximum number of entries of a collection. Raises InvalidField."""
    if not _FEW_DIGITS.fullmatch(value) or not 1 <= int(value) <= MAX_LIMIT:
        raise not_accepted(name, value, f"a whole number from 1 to {MAX_LIMIT}")
    return int(value)


def _timeout_s(name: str, value: str) -> float:
    """A wait is real time: fractions of a millisecond are ignored."""
    if _SECONDS.fullmatch(value):
        seconds = Decimal(value)
        if 0 <= seconds <= MAX_TIMEOUT_S:
            return int(seconds * 1000) / 1000
    raise not_accepted(name, value, f"a number of seconds from 0 to {MAX_TIMEOUT_S}")


def change_or_attempt(description: str, change: str, attempt: str) -> JsonObject:
    """The schema of a union, whose member `kind` decides: msgspec generates none of varying tags.

    `change` and `attempt` are the names of the schemas.
    """
    mapping = dict.fromkeys([*TimerKind], ref(change)["$ref"]) | {ATTEMPT: ref(attempt)["$ref"]}
    return {
        "description": description,
        "oneOf": [ref(change), ref(attempt)],
        "discriminator": {"propertyName": "kind", "mapping": mapping},
    }


AccountId = Annotated[str, Meta(examples=["acct_demo"])]
PaymentId = Annotated[str, Meta(examples=["pay_000001Dz8o8aapLUyz3InHE9"])]
EventId = Annotated[str, Meta(examples=["evt_6tlMJw7K49zgw5rZGiGaL2vq"])]
DeliveryId = Annotated[str, Meta(examples=["dlv_0000026LPd0GpDuORRbEed52"])]
EndpointId = Annotated[str, Meta(examples=["we_EMD4uORVOtlji4ICNLUyJh6N"])]
FaultId = Annotated[str, Meta(examples=["flt_HKCGSMJA2j2x8Gl5GF4paXoq"])]
RequestId = Annotated[str, Meta(examples=["req_hpcSRFDABu6WYquXIXwoYGit"])]
ScenarioName = Annotated[str, Meta(examples=["double-success"])]
OfPayment = Annotated[PaymentId, doc("The identifier of the payment.")]
OfEvent = Annotated[EventId, doc("The identifier of the event.")]
OfDelivery = Annotated[DeliveryId, doc("The identifier of the delivery.")]
# The endpoint may have been deleted.
OfEndpoint = Annotated[EndpointId, doc("The identifier of the endpoint.")]
ResponseStatus = Annotated[int | None, doc("The status of the response; null without a response.")]
ErrorText = Annotated[str | None, doc("The error, if any.")]
CauseText = Annotated[str | None, doc("The likely cause and a solution.")]
ShortText = Annotated[str, Meta(max_length=MAX_TEXT_LENGTH)]
Count = Annotated[int, Meta(ge=0)]
DurationMs = Annotated[float, Meta(ge=0, description="The duration, in real time.")]
InstantText = Annotated[
    str, Meta(description="UTC, with milliseconds.", extra_json_schema={"format": "date-time"})
]
At = Annotated[InstantText, doc("The instant, on the account's clock.")]
CreatedAt = Annotated[InstantText, doc("The instant of its creation, on the account's clock.")]
GivenInstant = Annotated[
    Any,
    doc(
        "An ISO 8601 timestamp; without an offset it is in UTC.",
        "2026-01-02T00:00:00Z",
        type="string",
        format="date-time",
    ),
    text_parser(instants.parse_instant, instants.ACCEPTED_INSTANTS, kind=CLOCK),
]
_CLOCK_PATTERN = (
    r"^(real|frozen(@[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}"
    r"(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2}))?|x[0-9]{1,6}(\.[0-9]{1,3})?)$"
)
_CLOCK_EXAMPLE = "frozen@2026-01-01T00:00:00Z"
ClockText = Annotated[str, Meta(pattern=_CLOCK_PATTERN, examples=[_CLOCK_EXAMPLE])]
# A ClockSpec, for which msgspec would generate another schema.
GivenClock = Annotated[
    Any,
    doc(None, _CLOCK_EXAMPLE, type="string", pattern=_CLOCK_PATTERN),
    text_parser(instants.parse_clock, instants.ACCEPTED_CLOCKS, kind=CLOCK),
]
GivenRate = Annotated[
    Any,
    doc(
        None,
        type="number",
        exclusiveMinimum=0,
        maximum=instants.MAX_RATE // instants.REAL_RATE,
        multipleOf=1 / instants.REAL_RATE,
    ),
    parsed(rate_thousandths, kind=CLOCK),
]
ClockFlag = Annotated[bool, Meta(extra={"kind": CLOCK})]
Name = Annotated[
    str,
    Meta(min_length=1, max_length=MAX_NAME_LENGTH, pattern=r"^[^\u0000-\u001f\u007f-\u009f]+$"),
    text_parser(matched(_NAME), f"1 to {MAX_NAME_LENGTH} characters without control characters"),
]
Seed = Annotated[
    int,
    Meta(ge=SEEDS.start, le=SEEDS.stop - 1, extra_json_schema={"format": "int64"}),
    parsed(seed),
]
Vary = Annotated[
    Any,
    doc(
        None,
        type=["string", "integer"],
        pattern=SETTING_PATTERN,
        minimum=SEEDS.start,
        maximum=SEEDS.stop - 1,
    ),
    parsed(vary),
]
# Not of the format `uri`: letters outside ASCII are accepted unescaped.
Url = Annotated[
    str,
    Meta(pattern=r"^https?://[^\s/?#]\S*$", max_length=MAX_URL_LENGTH, examples=[EXAMPLE_URL]),
    text_parser(parse_url, ACCEPTED_URL),
]
BaseUrl = Annotated[
    str,
    Meta(
        pattern=r"^https?://[^\s/?#][^\s?#]*$",
        max_length=MAX_URL_LENGTH,
        examples=[EXAMPLE_BASE_URL],
    ),
    text_parser(parse_checkout_url, f"{ACCEPTED_URL}, without a query or a fragment"),
]
Limit = Annotated[
    int,
    Meta(ge=1, le=MAX_LIMIT, description="The maximum number of entries; the newest are returned."),
    parsed(limit),
]
OLDER = doc("Only entries older than the one with this identifier.", kind="before")
HasMore = Annotated[bool, doc("Whether older entries match, too.", False)]
Timeout = Annotated[
    float,
    Meta(
        ge=0,
        le=MAX_TIMEOUT_S,
        description="The maximum wait in seconds of real time; 0 returns at once.",
    ),
    parsed(_timeout_s),
]
EventType = Annotated[str, refers_to("EventType")]
Headers = Annotated[
    dict[str, str],
    doc(
        "The headers by lower-case name; repeated headers have joined values.",
        {"content-type": "application/json"},
    ),
]
# A payment as in `/v1`, which is written as JSON once.
PaymentText = Annotated[msgspec.Raw, refers_to("Payment")]
