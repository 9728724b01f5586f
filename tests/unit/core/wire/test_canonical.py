"""Strict JSON in, stable bytes out."""

import json
import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from custody.core.errors import InputError
from custody.core.wire.canonical import (
    EVENT_BYTES_MAX,
    NESTING_MAX,
    Json,
    decode_json_text,
    dump_canonical_json,
    dump_plain_json,
    encode_json_text,
    parse_json_bytes,
)
from tests.builders.drawn import exactly, json_objects, json_values, scalars, texts, turned
from tests.builders.table import table

BAD = {
    b"": "not JSON",
    b" ": "not JSON",
    b"\xef\xbb\xbf{}": "not JSON",
    b"{} {}": "not JSON: Extra data",
    b"1,": "not JSON: Extra data",
    b"{}\0": "not JSON: Extra data",
    b"[1,]": "not JSON",
    b"{'a':1}": "not JSON",
    b'{"a":1,}': "not JSON",
    b"// no\n1": "not JSON",
    b"01": "not JSON",
    b"+1": "not JSON",
    b".5": "not JSON",
    b"1.": "not JSON",
    b"0x10": "not JSON",
    b'"a\nb"': "not JSON: Invalid control character",
    b'"\\x41"': "not JSON",
    b'"\\u00g0"': "not JSON",
    b'"open': "not JSON",
    b"{1:2}": "not JSON",
    b"NaN": "'NaN' is not a JSON number",
    b"[-Infinity]": "'-Infinity' is not a JSON number",
    b'{"a":Infinity}': "'Infinity' is not a JSON number",
    b"1e999": "'1e999' is beyond what a double can hold",
    b"[-1e309]": "'-1e309' is beyond what a double can hold",
    b"1.8e308": "beyond what a double can hold",
    b'"\xff"': "not UTF-8 at byte 1",
    b'{"\xc3":1}': "not UTF-8 at byte 2",
    b'"\xed\xa0\x80"': "not UTF-8 at byte 1",
    b'"\xc0\x80"': "not UTF-8 at byte 1",
    "1".encode("utf-16"): "not UTF-8 at byte 0",
    "1".encode("utf-16-le"): "not JSON",
}


def nested(opener: bytes, levels: int, innermost: bytes) -> bytes:
    closer = b"]" if opener == b"[" else b"}"
    return opener * levels + innermost + closer * levels


def wrapped(value: Json, way: list[str]) -> bytes:
    """Return ``value`` inside lists and objects, written without custody."""
    for kind in way:
        value = [1, value] if kind == "list" else {"x": value, "y": None}
    return json.dumps(value).encode()


@given(json_values)
@example([0.0, -0.0, 1e308, 5e-324, 10**307, "\ud800", "\udcff\ud83d", 1, 1.0, True])
def test_any_value_comes_back_as_it_was(value: Json) -> None:
    data = dump_canonical_json(value)
    assert exactly(parse_json_bytes(data)) == exactly(value)
    assert dump_canonical_json(parse_json_bytes(data)) == data
    data.decode("utf-8")
    assert b"\n" not in data, "one line, whatever the value"


@given(json_values)
def test_other_readers_of_json_read_the_same(value: Json) -> None:
    assert exactly(json.loads(dump_canonical_json(value).decode("utf-8"))) == exactly(value)


@given(json_values, st.booleans(), st.sampled_from((None, 1, "\t")))
def test_neither_white_space_nor_escapes_change_the_canonical_bytes(
    value: Json, ascii_only: bool, indent: int | str | None
) -> None:
    spelled = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode("utf-8", "backslashreplace")
    assert dump_canonical_json(parse_json_bytes(b" \r\n\t" + spelled + b"\n")) == dump_canonical_json(value)


@given(json_objects, st.integers(0, 4))
def test_the_order_of_keys_does_not_matter(value: dict[str, Json], by: int) -> None:
    shuffled = turned(value, by)
    assert dump_canonical_json(shuffled) == dump_canonical_json(value)
    assert dump_canonical_json({"in": [shuffled]}) == dump_canonical_json({"in": [value]})


