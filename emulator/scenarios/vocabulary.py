"""Every word that a scenario file may use, what it means, and how much of it there may be.

The loader knows its keys from here, and the JSON Schema its keys and descriptions.
"""

import re

from emulator.domain.payment import Status
from emulator.domain.transitions import TRANSITIONS

VERSION = 1
LARGEST_FILE_BYTES = 256 * 1024
MOST_NODES = 10_000
DEEPEST_NESTING = 32
MOST_STEPS = 100
MOST_TIMES = 1_000_000

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
}
LATER_SECTIONS = frozenset({"faults", "webhooks", "script"})

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
    "when": "All of these must match; `{}` matches everything.",
    "then": "Timed steps, an empty list to stay in processing, or `handset`: a person answers.",
    "times": "After so many uses the rule retires and the next one that matches applies.",
}
STEP_KEYS = {
    "after": "How long after the submit; without it, together with the submit.",
    "status": "The status that the payment takes on.",
    "reason": "Why it failed; only beside `status: failed`, by default provider_error.",
    "unusual": "Says that a change which mobile money shows only now and then is meant.",
}
EXPIRY_RULE_KEYS = {
    "when": "All of these must match; `{}` matches everything.",
    "after": "How long after its creation the checkout expires.",
    "then": "The same, written as `then: {after: 5s}`.",
    "times": "After so many uses the rule retires and the next one that matches applies.",
}
EXPIRY_THEN_KEYS = {"after": EXPIRY_RULE_KEYS["after"]}


def followers(status: Status) -> list[Status]:
    """The statuses that can come next, in the order of the table of transitions."""
    return [to for (since, to) in TRANSITIONS if since is status]


def statuses_after_submit() -> list[Status]:
    """Every status that steps can lead to, nearest first: steps begin in processing."""
    reached = [Status.PROCESSING]
    for status in reached:
        reached += [to for to in followers(status) if to not in reached]
    return reached[1:]
