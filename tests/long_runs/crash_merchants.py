"""A merchant's client, which uses a server until it ends, and compares it with a twin.

The emulator gives the same bytes for the same seed, clock and requests. So a merchant repeats its
acknowledged calls on a second server, which is never ended and has its database in memory: the
twin. The answers and the state of both must be equal. For the call that was not answered, the
state must be the twin's before or after that call.
"""

import http.client
from collections.abc import Callable
from contextlib import closing

from tests.cli.processes import Answer, Server, ask
from tests.long_runs.crash_calls import ADVANCE, Call, Calls
from tests.long_runs.crash_state import State, difference, state
from tests.world import START


class Merchant:
    """One account on both servers; `acknowledged` counts its calls."""

    def __init__(self, name: str, seed: int, urls: tuple[str, ...], *, keeps: bool) -> None:
        self.key = f"test_{name}_key"
        self.acknowledged = 0
        self.completed_unanswered = 0
        self._seed = seed
        self._calls = Calls(seed, name, urls, keeps=keeps)
        self._answers: list[tuple[Call, Answer]] = []
        self._unanswered: Call | None = None
        self._is_refused = False

    def open(self, server: Server) -> None:
        account = {
            "test_key": self.key,
            "live_key": self.key.replace("test", "live"),
            "seed": self._seed,
            "clock": f"frozen@{START}",
        }
        created = server.request("POST", "/_emulator/accounts", account)
        assert created.status == 201, created

    def use(self, server: Server, may_call: Callable[[], bool]) -> Answer | None:
        """Send calls until the server is gone or responds with an error; returns the error."""
        connection = server.connection()
        try:
            while may_call():
                call = self._unanswered = self._calls.draw()
                answer = self._ask(connection, call)
                if answer.status >= 500:
                    self._is_refused = True
                    return answer
                if call.path == ADVANCE and not answer.json.get("settled", True):
                    return None  # A limit has stopped it: the same call continues it.
                self._unanswered = None
                self._answers.append((call, answer))
                self._calls.note(call, answer)
                self.acknowledged += 1
        except (OSError, http.client.HTTPException):
            pass  # ended
        finally:
            connection.close()
        return None

    def compare(self, server: Server, twin: Server) -> None:
        """Raises AssertionError where an answer or the state differs from the twin's."""
        with closing(twin.connection()) as connection:
            for call, answer in self._answers:
                _check_equal(call, answer, self._ask(connection, call))
        self._answers.clear()
        found, expected = state(server, self.key), state(twin, self.key)
        if self._unanswered is None:
            self._check(found, expected, "after all answers")
            return
        call, self._unanswered = self._unanswered, None
        is_refused, self._is_refused = self._is_refused, False
        if found != expected:
            if is_refused and call.path != ADVANCE:
                self._check(found, expected, f"after {call} with an error as its answer")
            self.completed_unanswered += 1
            answer = self._send(twin, call)
            self._calls.note(call, answer)
            if call.path == ADVANCE:  # Each instant is a transaction of its own.
                self._send(server, call)
                found = state(server, self.key)
            self._check(found, state(twin, self.key), f"after {call} without an answer")
        if call.repeats:
            answer = self._send(server, call)
            self._calls.note(call, answer)
            _check_equal(call, answer, self._send(twin, call))
            self._check(state(server, self.key), state(twin, self.key), f"after {call} again")

    def compare_all(self, server: Server, twin: Server) -> int:
        """Compare the complete state; returns the number of its payments."""
        found = state(server, self.key, is_complete=True)
        self._check(found, state(twin, self.key, is_complete=True), "at the end")
        return len(found["payments"])

    def _check(self, found: State, expected: State, when: str) -> None:
        different = difference(found, expected)
        assert not different, f"{self.key}, {when}: {different}"

    def _send(self, server: Server, call: Call) -> Answer:
        with closing(server.connection()) as connection:
            return self._ask(connection, call)

    def _ask(self, connection: http.client.HTTPConnection, call: Call) -> Answer:
        return ask(connection, call.method, call.path, call.body, self.key)


def _check_equal(call: Call, found: Answer, expected: Answer) -> None:
    for name in ("idempotent-replayed", "location"):
        assert found.headers.get(name) == expected.headers.get(name), (call, found, expected)
    assert (found.status, found.body) == (expected.status, expected.body), (call, found, expected)
