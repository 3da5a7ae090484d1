"""Writes requests as curl commands."""

from shlex import quote


def curl(
    url: str,
    *,
    method: str = "GET",
    body: str = "",
    authorization: str | None = "Authorization: Bearer $TEST_KEY",
) -> str:
    """The command. The key is a shell variable, because a page shows no key."""
    parts = [f"curl {quote(url)}"]
    if method != "GET" and not (method == "POST" and body):
        parts.append(f"-X {quote(method)}")
    if authorization is not None:
        parts.append(f'-H "{authorization}"')
    if body:
        parts += ["-H 'Content-Type: application/json'", f"-d {quote(body)}"]
    return " \\\n  ".join(parts)
