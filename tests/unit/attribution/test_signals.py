"""Each signal is present exactly where document 000 defines it."""

import pytest

from custody.attribution.model import Segment, TraceCandidate
from custody.attribution.rules import AttributeRules
from custody.attribution.signals import SIGNALS
from custody.core.ids import CommitSha, ContentHash
from custody.core.paths import Lines
from tests.builders.table import table
from tests.unit.attribution.builders import (
    ANCESTOR,
    AT_ANCESTOR,
    DOCUMENT,
    HOUR,
    LINKED,
    NOON,
    OTHER_TEXT,
    PARENT,
    TEXT,
    a_candidate,
    a_segment,
    an_entry,
)


def explain_signal(
    name: str, candidate: TraceCandidate, segment: Segment | None = None, rules: AttributeRules = DOCUMENT
) -> str | None:
    return SIGNALS[name](segment or a_segment(), candidate, rules)


# Conformance: 000-036
def test_a_commit_link_needs_a_record() -> None:
    assert explain_signal("commit_link", a_candidate("t1", **LINKED))
    assert not explain_signal("commit_link", a_candidate("t1"))


# --- content hash -----------------------------------------------------------------------------------------------------


# Conformance: 000-037
@pytest.mark.parametrize("level", ["conversation", "change", "file"])
def test_a_hash_counts_at_every_level(level: str) -> None:
    assert explain_signal("content_hash", a_candidate("t1", an_entry(text=TEXT, level=level)))


# Conformance: 000-075
@pytest.mark.parametrize(
    ("digits", "expected"), [(64, True), (16, True), (9, True), (8, True), (7, False), (1, False), (0, False)]
)
def test_a_hash_is_compared_on_the_shorter_length_and_never_below_8_digits(digits: int, expected: bool) -> None:
    abbreviated = ContentHash(TEXT.removeprefix("sha256:").ljust(64, "0")[:digits])
    assert bool(explain_signal("content_hash", a_candidate("t1", an_entry(text=abbreviated)))) == expected


# Conformance: 000-074
@pytest.mark.parametrize("write", [str.upper, str.lower, lambda text: text.removeprefix("sha256:")])
def test_prefix_and_case_of_a_hash_do_not_matter(write: object) -> None:
    assert callable(write)
    assert explain_signal("content_hash", a_candidate("t1", an_entry(text=ContentHash(write(str(TEXT))))))


# Conformance: 000-089
def test_the_covering_entry_is_named_first_then_conversation_change_file() -> None:
    entries = [
        an_entry(40, 50, text=TEXT, level="conversation"),
        an_entry(1, 50, text=TEXT, level="file"),
        an_entry(12, 18, text=TEXT, level="change"),
    ]
    assert str(explain_signal("content_hash", a_candidate("t1", *entries))).endswith("for its change, lines 12-18")
    assert str(explain_signal("content_hash", a_candidate("t1", *entries[:2]))).endswith("for this file, lines 1-50")
    assert str(explain_signal("content_hash", a_candidate("t1", *entries[:1]))).endswith(
        "for its conversation, lines 40-50"
    )


# Conformance: 000-089
def test_any_hash_of_the_file_counts_where_the_covering_one_does_not_match() -> None:
    entries = [an_entry(12, 18, text=OTHER_TEXT), an_entry(40, 50, text=TEXT)]
    assert explain_signal("content_hash", a_candidate("t1", *entries))


def test_the_hash_of_another_text_does_not_match() -> None:
    assert not explain_signal("content_hash", a_candidate("t1", an_entry(10, 20, text=OTHER_TEXT)))
    assert not explain_signal("content_hash", a_candidate("t1", an_entry(10, 20)))


# --- revision ---------------------------------------------------------------------------------------------------------


# Conformance: 000-038, 000-046
@pytest.mark.parametrize(
    ("revision", "expected"),
    [
        (PARENT, True),
        (PARENT[:7], True),
        (PARENT[:7].upper(), True),
        (PARENT[:6], False),
        ("", False),
        (None, False),
        (PARENT[:39] + "0", False),
        (ANCESTOR, False),
        ("bbbbbbb-dirty", False),
    ],
)
def test_a_revision_is_the_parents_or_its_beginning_of_at_least_7_digits(revision: str | None, expected: bool) -> None:
    assert bool(explain_signal("revision_parent", a_candidate("t1", revision=revision))) == expected


