"""Writes requests as curl commands."""

from shlex import quote


def curl(
    url: str,
    *,
    method: str = "GET",
    body: str = "",
    content_type: str = "",
    authorization: str | None = "Authorization: Bearer $TEST_KEY",
) -> str:
    """The command. The key is a shell variable, because a page shows no key."""
    # Without -g, curl expands brackets and braces in the address.
    parts = [f"curl {'-g ' if set(url) & set('[]{}') else ''}{quote(url)}"]
    if method != ("POST" if body else "GET"):
        parts.append(f"-X {quote(method)}")
    if authorization is not None:
        parts.append(f'-H "{authorization}"')
    if content_type or body:
        # Without a value, curl omits the header that it adds to a body.
        parts.append(f"-H {quote(f'Content-Type: {content_type}'.strip())}")
    if body:
        # With -d, a body that starts with @ is the name of a file.
        option = "--data-raw" if body.startswith("@") else "-d"
        parts.append(f"{option} {quote(body)}")
    return " \\\n  ".join(parts)
