"""Holds what the browser of a customer holds: the page and the cookies."""

from dataclasses import dataclass, field
from urllib.parse import urljoin, urlsplit

from emulator.http.response import HttpResponse

# For each host; the oldest cookie goes first, as in a browser.
MAX_COOKIES = 180
_STRICT = "samesite=strict"
_ENDED = "max-age=0"


@dataclass(slots=True)
class Browser:
    """The cookies of one customer, by host; `url` is the page.

    A cookie is its value, and whether it is strictly limited to its own site.
    """

    url: str = ""
    cookies: dict[str, dict[str, tuple[str, bool]]] = field(default_factory=dict)

    def absolute(self, url: str) -> str:
        """A URL as a link of the page."""
        return urljoin(self.url, url)

    def headers(self, url: str, *, from_other_site: bool) -> dict[str, str]:
        """The header with the cookies for a URL, for a link of the shop or of another site."""
        own = self.cookies.get(urlsplit(url).hostname or "", {})
        sent = {
            name: value for name, (value, strict) in own.items() if not (strict and from_other_site)
        }
        text = "; ".join(f"{name}={value}" for name, value in sent.items())
        return {"cookie": text} if text else {}

    def store(self, url: str, response: HttpResponse) -> None:
        """Open a page: store its URL and the cookies of its response."""
        self.url = url
        own = self.cookies.setdefault(urlsplit(url).hostname or "", {})
        for header, text in response.headers:
            if header != "set-cookie":
                continue
            pair, _, rest = text.partition(";")
            name, _, value = pair.partition("=")
            attributes = rest.lower().replace(" ", "").split(";")
            own[name.strip()] = value.strip(), _STRICT in attributes
            if _ENDED in attributes:
                del own[name.strip()]
            elif len(own) > MAX_COOKIES:
                del own[next(iter(own))]
