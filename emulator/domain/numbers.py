"""Numbers that JSON can write and an integer cannot hold."""

from decimal import Decimal, InvalidOperation


class WrittenNumber:
    """A number with a fraction or an exponent, or a very long one, as it was written."""

    __slots__ = ("token",)

    def __init__(self, token: str) -> None:
        self.token = token

    def exact(self) -> Decimal:
        try:
            return Decimal(self.token)
        except InvalidOperation:
            # Its exponent is beyond what even a Decimal holds: out of every range.
            return Decimal("Infinity")
