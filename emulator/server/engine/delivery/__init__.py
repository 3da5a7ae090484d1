"""Creates the deliveries of events, sends them and records their attempts."""
