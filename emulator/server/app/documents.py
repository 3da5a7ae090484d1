"""The OpenAPI documents, each imported and built on its first request."""

from collections.abc import Callable
from functools import partial
from typing import Any


def documents(methods: tuple[str, ...]) -> dict[str, Callable[[str], dict[str, Any]]]:
    """The documents by name, for these payment methods; each is built for a base URL."""
    return {"v1": partial(_v1, methods), "control": partial(_control, methods)}


def _v1(methods: tuple[str, ...], base_url: str) -> dict[str, Any]:
    from emulator.server.api.document import build

    return build(base_url=base_url, methods=methods)


def _control(methods: tuple[str, ...], base_url: str) -> dict[str, Any]:
    from emulator.server.control.app import RESOURCES
    from emulator.server.control.document import build

    return build(RESOURCES, base_url=base_url, methods=methods)
