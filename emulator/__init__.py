"""A local, high-fidelity emulator of the ETB hosted-checkout payments service."""

__version__ = "0.1.0"
