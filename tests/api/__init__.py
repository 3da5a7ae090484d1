"""The emulated contract, clause by clause."""
