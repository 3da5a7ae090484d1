"""Tests of emulator/replay."""
