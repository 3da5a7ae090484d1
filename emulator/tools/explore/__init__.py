"""Runs a merchant's integration through every history of events, and judges what it does."""
