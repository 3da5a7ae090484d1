"""What the program keeps, and how it survives."""
