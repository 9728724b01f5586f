"""Replay: text that a call added is credited to its agent, text that changed between two calls is not."""

import pytest

from custody.attribution.lineage import (
    BETWEEN,
    NOTHING,
    UNKNOWN,
    CapturedStep,
    LineOrigin,
    TracedText,
    carry_origins,
    make_person_origin,
    replay_step,
)
from custody.attribution.rules import AttributeRules

RULES = AttributeRules()
OLD = ["import alpha_module", "price = read_price()", "print_all(price)"]
ADDED = ["rate = read_rate()", "total = price * rate"]
AFTER = [*OLD[:2], *ADDED, OLD[2]]
ONE, TWO = LineOrigin(1), LineOrigin(2)


def states(known: TracedText) -> list[int]:
    return [origin.state for origin in known.origins]


def after_one() -> TracedText:
    """Return a person's file to which the first call added two lines."""
    return replay_step(CapturedStep(1, OLD, AFTER), None, RULES)


def test_added_lines_are_the_agents_and_the_others_are_unknown() -> None:
    assert after_one() == TracedText(AFTER, (UNKNOWN, UNKNOWN, ONE, ONE, UNKNOWN))


def test_all_lines_of_a_new_file_are_the_agents() -> None:
    assert replay_step(CapturedStep(1, None, AFTER), None, RULES).origins == (ONE,) * 5
    assert replay_step(CapturedStep(1, [], AFTER), None, RULES).origins == (ONE,) * 5


def test_text_written_between_two_calls_is_not_the_next_calls() -> None:
    between = [*AFTER, "person_was_here = 1"]
    known = replay_step(CapturedStep(2, between, [*between, "agent_again = 2"]), after_one(), RULES)
    assert known.origins[-2:] == (BETWEEN, TWO)


def test_a_persons_line_inside_the_agents_text_stays_the_persons() -> None:
    before = [*AFTER[:3], "person_inside = between_the_lines()", *AFTER[3:]]
    rewritten = [*before[:2], "rate = ask_for(rate_service)", *before[3:]]
    known = replay_step(CapturedStep(2, before, rewritten), after_one(), RULES)
    assert states(known) == [0, 0, 2, -1, 1, 0]


def test_rewriting_a_file_does_not_claim_unchanged_lines() -> None:
    before = [*OLD, "person_line_one = 1", "person_line_two = 2"]
    written = replay_step(CapturedStep(1, None, OLD), None, RULES)
    known = replay_step(CapturedStep(2, before, ["# made by the agent", *before]), written, RULES)
    assert states(known) == [2, 1, 1, 1, -1, -1]


def test_an_observation_writes_nothing() -> None:
    known = replay_step(CapturedStep(2, None, [*AFTER, "appeared_meanwhile = 1"], is_call=False), after_one(), RULES)
    assert states(known) == [0, 0, 1, 1, 0, -1]
    first = replay_step(CapturedStep(1, None, OLD, is_call=False), None, RULES)
    assert first.origins == (UNKNOWN,) * 3, "the first observation does not show an author"


def test_a_call_without_a_text_before_continues_from_the_last_state() -> None:
    known = replay_step(CapturedStep(2, None, [*AFTER, "second_call = 1"]), after_one(), RULES)
    assert states(known) == [0, 0, 1, 1, 0, 2]


def test_lines_that_a_person_changed_before_they_were_applied_are_the_persons() -> None:
    proposed = [*OLD, "agent_wrote_this = 1", "agent_wrote_that = 2"]
    applied = [*OLD, "agent_wrote_this = 1", "person_wrote_that = 3"]
    known = replay_step(CapturedStep(7, OLD, applied, proposed=proposed), None, RULES)
    assert known.origins == (UNKNOWN, UNKNOWN, UNKNOWN, LineOrigin(7), make_person_origin(7))
    assert (make_person_origin(7).is_person, make_person_origin(7).record_state, make_person_origin(7).is_agent) == (
        True,
        7,
        False,
    )


def test_a_person_is_not_credited_with_lines_before_the_call() -> None:
    known = replay_step(CapturedStep(7, AFTER, AFTER, proposed=[]), after_one(), RULES)
    assert states(known) == [0, 0, 1, 1, 0]


def test_unknown_origins_are_neither_agent_nor_person() -> None:
    for origin in (UNKNOWN, BETWEEN):
        assert (origin.is_agent, origin.is_person, origin.record_state, origin.share) == (False, False, None, 0.0)
    assert (ONE.is_agent, ONE.record_state) == (True, 1)


