"""The origins of lines that a commit added."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from custody.attribution.lineage import BETWEEN, UNKNOWN, LineOrigin, TracedText
from custody.attribution.origin_search import (
    SHARED_LINES_MIN,
    AddingCommit,
    Donor,
    OpenLine,
    OpenVersion,
    RemovedRun,
    VersionLine,
    join_merge_parents,
    make_unknown_origin_lines,
    splice_commit_hunks,
)
from custody.attribution.rules import AttributeRules
from custody.attribution.text import is_informative_lineage_line, make_lineage_key, make_lineage_keys
from custody.core.ids import CommitSha
from custody.core.paths import Hunk

RULES = AttributeRules()
SHA, EARLIER = CommitSha("c" * 40), CommitSha("b" * 40)
COMMIT = AddingCommit(SHA, 100)
OLD = ["import alpha_module", "price = read_price()", "print_all(price)"]
ONE, TWO = LineOrigin(1), LineOrigin(2)


def opened(*texts: str) -> list[VersionLine | OpenLine]:
    """Return the lines of a file in which every line is new."""
    return splice_commit_hunks([], [Hunk.at_index(0, 0, (), texts)])


def unchanged(*texts: str, origin: LineOrigin = UNKNOWN) -> list[VersionLine]:
    return [
        VersionLine(make_lineage_key(text), is_informative_lineage_line(text), origin, (EARLIER,)) for text in texts
    ]


def a_donor(texts: Sequence[str], origins: Sequence[LineOrigin] | LineOrigin = ONE, **fields: Any) -> Donor:
    """Return a captured state; by default its call wrote every line."""
    origins_ = [origins] * len(texts) if isinstance(origins, LineOrigin) else origins
    defaults: dict[str, Any] = {"state": 1, "at_ns": 50, "read": lambda: texts}
    return Donor(keys=make_lineage_keys(texts), origins=origins_, **{**defaults, **fields})


def states(version: OpenVersion | list[VersionLine]) -> list[int]:
    return [line.origin.state for line in (version.closed() if isinstance(version, OpenVersion) else version)]


def a_version(lines: Sequence[VersionLine | OpenLine], *donors: Donor, commit: AddingCommit = COMMIT) -> OpenVersion:
    version = OpenVersion(lines, commit, RULES)
    version.take_from(donors)
    return version


def removed(*texts: str, origin: LineOrigin = ONE) -> RemovedRun:
    return RemovedRun(TracedText(texts, [origin] * len(texts)), [(EARLIER,)] * len(texts))


def test_unchanged_lines_stay_and_added_ones_are_open() -> None:
    lines = splice_commit_hunks(
        unchanged(*OLD, origin=TWO), [Hunk.at_index(1, 1, (OLD[1],), ("new_line_one = 1", "new_line_two = 2"))]
    )
    assert [isinstance(line, OpenLine) for line in lines] == [False, True, True, False]
    assert [line.key for line in lines] == make_lineage_keys([OLD[0], "new_line_one = 1", "new_line_two = 2", OLD[2]])


def test_lines_of_a_captured_state_are_its_calls_and_the_others_have_no_evidence() -> None:
    version = a_version(opened(*OLD, "somebody_elses = 1"), a_donor(OLD))
    assert states(version) == [1, 1, 1, 0]


def test_every_line_that_a_commit_added_came_through_it() -> None:
    (line,) = a_version(opened("written_by_call = 1"), a_donor(["written_by_call = 1"])).closed()
    assert line.trail == (SHA,)
    (line,) = a_version(opened("never_seen_line = 1")).closed()
    assert (line.origin, line.trail) == (UNKNOWN, (SHA,))


def test_a_state_carries_origins_of_lines_that_its_call_did_not_write() -> None:
    texts = ["agent_line = 1", "between_line = 2"]
    assert states(a_version(opened(*texts), a_donor(texts, [ONE, BETWEEN]))) == [1, -1]


def test_the_donor_that_explains_most_decides_first() -> None:
    small = a_donor(["line_number_one = 1"], TWO, state=2, at_ns=90)
    large = a_donor(["line_number_one = 1", "line_number_two = 2"], ONE)
    for donors in ((small, large), (large, small)):
        assert states(a_version(opened("line_number_one = 1", "line_number_two = 2"), *donors)) == [1, 1]


def test_among_equals_the_latest_donor_not_after_the_commit_decides() -> None:
    texts = ["line_number_one = 1"]
    donors = [a_donor(texts, LineOrigin(n), state=n, at_ns=at) for n, at in ((1, 50), (2, 90), (3, 150))]
    assert states(a_version(opened(*texts), *donors)) == [2]
    assert states(a_version(opened(*texts), *reversed(donors))) == [2]


def test_a_second_donor_explains_lines_that_the_first_left_open() -> None:
    donors = (a_donor(["line_one = 1", "line_two = 2"]), a_donor(["line_three = 3"], TWO, state=2))
    assert states(a_version(opened("line_one = 1", "line_two = 2", "line_three = 3"), *donors)) == [1, 1, 2]


def test_the_same_boilerplate_typed_again_elsewhere_is_not_taken_from_the_donor() -> None:
    donor = a_donor(["alpha_line = 1", "log = getLogger()", "beta_line = 2"])
    version = a_version(opened("log = getLogger()", "alpha_line = 1", "log = getLogger()", "beta_line = 2"), donor)
    assert states(version) == [0, 1, 1, 1]


def test_an_uninformative_line_needs_an_informative_one_beside_it() -> None:
    donor = a_donor(["alpha_line = 1", "}"])
    assert states(a_version(opened("}"), donor)) == [0]
    assert states(a_version(opened("alpha_line = 1", "}"), donor)) == [1, 1]


def test_a_file_without_informative_lines_is_the_calls_if_unchanged() -> None:
    def whole(lines: Sequence[VersionLine | OpenLine], *donors: Donor) -> list[int]:
        version = a_version(lines)
        version.take_whole(donors)
        return states(version)

    assert whole(opened("x = 1", "y = 2"), a_donor(["x = 1", "y = 2"])) == [1, 1]
    assert whole(opened("x = 1"), a_donor(["x = 1", "y = 2"])) == [0], "only a part of the text after the call"
    assert whole(opened("x = 1"), a_donor(["x = 1"], UNKNOWN)) == [0], "the line was there before the call"
    assert whole(opened("x = 1"), from_elsewhere(["x = 1"], lambda _: True)) == [0], "from another file"


def from_elsewhere(texts: Sequence[str], absent: Callable[[int], bool]) -> Donor:
    return a_donor(texts, ONE, absent=absent)


MOVED = ["def moved_function(argument):", "    doubled = argument * 2", "    return doubled + offset_of(argument)"]


def test_lines_of_another_file_have_moved_only_if_they_are_gone_there() -> None:
    assert states(a_version(opened(*MOVED), from_elsewhere(MOVED, lambda _: True))) == [1, 1, 1]
    assert states(a_version(opened(*MOVED), from_elsewhere(MOVED, lambda _: False))) == [0, 0, 0]


def test_few_lines_of_another_file_need_a_session_that_wrote_both() -> None:
    for is_shared, expected in ((False, [0, 0]), (True, [1, 1])):
        donor = a_donor(MOVED[:2], ONE, absent=lambda _: True, is_shared=is_shared)
        assert states(a_version(opened(*MOVED[:2]), donor)) == expected


def test_lines_that_calls_added_to_several_files_are_not_distinctive() -> None:
    donor = from_elsewhere(MOVED, lambda _: True)
    common = msgspec.structs.replace(donor, common=make_lineage_keys(MOVED[:1]))
    assert states(a_version(opened(*MOVED), common)) == [0, 0, 0]


@pytest.mark.parametrize(
    "idiom",
    [
        ["\tctx := context.Background().WithTimeout(seconds)"],
        ['\t"example.org/alpha/beta/gamma"', '\t"example.org/alpha/beta/delta"', '\t"example.org/alpha/beta"'],
        ["from alpha.beta import gamma", "import a_long_module_name", "import another_module_name"],
        ["const alpha = require('alpha-module')", "#include <alpha_header.h>"],
    ],
)
def test_one_line_idioms_and_imports_are_never_carried_across_files(idiom: list[str]) -> None:
    donor = a_donor(idiom, ONE, absent=lambda _: True, is_shared=True)
    version = a_version(opened(*idiom), donor)
    version.take_moved(removed(*idiom), lines_min=SHARED_LINES_MIN)
    assert states(version) == [0] * len(idiom)


def test_few_characters_of_another_file_have_not_moved() -> None:
    texts = ["short_line = 1"]
    assert states(a_version(opened(*texts), from_elsewhere(texts, lambda _: True))) == [0]


def test_a_block_that_this_commit_removed_keeps_its_origin_and_trail() -> None:
    version = a_version(opened("def moved_function(argument):", "    return argument * 2"))
    version.take_moved(removed("def moved_function(argument):", "    return argument * 2"))
    lines = version.closed()
    assert states(lines) == [1, 1]
    assert [line.trail for line in lines] == [(EARLIER, SHA)] * 2


def test_an_edited_line_has_the_share_of_its_unchanged_words() -> None:
    hunk = Hunk.at_index(0, 0, ("total = price * count",), ("total = price * count * rate",))
    version = a_version(splice_commit_hunks(unchanged("total = price * count", origin=ONE), [hunk]))
    version.take_words([(hunk, removed("total = price * count"))], ())
    (line,) = version.closed()
    assert (line.origin, line.trail) == (LineOrigin(1, 0.75), (EARLIER, SHA))


def test_below_the_threshold_an_edited_line_has_no_evidence() -> None:
    hunk = Hunk.at_index(0, 0, ("total = price * count",), ("total = price * rate * number",))
    version = a_version(splice_commit_hunks(unchanged("total = price * count", origin=ONE), [hunk]))
    version.take_words([(hunk, removed("total = price * count"))], ())
    assert states(version) == [0]


def test_a_line_similar_to_a_donors_at_its_place_has_the_share_of_the_words() -> None:
    donor = a_donor(["alpha_line = 1", "total = price * count * rate", "beta_line = 2"])
    version = a_version(opened("alpha_line = 1", "total = price * count * tax", "beta_line = 2"), donor)
    version.take_words((), [donor])
    assert [line.origin for line in version.closed()] == [ONE, LineOrigin(1, 0.75), ONE]


def test_a_donor_line_that_is_unchanged_here_explains_no_other() -> None:
    donor = a_donor(["alpha_line = 1", "total = price * count * rate"])
    lines = opened("alpha_line = 1", "total = price * count * rate", "total = price * count * tax")
    version = a_version(lines, donor)
    version.take_words((), [donor])
    assert states(version) == [1, 1, 0]


def test_uninformative_lines_follow_if_both_neighbors_agree() -> None:
    texts = ["alpha_line = 1", "", "beta_line = 2"]
    version = a_version(opened(*texts), a_donor([texts[0], texts[2]]))
    version.follow()
    assert states(version) == [1, 1, 1]
    version = a_version(opened(*texts), a_donor([texts[0]]))
    version.follow()
    assert states(version) == [1, 0, 0]


def test_a_bracket_at_the_end_follows_the_line_above_and_a_blank_line_does_not() -> None:
    for last, state in (("}", 1), ("", 0), ("else:", 0)):
        version = a_version(opened("alpha_line = 1", last), a_donor(["alpha_line = 1"]))
        version.follow()
        assert states(version) == [1, state], last


def test_uninformative_lines_between_two_changes_stay_unless_they_follow() -> None:
    old = unchanged("first_old = 1", "}", "second_old = 2", origin=TWO)
    hunks = [
        Hunk.at_index(0, 0, ("first_old = 1",), ("first_new = 1",)),
        Hunk.at_index(2, 2, ("second_old = 2",), ("second_new = 2",)),
    ]
    assert states(a_version(splice_commit_hunks(old, hunks))) == [0, 2, 0]
    version = a_version(splice_commit_hunks(old, hunks), a_donor(["first_new = 1", "}", "second_new = 2"]))
    assert states(version) == [1, 1, 1]


def test_a_merge_takes_each_line_from_the_first_parent_that_has_it() -> None:
    ours, theirs = unchanged("ours_line = 1", origin=ONE), unchanged("theirs_line = 2", origin=TWO)
    left = splice_commit_hunks(ours, [Hunk.at_index(1, 1, (), ("theirs_line = 2",))])
    right = splice_commit_hunks(theirs, [Hunk.at_index(0, 0, (), ("ours_line = 1",))])
    lines = join_merge_parents([left, right])
    assert [line.origin.state for line in lines if isinstance(line, VersionLine)] == [1, 2]
    both = join_merge_parents(
        [splice_commit_hunks(ours, []), splice_commit_hunks(unchanged("ours_line = 1", origin=TWO), [])]
    )
    assert [line.origin for line in both if isinstance(line, VersionLine)] == [ONE], "from the first parent"


def test_lines_of_no_parent_are_open_in_a_merge() -> None:
    sides = [
        splice_commit_hunks(unchanged("a_line_of_ours = 1"), [Hunk.at_index(1, 1, (), ("conflict_resolved = 3",))])
        for _ in range(2)
    ]
    assert [isinstance(line, OpenLine) for line in join_merge_parents(sides)] == [False, True]


def test_an_old_version_has_no_known_origins() -> None:
    assert make_unknown_origin_lines(["alpha_line = 1"]) == [
        VersionLine(make_lineage_key("alpha_line = 1"), True, UNKNOWN, ())
    ]


def test_the_trail_of_commits_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("custody.attribution.origin_search.TRAIL_COMMITS_MAX", 2)
    long = RemovedRun(TracedText(["moved_far_away = compute_it()"], [ONE]), [(EARLIER, EARLIER, EARLIER)])
    version = OpenVersion(opened("moved_far_away = compute_it()"), COMMIT, RULES)
    version.take_moved(long)
    assert version.closed()[0].trail == (EARLIER, SHA)


def test_words_written_after_the_commit_do_not_count() -> None:
    donor = a_donor(["alpha_line = 1", "total = price * count * rate", "beta_line = 2"], at_ns=COMMIT.at_ns + 1)
    lines = opened("alpha_line = 1", "total = price * count * tax", "beta_line = 2")
    version = a_version(lines, donor)
    version.take_words((), [donor])
    assert states(version) == [1, 0, 1]


def test_a_line_from_before_the_call_is_not_the_calls() -> None:
    found = ["alpha_line = 1", "total = price * count"]
    donor = a_donor(["alpha_line = 1", "total = price * count * rate"], [UNKNOWN, ONE], read_before=lambda: found)
    version = a_version(opened(*found), donor)
    version.take_words((), [donor])
    assert states(version) == [0, 0]
    hunk = Hunk.at_index(0, 0, ("total = price * count * rate",), ("total = price * count",))
    version = a_version(splice_commit_hunks(unchanged("total = price * count * rate", origin=ONE), [hunk]))
    version.take_words([(hunk, removed("total = price * count * rate"))], [donor])
    assert states(version) == [0], "restored as it was before the call"


@pytest.mark.parametrize(
    ("at_ns", "overwrote", "expected"),
    [
        (COMMIT.at_ns + 1, COMMIT.at_ns + 1, [0, 0, 0]),
        (COMMIT.at_ns + 1, COMMIT.at_ns - 1, [0, 1, 1]),
        (COMMIT.at_ns - 1, COMMIT.at_ns - 1, [0, 1, 1]),
        (COMMIT.at_ns - 1, None, [1, 1, 1]),
    ],
)
def test_lines_of_a_call_that_overwrote_an_uncaptured_text_may_be_older(
    at_ns: int, overwrote: int | None, expected: list[int]
) -> None:
    lines = ["alpha_line = 1", "beta_line = 2", "gamma_line = 3"]
    donor = a_donor(lines, at_ns=at_ns)
    version = OpenVersion(opened(*lines), COMMIT, RULES, removed=["alpha_line = 1"], overwrote={1: overwrote}.get)
    version.take_from([donor])
    assert states(version) == expected
    later = a_donor(lines, at_ns=at_ns, state=2)
    version = OpenVersion(opened(*lines), COMMIT, RULES, removed=["alpha_line = 1"], overwrote={1: overwrote}.get)
    version.take_from([later])
    assert states(version) == expected, "a later call with the same lines adds no evidence"


def test_lines_match_despite_different_white_space() -> None:
    donor = a_donor(["alpha_line = 1", "    beta_line = 2"])
    assert states(a_version(opened("alpha_line=1", "\tbeta_line = 2"), donor)) == [1, 1]


def test_lines_that_moved_inside_the_donor_are_recognized() -> None:
    block = ["def moved_function(argument):", "    return argument * 2"]
    rest = ["alpha_line = 1", "beta_line = 2", "gamma_line = 3"]
    donor = a_donor([*block, *rest], [ONE, ONE, UNKNOWN, UNKNOWN, UNKNOWN])
    assert states(a_version(opened(*rest, *block), donor)) == [0, 0, 0, 1, 1]


def test_a_settled_version_has_no_informative_open_line() -> None:
    version = a_version(opened("alpha_line = 1", "}"), a_donor(["alpha_line = 1"]))
    assert (version.is_settled, version.open_keys) == (True, [])
    version = a_version(opened("alpha_line = 1", "alpha_line = 1", "}"))
    assert (version.is_settled, version.open_keys) == (False, [make_lineage_key("alpha_line = 1")])
