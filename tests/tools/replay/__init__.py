"""Tests of emulator/tools/replay."""
