from hypothesis import given
from hypothesis import strategies as st

from custody.dupes.rules import DedupeRules
from custody.dupes.search import NAMED, asked_terms, kept_terms, search_of

RULES = DedupeRules()
FIELDS = sorted(RULES.field_weights)
terms_of = st.dictionaries(
    st.sampled_from(FIELDS), st.lists(st.integers(-(2**63), 2**63 - 1), max_size=300, unique=True).map(tuple)
)


def test_a_term_that_stands_everywhere_is_neither_kept_nor_worth_much() -> None:
    terms = {"identifier": (1, 2), "path": (3,)}
    counts = {1: RULES.term_changes_max, 2: 5, 3: RULES.term_changes_max}
    assert kept_terms(terms, counts, RULES) == [2]
    weights = search_of(terms, counts, 10_000, RULES).weights
    assert weights[2] > weights[1]


def test_commits_that_a_change_names_are_searched_for_and_not_found_by() -> None:
    terms = {NAMED: (7,), "commit": (8,)}
    assert kept_terms(terms, {}, RULES) == [8]
    assert search_of(terms, {7: 1}, 100, RULES).weights.keys() == {7}


def test_two_changes_that_share_many_terms_keep_the_same_of_them() -> None:
    shared = tuple(range(1_000))
    one = kept_terms({"line": (*shared, 10_001)}, {}, RULES)
    other = kept_terms({"line": (*shared, 10_002)}, {}, RULES)
    assert one == other == list(range(RULES.index_terms_max))


def test_a_search_reads_no_more_than_it_may() -> None:
    terms = {"identifier": tuple(range(100))}
    counts = {term: 1_000 for term in range(100)}
    search = search_of(terms, counts, 50_000, RULES)
    assert sum(search.counts.values()) <= RULES.query_postings_max
    assert len(search.weights) == RULES.query_postings_max // 1_000


@given(terms_of, st.integers(0, 10**6))
def test_what_is_searched_is_known_rare_and_bounded(terms: dict[str, tuple[int, ...]], changes: int) -> None:
    asked = asked_terms(terms, RULES)
    assert len(asked) <= RULES.query_terms_max
    counts = {term: 1 + abs(term) % 50 for term in asked if term % 3}
    search = search_of(terms, counts, max(changes, 100), RULES)
    assert search.weights.keys() <= counts.keys()
    assert len(search.weights) <= RULES.query_rare_terms_max
    assert all(weight >= 0 for weight in search.weights.values())
    left_out = counts.keys() - search.weights.keys()
    if search.weights and left_out:
        assert max(counts[term] for term in search.weights) <= min(counts[term] for term in left_out)


@given(terms_of)
def test_what_is_kept_is_bounded_and_not_repeated(terms: dict[str, tuple[int, ...]]) -> None:
    kept = kept_terms(terms, {}, RULES)
    always = sum(len(terms.get(name, ())) for name in ("commit", "closing", "mention", "band", "intent"))
    assert len(kept) == len(set(kept)) <= always + RULES.index_paths_max + RULES.index_terms_max
