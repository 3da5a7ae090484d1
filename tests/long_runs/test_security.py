"""Samples of the long run about security."""

import asyncio

import pytest

from tests.long_runs import security_rules as rules
from tests.long_runs.security_matrix import check_matrix
from tests.long_runs.security_secrets import check_secrets


def test_each_statement_of_the_threat_model_has_a_test_or_is_an_explanation() -> None:
    known = {*rules.EXPLANATIONS, *(removal.statement for removal in rules.REMOVALS)}
    found = rules.statements()
    assert [each for each in found if sum(map(each.startswith, known)) != 1] == []
    assert [each for each in known if not any(text.startswith(each) for text in found)] == []


@pytest.mark.deep
def test_a_removed_rule_is_noticed() -> None:
    assert rules.not_noticed(rules.REMOVALS[:1]) == []


@pytest.mark.deep
def test_no_secret_is_where_the_documents_do_not_allow_it() -> None:
    check_secrets(["json"], with_commands=False)


@pytest.mark.deep
def test_a_sample_of_the_matrix_holds() -> None:
    asyncio.run(check_matrix(seed=1, count=1_000))
