"""Examines a running emulator over HTTP: which addresses reach it, and which addresses it reaches.

One module per view; `runner` runs them in order and `report` holds what they find.
"""
