"""Tests of emulator/scenarios/runner."""
