"""The composition root: builds the rooms, gives each its listener and path, and runs them."""
