"""The keys of the scenario format, with their descriptions and limits.

The loader and the JSON Schema take the keys from this module. The reference page takes its tables
from the JSON Schema: a description that ends in `Default: X.` fills the column of the defaults.
"""

import re

from emulator.domain.payment import Status, event_type
from emulator.domain.transitions import TRANSITIONS
from emulator.domain.webhooks import MAX_HEAD_START_MS, MAX_HOLD_MS

VERSION = 1
MAX_STEPS = 100
MAX_TIMES = 1_000_000
MAX_COPIES = 100
MAX_REQUESTS = 1_000_000
MAX_RETRY_AFTER_S = 86_400
# The contract's 429 always tells how long to wait (section 7).
RATE_LIMITED = 429
RETRY_AFTER_S = 1
MAX_LATENCY_MS = 300_000
MAX_SCRIPT_STEPS = 1_000
MAX_EXECUTED_STEPS = 100_000
MAX_REPEATS = 10_000
MAX_REPEAT_DEPTH = 3
MAX_DIGITS = 100
MIN_HTTP_STATUS = 100
MAX_HTTP_STATUS = 599

NAME_PATTERN = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}", re.ASCII)
# Any identifier: which methods exist is configuration, so an unknown one is no mistake here.
METHOD_PATTERN = re.compile(r"[a-z][a-z0-9_]{0,63}", re.ASCII)
PAYMENT_NAME_PATTERN = re.compile(r"[a-z][a-z0-9_-]{0,63}", re.ASCII)
HANDSET = "handset"
ANY_REQUEST = "any"
NEXT = "next"

FILE_KEYS = {
    "version": "The version of this format.",
    "name": "The name of the scenario, unique among the files that are loaded.",
    "description": "The purpose of the scenario. Default: empty.",
    "enabled": "Whether the scenario is on at start. An account can switch it later.",
    "outcomes": "What happens after the customer submits a method. Default: empty.",
    "expiry": "How long a checkout stays open. Default: empty.",
    "faults": "Which API requests fail, and how. Default: empty.",
    "webhooks": "Which webhook deliveries misbehave, and how. Default: empty.",
    "script": "A complete case for `replay`. Default: empty.",
}

_WHEN = "The condition. All keys must match; `{}` matches everything."
_TIMES = (
    "After this number of uses, the rule is inactive and the next matching rule applies. "
    "Default: unlimited."
)
_BOTH_MODES = "Default: both modes."

