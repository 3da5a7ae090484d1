"""Parts that HTTP clients and receivers share: addresses, failures, clients, webhooks, a receiver.

Modules here import each other relatively, because the pytest plugin loads them in another package.
"""
