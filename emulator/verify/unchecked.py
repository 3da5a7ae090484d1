"""Lists the clauses that no check covers: they cannot be observed, or hold by then."""

_CUSTOMER = "it takes a customer on the checkout page"
_MONEY = "it takes a live key, and money"
_WEBHOOKS = "it takes an address that the service can reach"
_SILENT = "there is nothing to look for"

HIDDEN = {
    "1.5": _CUSTOMER,
    "1.6": _CUSTOMER,
    "1.7": _CUSTOMER,
    "1.8": _CUSTOMER,
    "1.11": "it takes a test key and a live key of one account",
    "3.2": _CUSTOMER,
    "4.1.22": "it takes a day",
    "4.2.4": _MONEY,
    "4.2.5": _WEBHOOKS,
    "4.3.14": "the contract does not name them",
    "4.4.1": _CUSTOMER,
    "4.4.2": _CUSTOMER,
    "4.4.3": _CUSTOMER,
    "4.4.4": _CUSTOMER,
    "4.4.5": _CUSTOMER,
    "4.4.6": "the contract does not print them",
    "4.4.7": _CUSTOMER,
    "5.2": "that no money moves cannot be seen",
    "5.3": _MONEY,
    "6.1": _WEBHOOKS,
    "6.2": _WEBHOOKS,
    "6.3": _WEBHOOKS,
    "6.4": _WEBHOOKS,
    "6.5": _WEBHOOKS,
    "8.6": _CUSTOMER,
    "8.8": "it would take very many requests",
    "9.3": _SILENT,
}
"""Clauses that cannot be observed from outside, each with the reason."""

GRANTED = {
    "1.9": "the calls are served there",
    "9.1": "the calls are served under `/v1`",
}
"""Clauses that hold if the first check is reached."""