def test_canonical_bytes_by_hand() -> None:
    assert (
        dump_canonical_json({"b": [1, 2.5, None, True], "a": {"é": "\n\x7f/"}})
        == '{"a":{"é":"\\n\x7f/"},"b":[1,2.5,null,true]}'.encode()
    )
    assert dump_canonical_json([0, -0.0, 1e22, 5e-324, 10**30]) == b"[0,-0.0,1e+22,5e-324," + b"1" + b"0" * 30 + b"]"
    assert dump_canonical_json(["\ud800", "a\\\udcff", "\x00"]) == b'["\\ud800","a\\\\\\udcff","\\u0000"]'
    assert dump_canonical_json({"\ud800": 1, "z": 2, "\U0001f600": 3}) == '{"z":2,"\\ud800":1,"😀":3}'.encode()


def test_two_halves_of_a_character_are_that_character_as_in_every_reader_of_json() -> None:
    assert parse_json_bytes(b'"\\ud83d\\ude00"') == "😀"
    assert parse_json_bytes(b'"\\ude00\\ud83d"') == "\ude00\ud83d"


@table(("data", "problem"), BAD.items())
def test_bad_bytes_are_refused_with_the_reason(data: bytes, problem: str) -> None:
    with pytest.raises(InputError) as refusal:
        parse_json_bytes(data)
    assert problem in refusal.value.message


@given(st.binary(max_size=60))
def test_arbitrary_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        value = parse_json_bytes(data)
    except InputError:
        return
    assert exactly(parse_json_bytes(dump_canonical_json(value))) == exactly(value)


@given(st.text(st.sampled_from('{}[]",:\\ud8001e.-9tfn \n\x00é'), max_size=30))
def test_what_nearly_is_json_is_read_or_refused(text: str) -> None:
    try:
        value = parse_json_bytes(text.encode("utf-8", "surrogatepass"))
    except InputError:
        return
    assert exactly(parse_json_bytes(dump_canonical_json(value))) == exactly(value)


@given(json_values, st.data())
def test_cut_or_changed_json_is_read_or_refused(value: Json, data: st.DataObject) -> None:
    whole = dump_canonical_json([value])
    at = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(InputError):
        parse_json_bytes(whole[:at])
    try:
        parse_json_bytes(whole[:at] + bytes([data.draw(st.integers(0, 255))]) + whole[at + 1 :])
    except InputError:
        pass  # any other exception would be a bug


@given(texts, scalars, scalars, st.lists(st.sampled_from(("list", "object")), max_size=6))
def test_a_duplicate_key_is_rejected_at_any_depth(key: str, one: Json, two: Json, way: list[str]) -> None:
    hole = wrapped("HOLE", way)
    twice = (
        b"{"
        + dump_canonical_json(key)
        + b":"
        + dump_canonical_json(one)
        + b',"other":0,'
        + dump_canonical_json(key)
        + b":"
        + dump_canonical_json(two)
        + b"}"
    )
    with pytest.raises(InputError, match="duplicate key '"):
        parse_json_bytes(hole.replace(b'"HOLE"', twice))


def test_the_key_that_stands_twice_is_named_however_it_is_spelled() -> None:
    with pytest.raises(InputError, match="duplicate key 'é'") as refusal:
        parse_json_bytes(b'{"a":1,"\\u00e9":2,"\xc3\xa9":3}')
    assert refusal.value.hint is not None
    assert parse_json_bytes(b'{"a":{"a":1},"b":{"a":1}}') == {"a": {"a": 1}, "b": {"a": 1}}, (
        "in different objects is fine"
    )


def test_a_message_stays_short_whatever_was_sent() -> None:
    with pytest.raises(InputError) as refusal:
        parse_json_bytes(b'{"%s":1,"%s":2}' % (b"k" * 100_000, b"k" * 100_000))
    assert len(refusal.value.message) < 200


@pytest.mark.parametrize("opener", [b"[", b'{"a":'])
@pytest.mark.parametrize("innermost", [b"1", b"[]", b"{}", b'"["'])
def test_nesting_is_counted_to_the_limit_and_not_beyond(opener: bytes, innermost: bytes) -> None:
    inner_levels = 1 if innermost in (b"[]", b"{}") else 0
    parse_json_bytes(nested(opener, NESTING_MAX - inner_levels, innermost))
    with pytest.raises(InputError, match="nested deeper than 128 levels"):
        parse_json_bytes(nested(opener, NESTING_MAX - inner_levels + 1, innermost))


