"""Texts that parsers may misread, and texts that people cannot read."""

from hypothesis import strategies as st

HOSTILE = (
    *("", " ", "yes", "No", "y", "null", "~", "0700", "1e3", "0x1F", "1_000", "12:30:45"),
    *("=", "<<", "2026-01-01", ".inf", "-", "- a", "a: b", "a #b", "#", "{a}", "[a]", "!a", "&a"),
    *("*a", "@a", " lead", "trail ", "tab\t", "line\nline", "\r\n", "\x00", "\x85", "\u2028"),
    *("\ufeff", "\ufffe", "it's", '"', "\\", "%", "?", "|", ">", "ሰላም ለዓለም", "👩🏽‍🚀"),
    *("\u202egnp.exe", "30s", "-1.5"),
)
TEXTS = st.sampled_from(HOSTILE) | st.text(max_size=20)
