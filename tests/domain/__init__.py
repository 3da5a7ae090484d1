"""What is true about payments, whoever asks."""
