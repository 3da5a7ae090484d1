"""Lists the clauses that no check covers: they cannot be observed, or hold by then."""

_CUSTOMER = "a check needs a customer on the checkout page"
_MONEY = "a check needs a live key and real money"
_WEBHOOKS = "a check needs an address that the service can reach"
_SILENT = "the contract specifies nothing that a check can observe"

HIDDEN = {
    "1.5": _CUSTOMER,
    "1.6": _CUSTOMER,
    "1.7": _CUSTOMER,
    "1.8": _CUSTOMER,
    "1.11": "a check needs a test key and a live key of one account",
    "3.2": _CUSTOMER,
    "4.1.22": "a check would last a day",
    "4.2.4": _MONEY,
    "4.2.5": _WEBHOOKS,
    "4.3.14": "the contract does not name the forms",
    "4.4.1": _CUSTOMER,
    "4.4.2": _CUSTOMER,
    "4.4.3": _CUSTOMER,
    "4.4.4": _CUSTOMER,
    "4.4.5": _CUSTOMER,
    "4.4.6": "the contract does not contain the numbers",
    "4.4.7": _CUSTOMER,
    "5.2": "a client cannot observe that no money moves",
    "5.3": _MONEY,
    "6.1": _WEBHOOKS,
    "6.2": _WEBHOOKS,
    "6.3": _WEBHOOKS,
    "6.4": _WEBHOOKS,
    "6.5": _WEBHOOKS,
    "8.6": _CUSTOMER,
    "8.8": "a check would need very many requests",
    "9.3": _SILENT,
}
"""Clauses that cannot be observed from outside, each with the reason."""

GRANTED = {
    "1.9": "the service responds there",
    "9.1": "the service responds under `/v1`",
}
"""Clauses that hold if the first check is reached."""
