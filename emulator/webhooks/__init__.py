"""How a notification looks, is signed, is sent and is retried."""
