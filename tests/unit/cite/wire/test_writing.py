"""What is kept beside a saved report: it comes back as it was written, and nothing else is taken for it."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.cite.wire import (
    BESIDE_BYTES_MAX,
    ReportFinding,
    ReportSource,
    SavedReportInfo,
    decode_beside,
    encode_beside,
)
from custody.core.errors import InputError

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
BESIDES = st.builds(
    SavedReportInfo,
    name=TEXT,
    digest=TEXT,
    passed=st.booleans(),
    quality_metrics=st.dictionaries(TEXT, st.floats(0, 1), max_size=3),
    findings=st.lists(st.builds(ReportFinding, TEXT, st.integers(1, 9), st.integers(1, 9), TEXT), max_size=2),
    answers=st.lists(TEXT, max_size=2),
    sources=st.lists(
        st.builds(ReportSource, marker=st.none() | TEXT, id=st.none() | TEXT, title=TEXT, url=st.none() | TEXT),
        max_size=2,
    ),
)


@given(BESIDES)
def test_it_comes_back_as_it_was_written_and_the_same_value_has_the_same_bytes(value: SavedReportInfo) -> None:
    data = encode_beside(value)
    assert decode_beside(data) == value
    assert encode_beside(decode_beside(data)) == data


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{",
        b"\xff",
        b'{"beside":"other"}',
        b'{"beside":"citations"}',
        b"[" * 100_000,
        b" " * (BESIDE_BYTES_MAX + 1),
    ],
    ids=range(8),
)
def test_what_is_something_else_is_refused(data: bytes) -> None:
    with pytest.raises(InputError, match="beside the report"):
        decode_beside(data)


def test_another_version_is_refused() -> None:
    value = SavedReportInfo(name="a", digest="b", passed=True, quality_metrics={}, findings=[], answers=[], sources=[])
    later = encode_beside(value).replace(b'"version": 1', b'"version": 2')
    assert msgspec.json.decode(later)["version"] == 2
    with pytest.raises(InputError, match="version"):
        decode_beside(later)
