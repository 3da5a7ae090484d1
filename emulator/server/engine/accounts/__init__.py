"""The accounts and their clocks, scenarios and snapshots."""
