"""Runs that are too long for the tests: `python -m tests.long_runs NAME`; the tests run samples."""
