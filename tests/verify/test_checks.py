"""What the checks look at, all together: each clause, or it is told why not."""

from emulator.domain.clauses import CLAUSES, Basis
from emulator.verify.checks import CHECKS
from emulator.verify.unchecked import GRANTED, HIDDEN
from tests.verify.servers import SERVERS


def test_every_clause_is_looked_at_or_it_is_told_why_not() -> None:
    looked_at = {clause for check in CHECKS for clause in (*check.states, *check.assumes)}
    assert looked_at & HIDDEN.keys() == set()
    assert looked_at | HIDDEN.keys() | GRANTED.keys() == {clause.number for clause in CLAUSES}


def test_what_the_contract_leaves_open_is_never_taken_as_stated() -> None:
    stated = {clause for check in CHECKS for clause in check.states}
    assumed = {clause for check in CHECKS for clause in check.assumes}
    for clause in CLAUSES:
        if clause.basis is Basis.ASSUMED:
            assert clause.number not in stated
        elif clause.assumed is None:
            assert clause.number not in assumed


def test_every_server_has_a_name_of_its_own() -> None:
    assert len({server.name for server in SERVERS}) == len(SERVERS)
