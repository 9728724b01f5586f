from hypothesis import given
from hypothesis import strategies as st

from custody.dupes.score import (
    FIELD_WEIGHTS,
    INDEX_PATHS_MAX,
    INDEX_TERMS_MAX,
    NAMED,
    QUERY_POSTINGS_MAX,
    QUERY_RARE_TERMS_MAX,
    QUERY_TERMS_MAX,
    TERM_CHANGES_MAX,
    make_term_search,
    select_index_terms,
    select_query_terms,
)
from custody.dupes.signature import FIELD_TERMS_MAX

FIELDS = sorted(FIELD_WEIGHTS)
terms_of = st.dictionaries(
    st.sampled_from(FIELDS), st.lists(st.integers(-(2**63), 2**63 - 1), max_size=300, unique=True).map(tuple)
)


def test_every_field_of_terms_has_a_weight() -> None:
    assert FIELD_WEIGHTS.keys() == FIELD_TERMS_MAX.keys()


def test_a_common_term_is_not_indexed_and_weighs_little() -> None:
    terms = {"identifier": (1, 2), "path": (3,)}
    counts = {1: TERM_CHANGES_MAX, 2: 5, 3: TERM_CHANGES_MAX}
    assert select_index_terms(terms, counts) == [2]
    weights = make_term_search(terms, counts, 10_000).weights
    assert weights[2] > weights[1]


def test_named_commits_are_searched_for_but_not_indexed() -> None:
    terms = {NAMED: (7,), "commit": (8,)}
    assert select_index_terms(terms, {}) == [8]
    assert make_term_search(terms, {7: 1}, 100).weights.keys() == {7}


def test_changes_with_many_shared_terms_index_the_same_ones() -> None:
    shared = tuple(range(1_000))
    one = select_index_terms({"line": (*shared, 10_001)}, {})
    other = select_index_terms({"line": (*shared, 10_002)}, {})
    assert one == other == list(range(INDEX_TERMS_MAX))


# Conformance: 002-038
def test_a_search_reads_a_limited_number_of_postings() -> None:
    terms = {"identifier": tuple(range(100))}
    counts = {term: 1_000 for term in range(100)}
    search = make_term_search(terms, counts, 50_000)
    assert sum(search.counts.values()) <= QUERY_POSTINGS_MAX
    assert len(search.weights) == QUERY_POSTINGS_MAX // 1_000


@given(terms_of, st.integers(0, 10**6))
def test_searched_terms_are_known_rare_and_limited(terms: dict[str, tuple[int, ...]], changes: int) -> None:
    queried = select_query_terms(terms)
    assert len(queried) <= QUERY_TERMS_MAX
    counts = {term: 1 + abs(term) % 50 for term in queried if term % 3}
    search = make_term_search(terms, counts, max(changes, 100))
    assert search.weights.keys() <= counts.keys()
    assert len(search.weights) <= QUERY_RARE_TERMS_MAX
    assert all(weight >= 0 for weight in search.weights.values())
    left_out = counts.keys() - search.weights.keys()
    if search.weights and left_out:
        assert max(counts[term] for term in search.weights) <= min(counts[term] for term in left_out)


# Conformance: 002-037
@given(terms_of)
def test_indexed_terms_are_limited_and_unique(terms: dict[str, tuple[int, ...]]) -> None:
    indexed = select_index_terms(terms, {})
    always = sum(len(terms.get(name, ())) for name in ("commit", "closing", "mention", "band", "intent"))
    assert len(indexed) == len(set(indexed)) <= always + INDEX_PATHS_MAX + INDEX_TERMS_MAX
