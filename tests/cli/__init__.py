"""The command line, in real processes."""
