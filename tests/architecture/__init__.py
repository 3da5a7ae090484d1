"""The rules that hold for all the source, and the wheel made of it."""
