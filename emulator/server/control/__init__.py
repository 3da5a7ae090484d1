"""The control API, `/_emulator` in JSON: what a test does to the emulator, not to the service."""
