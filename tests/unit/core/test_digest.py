"""Digests and the content hash, against a second implementation of document 000, section 8."""

import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.core.ids import CONTENT_HASH_DIGITS_MIN, content_hash_from_lines, content_hashes_match, digest_from_bytes

line_texts = st.text(max_size=12) | st.text(st.sampled_from("\r\na"), max_size=6)
hexes = st.text(st.sampled_from("0123456789abcdef"), max_size=20)
prefixes = st.sampled_from(("", "sha256:", "SHA256:", "Sha256:"))


def hash_as_written(lines: list[str]) -> str:
    """Follow the three steps of section 8 on text."""
    text = "\n".join(lines)
    text = re.sub("\r\n|\r", "\n", text)
    return "sha256:" + hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]


# Conformance: 000-073
@given(st.lists(line_texts, max_size=6))
def test_the_content_hash_is_that_of_the_document(lines: list[str]) -> None:
    assert content_hash_from_lines(line.encode() for line in lines) == hash_as_written(lines)


# Conformance: 000-071
@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        # printf 'hello\nworld' | sha256sum, and so on.
        ([b"hello", b"world"], "sha256:26c60a61d01db583"),
        ([b"hello\r", b"world"], "sha256:26c60a61d01db583"),
        ([], "sha256:e3b0c44298fc1c14"),
        ([b""], "sha256:e3b0c44298fc1c14"),
        ([b"", b""], "sha256:01ba4719c80b6fe9"),
        ([b"\r"], "sha256:01ba4719c80b6fe9"),
    ],
)
def test_content_hashes_by_hand(lines: list[bytes], expected: str) -> None:
    assert content_hash_from_lines(lines) == expected


# Conformance: 000-072
@given(st.lists(st.binary(max_size=12).map(lambda raw: raw.translate(None, b"\r\n")), min_size=1, max_size=5))
def test_line_ends_do_not_matter_and_bytes_need_not_be_text(lines: list[bytes]) -> None:
    once = content_hash_from_lines(lines)
    assert content_hash_from_lines([line + b"\r" for line in lines[:-1]] + lines[-1:]) == once
    assert content_hash_from_lines([b"\n".join(lines)]) == content_hash_from_lines([b"\r".join(lines)]) == once


@given(st.lists(line_texts, min_size=1, max_size=4))
def test_white_space_at_a_lines_end_matters(lines: list[str]) -> None:
    encoded = [line.encode() for line in lines]
    assert content_hash_from_lines([*encoded[:-1], encoded[-1] + b" "]) != content_hash_from_lines(encoded)


@given(hexes, hexes, prefixes, prefixes, st.booleans())
def test_matching_is_on_the_shorter_length_and_never_below_eight(
    shared: str, rest: str, one_prefix: str, other_prefix: str, upper: bool
) -> None:
    one, other = shared, shared + rest
    if upper:
        one = one.upper()
    expected = len(shared) >= CONTENT_HASH_DIGITS_MIN
    assert content_hashes_match(one_prefix + one, other_prefix + other) is expected
    assert content_hashes_match(other_prefix + other, one_prefix + one) is expected


@given(hexes.filter(lambda digits: len(digits) >= 8), st.data())
def test_one_other_digit_within_the_shorter_length_does_not_match(digits: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(digits) - 1))
    changed = digits[:at] + ("0" if digits[at] != "0" else "1") + digits[at + 1 :]
    assert not content_hashes_match(digits, changed)
    assert not content_hashes_match(digits, changed + "abc")


@given(hexes.filter(lambda digits: len(digits) >= 8), st.characters(exclude_characters="0123456789abcdefABCDEF"))
def test_what_is_not_hex_never_matches_not_even_itself(digits: str, odd: str) -> None:
    assert not content_hashes_match(digits + odd, digits + odd)
    assert not content_hashes_match(odd + digits, odd + digits)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("sha256:26c60a61d01db583", "26c60a61", True),
        ("sha256:26c60a61d01db583", "26c60a6", False),
        ("sha256:26c60a61d01db583", "SHA256:26C60A61D01DB583", True),
        ("sha256:26c60a61d01db583", "sha256:26c60a61d01db584", False),
        ("sha256:26c60a61d01db583", "", False),
        ("", "", False),
        ("sha256:", "sha256:", False),
        ("sha256:sha256:26c60a61", "sha256:sha256:26c60a61", False),
        ("26c60a61 ", "26c60a61 ", False),
    ],
)
def test_matches_by_hand(one: str, other: str, same: bool) -> None:
    assert content_hashes_match(one, other) is same


@given(st.binary(max_size=50))
def test_a_digest_is_the_sha_256_of_the_bytes(data: bytes) -> None:
    assert digest_from_bytes(data) == hashlib.sha256(data).digest()
