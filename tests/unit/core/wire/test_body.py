"""Long texts are moved out of a payload and restored, for any payload."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.core.errors import InputError
from custody.core.ids import Digest, digest_from_bytes
from custody.core.wire.body import (
    TEXT_BYTES_MAX,
    format_digest,
    join_payload_texts,
    list_payload_digests,
    parse_digest,
    split_payload_texts,
)
from custody.core.wire.canonical import Json, dump_canonical_json, encode_json_text, parse_json_bytes
from tests.builders.drawn import MARKS, exactly, marked_values, of_size
from tests.builders.table import table

LONG = "a long text\n" * 1000
LONG_DIGEST = "sha256:" + hashlib.sha256(LONG.encode()).hexdigest()
A_DIGEST = "sha256:" + "0" * 64


HARD: list[Json] = [
    {"$body": A_DIGEST},
    {"$body": "no digest"},
    {"$body": LONG},
    {"$erased": LONG_DIGEST},
    {"$literal": {"$body": LONG_DIGEST}},
    {"$literal": {"$literal": {"$literal": {"$erased": LONG}}}},
    [LONG, {"$body": LONG_DIGEST, "x": LONG}, {"$body": {"$body": "no digest"}}],
    {LONG: LONG},
    "😀" * 1024 + "a",
]
values = marked_values | st.sampled_from(HARD)


@given(values)
def test_what_was_split_is_joined_to_the_same_value(value: Json) -> None:
    made = split_payload_texts(value)
    assert exactly(join_payload_texts(made.payload, made.texts)) == exactly(value)
    assert exactly(join_payload_texts(parse_json_bytes(dump_canonical_json(made.payload)), made.texts)) == exactly(
        value
    ), "by way of stored bytes too"


@given(values)
def test_every_text_taken_out_is_over_the_limit_and_named_by_its_digest(value: Json) -> None:
    made = split_payload_texts(value)
    assert all(len(data) > TEXT_BYTES_MAX and digest_from_bytes(data) == digest for digest, data in made.texts.items())
    assert longest_text(made.payload) <= TEXT_BYTES_MAX


@given(values)
def test_parts_are_exactly_the_texts_that_were_taken_out(value: Json) -> None:
    made = split_payload_texts(value)
    assert list_payload_digests(made.payload) == frozenset(made.texts)


@given(values, st.data())
def test_an_erased_text_leaves_its_digest_and_every_other_text_stays(value: Json, data: st.DataObject) -> None:
    made = split_payload_texts([value, LONG])
    gone = data.draw(st.sampled_from(sorted(made.texts)))
    held = {digest: None if digest == gone else text for digest, text in made.texts.items()}
    absent = {digest: text for digest, text in made.texts.items() if digest != gone}
    expected = without([value, LONG], gone)
    assert exactly(join_payload_texts(made.payload, held)) == exactly(expected)
    assert exactly(join_payload_texts(made.payload, absent)) == exactly(expected)


@table("character", ["a", "é", "€", "😀", "\ud800"])
@table("where", ["alone", "in a list", "in an object", "in a mark"])
def test_the_limit_is_4096_bytes_however_many_characters(character: str, where: str) -> None:
    def placed(text: str) -> Json:
        placings: dict[str, Json] = {
            "alone": text, "in a list": [0, text], "in an object": {"k": text}, "in a mark": {"$body": text},
        }  # fmt: skip
        return placings[where]

    under, over = of_size(character, 4096), of_size(character, 4097)
    assert len(encode_json_text(under)) == 4096 and len(encode_json_text(over)) == 4097
    assert not split_payload_texts(placed(under)).texts
    assert list(split_payload_texts(placed(over)).texts.values()) == [encode_json_text(over)]


def test_marks_by_hand() -> None:
    assert split_payload_texts({"text": LONG}).payload == {"text": {"$body": LONG_DIGEST}}
    assert split_payload_texts({"$body": "x"}).payload == {"$literal": {"$body": "x"}}
    assert split_payload_texts({"$body": "x", "more": 1}).payload == {"$body": "x", "more": 1}, "no mark has two keys"
    assert join_payload_texts({"$body": LONG_DIGEST}, {}) == {"$erased": LONG_DIGEST}
    assert join_payload_texts({"$literal": {"$body": "x"}}, {}) == {"$body": "x"}


def test_the_same_text_is_taken_out_once() -> None:
    made = split_payload_texts([LONG, {"again": LONG}])
    assert list(made.texts) == [digest_from_bytes(LONG.encode())]


def test_keys_are_never_taken_out() -> None:
    made = split_payload_texts({LONG: 1})
    assert (made.payload, made.texts) == ({LONG: 1}, {})


@pytest.mark.parametrize("mark", MARKS)
def test_values_as_deep_as_an_event_may_be_are_split_and_joined(mark: str) -> None:
    value: Json = LONG
    for _ in range(128):
        value = {mark: value}
    made = split_payload_texts(value)
    assert exactly(join_payload_texts(made.payload, made.texts)) == exactly(value)
    assert list_payload_digests(made.payload) == {digest_from_bytes(LONG.encode())}


@given(st.binary(min_size=32, max_size=32))
def test_digests_are_read_as_they_are_written(raw: bytes) -> None:
    text = format_digest(Digest(raw))
    assert text == "sha256:" + raw.hex()
    assert parse_digest(text) == raw


@table(
    "text",
    [
        "",
        "sha256:",
        "0" * 64,
        "sha256:" + "0" * 63,
        "sha256:" + "0" * 62,
        "sha256:" + "0" * 66,
        "sha256:" + "A" * 64,
        "SHA256:" + "0" * 64,
        "sha1:" + "0" * 40,
        "sha256:" + "g" * 64,
        "sha256:" + "00 " * 31 + "00",
        "sha256:" + "0" * 64 + "\n",
        " sha256:" + "0" * 64,
        "sha256:sha256:" + "0" * 64,
        "sha256:" + "٠" * 64,
        "sha256:" + "\ud800" * 64,
        "x" * 100_000,
    ],
)
def test_an_invalid_digest_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not a digest") as refusal:
        parse_digest(text)
    assert refusal.value.hint is not None and "64" in refusal.value.hint
    assert len(refusal.value.message) < 200


@given(st.text(st.sampled_from("sha256:0fF \n"), max_size=75))
def test_only_what_would_be_written_is_read(text: str) -> None:
    try:
        digest = parse_digest(text)
    except InputError:
        return
    assert format_digest(digest) == text


@pytest.mark.parametrize("payload", [{"$body": "no digest"}, [{"$body": ""}], {"$literal": {"a": {"$body": "x"}}}])
def test_a_stored_mark_that_names_no_digest_is_refused(payload: Json) -> None:
    with pytest.raises(InputError, match="is not a digest"):
        join_payload_texts(payload, {})
    with pytest.raises(InputError, match="is not a digest"):
        list_payload_digests(payload)


def longest_text(payload: Json) -> int:
    if isinstance(payload, str):
        return len(encode_json_text(payload))
    inner = payload.values() if isinstance(payload, dict) else payload if isinstance(payload, list) else ()
    return max(map(longest_text, inner), default=0)


def without(value: Json, gone: Digest) -> Json:
    """Return ``value`` with the text of this digest erased, computed on the value itself."""
    if (
        isinstance(value, str)
        and len(encode_json_text(value)) > TEXT_BYTES_MAX
        and digest_from_bytes(encode_json_text(value)) == gone
    ):
        return {"$erased": format_digest(gone)}
    if isinstance(value, list):
        return [without(item, gone) for item in value]
    if isinstance(value, dict):
        return {key: without(item, gone) for key, item in value.items()}
    return value