def test_lines_that_moved_inside_the_file_keep_their_origin() -> None:
    block = ["def moved_function(argument):", "    return argument * 2", "}"]
    rest = ["alpha_line = 1", "beta_line = 2", "gamma_line = 3", "delta_line = 4"]
    known = carry_origins(TracedText([*block, *rest], [ONE] * 3 + [UNKNOWN] * 4), [*rest, *block], BETWEEN, 0.7)
    assert states(known) == [0, 0, 0, 0, 1, 1, 1]


def test_the_same_boilerplate_typed_elsewhere_is_new() -> None:
    old = TracedText(["alpha_line = 1", "logger = getLogger(__name__)", "beta_line = 2"], [UNKNOWN, ONE, UNKNOWN])
    new = ["logger = getLogger(__name__)", *old.lines]
    assert states(carry_origins(old, new, BETWEEN, 0.7)) == [-1, 0, 1, 0]


@pytest.mark.parametrize(
    ("line", "state", "share"),
    [
        ("total = price * count * rate + tax", 1, 0.8),
        ("total = price * count * rate + tax + fee", 1, 4 / 6),
        ("total = price * other + tax + fee", -1, 0.0),
        ("total = price * count * rate", 1, 1.0),
    ],
)
def test_an_edited_line_has_the_share_of_its_unchanged_words(line: str, state: int, share: float) -> None:
    old = TracedText(["total = price * count * rate"], [ONE])
    (origin,) = carry_origins(old, [line, "unrelated_newcomer()"], BETWEEN, 0.66).origins[:1]
    assert (origin.state, round(origin.share, 6)) == (state, round(share, 6))


def test_from_the_threshold_on_a_line_keeps_its_origin() -> None:
    old = TracedText(["a1 b2 c3 d4 e5 f6 g7 h8 i9 j0"], [ONE])
    new = ["a1 b2 c3 d4 e5 f6 g7 xx yy zz"]
    assert carry_origins(old, new, BETWEEN, 0.7).origins == (LineOrigin(1, 0.7),)
    assert carry_origins(old, new, BETWEEN, 0.71).origins == (BETWEEN,)


def test_inside_one_call_a_nearly_equal_line_is_the_agents() -> None:
    old = ["total = price * count * rate + shipping + tax"]
    new = ["total = price * count * rate + shipping + fee"]
    assert replay_step(CapturedStep(1, old, new), None, RULES).origins == (ONE,)


def test_a_formatter_changes_no_origin() -> None:
    old = TracedText(["send('alpha', 'beta', gamma)", "person_line = 1"], [ONE, UNKNOWN])
    new = ["send(", '    "alpha",', '    "beta",', "    gamma,", ")", "person_line = 1"]
    assert states(carry_origins(old, new, BETWEEN, 0.7)) == [1, 1, 1, 1, 1, 0]


def test_a_line_of_two_authors_goes_to_the_one_with_most_words() -> None:
    old = TracedText(["alpha beta gamma", "delta"], [ONE, UNKNOWN])
    (origin,) = carry_origins(old, ["alpha beta gamma delta"], BETWEEN, 0.7).origins
    assert origin == LineOrigin(1, 0.75)
    old = TracedText(["alpha", "beta gamma delta"], [ONE, UNKNOWN])
    (origin,) = carry_origins(old, ["alpha beta gamma delta"], BETWEEN, 0.7).origins
    assert origin == UNKNOWN
    old = TracedText(["alpha beta", "gamma delta"], [ONE, UNKNOWN])
    (origin,) = carry_origins(old, ["alpha beta gamma delta"], BETWEEN, 0.7).origins
    assert origin == UNKNOWN, "not the agent in a tie"


def test_two_agents_words_are_both_agents_words() -> None:
    old = TracedText(["alpha beta gamma", "delta"], [ONE, TWO])
    (origin,) = carry_origins(old, ["alpha beta gamma delta"], BETWEEN, 0.7).origins
    assert origin == LineOrigin(1, 1.0)


def test_a_share_only_ever_shrinks() -> None:
    half = carry_origins(TracedText(["a1 b2 c3"], [ONE]), ["a1 b2 c3 d4"], BETWEEN, 0.7)
    assert half.origins == (LineOrigin(1, 0.75),)
    (again,) = carry_origins(half, ["a1 b2 c3 d4 e5"], BETWEEN, 0.7).origins
    assert again == LineOrigin(1, 0.6)


def test_empty_texts_carry_nothing() -> None:
    assert carry_origins(NOTHING, [], BETWEEN, 0.7).origins == ()
    assert carry_origins(after_one(), [], BETWEEN, 0.7).origins == ()
