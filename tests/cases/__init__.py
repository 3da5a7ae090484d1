"""Scenario files that play each word of their format through a real server."""
