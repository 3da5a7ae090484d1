"""Reads YAML as nodes with positions, and explains its mistakes."""
