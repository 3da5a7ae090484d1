"""Sends webhooks, and schedules their retries."""
