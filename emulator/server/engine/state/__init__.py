"""The state of an account in memory, which the operations share."""
