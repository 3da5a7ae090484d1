"""The specification of the emulator, room by room."""
