"""The operations: each reads, decides and writes in one transaction, then returns a value."""
