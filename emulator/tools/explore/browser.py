"""Holds what the browser of a customer holds: the page and the cookies."""

from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from msgspec import Struct, field

from emulator.http.response import HttpResponse

# For each host; the oldest cookie goes first, as in a browser.
MAX_COOKIES = 180


class Browser(Struct):
    """The cookies of one customer, by host; `url` is the page.

    A cookie is its value, and whether it is strictly limited to its own site.
    """

    url: str = ""
    cookies: dict[str, dict[str, tuple[str, bool]]] = field(default_factory=dict)

    def headers(self, url: str, *, from_other_site: bool) -> dict[str, str]:
        """The header with the cookies for a URL, for a link of the shop or of another site."""
        own = self.cookies.get(urlsplit(url).hostname or "", {})
        sent = {
            name: value for name, (value, strict) in own.items() if not (strict and from_other_site)
        }
        text = "; ".join(f"{name}={value}" for name, value in sent.items())
        return {"cookie": text} if text else {}

    def store(self, url: str, response: HttpResponse, *, now_ms: int) -> None:
        """Open a page: store its URL and the cookies of its response."""
        self.url = url
        own = self.cookies.setdefault(urlsplit(url).hostname or "", {})
        for text in (text for header, text in response.headers if header == "set-cookie"):
            parts = ([*map(str.strip, part.partition("=")[::2])] for part in text.split(";"))
            (name, value), *rest = parts
            attributes = {key.lower(): text.lower() for key, text in rest}
            own[name] = value, attributes.get("samesite") == "strict"
            if _has_ended(attributes, now_ms):
                del own[name]
            elif len(own) > MAX_COOKIES:
                del own[next(iter(own))]


def _has_ended(attributes: Mapping[str, str], now_ms: int) -> bool:
    """Whether a cookie with these attributes is deleted: Max-Age precedes Expires."""
    if "max-age" in attributes:
        return attributes["max-age"].startswith(("0", "-"))
    try:
        return parsedate_to_datetime(attributes["expires"]).timestamp() * 1000 <= now_ms
    except (LookupError, ValueError, OverflowError):
        return False
