"""The metrics of a saved report: they round-trip, and other content is rejected."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.cite.wire import (
    BESIDE_BYTES_MAX,
    ReportFinding,
    ReportSource,
    SavedReportInfo,
    decode_citation_metrics,
    encode_citation_metrics,
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
def test_metrics_round_trip_with_stable_bytes(value: SavedReportInfo) -> None:
    data = encode_citation_metrics(value)
    assert decode_citation_metrics(data) == value
    assert encode_citation_metrics(decode_citation_metrics(data)) == data


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
def test_other_content_is_rejected(data: bytes) -> None:
    with pytest.raises(InputError, match="saved metrics"):
        decode_citation_metrics(data)


def test_another_version_is_rejected() -> None:
    value = SavedReportInfo(name="a", digest="b", passed=True, quality_metrics={}, findings=[], answers=[], sources=[])
    later = encode_citation_metrics(value).replace(b'"version": 1', b'"version": 2')
    assert msgspec.json.decode(later)["version"] == 2
    with pytest.raises(InputError, match="version"):
        decode_citation_metrics(later)
