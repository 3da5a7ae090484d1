"""A running emulator examined from outside: which addresses lead to it, and where it leads."""
