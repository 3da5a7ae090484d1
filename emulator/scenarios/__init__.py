"""Scenario files: YAML to validated values, and which of their rules applies."""
