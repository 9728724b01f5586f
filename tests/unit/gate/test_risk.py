"""The reading order is total and stable, and no claim lowers the risk of a hunk."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from custody.core.paths import Lines
from custody.gate.model import ChangeSpot, Reason, ReasonCode, VerdictLevel
from custody.gate.risk import (
    FACTOR_WORDS,
    SUMMARY_CHARACTERS_MAX,
    SUMMARY_PHRASES,
    HunkFacts,
    RiskLevel,
    assess_hunk_risk,
    rank_hunks,
    summarize_verdict,
)
from custody.runs import TestState as RunState

LEVELS = list(RiskLevel)
ABOUT_AUTHORS = (ReasonCode.ATTR_NONE, ReasonCode.ATTR_SELF, ReasonCode.ATTR_WEAK)
HOSTILE = "\u202e\x1b[2Jsrc/" + "a" * 300 + ".py"


def a_reason(code: ReasonCode, level: VerdictLevel = VerdictLevel.REVIEW, path: str = "a.py") -> Reason:
    return Reason(code, level, "a sentence", "a remedy", (ChangeSpot(path, Lines(1, 3)),))


def a_hunk(**fields: object) -> HunkFacts:
    given: dict[str, object] = {"id": "h", "path": "a.py", "line": 1, "added": 3, "removed": 0} | fields
    return HunkFacts(**given)  # type: ignore[arg-type]  # whatever a test wants to set


def level(hunk: HunkFacts) -> RiskLevel:
    return assess_hunk_risk(hunk).level


reasons = st.lists(st.builds(a_reason, st.sampled_from(ReasonCode), st.sampled_from(VerdictLevel)), max_size=3)
hunks = st.builds(
    HunkFacts,
    id=st.text("abc", min_size=1, max_size=3),
    path=st.sampled_from(("a.py", "b/c.py", HOSTILE)),
    line=st.integers(0, 9),
    added=st.integers(0, 200),
    removed=st.integers(0, 200),
    reasons=reasons.map(tuple),
    is_author_unchecked=st.booleans(),
    risky=st.none() | st.just("**/auth/**"),
    is_tested_code=st.booleans(),
    tests=st.sampled_from(RunState),
    is_test_believed=st.booleans(),
    is_test_file=st.booleans(),
    weakened=st.just(()) | st.just(("not",)),
    unseen=st.none() | st.just("is a binary file"),
    doubted=st.lists(st.sampled_from(("STATEMENT-UNBACKED", "STATEMENT-CONTRADICTED")), unique=True).map(tuple),
)


@given(st.lists(hunks, max_size=6, unique_by=lambda hunk: hunk.id), st.randoms(use_true_random=False))
def test_the_order_is_the_same_however_hunks_come_in(some: list[HunkFacts], random: object) -> None:
    shuffled = list(some)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    ranked = rank_hunks(shuffled)
    assert [hunk.facts.id for hunk in ranked] == [hunk.facts.id for hunk in rank_hunks(some)]
    assert sorted(hunk.facts.id for hunk in ranked) == sorted(hunk.id for hunk in some)
    assert [LEVELS.index(hunk.risk.level) for hunk in ranked] == sorted(LEVELS.index(h.risk.level) for h in ranked)


@given(hunks, st.sampled_from(ABOUT_AUTHORS), st.sampled_from(ABOUT_AUTHORS))
def test_a_claim_about_an_author_weighs_as_much_as_none(hunk: HunkFacts, one: ReasonCode, other: ReasonCode) -> None:
    before, after = (replace(hunk, reasons=(*hunk.reasons, a_reason(code))) for code in (one, other))
    assert level(before) is level(after)


@given(hunks, st.sampled_from(RunState))
def test_a_run_that_is_not_believed_lowers_nothing(hunk: HunkFacts, state: RunState) -> None:
    without = replace(hunk, tests=RunState.NONE, is_test_believed=False)
    assert level(replace(hunk, tests=state, is_test_believed=False)) is level(without)


@given(hunks, reasons)
def test_another_reason_never_lowers_a_level(hunk: HunkFacts, more: list[Reason]) -> None:
    worse = replace(hunk, reasons=(*hunk.reasons, *more))
    assert LEVELS.index(level(worse)) <= LEVELS.index(level(hunk))


def test_missing_evidence_is_urgent_where_the_path_matters() -> None:
    unknown = a_hunk(reasons=(a_reason(ReasonCode.ATTR_NONE),))
    assert level(unknown) is RiskLevel.MEDIUM
    assert level(replace(unknown, risky="**/auth/**")) is RiskLevel.HIGH
    assert level(a_hunk(risky="**/auth/**")) is RiskLevel.MEDIUM
    assert level(a_hunk(reasons=(a_reason(ReasonCode.ATTR_WEAK, VerdictLevel.BLOCK),))) is RiskLevel.HIGH
    assert level(a_hunk(added=500)) is RiskLevel.LOW


@pytest.mark.parametrize(
    ("state", "code"), [("stale", "TEST-STALE"), ("failed", "TEST-FAILED"), ("none", "TEST-NONE"), ("after-edit", None)]
)
def test_each_test_state_has_its_factor(state: str, code: str | None) -> None:
    hunk = a_hunk(is_tested_code=True, tests=RunState(state), is_test_believed=True)
    assert [factor.code for factor in assess_hunk_risk(hunk).factors] == ([] if code is None else [code])


def test_removed_test_lines_and_weakened_lines_are_named() -> None:
    risk = assess_hunk_risk(a_hunk(added=1, removed=3, is_test_file=True, weakened=("assert", "not")))
    assert [factor.words for factor in risk.factors] == [
        "a recorded call removed words: assert not",
        "removes 2 test lines",
    ]


def test_every_reason_has_a_phrase() -> None:
    assert {code.value for code in ReasonCode} <= set(SUMMARY_PHRASES)
    own = {"FILE-UNSEEN", "TEXT-WEAKENED", "TEST-REMOVED", "PATH-RISKY", "SIZE-LARGE", "LINES-REMOVED"}
    later = {"TEST-NONE", "TEST-STALE", "TEST-FAILED", "STATEMENT-UNBACKED", "STATEMENT-CONTRADICTED", "REVIEW-UNREAD"}
    assert set(FACTOR_WORDS) - own - later <= {code.value for code in ReasonCode}


@given(st.lists(st.builds(a_reason, st.sampled_from(ReasonCode), path=st.sampled_from(("a.py", HOSTILE))), max_size=4))
def test_a_summary_is_one_short_sentence(some: list[Reason]) -> None:
    summary = summarize_verdict(some, "2 added lines: 2 people")
    assert len(summary) <= SUMMARY_CHARACTERS_MAX and summary.endswith(".") and "{" not in summary


def test_a_summary_names_lines_and_files() -> None:
    one = a_reason(ReasonCode.ATTR_NONE, path="src/fees.py")
    assert summarize_verdict([one], "") == "Nothing shows who wrote 3 lines of fees.py."
    two = Reason(ReasonCode.ATTR_WEAK, VerdictLevel.REVIEW, "", "", (*one.spots, ChangeSpot("b.py", Lines(1, 1))))
    assert summarize_verdict([one, two], "") == (
        "Nothing shows who wrote 3 lines of fees.py, and weak evidence shows who wrote 4 lines of 2 files."
    )
