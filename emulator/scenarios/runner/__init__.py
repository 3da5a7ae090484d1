"""Plays the script of a scenario against an emulator, over the table of calls."""
