"""`python -m tests.docs` writes the generated tables of the documents."""

from tests.docs.generated import regenerate

regenerate()
