"""Parses HTTP responses, also those that deviate a little from the standard."""

from typing import Any

import httptools

# Deviations in the headers or the body of a response are no reason to doubt its status.
_LENIENCIES = {
    "lenient_headers": True,
    "lenient_chunked_length": True,
    "lenient_transfer_encoding": True,
    "lenient_optional_lf_after_cr": True,
    "lenient_optional_cr_before_lf": True,
    "lenient_optional_crlf_after_chunk": True,
    "lenient_spaces_after_chunk_size": True,
}


def response_parser(protocol: object) -> Any:
    """A parser of httptools, which calls the methods of `protocol`."""
    parser = httptools.HttpResponseParser(protocol)
    parser.set_dangerous_leniencies(**_LENIENCIES)
    return parser