WHEN_KEYS = {
    "mode": f"The mode of the payment. {_BOTH_MODES}",
    "method": "The submitted method; in `expiry`, one of the methods that the payment offers.",
    "phone": "The submitted phone number, in any form; never matches in `expiry`.",
    "bank": "The chosen bank; never matches in `expiry`.",
    "amount": "The amount, or a range of amounts. A range has `gte`, `lte` or both.",
    "metadata": "Metadata with these values. Other keys of the metadata are ignored.",
}
AMOUNT_KEYS = {
    "gte": "The smallest amount that matches.",
    "lte": "The largest amount that matches.",
}
OUTCOME_RULE_KEYS = {
    "when": _WHEN,
    "then": f"A list of steps, or `{HANDSET}`: the customer or a test answers.",
    "times": _TIMES,
}
STEP_KEYS = {
    "after": "The time since the submit, not less than in the step before. Default: `0s`.",
    "status": "The new status. The status before must permit this change.",
    "reason": "Why the payment failed; only with `status: failed`. Default: `provider_error`.",
    "unusual": "Required for `completed` after `failed`.",
}
EXPIRY_RULE_KEYS = {
    "when": _WHEN,
    "after": "The time from the creation of the payment to the expiry of its checkout.",
    "then": "The same as `after`, in another form: `then: {after: 5s}`.",
    "times": _TIMES,
}
EXPIRY_THEN_KEYS = {"after": EXPIRY_RULE_KEYS["after"]}
FAULT_RULE_KEYS = {
    "when": _WHEN,
    "then": "The effect on the request.",
    "times": _TIMES,
}
FAULT_WHEN_KEYS = {
    "mode": f"Requests with a key of this mode. {_BOTH_MODES}",
    "request": f"This API request; `{ANY_REQUEST}` matches all of them. Default: `{ANY_REQUEST}`.",
    "nth": "Only the nth request, counted from 1.",
    "every": "Every nth request: `every: 3` matches the third request, the sixth and so on.",
    "chance": "Each request with this probability. The seed decides.",
}
# At most one of these.
FAULT_COUNTS = ("nth", "every", "chance")
FAULT_THEN_KEYS = {
    "status": "The response has this status, and the contract's error object for it.",
    "retry_after": "The seconds of the header `Retry-After`; needs `status`. "
    f"Default: {RETRY_AFTER_S} for {RATE_LIMITED}, else none.",
    "latency": "The response is delayed by this time, in real time. "
    "Without another key, the normal response follows.",
    "drop": "The connection is closed without a response. "
    "Not with `status`, `retry_after` or `truncate`.",
    "truncate": "The connection is closed in the middle of the body.",
    "point": "Before anything is done, or after everything is done. "
    "Default: `before_commit`; `after_commit` for `truncate` without `status`.",
}
FAULT_EXCLUSIONS = {
    "drop": dict.fromkeys(("status", "retry_after", "truncate"), "what is cut off has no answer"),
}
WEBHOOK_RULE_KEYS = {
    "when": _WHEN,
    "then": "The effect on the deliveries of the event.",
    "times": _TIMES,
}
WEBHOOK_WHEN_KEYS = {
    "mode": WHEN_KEYS["mode"],
    "event": "The type of the event. Default: all types.",
}
WEBHOOK_THEN_KEYS = {
    "copies": "The total number of deliveries to each endpoint, all with the same `webhook-id`. "
    "Default: 1.",
    "delay": "The first attempt is delayed by this time, on the account's clock.",
    "drop": "No attempt is made, and the delivery is listed as dropped. Not with any other key.",
    "hold": "Delivered after the payment's next event, "
    f"or after {MAX_HOLD_MS // 1_000} s. Not with `delay`.",
    "before_response": "Delivered before the create call returns, "
    f"which waits up to {MAX_HEAD_START_MS // 1_000} s of real time. "
    f"Only for `{event_type(Status.PENDING)}`; not with `delay` or `hold`.",
    "tamper": "This part is changed after signing, in every attempt. A resend is genuine.",
}
_DROPPED = "what is dropped is never sent"
# What makes no sense beside a key that is true, and why.
WEBHOOK_EXCLUSIONS = {
    "drop": dict.fromkeys((key for key in WEBHOOK_THEN_KEYS if key != "drop"), _DROPPED),
    "hold": {"delay": "what is held goes out after the payment's next event"},
    "before_response": {
        "delay": "what comes before the response is sent at once",
        "hold": "what comes before the response cannot wait for the next event",
    },
}
# The only event that a response can wait for: that of the create call.
AWAITED_EVENT = event_type(Status.PENDING)

ANSWERS = ("approve", "wrong_pin", "insufficient_balance", "cancel", "decline")

