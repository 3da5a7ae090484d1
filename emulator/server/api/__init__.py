"""The emulated contract: the calls of `/v1`."""
