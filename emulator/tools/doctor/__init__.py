"""Examines a running emulator over HTTP: which addresses reach it, and which addresses it reaches.

One probe per module; `runner` runs them in order and `report` holds what they find.
"""
