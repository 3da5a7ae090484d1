"""The control API."""

import httpx


def refusal(response: httpx.Response) -> tuple[int, str, str | None]:
    """The status, the code and the param of a refusal in the contract's envelope."""
    error = response.json()["error"]
    assert response.headers["content-type"] == "application/json"
    assert set(error) <= {"code", "message", "param"}
    assert error["message"]
    return response.status_code, error["code"], error.get("param")