@given(st.integers(NESTING_MAX - 3, NESTING_MAX + 3), st.integers(0, 2**NESTING_MAX))
def test_lists_and_objects_count_alike(levels: int, chosen: int) -> None:
    way = ["list" if chosen >> level & 1 else "object" for level in range(levels)]
    if len(way) <= NESTING_MAX:
        parse_json_bytes(wrapped(1, way))
    else:
        with pytest.raises(InputError, match="nested deeper"):
            parse_json_bytes(wrapped(1, way))


def test_width_is_not_depth() -> None:
    assert parse_json_bytes(b"[" + b"[]," * 100_000 + b"{}]") == [*([[]] * 100_000), {}]
    assert parse_json_bytes(b'["' + b"[" * 1000 + b'"]') == ["[" * 1000]


@table("opener", [b"[", b'{"a":'])
@table("levels", [129, 500, 990, 1_000, 1_010, 100_000])
@table("closed", [True, False])
def test_any_depth_beyond_is_refused_and_nothing_worse_happens(opener: bytes, levels: int, closed: bool) -> None:
    data = nested(opener, levels, b"1")
    with pytest.raises(InputError):
        parse_json_bytes(data if closed else data[: len(opener) * levels])


@pytest.mark.parametrize("spelled", [b"%s", b"-%s", b'{"a":[%s]}'])
def test_whole_numbers_are_read_to_308_digits_and_refused_beyond_whatever_the_interpreter_allows(
    spelled: bytes,
) -> None:
    parse_json_bytes(spelled % (b"9" * 308))
    for digits in (309, 5_000, 1_000_000):
        with pytest.raises(InputError, match=f"a number of {digits:,} digits is beyond what a double can hold"):
            parse_json_bytes(spelled % (b"9" * digits))


def test_the_largest_double_is_read_and_the_next_is_refused() -> None:
    assert parse_json_bytes(b"1.7976931348623157e308") == 1.7976931348623157e308
    with pytest.raises(InputError, match="beyond what a double can hold"):
        parse_json_bytes(b"1.7976931348623159e308")
    assert parse_json_bytes(b"1e-400") == 0.0


def test_size_is_counted_to_the_limit_and_not_beyond() -> None:
    most = b'"' + b"a" * (EVENT_BYTES_MAX - 2) + b'"'
    assert parse_json_bytes(most) == "a" * (EVENT_BYTES_MAX - 2)
    with pytest.raises(InputError, match="an event of 16,777,217 bytes is over the limit of 16,777,216") as refusal:
        parse_json_bytes(most + b" ")
    assert refusal.value.hint is not None


def test_a_caller_may_set_another_limit() -> None:
    assert parse_json_bytes(b"[1]", bytes_max=3) == [1]
    with pytest.raises(InputError, match="of 4 bytes is over the limit of 3"):
        parse_json_bytes(b"[12]", bytes_max=3)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_json_cannot_say_is_never_written(value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        dump_canonical_json([value])


@given(st.text(max_size=20) | st.text(st.sampled_from("a\ud83d\ude00\udcff"), max_size=5))
def test_texts_survive_the_way_into_bytes_and_back(text: str) -> None:
    assert decode_json_text(encode_json_text(text)) == text


@given(json_objects)
@example({"a": 1e-05, "b": 1e16, "c": -0.0})
@example({"at": "12:30:45.5,", "n": 10**30, "é": "\x7f\u2028"})
def test_the_fast_encoder_writes_the_same_bytes_or_none(value: dict[str, Json]) -> None:
    plain = dump_plain_json(value)
    if plain is not None:
        assert plain.data == dump_canonical_json(value)
        assert repr(plain.value) == repr(parse_json_bytes(plain.data))


@pytest.mark.parametrize("value", [0.5, 1e-05, 1e16, -0.0, math.nan, math.inf, "\udcff", b"x", (1, 2), {1: 2}])
def test_the_fast_encoder_leaves_what_it_would_write_otherwise(value: Any) -> None:
    assert dump_plain_json({"a": value}) is None
    assert dump_plain_json({"a": ["x", value]}) is None


def test_the_fast_encoder_writes_texts_numbers_and_nested_values() -> None:
    value: Json = {"b": [1, None, {"z": "\n\x00\x7f", "a": True}], "a": 2**70, "😀": 1, "\uffff": 2}
    plain = dump_plain_json(value) if isinstance(value, dict) else None
    assert plain is not None
    assert plain.data == dump_canonical_json(value)
    assert list(plain.value) == ["a", "b", "\uffff", "😀"]
