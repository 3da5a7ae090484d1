"""Tests of the rules and values of payments."""
