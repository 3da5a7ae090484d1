"""Declares HTTP operations and derives the decoding of requests and OpenAPI documents from them."""
