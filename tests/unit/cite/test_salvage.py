"""Salvage: invalid fields still give a source, unless all are empty."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.cite.hits import UNUSABLE, salvage_source
from custody.cite.keys import clean_source, compute_source_keys

NAMES = st.sampled_from(
    "title url author publisher date source_type credibility_score relevance_score metadata source_id canonical_key"
    " snippet year other".split()
)
VALUES = (
    st.none()
    | st.text(max_size=20)
    | st.integers()
    | st.floats()
    | st.binary(max_size=3)
    | st.lists(st.text(max_size=3), max_size=2)
    | st.dictionaries(st.text(max_size=3), st.binary(max_size=3), max_size=2)
    | st.sampled_from(["javascript:x", "https://example.org/a", "S0", "S3", "2024-02-30", "x" * 5000, "\x00", "\ud800"])
)


@given(st.dictionaries(NAMES, VALUES, max_size=8))
def test_any_fields_give_a_source_that_a_registry_accepts(raw: dict[str, Any]) -> None:
    found = salvage_source(raw)
    says_something = any(value not in (None, "") for value in raw.values())
    assert (found.source is not None) == says_something
    if found.source is not None:
        assert compute_source_keys(clean_source(found.source)).canonical
    else:
        assert found.why == "the source is empty"
    assert salvage_source(raw) == found, "repeatable"


@pytest.mark.parametrize("raw", [None, [], "text", 3, {}, {"title": ""}, {"title": None, "url": None}])
def test_empty_fields_give_no_source(raw: object) -> None:
    assert salvage_source(raw).source is None


@pytest.mark.parametrize(
    ("raw", "kept", "aside"),
    [
        ({"title": "A", "credibility_score": 7}, {"title": "A", "credibility_score": 0.5}, "credibility_score"),
        ({"title": "A", "date": "the thirtieth"}, {"title": "A", "date": None}, "date"),
        ({"title": "A", "url": "javascript:alert(1)"}, {"title": "A", "url": None}, "url"),
        ({"url": "https://example.org/a", "title": 7}, {"url": "https://example.org/a"}, "title"),
        ({"title": "A", "source_id": "third"}, {"title": "A", "source_id": None}, "source_id"),
    ],
)
def test_unusable_fields_are_set_aside_and_the_rest_stays(raw: Any, kept: Any, aside: str) -> None:
    found = salvage_source(raw)
    assert found.source is not None and found.why is not None
    assert {name: getattr(found.source, name) for name in kept} == kept
    assert found.source.metadata[UNUSABLE] == {aside: str(raw[aside])}


def test_valid_fields_stay_unchanged() -> None:
    found = salvage_source(
        {"title": "A", "url": "https://example.org/a", "snippet": "some words", "metadata": {"year": 2020}}
    )
    assert found.source is not None and found.why is None
    assert found.source.metadata == {"snippet": "some words", "year": 2020}


def test_sources_without_a_title_get_distinct_names() -> None:
    titles = {salvage_source({"url": f"javascript:{n}"}).source.title for n in range(3)}  # type: ignore[union-attr]
    assert len(titles) == 3
