"""The body of a create call: media type, size, JSON (contract, section 4)."""

import json
from collections.abc import AsyncIterator

import pytest

from tests.server.api.calls import PAYMENTS, WARNING, post, refusal, refused
from tests.world import World, headers, order

LARGEST = 256 * 1024
WHOLE = json.dumps(order()).encode()
OTHER_TYPES = [
    *("", "text/plain", "text/json", "json", "*/*", "application/jsonx"),
    *("application/x-www-form-urlencoded", "multipart/form-data; boundary=x"),
    *("application/problem+json", "application/json, application/json"),
    *(f"application/json; charset={name}" for name in ("latin-1", "utf-16", "")),
]
NO_JSON = [
    *(b"", b" ", b"{", b"{}{}", b"{} x", b"\x00" * 100, b"amount=100&currency=ETB"),
    *(b"{'amount': 100}", b'{"amount": 100,}', b'{"amount" 100}', b"{amount: 100}"),
    b"// comment\n{}",
    *(
        b'{"amount": %s}' % token
        for token in (
            *(b"0100", b"+100", b"100.", b".5", b"0x64"),
            *(b"NaN", b"Infinity", b"-Infinity", b"True"),
        )
    ),
    *(
        b'{"currency": "%s"}' % text
        for text in (b"E\tB", b"E\x00B", b"\\x45TB", b"\xff", b"\xc0\xaf", b"\xed\xa0\x80")
    ),
    b'{"currency": "ETB}',
    *(b"\xef\xbb\xbf" + WHOLE, WHOLE.decode().encode("utf-16")),
    WHOLE.decode().encode("utf-16-le"),
]


def padded(length: int) -> bytes:
    return WHOLE + b" " * (length - len(WHOLE))


async def in_chunks(body: bytes, size: int = 50_000) -> AsyncIterator[bytes]:
    for start in range(0, len(body), size):
        yield body[start : start + size]


def nested(levels: int, opening: bytes = b"[", closing: bytes = b"]") -> bytes:
    """A body of this depth by an unknown member; the body itself is one level."""
    return WHOLE[:-1] + b',"x":' + opening * (levels - 1) + b"1" + closing * (levels - 1) + b"}"


def order_with_metadata(token: bytes) -> bytes:
    return WHOLE[:-1] + b',"metadata":' + token + b"}"


class TestMediaType:
    """4: POST requests must carry `Content-Type: application/json`."""

    @pytest.mark.clause("4.0.1")
    @pytest.mark.parametrize(
        "content_type",
        [
            *("application/json", "Application/JSON", "application/json;"),
            *("application/json; charset=utf-8", "application/json;charset=UTF-8"),
            *('application/json; charset="utf-8"', "application/json ; charset=utf-8 "),
            "application/json; version=1; Charset=Utf-8",
        ],
    )
    async def test_json_in_utf_8_is_accepted(self, emulator: World, content_type: str) -> None:
        response = await post(emulator, WHOLE, **{"Content-Type": content_type})
        assert response.status_code == 201
        assert WARNING not in response.headers

    @pytest.mark.clause("4.0.1")
    async def test_any_other_media_type_is_refused(self, emulator: World) -> None:
        for content_type in OTHER_TYPES:
            code = await refused(emulator, WHOLE, **{"Content-Type": content_type})
            assert code == ("unsupported_content_type", None), content_type
        absent = await emulator.api.post(PAYMENTS, content=WHOLE, headers=headers())
        assert refusal(absent) == (400, "unsupported_content_type", None)

    async def test_the_checks_are_media_type_size_json(self, emulator: World) -> None:
        huge = b"{" * (LARGEST + 1)
        code, _ = await refused(emulator, huge, **{"Content-Type": "text/plain"})
        assert code == "unsupported_content_type"
        code, _ = await refused(emulator, huge)
        assert code == "request_too_large"


class TestSize:
    """Section 8 has no limit of size; the emulator's is 256 KiB."""

    @pytest.mark.clause("4.0.2")
    @pytest.mark.parametrize("is_chunked", [False, True])
    async def test_a_body_over_the_limit_is_too_large(
        self, emulator: World, is_chunked: bool
    ) -> None:
        largest, too_large = [
            await post(emulator, in_chunks(body) if is_chunked else body)
            for body in (padded(LARGEST), padded(LARGEST + 1))
        ]
        assert largest.status_code == 201
        assert refusal(too_large) == (400, "request_too_large", None)

    async def test_an_empty_chunk_is_not_the_end(self, emulator: World) -> None:
        async def chunks() -> AsyncIterator[bytes]:
            for chunk in (b"", WHOLE[:5], b"", WHOLE[5:], b""):
                yield chunk

        assert (await post(emulator, chunks())).status_code == 201

    async def test_a_body_with_a_large_content_length_is_not_read(self, emulator: World) -> None:
        async def never() -> AsyncIterator[bytes]:
            raise AssertionError("the body was read")
            yield b""

        response = await post(emulator, never(), **{"Content-Length": "9" * 30})
        assert refusal(response) == (400, "request_too_large", None)


