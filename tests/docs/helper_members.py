"""Lists the members of the test helpers in all languages, and which helper has which."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from emulator.http import emulator_calls as calls
from emulator.http.emulator_calls import EmulatorCall

_INITIALISMS = frozenset({"id", "url"})


def _snake_case(name: str) -> str:
    return name


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _pascal_case(name: str) -> str:
    words = name.split("_")
    return "".join(word.upper() if word in _INITIALISMS else word.capitalize() for word in words)


# How each helper writes the name of a member.
CONVENTIONS: Mapping[str, Callable[[str], str]] = {
    "node": _camel_case,
    "php": _camel_case,
    "java": _camel_case,
    "go": _pascal_case,
    "pytest": _snake_case,
}


@dataclass(frozen=True, slots=True)
class HelperMember:
    """A member of the helpers, or of some: `names` has other names, and None for no such member.

    `call` is the call of the control API that it makes. `meaning` is a cell of the reference.
    """

    name: str
    meaning: str
    call: EmulatorCall[Any] | None = None
    names: Mapping[str, str | None] = field(default_factory=dict)

    def name_in(self, helper: str) -> str | None:
        """Its name in a helper; None if the helper does not have it."""
        return self.names.get(helper, CONVENTIONS[helper](self.name))


_NOT_IN_PYTEST: Mapping[str, None] = {"pytest": None}
_ONLY_IN_PYTEST = dict.fromkeys(["node", "php", "java", "go"])
_ONLY_IN_GO = dict.fromkeys(["node", "php", "java", "pytest"])

EMULATOR = (
    HelperMember(
        "start",
        "uses the emulator of `PAYMENTS_EMULATOR_URL`, or starts one; takes options of `serve`, and"
        " the host name by which an emulator in a container reaches the tests",
        names={"node": "startEmulator", **_NOT_IN_PYTEST},
    ),
    HelperMember("base_url", "the API root for your code"),
    HelperMember("checkout_url", "the address of the checkout page", names=_NOT_IN_PYTEST),
    HelperMember(
        "create_account",
        "creates an account; takes the members of the call, such as `clock` and `seed`",
        calls.CREATE_ACCOUNT,
        {"pytest": "account"},
    ),
    HelperMember(
        "new_account",
        "creates an account of an emulator that all tests of a package share",
        calls.CREATE_ACCOUNT,
        _ONLY_IN_GO,
    ),
    HelperMember("stop", "ends the emulator that it has started", names={"pytest": "close"}),
)

ACCOUNT = (
    HelperMember("id", "the account's id"),
    HelperMember("base_url", "the API root for your code"),
    HelperMember("test_key", "the key for your code"),
    HelperMember("live_key", "the key of live mode, whose payments are simulated, too"),
    HelperMember(
        "pay",
        "pays as on the checkout page; takes a method, a phone or a bank. By default the emulator"
        " chooses the first method offered, and a phone or bank whose payments succeed. A"
        " `bank_transfer` stays `processing` until `answer`",
        calls.PAY,
    ),
    HelperMember(
        "answer", 'answers on the phone or at the bank, such as `"approve"`', calls.ANSWER
    ),
    HelperMember(
        "cancel", "the cancel button of the page; the payment stays `pending`", calls.CANCEL
    ),
    HelperMember("refund", "refunds a completed payment", calls.TRANSITION, _ONLY_IN_PYTEST),
    HelperMember("transition", "sets a status by any legal transition", calls.TRANSITION),
    HelperMember("advance", "advances the account's clock; returns what happened", calls.ADVANCE),
    HelperMember("now", "the time of the account's clock", calls.CLOCK, _ONLY_IN_PYTEST),
    HelperMember(
        "use_scenario",
        "enables a [scenario](../guides/scenarios.md) by name",
        calls.ENABLE_SCENARIO,
        _ONLY_IN_PYTEST,
    ),
    HelperMember(
        "fault",
        "makes one request [fail](../guides/faults.md); takes the name of the request, such as"
        " `create_payment`, and what happens",
        calls.ADD_FAULT,
    ),
    HelperMember("payment", "a payment, as the API returns it", calls.PAYMENT),
    HelperMember("history", "the past and the scheduled changes", calls.PAYMENT, _ONLY_IN_PYTEST),
    HelperMember("payments", "the payments of the account", calls.EVENTS, _ONLY_IN_PYTEST),
    HelperMember("events", "the events of the account", calls.EVENTS, _ONLY_IN_PYTEST),
    HelperMember(
        "requests",
        "the [requests](../guides/inspecting-requests.md) of your code and their responses",
        calls.REQUESTS,
        _ONLY_IN_PYTEST,
    ),
    HelperMember(
        "webhooks", "the webhooks that the test received, in order of arrival", calls.ADVANCE
    ),
    HelperMember("new_webhooks", "those since the last call, for your handler", calls.ADVANCE),
    HelperMember("webhook_secret", "the secret that verifies these webhooks"),
    HelperMember(
        "deliver_to",
        "also sends webhooks to your application; takes a secret and a"
        " [form](../guides/webhook-forms.md), returns the endpoint with its `secret`",
        calls.CREATE_ENDPOINT,
    ),
    HelperMember(
        "deliveries",
        "the webhooks that your application was sent, with every attempt",
        calls.DELIVERIES,
    ),
    HelperMember(
        "checklist",
        "the items of the [checklist](../guides/checklist.md), without the test's own webhooks",
        calls.CHECKLIST,
    ),
    HelperMember("control", "any call of the [control API](control-api.md)"),
    HelperMember(
        "reset",
        "restores the initial state: clock, payments, endpoints, scenarios, faults, requests",
        calls.RESET,
    ),
    HelperMember("delete", "deletes the account", calls.DELETE_ACCOUNT, _NOT_IN_PYTEST),
)

WEBHOOK = (
    HelperMember("id", "the event's id, empty where the form has none"),
    HelperMember("type", "the emulator's name of the event, such as `payment.completed`"),
    HelperMember("payment", "the id of its payment"),
    HelperMember("headers", "the headers as received, for your handler"),
    HelperMember("body", "the signed bytes"),
    HelperMember(
        "is_verified",
        "whether the signature is correct, and the timestamp at most five minutes old; false in a"
        " form without a signature",
    ),
)

# By the object that has them.
MEMBERS: Mapping[str, tuple[HelperMember, ...]] = {
    "emulator": EMULATOR,
    "account": ACCOUNT,
    "webhook": WEBHOOK,
}
