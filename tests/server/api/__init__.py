"""Tests of the emulated contract."""
