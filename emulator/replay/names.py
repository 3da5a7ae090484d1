"""Which payment each name of a script stands for, and why one stands for none."""

from emulator.replay.client import Answer


class Unknown(Exception):
    """A name stands for no payment; the message tells why."""


class Names:
    """The names that `create` has given so far."""

    def __init__(self) -> None:
        self.ids: dict[str, str] = {}
        self._why_unknown: dict[str, str] = {}

    def bind(self, name: str, answer: Answer) -> None:
        """Let a name stand for what `create` was answered with.

        Without a whole answer it stands for nothing; a refusal leaves it as it was.
        """
        payment_id = answer.member("id")
        if answer.status == 201 and isinstance(payment_id, str):
            self.ids[name] = payment_id
        elif answer.lost is not None:
            self.ids.pop(name, None)
            self._why_unknown[name] = (
                f"create got no answer, so {name} is not known;"
                " retry it with the same idempotency_key"
            )
        else:
            self._why_unknown[name] = (
                f"create was refused with {refusal_text(answer)}, so {name} is not known"
            )

    def id_of(self, name: str) -> str:
        """Raises Unknown."""
        payment_id = self.ids.get(name)
        if payment_id is None:
            raise Unknown(self._why_unknown.get(name, f"no create before has named {name}"))
        return payment_id

    def name_of(self, payment_id: str) -> str:
        """The name of a payment, the latest if it has several, else its id."""
        names = [name for name, known in self.ids.items() if known == payment_id]
        return names[-1] if names else payment_id


def refusal_text(answer: Answer) -> str:
    """The status of a refusal, and its code where it has one."""
    return " ".join(filter(None, (str(answer.status), _text(answer.error.get("code")))))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
