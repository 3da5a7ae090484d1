"""Redirect URLs: valid, invalid and unusual ones, these with the reason of their warning."""

from typing import Any

VALID = [
    *("https://shop.example", "https://shop.example/", "HTTPS://SHOP.EXAMPLE/OK"),
    *("https://shop.example:8443/ok", "https://shop.example?ok", "https://shop.example#ok"),
    "https://shop.example/ok?order=1&x[]=2#top",
    *("https://localhost/ok", "https://10.0.0.1/ok", "https://shop_1.example/"),
    *("https://[::1]/ok", "https://[2001:DB8::1]:8443/ok"),
    *("https://ሱቅ.example/እሺ?ክፍያ=1", "https://xn--fsq.example/"),
    *("https://shop.example/%20%zz", "https://shop.example/<>\"{}|^`'"),
    *("https://shop.example/a/../b//c", "https://shop.example/{}"),
    *("https://shop.example/\U0001f600", "https://shop.example/" + "a" * (2048 - 21)),
]
INVALID: list[Any] = [
    *("", "x", "shop.example", "/ok", "//shop.example/ok"),
    # Without a host.
    *("https", "https:", "https:shop.example", "https:/shop.example", "https://"),
    *("https:///x", "https://?x", "https://#x", "https://:443/", "https://user@/"),
    *("https://user:pass@:443/", "https:\\\\shop.example"),
    # Brackets without an IPv6 address, and an address without brackets.
    *("https://[::1", "https://[", "https://[]/", "https://[zz]/", "https://[b5]/"),
    *("https://[1:2:3]/", "https://[127.0.0.1]/", "https://[::1%eth0]/", "https://::1/"),
    # Other schemes.
    *("http://shop.example/ok", "http://localhost/ok", "http\u017f://shop.example/ok"),
    *("ftp://shop.example/ok", "javascript:alert(1)", "data:text/html,x", "myapp://ok"),
    "mailto:a@shop.example",
    # White space and control characters.
    *(" https://shop.example", "https://shop.example ", "\thttps://shop.example/"),
    *("https://shop example/", "https://shop\x00.example/"),
    *(
        f"https://shop.example/{text}"
        for text in ("a b", "\n", "\r\nLocation: x", "\x00", "\x1b", "\x7f", "\x85")
    ),
    *(f"https://shop.example/{blank}" for blank in "\xa0\u2028\u3000"),
    # Other types.
    *(1, True, [], ["https://shop.example"], {}),
]
UNUSUAL = [
    *(
        (f"https://{host}/ok", "has a host or a port that no browser opens")
        for host in (
            *("shop.example:65536", "shop.example:22", "shop.example:0"),
            *("<", "a|b", "%", "a%00.example", "shop..example", "a\u200db.example"),
            *("xn--", "XN--.example", "shop.example.a.b.xn--"),
            *("a" * 64 + ".example", "a." * 130 + "example", "999.1.1.1", "1.2.3.4.5"),
        )
    ),
    *(
        (url, "has a backslash, which browsers read as a slash")
        for url in (
            "https://evil.example\\@shop.example/ok",
            "https://shop.example\\ok",
            "https://shop.example/a\\b",
        )
    ),
    *(
        (f"https://{user}@shop.example/", "has user information")
        for user in ("", "user", "user:22")
    ),
    *(
        (f"https://shop.example/ok{rest}", f'has "{name}", and nothing replaces it')
        for rest, name in (
            ("?session_id={CHECKOUT_SESSION_ID}", "{CHECKOUT_SESSION_ID}"),
            ("/{CHECKOUT_ID}", "{CHECKOUT_ID}"),
            ("?a={{id}}&b={x}", "{id}"),
        )
    ),
    ("https://shop.example/" + "a" * 2028, "is over 2048 characters long"),
    ("https://shop.example/" + "a" * 100_000, "is over 2048 characters long"),
]
