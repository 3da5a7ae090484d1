"""Plays scripts against an emulator over HTTP, as a merchant would, and tells what came of it."""