SCRIPT_STEPS = {
    "create": "Creates a payment.",
    "retrieve": "Retrieves a payment. A name alone is the short form of `payment`.",
    "list": "Lists payments. `list:` alone lists the newest ten.",
    "pay": "Submits a method, as the customer does on the page.",
    "answer": "Answers on the handset or on the bank's page: "
    f"{', '.join(f'`{answer}`' for answer in ANSWERS)}.",
    "cancel": "Presses the cancel button of the page. A name alone is the short form of `payment`.",
    "transition": "Changes the status directly.",
    "advance": "Moves the clock by a duration and runs everything that becomes due; "
    f"`{NEXT}` moves the clock to the next due item.",
    "fault": "Adds a rule as in `faults`, from this step on.",
    "expect": "Checks what must be true at this point.",
    "repeat": "Runs steps several times.",
}
_PAYMENT = "The name that `create` gave the payment with `as`."
_AS_GIVEN = "The value is sent without a check."
CREATE_MEMBERS = {
    "amount": "The amount in ETB cents.",
    "currency": "The currency: ETB.",
    "methods": "The payment methods to offer.",
    "success_url": "The redirect URL after success.",
    "cancel_url": "The redirect URL after a cancellation.",
    "metadata": "Up to 20 pairs of texts.",
    "idempotency_key": "The key that makes a retry of the request safe.",
    "expires_in": "The seconds until the checkout expires.",
}
# The parameters that the API requires.
_FILLED_IN = ("amount", "currency", "methods", "success_url", "cancel_url")
CREATE_KEYS = {
    "as": "The name of the payment in later steps. A later `create` can use the name again.",
    **{
        name: f"{meaning} {_AS_GIVEN}{' Default: filled in.' if name in _FILLED_IN else ''}"
        for name, meaning in CREATE_MEMBERS.items()
    },
    "unknown": "Members that the API does not know.",
}
RETRIEVE_KEYS = {
    "payment": _PAYMENT,
    "id": f"An id, instead of `payment`. {_AS_GIVEN}",
}
LIST_KEYS = {
    "limit": f"The number of payments on the page. {_AS_GIVEN}",
    "after": "The page begins after this payment, given by its name.",
    "status": f"Only payments with this status. {_AS_GIVEN}",
    "method": f"Only payments with this method. {_AS_GIVEN}",
    "created_gte": f"Only payments created at this time or later. {_AS_GIVEN}",
    "created_lte": f"Only payments created at this time or earlier. {_AS_GIVEN}",
}
PAY_KEYS = {
    "payment": _PAYMENT,
    "method": "The submitted method. "
    "Default: the method of the phone; `bank_transfer` with a bank.",
    "phone": "The customer's number, in any form. Required by `telebirr` and `mpesa`.",
    "bank": "The customer's bank, instead of `phone`. Required by `bank_transfer`.",
}
ANSWER_KEYS = {
    "payment": _PAYMENT,
    "answer": "The answer. `wrong_pin` is only for phones, `decline` only for banks.",
}
CANCEL_KEYS = {"payment": _PAYMENT}
TRANSITION_KEYS = {
    "payment": _PAYMENT,
    "status": "The new status.",
    "method": "The method, if the payment has none yet. "
    "Default: the first method that the payment offers.",
    "reason": STEP_KEYS["reason"],
    "unusual": "Required for `completed` after `failed` or `expired`.",
}
REPEAT_KEYS = {
    "times": "The number of runs.",
    "steps": f"The steps to repeat, at least one. `repeat` nests up to {MAX_REPEAT_DEPTH} levels.",
}
PAYMENT_FIELDS = {
    "id": "The id.",
    "object": "Always `payment`.",
    "amount": "The amount in ETB cents.",
    "currency": "The currency.",
    "status": "The status.",
    "method": "The payment method.",
    "checkout_url": "The address of the checkout page.",
    "success_url": "The redirect URL after success.",
    "cancel_url": "The redirect URL after a cancellation.",
    "metadata": "The complete metadata of the payment.",
    "created_at": "The time of creation.",
    "expires_at": "The time at which the checkout expires.",
    "completed_at": "The time of completion, or `null`.",
}
# Checks of the last response, so not permitted with `payment`.
ANSWER_CHECKS = {
    "http_status": "The HTTP status of the last response.",
    "code": "The code of the error in the last response.",
    "param": "The field that the error in the last response names.",
    "retry_after": "The seconds of the header `Retry-After` of the last response.",
    "replayed": "Whether the last response is an idempotent replay of an earlier one.",
    "lost": "Whether no complete response arrived.",
    "payments": "The payments of the last list, by name, in order.",
    "has_more": "Whether the last list has a further page.",
}
# With `payment`, an expectation has one meaning; without `payment`, the second one, if given.
EXPECT_KEYS = {
    "payment": f"{_PAYMENT} Without `payment`: The last response and the account are checked.",
    **{
        name: f"{meaning} Without `payment`: This member of the last response."
        for name, meaning in PAYMENT_FIELDS.items()
    },
    "reason": "Why the payment failed. "
    "Without `payment`: The same, for the payment in the last response.",
    "events": "The types of the payment's events, oldest first. Without `payment`: "
    "The types of the newest 1,000 events of the account and mode, oldest first.",
    "webhooks": "The types of the webhooks that arrived with a valid signature, in the order of "
    "arrival. Without `payment`: The same, for all payments.",
    "forged": "The types of the webhooks that arrived with an invalid signature, in the order of "
    "arrival. Without `payment`: The same, for all payments.",
    **ANSWER_CHECKS,
    "same_as": "The name of another payment that must have the same id.",
}


def followers(status: Status) -> list[Status]:
    """The statuses that can come next, in the order of the table of transitions."""
    return [to for (since, to) in TRANSITIONS if since is status]


def statuses_after_submit() -> list[Status]:
    """Every status that steps can lead to, nearest first: steps begin in processing."""
    reached = [Status.PROCESSING]
    for status in reached:
        reached += [to for to in followers(status) if to not in reached]
    return reached[1:]
