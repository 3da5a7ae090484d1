"""The pages at `/_emulator/` for people, and what `GET /` returns to programs."""
