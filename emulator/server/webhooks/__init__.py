"""Formats, signs, sends and retries webhooks, and explains why they fail."""
