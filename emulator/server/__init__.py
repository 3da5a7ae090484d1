"""What `serve` imports. `create_app` builds the emulator as an ASGI application."""

from emulator.server.app.application import Application, create_app

__all__ = ["Application", "create_app"]
