"""The gate bench on a small store: its data is as described, and it measures both sides."""

import json
from io import StringIO
from pathlib import Path

import pytest

from bench import gate
from bench.bars import BenchError


@pytest.fixture
def place(tmp_path: Path) -> gate.Place:
    return gate.a_place(tmp_path, 20)


def test_a_verdict_on_what_was_made_is_about_every_line_of_it(place: gate.Place) -> None:
    gate.filled(place, 450, 20, lambda _: None)
    said = json.loads(place.verdict())
    assert said["added"]["agent"] == 20
    assert said["chains"][0]["seq"] == 450 + gate.FILES
    assert said["index"]["changes"] == 20
    question = gate.Question("gate")
    assert all(gate.once(question, side, place).clock > 0 for side in ("subject", "baseline"))


def test_a_store_without_an_index_is_not_measured(place: gate.Place) -> None:
    with pytest.raises(BenchError, match="the index is missing"):
        gate.filled(place, 10, 0, lambda _: None)


def test_the_bar_is_held_against_what_is_left_after_the_allowance() -> None:
    steady = (10.0,) * 15
    met = gate.Timed(gate.Question("gate"), steady, (2.9,) * 15, steady)
    missed = gate.Timed(gate.Question("gate"), steady, (3.1,) * 15, steady)
    assert (met.verdict.value, missed.verdict.value) == ("met", "missed")
    assert "unstable" in gate.Timed(gate.Question("gate"), (1.0, 9.0) * 8, steady, steady).verdict.value


def test_a_question_that_is_none_is_refused() -> None:
    with pytest.raises(SystemExit):
        gate.main(["nothing"], out=StringIO(), err=StringIO())
