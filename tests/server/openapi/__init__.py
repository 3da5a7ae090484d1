"""The two OpenAPI documents are valid and agree with the program."""
