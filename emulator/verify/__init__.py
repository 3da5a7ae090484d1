"""The contract's clauses as black-box checks that any base URL can be put to."""
