"""The two OpenAPI documents: true, valid, and held against the running program."""
