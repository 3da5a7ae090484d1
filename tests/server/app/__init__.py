"""The program as a whole: listeners, connections, paths."""
