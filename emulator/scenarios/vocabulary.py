"""Every word that a scenario file may use, what it means, and how much of it there may be.

The loader knows its keys from here, and the JSON Schema its keys and descriptions.
"""

import re

from emulator.domain.payment import Status, event_type
from emulator.domain.transitions import TRANSITIONS
from emulator.domain.webhooks import LONGEST_HEAD_START_MS, LONGEST_HOLD_MS

VERSION = 1
LARGEST_FILE_BYTES = 256 * 1024
MOST_NODES = 10_000
DEEPEST_NESTING = 32
MOST_STEPS = 100
MOST_TIMES = 1_000_000
MOST_COPIES = 100

NAME_PATTERN = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}", re.ASCII)
# Any identifier: which methods exist is configuration, so an unknown one is no mistake here.
METHOD_PATTERN = re.compile(r"[a-z][a-z0-9_]{0,63}", re.ASCII)
HANDSET = "handset"

FILE_KEYS = {
    "version": "The version of this format: 1.",
    "name": "What the scenario is called; unique among the files that are loaded.",
    "description": "What the scenario is for, in a sentence.",
    "enabled": "Whether the scenario is on at start; an account may switch it later.",
    "outcomes": "What happens after the customer submits a method. The first rule that matches.",
    "expiry": "How long a checkout stays open, instead of `expires_in`. The first that matches.",
    "webhooks": "What goes wrong with the deliveries of an event. The first rule that matches.",
}
LATER_SECTIONS = frozenset({"faults", "script"})

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


def followers(status: Status) -> list[Status]:
    """The statuses that can come next, in the order of the table of transitions."""
    return [to for (since, to) in TRANSITIONS if since is status]


def statuses_after_submit() -> list[Status]:
    """Every status that steps can lead to, nearest first: steps begin in processing."""
    reached = [Status.PROCESSING]
    for status in reached:
        reached += [to for to in followers(status) if to not in reached]
    return reached[1:]
