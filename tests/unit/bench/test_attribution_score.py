from pathlib import Path

import pytest

from bench.attribution.answers import Nobody, Oracle, Question, spread_out
from bench.attribution.score import NOTHING, Outcome, Said, Sort, by_sort, calibration, judged, tally_of
from bench.attribution.truth import EITHER, PERSON, Line, the_agent
from bench.attribution.world import a_world

AGENT = the_agent("s1")
LINES = [
    Line("first statement here", AGENT),
    Line("second statement here", PERSON),
    Line("third statement here", EITHER),
    Line("fourth statement here", AGENT),
]
RIGHT = Said("s1", 2, "agent")


def test_the_truth_itself_is_exact() -> None:
    tally = tally_of(judged("f", LINES, [RIGHT, NOTHING, RIGHT, RIGHT]))
    assert (tally.precision, tally.recall, tally.exact) == (1.0, 1.0, True)


def test_saying_nothing_has_no_recall_and_costs_no_precision() -> None:
    tally = tally_of(judged("f", LINES, []))
    assert (tally.precision, tally.recall, tally.exact) == (1.0, 0.0, False)


@pytest.mark.parametrize(
    ("answers", "outcome", "precision", "recall"),
    [
        ([RIGHT, RIGHT, NOTHING, RIGHT], Outcome.STOLEN, 2 / 3, 1.0),
        ([RIGHT, NOTHING, NOTHING, Said("s2", 1, "agent")], Outcome.MISTAKEN, 0.5, 0.5),
        ([RIGHT, NOTHING, NOTHING, NOTHING], Outcome.MISSED, 1.0, 0.5),
    ],
)
def test_every_kind_of_error_is_caught(answers: list[Said], outcome: Outcome, precision: float, recall: float) -> None:
    tally = tally_of(judged("f", LINES, answers))
    assert tally.count(outcome) == 1
    assert tally.precision == pytest.approx(precision) and tally.recall == pytest.approx(recall)
    assert not tally.exact


def test_a_line_that_people_may_dispute_counts_for_nothing() -> None:
    given = tally_of(judged("f", LINES, [RIGHT, NOTHING, Said("s9", 1, "agent"), RIGHT]))
    assert given.exact and given.count(Outcome.LEFT_OUT) == 1


def test_lines_are_sorted_by_what_they_say() -> None:
    lines = [Line(text, AGENT) for text in ("return None", "  return value", "return value", "one of a kind", "}")]
    sorts = [one.sort for one in judged("f", lines, [])]
    assert sorts == [Sort.SAYS_LITTLE, Sort.BOILERPLATE, Sort.BOILERPLATE, Sort.ORDINARY, Sort.SAYS_LITTLE]
    assert by_sort(judged("f", lines, []))[Sort.BOILERPLATE].count(Outcome.MISSED) == 2


def test_calibration_is_by_tier_and_class_of_what_was_given() -> None:
    answers = [Said("s1", 1, "agent"), Said("s1", 4, "mixed"), NOTHING, Said("s1", 1, "agent")]
    found = calibration(judged("f", LINES, answers))
    assert found[1, "agent"].precision == 1.0 and found[4, "mixed"].precision == 0.0


def test_an_answer_for_more_lines_than_there_are_is_cut() -> None:
    assert spread_out([(1, 9, RIGHT)], 2) == [RIGHT, RIGHT]


def test_the_stand_ins_say_the_truth_and_nothing(tmp_path: Path) -> None:
    question = Question(a_world(tmp_path), "f", LINES, committed=True)
    assert tally_of(judged("f", LINES, Oracle().answer(question))).exact
    assert set(Nobody().answer(question)) == {NOTHING}
