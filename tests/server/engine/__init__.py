"""Tests of the engine, through the running program."""
