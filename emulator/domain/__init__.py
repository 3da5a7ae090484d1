"""What is true about payments, whoever asks and wherever they are stored."""
