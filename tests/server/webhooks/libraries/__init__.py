"""What is sent, verified by the libraries that merchants have."""
