"""Every refusal is drawn in the tree, and has its answer in the one table."""

import inspect
import re
from collections.abc import Iterator

import pytest

from emulator.api.errors import ANSWERS, INTERNAL_ERROR_BODY
from emulator.domain import errors
from emulator.domain.errors import ForbiddenOrigin, InvalidField, NotReady, Refusal

CONTRACT = {400, 401, 404, 409, 429}
# Only the control API and the pages answer with these.
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
    """The names of the tree, each with that of its parent."""
    assert errors.__doc__ is not None
    path = ["Refusal"]
    for line in errors.__doc__.splitlines():
        branch = _BRANCH.match(line)
        if branch:
            depth = len(branch["indent"]) // 4 + 1
            path[depth:] = [branch["name"]]
            yield branch["name"], path[depth - 1]


CONCRETE = [kind for kind in defined().values() if not kind.__subclasses__()]


def test_the_tree_is_drawn_as_it_is() -> None:
    assert dict(drawn()) == {
        name: kind.__bases__[0].__name__ for name, kind in defined().items() if kind is not Refusal
    }
    assert len(list(drawn())) == len(defined()) - 1, "one is drawn twice"


@pytest.mark.parametrize("kind", CONCRETE)
def test_every_refusal_has_its_answer(kind: type[Refusal]) -> None:
    assert kind in ANSWERS


def test_there_is_no_answer_to_a_group_of_refusals() -> None:
    assert set(ANSWERS) == set(CONCRETE)


@pytest.mark.parametrize("kind", ANSWERS)
def test_every_status_is_of_the_contract_or_of_our_own_api(kind: type[Refusal]) -> None:
    assert ANSWERS[kind].status in ({OURS[kind]} if kind in OURS else CONTRACT)


@pytest.mark.parametrize("kind", ANSWERS)
def test_every_code_is_a_word_of_the_contract_s_form(kind: type[Refusal]) -> None:
    code = ANSWERS[kind].code
    if code is None:
        assert issubclass(kind, InvalidField), "only a field's name can make a code"
    else:
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*", code)


def test_the_answer_of_last_resort_has_the_form_of_the_others() -> None:
    assert INTERNAL_ERROR_BODY.startswith(b'{"error":{"code":"internal_error","message":"')


def test_no_refusal_knows_http() -> None:
    source = inspect.getsource(errors)
    assert not re.search(r"\b(starlette|status_code|HTTPStatus|[45]\d\d:)", source)
