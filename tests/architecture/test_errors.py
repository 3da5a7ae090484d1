"""The tree of the refusals in the module's docstring, and the table of their responses."""

import inspect
import re
from collections.abc import Iterator

from emulator.domain import errors
from emulator.domain.errors import ForbiddenOrigin, InvalidField, NotReady, Refusal
from emulator.server.api.errors import ANSWERS, INTERNAL_ERROR_BODY

CONTRACT = {400, 401, 404, 409, 429}
# Statuses of the control API and the pages only.
OURS = {ForbiddenOrigin: 403, NotReady: 503}

_BRANCH = re.compile(r"^(?P<indent>(?:│   |    )*)[├└]── (?P<name>\w+)")


def defined() -> dict[str, type[Refusal]]:
    """The refusals of the module, by name."""
    return {
        name: kind
        for name, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, Refusal) and kind.__module__ == errors.__name__
    }


def drawn() -> Iterator[tuple[str, str]]:
    """The names of the tree in the docstring, each with its parent's name."""
    assert errors.__doc__ is not None
    path = ["Refusal"]
    for line in errors.__doc__.splitlines():
        branch = _BRANCH.match(line)
        if branch:
            depth = len(branch["indent"]) // 4 + 1
            path[depth:] = [branch["name"]]
            yield branch["name"], path[depth - 1]


CONCRETE = [kind for kind in defined().values() if not kind.__subclasses__()]


def test_the_docstring_has_the_tree_of_the_classes() -> None:
    assert dict(drawn()) == {
        name: kind.__bases__[0].__name__ for name, kind in defined().items() if kind is not Refusal
    }
    assert len(list(drawn())) == len(defined()) - 1, "one is drawn twice"


def test_each_concrete_refusal_has_its_response_and_no_group_has_one() -> None:
    assert set(ANSWERS) == set(CONCRETE)


def test_every_response_has_a_status_and_a_code_of_the_right_form() -> None:
    for kind, response in ANSWERS.items():
        assert response.status in ({OURS[kind]} if kind in OURS else CONTRACT), kind
        if response.code is None:
            assert issubclass(kind, InvalidField), "only the name of a field can become a code"
        else:
            assert re.fullmatch(r"[a-z]+(_[a-z]+)*", response.code), kind
    assert INTERNAL_ERROR_BODY.startswith(b'{"error":{"code":"internal_error","message":"')


def test_no_refusal_knows_http() -> None:
    source = inspect.getsource(errors)
    assert not re.search(r"\b(starlette|status_code|HTTPStatus|[45]\d\d:)", source)