def test_a_root_commit_has_no_parent_to_match() -> None:
    assert not explain_signal("revision_parent", a_candidate("t1", revision=PARENT), a_segment(parent=None))


# Conformance: 000-039
def test_an_ancestor_counts_only_where_it_is_not_the_parent() -> None:
    assert explain_signal("revision_ancestor", a_candidate("t1", **AT_ANCESTOR))
    assert not explain_signal("revision_ancestor", a_candidate("t1", revision=PARENT, precedes=True))
    assert not explain_signal("revision_ancestor", a_candidate("t1", revision=ANCESTOR))


@table("revision", [PARENT, PARENT[:8], ANCESTOR, None, CommitSha("f" * 40)])
@table("precedes", [True, False])
def test_parent_and_ancestor_never_both_match(revision: str | None, precedes: bool) -> None:
    candidate = a_candidate("t1", revision=revision, precedes=precedes)
    assert not (explain_signal("revision_parent", candidate) and explain_signal("revision_ancestor", candidate))


# --- ranges -----------------------------------------------------------------------------------------------------------


# Conformance: 000-041, 000-080, 000-081
@pytest.mark.parametrize(
    ("first", "last", "match", "overlap"),
    [
        (15, 15, True, False),
        (1, 15, True, False),
        (15, 99, True, False),
        (16, 99, False, True),
        (20, 99, False, True),
        (21, 99, False, False),
        (1, 14, False, True),
        (1, 10, False, True),
        (1, 9, False, False),
    ],
)
def test_a_range_matches_at_the_midpoint_and_overlaps_within_5_lines(
    first: int, last: int, match: bool, overlap: bool
) -> None:
    candidate = a_candidate("t1", an_entry(first, last))
    assert bool(explain_signal("range_match", candidate)) == match
    assert bool(explain_signal("range_overlap", candidate)) == overlap


# Conformance: 000-021, 000-095
def test_the_midpoint_of_an_even_range_is_its_lower_middle() -> None:
    candidate = a_candidate("t1", an_entry(11, 11))
    assert explain_signal("range_match", candidate, a_segment(lines=Lines(10, 13)))


# Conformance: 000-042
def test_a_near_range_listed_first_does_not_hide_a_match_after_it() -> None:
    candidate = a_candidate("t1", an_entry(16, 30), an_entry(10, 20))
    assert explain_signal("range_match", candidate)
    assert not explain_signal("range_overlap", candidate)


# Conformance: 000-079
@pytest.mark.parametrize("level", ["conversation", "change", "file"])
def test_a_range_counts_at_every_level(level: str) -> None:
    assert explain_signal("range_match", a_candidate("t1", an_entry(10, 20, level=level)))


# --- time -------------------------------------------------------------------------------------------------------------


# Conformance: 000-028, 000-043
@pytest.mark.parametrize(
    ("at_ns", "expected"),
    [
        (NOON - 24 * HOUR, True),
        (NOON - 24 * HOUR - 1, False),
        (NOON, True),
        (NOON + HOUR, True),
        (NOON + HOUR + 1, False),
        (None, False),
    ],
)
def test_a_time_counts_from_24_hours_before_the_commit_to_1_after(at_ns: int | None, expected: bool) -> None:
    assert bool(explain_signal("timestamp_match", a_candidate("t1", at_ns=at_ns))) == expected


def test_without_the_commits_time_no_time_matches() -> None:
    assert not explain_signal("timestamp_match", a_candidate("t1", at_ns=NOON), a_segment(at_ns=None))


def test_a_single_line_is_named_in_the_singular() -> None:
    explained = explain_signal("range_match", a_candidate("t1", an_entry(11, 11)), a_segment(lines=Lines(10, 13)))
    assert str(explained).endswith("recorded an edit of line 11")
