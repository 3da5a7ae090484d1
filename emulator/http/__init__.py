"""Parts that HTTP clients and receivers share: addresses, explained failures, clients, a receiver.

Modules here import each other relatively, because the pytest plugin loads them in another package.
"""
