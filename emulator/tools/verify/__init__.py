"""Compares any base URL with the clauses of the contract, over HTTP."""
