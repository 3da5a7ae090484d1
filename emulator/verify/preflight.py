"""What is looked at before the first check: that it is the service, and that the keys open it."""

from emulator.domain.accounts import mask_key
from emulator.verify.answers import Answer, cleaned
from emulator.verify.client import CannotSee
from emulator.verify.session import PAYMENTS, Visit

_ENVELOPE = {"data", "has_more", "next_cursor"}


class NotTheService(Exception):
    """What answers cannot be compared; the message is a line for the user."""


async def look_before(visit: Visit) -> None:
    """Ask for a list with each key. Raises NotTheService, Unreachable."""
    for option, key in (("--key", visit.key), ("--other-key", visit.other_key)):
        if key is None:
            continue
        try:
            answer = await visit.page(of_key=key, limit=1)
        except CannotSee as error:
            raise NotTheService(f"{visit.client.base_url}: {error}") from None
        problem = _problem(answer, visit.client.base_url, f"{mask_key(key)} ({option})")
        if problem is not None:
            raise NotTheService(visit.masked(problem))


def _problem(answer: Answer, base_url: str, key: str) -> str | None:
    """Why this is no answer of the service to the owner of a key; None when it is one."""
    url = f"{base_url}{PAYMENTS}"
    if 300 <= answer.status < 400:
        target = cleaned(answer.headers.get("location", "nowhere"))
        return f"{url} redirects to {target}: give the base URL that this leads to"
    if answer.status in (401, 403):
        return f"{base_url} refuses the key {key}: {answer.told}"
    if answer.status >= 500:
        return f"{url} answers {answer.told}, and again when asked again: try later"
    if not answer.has_json_body:
        media_type = cleaned(answer.headers.get("content-type", "no media type"))
        return f"{url} answers {answer.status} with {media_type}: this is not the service's API"
    if answer.status == 404:
        return f"{url} is not found: expected the base URL, to which /v1/payments is added"
    if not answer.is_success:
        return f"{url} answers a plain list with {answer.told}: this is not the service's API"
    if not _ENVELOPE & answer.members.keys():
        return f"{url} answers JSON that is no list of payments: this is not the service's API"
    return None
