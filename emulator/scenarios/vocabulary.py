"""Every word that a scenario file may use, what it means, and how much of it there may be.

The loader knows its keys from here, and the JSON Schema its keys and descriptions.
"""

import re

from emulator.domain.payment import Status, event_type
from emulator.domain.transitions import TRANSITIONS
from emulator.domain.webhooks import LONGEST_HEAD_START_MS, LONGEST_HOLD_MS
from emulator.files import MAX_FILE_BYTES, MAX_NESTING, MAX_NODES

VERSION = 1
LARGEST_FILE_BYTES = MAX_FILE_BYTES
MOST_NODES = MAX_NODES
DEEPEST_NESTING = MAX_NESTING
MOST_STEPS = 100
MOST_TIMES = 1_000_000
MOST_COPIES = 100
MOST_REQUESTS = 1_000_000
LONGEST_RETRY_AFTER_S = 86_400
# The contract's 429 always tells how long to wait (section 7).
RATE_LIMITED = 429
RETRY_AFTER_S = 1
LONGEST_LATENCY_MS = 300_000
MOST_SCRIPT_STEPS = 1_000
MOST_STEPS_PLAYED = 100_000
MOST_REPEATS = 10_000
DEEPEST_REPEAT = 3
MOST_DIGITS = 100
SMALLEST_HTTP_STATUS = 100
LARGEST_HTTP_STATUS = 599

NAME_PATTERN = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}", re.ASCII)
# Any identifier: which methods exist is configuration, so an unknown one is no mistake here.
METHOD_PATTERN = re.compile(r"[a-z][a-z0-9_]{0,63}", re.ASCII)
PAYMENT_NAME_PATTERN = re.compile(r"[a-z][a-z0-9_-]{0,63}", re.ASCII)
HANDSET = "handset"
ANY_REQUEST = "any"
NEXT = "next"

FILE_KEYS = {
    "version": "The version of this format: 1.",
    "name": "What the scenario is called; unique among the files that are loaded.",
    "description": "What the scenario is for, in a sentence.",
    "enabled": "Whether the scenario is on at start; an account may switch it later.",
    "outcomes": "What happens after the customer submits a method. The first rule that matches.",
    "expiry": "How long a checkout stays open, instead of `expires_in`. The first that matches.",
    "faults": "What goes wrong with requests of the API. The first rule that matches.",
    "webhooks": "What goes wrong with the deliveries of an event. The first rule that matches.",
    "script": "A whole case, step by step, for `replay`.",
}

_WHEN = "All of these must match; `{}` matches everything."
_TIMES = "After so many uses the rule retires and the next one that matches applies."

