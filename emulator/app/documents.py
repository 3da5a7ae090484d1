"""Which OpenAPI documents there are, and what each is built from."""

from collections.abc import Callable
from functools import partial
from typing import Any

BuildDocument = Callable[[str], dict[str, Any]]
"""Builds a document, of an emulator at a base URL."""


def documents(methods: tuple[str, ...]) -> dict[str, BuildDocument]:
    """The documents by name, of a service that knows these payment methods.

    Each is built when it is asked for, and what builds it imported only then.
    """
    return {"v1": partial(_v1, methods), "control": partial(_control, methods)}


def _v1(methods: tuple[str, ...], base_url: str) -> dict[str, Any]:
    from emulator.api.document import build

    return build(base_url=base_url, methods=methods)


def _control(methods: tuple[str, ...], base_url: str) -> dict[str, Any]:
    from emulator.api.document import error_schema, payment_schema
    from emulator.control.document import build

    return build(base_url=base_url, payment=payment_schema(methods), error=error_schema())