# Bodies that are refused, by the code of the refusal.
REFUSED = {
    "invalid_json": [
        *NO_JSON,
        # Half of a surrogate pair.
        *(
            WHOLE[:-1] + b"," + member + b"}"
            for member in (
                *(rb'"x": "\ud800"', rb'"x": "\udc00\ud800"', rb'"x": "a\ud83d"', rb'"\ud800": 1'),
                *(rb'"x": {"\udfff": 1}', rb'"x": ["\ud800\u0041"]'),
                rb'"x": ' + b"9" * 5000 + rb', "y": "\ud800"',
                b'"x": ' + b"9" * 5000 + b', "y": NaN',
                b'"x": ' + b"9" * 5000 + b', "y": "\x01"',
            )
        ),
        # Nesting over 32 levels.
        *(nested(levels) for levels in (33, 1_000, 100_000)),
        *(nested(33, b'{"a":', b"}"), b"[" * 1_000, b"[" * 100_000),
    ],
    "invalid_request_body": [
        *(b"null", b"true", b"1", b"1.5", b'"x"', b"[]", b"[{}]", b"9" * 5000),
    ],
}


class TestJson:
    """4: a JSON body, read strictly (RFC 8259)."""

    @pytest.mark.clause("1.1", "4.0.2")
    @pytest.mark.parametrize("code", REFUSED)
    async def test_a_body_that_is_not_a_json_object_is_refused(
        self, emulator: World, code: str
    ) -> None:
        for body in REFUSED[code]:
            assert await refused(emulator, body) == (code, None), body[-60:]

    async def test_a_whole_surrogate_pair_is_one_character(self, emulator: World) -> None:
        response = await post(emulator, order_with_metadata(rb'{"a": "\ud83d\ude00"}'))
        assert response.json()["metadata"] == {"a": "\U0001f600"}

    @pytest.mark.clause("1.1")
    @pytest.mark.parametrize(
        "body",
        [
            nested(32),
            nested(32, b'{"a":', b"}"),
            WHOLE[:-1] + b',"x":[' + b",".join([b"[[{}]]"] * 200) + b"]}",
        ],
        ids=["arrays", "objects", "brackets side by side"],
    )
    async def test_nesting_up_to_32_is_accepted(self, emulator: World, body: bytes) -> None:
        assert (await post(emulator, body)).headers[WARNING] == "unknown-parameter:x"

    async def test_brackets_in_strings_do_not_nest(self, emulator: World) -> None:
        metadata = {"a": '[{"\\' * 100, "[{": "}]" * 50}
        assert (await emulator.create(metadata=metadata))["metadata"] == metadata

    async def test_white_space_around_everything_is_json(self, emulator: World) -> None:
        body = json.dumps(order(), indent=4).replace("\n", "\r\n\t ").encode()
        assert (await post(emulator, b"\r\n\t " + body + b"\n")).status_code == 201


class TestDuplicates:
    """RFC 8259 leaves a member given twice open; here the last counts, with a warning."""

    @pytest.mark.parametrize(
        ("body", "name", "value"),
        [
            *(
                (WHOLE[:-1] + b"," + spaced % 700 + b"," + spaced % 900 + b"}", "amount", 900)
                for spaced in (
                    *(b'"amount":%d', b'"amount" :%d', b'"amount"\t:%d', b'"amount"\n: %d'),
                    b'"am\\u006funt":%d',
                )
            ),
            (b'{"amount":"no",' + WHOLE[1:], "amount", 15_000),
            (order_with_metadata(b'{"a":"1","b":"2","a":"3"}'), "metadata", {"a": "3", "b": "2"}),
            (order_with_metadata(b'{"a":"1"},"metadata":{"b":"2"}'), "metadata", {"b": "2"}),
        ],
    )
    async def test_the_last_counts_also_after_an_invalid_one(
        self, emulator: World, body: bytes, name: str, value: object
    ) -> None:
        response = await post(emulator, body)
        assert response.json()[name] == value
        assert response.headers[WARNING] == f"duplicate-parameter:{name}"

    async def test_a_last_one_that_is_null_is_absent(self, emulator: World) -> None:
        code, param = await refused(emulator, WHOLE[:-1] + b',"amount":null}')
        assert (code, param) == ("missing_parameter", "amount")

    @pytest.mark.parametrize("value", ['":', '":"', '\\":', ':"', '{"a":1,"a":2}'])
    async def test_a_member_name_in_a_string_is_not_a_member(
        self, emulator: World, value: str
    ) -> None:
        response = await post(emulator, order(metadata={"amount": value, value: "amount"}))
        assert response.json()["metadata"] == {"amount": value, value: "amount"}
        assert WARNING not in response.headers