WHEN_KEYS = {
    "mode": "The mode of the payment.",
    "method": "The submitted method; for expiry, one of the methods that the payment offers.",
    "phone": "The submitted phone number, in any form that a customer may write it in.",
    "bank": "The bank that the customer chose.",
    "amount": "The amount in ETB cents: a number, or a range.",
    "metadata": "Values that the payment's metadata must have; further ones don't matter.",
}
AMOUNT_KEYS = {
    "gte": "The smallest amount that matches, in ETB cents.",
    "lte": "The largest amount that matches, in ETB cents.",
}
OUTCOME_RULE_KEYS = {
    "when": _WHEN,
    "then": "Timed steps, an empty list to stay in processing, or `handset`: a person answers.",
    "times": _TIMES,
}
STEP_KEYS = {
    "after": "How long after the submit; without it, together with the submit.",
    "status": "The status that the payment takes on.",
    "reason": "Why it failed; only beside `status: failed`, by default provider_error.",
    "unusual": "Says that a change which mobile money shows only now and then is meant.",
}
EXPIRY_RULE_KEYS = {
    "when": _WHEN,
    "after": "How long after its creation the checkout expires.",
    "then": "The same, written as `then: {after: 5s}`.",
    "times": _TIMES,
}
EXPIRY_THEN_KEYS = {"after": EXPIRY_RULE_KEYS["after"]}
FAULT_RULE_KEYS = {
    "when": _WHEN,
    "then": "What goes wrong with the request.",
    "times": _TIMES,
}
FAULT_WHEN_KEYS = {
    "mode": "The mode of the key that the request is made with.",
    "request": f"The request; `{ANY_REQUEST}`, as without it, is all of them.",
    "nth": "Strikes one request: the nth of those that the rest of `when` matches, from 1 on.",
    "every": "Strikes again and again: every 3 is the third request, the sixth, and so on.",
    "chance": "Strikes with a chance, above 0 and at most 1, that the seed decides.",
}
# At most one of these.
FAULT_COUNTS = ("nth", "every", "chance")
FAULT_THEN_KEYS = {
    "status": "The status that is answered in place of the true answer.",
    "retry_after": "The header `Retry-After` beside `status`: whole seconds, at most a day; "
    "for 429 by default 1.",
    "latency": "How long the client waits first: in real time, so 5m at most.",
    "drop": "The connection is cut, without an answer.",
    "truncate": "The connection is cut in the middle of the body.",
    "point": "Before anything is done, or when all is done and only the answer is spoiled. "
    "By default before_commit; of `truncate` without `status`, after_commit.",
}
FAULT_EXCLUSIONS = {
    "drop": dict.fromkeys(("status", "retry_after", "truncate"), "what is cut off has no answer"),
}
WEBHOOK_RULE_KEYS = {
    "when": _WHEN,
    "then": "What goes wrong with the deliveries of the event.",
    "times": _TIMES,
}
WEBHOOK_WHEN_KEYS = {
    "mode": WHEN_KEYS["mode"],
    "event": "The type of the event.",
}
WEBHOOK_THEN_KEYS = {
    "copies": "How many deliveries there are in all, with one `webhook-id`; 1 is the usual one.",
    "delay": "How much later than usual the first attempt is made.",
    "drop": "No attempt is made; the delivery is listed as dropped.",
    "hold": "Delivered after the payment's next event, so out of order; "
    f"if there is none, after {LONGEST_HOLD_MS // 1_000} s.",
    "before_response": "Arrives before the create call is answered, "
    f"which waits for {LONGEST_HEAD_START_MS // 1_000} s at most.",
    "tamper": "What is changed after signing, in every attempt; a resend is genuine.",
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

SCRIPT_STEPS = {
    "create": "Creates a payment; what is left out is filled in.",
    "retrieve": "Retrieves a payment.",
    "list": "Lists payments.",
    "pay": "What the customer submits on the page.",
    "answer": "What a person answers on the phone or at the bank.",
    "cancel": "Presses the cancel button of the page.",
    "transition": "Changes a status by hand.",
    "advance": f"Moves the clock: by a duration, or `{NEXT}`: to the next thing that is due.",
    "fault": "Lets requests go wrong from here on; a rule as in `faults`.",
    "expect": "What must be true here.",
    "repeat": "Plays some steps several times.",
}
_PAYMENT = "The name that `create` gave the payment with `as`."
CREATE_MEMBERS = {
    "amount": "The amount in ETB cents.",
    "currency": "The currency: ETB.",
    "methods": "The payment methods to offer.",
    "success_url": "Where the customer goes after success.",
    "cancel_url": "Where the customer goes after cancelling.",
    "metadata": "Up to 20 pairs of texts.",
    "idempotency_key": "Lets a failed request be sent again safely.",
    "expires_in": "Seconds until the checkout expires.",
}
CREATE_KEYS = {
    "as": "What later steps call the payment.",
    **{name: f"{meaning} Any value is sent as it is." for name, meaning in CREATE_MEMBERS.items()},
    "unknown": "Members that the API does not know, to be sent on purpose.",
}
RETRIEVE_KEYS = {
    "payment": _PAYMENT,
    "id": "An identifier to be sent as it is, such as one that does not exist.",
}
LIST_KEYS = {
    "limit": "How many payments; any value is sent as it is.",
    "after": "The payment after which the page begins, by the name that `create` gave it.",
    "status": "Only payments of this status; any value is sent as it is.",
    "method": "Only payments of this method; any value is sent as it is.",
    "created_gte": "Only payments created from then on; any value is sent as it is.",
    "created_lte": "Only payments created until then; any value is sent as it is.",
}
PAY_KEYS = {
    "payment": _PAYMENT,
    "method": "The method; by default that of the phone, or bank_transfer beside a bank.",
    "phone": "The phone number, in any form that a customer may write it in.",
    "bank": "The bank.",
}
ANSWER_KEYS = {
    "payment": _PAYMENT,
    "answer": "The answer; wrong_pin is for phones alone, decline for banks.",
}
ANSWERS = ("approve", "wrong_pin", "insufficient_balance", "cancel", "decline")
CANCEL_KEYS = {"payment": _PAYMENT}
TRANSITION_KEYS = {
    "payment": _PAYMENT,
    "status": "The status that the payment takes on.",
    "method": "The method, where it has none yet; by default the first that it offers.",
    "reason": STEP_KEYS["reason"],
    "unusual": STEP_KEYS["unusual"],
}
REPEAT_KEYS = {"times": "How often.", "steps": "The steps to repeat."}
PAYMENT_FIELDS = {
    "id": "The identifier.",
    "object": "Always payment.",
    "amount": "The amount in ETB cents.",
    "currency": "The currency.",
    "status": "The status.",
    "method": "The payment method, or null.",
    "checkout_url": "Where the customer pays.",
    "success_url": "Where the customer goes after success.",
    "cancel_url": "Where the customer goes after cancelling.",
    "metadata": "All pairs of the merchant.",
    "created_at": "When the payment was created.",
    "expires_at": "When the checkout expires.",
    "completed_at": "When the payment was completed, or null.",
}
# What is expected of the last answer, and so never beside `payment`.
ANSWER_CHECKS = {
    "http_status": "The HTTP status of the last answer.",
    "code": "The code of its error, or null.",
    "param": "The field that its error names, or null.",
    "retry_after": "The seconds of its header `Retry-After`, or null.",
    "replayed": "Whether it is the replay of an earlier answer.",
    "lost": "Whether it did not arrive whole.",
    "payments": "The payments of the last list, in order, by their names.",
    "has_more": "Whether the last list goes on.",
}
EXPECT_KEYS = {
    "payment": f"{_PAYMENT} Without it, the last answer and the account are meant.",
    **PAYMENT_FIELDS,
    "reason": "Why the payment failed, or null.",
    "events": "The types of all events so far, the oldest first.",
    "webhooks": "The types of the events that arrived and whose signature was right.",
    "forged": "The types of the events that arrived and whose signature was wrong.",
    **ANSWER_CHECKS,
    "same_as": "The name of a payment that is the same one; only beside `payment`.",
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
