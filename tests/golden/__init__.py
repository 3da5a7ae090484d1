"""Recorded outputs of the program, which a change of its structure must not alter."""
