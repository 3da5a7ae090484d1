"""The composition root: builds the packages, gives each its listener and path, and runs them."""
