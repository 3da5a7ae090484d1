"""Writes the history of an account as a scenario file."""
