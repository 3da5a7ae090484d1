"""What `serve` runs: listeners, operations, storage and the webhook sender."""
