"""What tests an emulator, a service or a shop from outside, over HTTP."""
