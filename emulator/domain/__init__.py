"""The rules and values of payments, without input, output and storage."""
