"""The scanner reads the values that were written, with the right position of each."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.intake.settings.jsonc import JsoncError, JsoncNode, parse_jsonc_settings
from tests.unit.intake.settings.strategies import laid_out, values


@given(st.data())
def test_any_value_in_any_layout_is_read(data: st.DataObject) -> None:
    value = data.draw(values)
    text = data.draw(laid_out(value)).encode()
    node = parse_jsonc_settings(text)
    assert node is not None
    assert (node.value, type(node.value)) == (value, type(value))


@given(st.data())
def test_every_place_holds_what_it_says(data: st.DataObject) -> None:
    text = data.draw(laid_out(data.draw(values))).encode()
    node = parse_jsonc_settings(text)
    assert node is not None
    _check_places(text, node)


def _check_places(text: bytes, node: JsoncNode) -> None:
    again = parse_jsonc_settings(text[node.start : node.end])
    assert again is not None
    assert again.value == node.value
    for member in node.members:
        assert node.start < member.start <= member.node.start < member.node.end < node.end
        if member.comma is not None:
            assert text[member.comma : member.comma + 1] == b","
        _check_places(text, member.node)


@given(st.binary(max_size=60) | st.text(st.sampled_from('{}[],:"/*\\ntrue0 \n'), max_size=40).map(str.encode))
def test_anything_else_is_refused_by_place(data: bytes) -> None:
    try:
        parse_jsonc_settings(data)
    except JsoncError as error:
        said = str(error)
    else:
        said = "line 0"
    assert said.startswith("line ")


@given(st.data())
def test_a_text_with_a_missing_byte_is_parsed_or_refused(data: st.DataObject) -> None:
    text = data.draw(laid_out(data.draw(values))).encode()
    at = data.draw(st.integers(0, len(text) - 1))
    try:
        parse_jsonc_settings(text[:at] + text[at + 1 :])
    except JsoncError:
        return


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"", None),
        (b" // nothing", None),
        (b"\xef\xbb\xbf{}", {}),
        (b'{"a": [1, 2, ], /* c */ "b": {"c": null, }, }', {"a": [1, 2], "b": {"c": None}}),
        (b'["\\u00e9", "\\ud83d\\ude00", "//", "/*"]', ["é", "😀", "//", "/*"]),
    ],
)
def test_by_hand(data: bytes, value: Any) -> None:
    node = parse_jsonc_settings(data)
    assert (None if node is None else node.value) == value


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b"{,}", "line 1, column 2"),
        (b"[,]", "line 1, column 2"),
        (b'{"a" 1}', "line 1, column 6"),
        (b'{"a": 01}', "line 1, column 8"),
        (b'{"a": +1}', "line 1, column 7"),
        (b'{"a": NaN}', "line 1, column 7"),
        (b'{"a": "x\ny"}', "line 1, column 7"),
        ('{"ä": \n\n é}'.encode(), "line 3, column 2"),
        (b'{"a": tru}', "line 1, column 7"),
        (b"{} // ok\n}", "line 2, column 1"),
        (b'{"a": 1', "line 1, column 8"),
    ],
)
def test_the_place_is_reported(data: bytes, place: str) -> None:
    with pytest.raises(JsoncError, match=place):
        parse_jsonc_settings(data)
