"""Runs a merchant's test command once for each variant of the payments service."""
