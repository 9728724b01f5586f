"""Evidence: signals and the rules that weighed them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.core.evidence import Evidence, Signal
from custody.core.ids import digest_from_bytes

RULES = digest_from_bytes(b"rules")
points = st.floats(-1e6, 1e6) | st.sampled_from((0.1, 0.2, 0.3, 1e16, 1.0, -1e16))
signals = st.builds(Signal, name=st.sampled_from("abcdef"), points=points, why=st.just("seen"))


def test_no_signal_scores_nothing() -> None:
    assert Evidence((), RULES).score == 0.0
    assert Evidence((), RULES).has()
    assert not Evidence((), RULES).has("commit_link")


def test_the_score_by_hand() -> None:
    seen = (Signal("commit_link", 40, "linked"), Signal("range_match", 10, "edited"), Signal("late", -2.5, "later"))
    assert Evidence(seen, RULES).score == 47.5


@given(st.lists(signals, max_size=6), st.data())
def test_the_score_never_depends_on_the_order_of_the_signals(seen: list[Signal], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(seen))
    assert Evidence(tuple(shuffled), RULES).score == Evidence(tuple(seen), RULES).score


@given(st.lists(signals, max_size=6), st.lists(st.sampled_from("abcdefg"), max_size=4))
def test_evidence_has_names_only_when_every_one_was_seen(seen: list[Signal], wanted: list[str]) -> None:
    assert Evidence(tuple(seen), RULES).has(*wanted) == all(any(s.name == name for s in seen) for name in wanted)


def test_evidence_cannot_be_changed_afterwards() -> None:
    evidence = Evidence((Signal("a", 1, "seen"),), RULES)
    with pytest.raises(AttributeError):
        evidence.signals = ()  # type: ignore[misc]
    with pytest.raises(AttributeError):
        evidence.signals[0].points = 2  # type: ignore[misc]
