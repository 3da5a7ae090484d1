"""Plays the scripts of scenario files against an emulator, over HTTP, and reports the results."""
