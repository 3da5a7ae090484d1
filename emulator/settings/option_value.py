"""What somebody gave for an option, where, and how it is told when it is wrong."""

from dataclasses import dataclass

from emulator.domain.accounts import mask_key
from emulator.settings.options import Option

MAX_SHOWN_CHARACTERS = 80


class SettingsError(Exception):
    """A setting that cannot be used: one line that says where, what was found and expected."""

    def __init__(self, message: str) -> None:
        # A path may hold a line break; the message is one line whatever it quotes.
        super().__init__(" ".join(message.splitlines()))


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionValue:
    """The texts for one option from one source; all but a repeatable one have a single text."""

    option: Option
    where: str
    texts: tuple[str, ...]

    def read(self) -> object:
        """The typed value. Raises SettingsError."""
        entries = tuple(self._entry(text) for text in self.texts)
        return entries if self.option.is_repeatable else entries[0]

    def _entry(self, text: str) -> object:
        try:
            return self.option.parse(text)
        except ValueError:
            raise wrong(self.where, show(text, self.option), self.option.expected) from None


def show(text: str, option: Option) -> str:
    """A text as a message may quote it: shortened, and masked when it is a secret."""
    if option.is_secret:
        return repr(mask_key(text))
    return repr(text if len(text) <= MAX_SHOWN_CHARACTERS else f"{text[:MAX_SHOWN_CHARACTERS]}…")


def wrong(where: str, found: str, expected: str) -> SettingsError:
    return SettingsError(f"{where}: found {found}, expected {expected}")
