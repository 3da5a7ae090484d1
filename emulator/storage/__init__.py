"""Every SQL string in the program, and the one connection that runs them."""
