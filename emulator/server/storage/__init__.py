"""Contains every SQL string in the program, and the only connection that executes them."""
