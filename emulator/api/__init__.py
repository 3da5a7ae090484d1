"""The emulated contract: `/v1` and nothing else."""
