"""The outside of the project: what README.md promises, and what no file may say."""
