import io
import json
from pathlib import Path

import pytest

from bench.__main__ import main
from bench.dupes_pairs import (
    PairPrediction,
    calibration_error,
    dupes_bench,
    exact_recall,
    false_flags,
    recall_at,
    recall_at_precision,
)
from custody.core.errors import InputError
from tests.unit.dupes.app.test_dupes import RETRY, STRICT, World


@pytest.fixture(name="world")
def a_world(tmp_path: Path) -> World:
    return World(tmp_path / "repo")


def told(
    kind: str = "cherry_pick",
    *,
    duplicate: bool = True,
    place: int | None = 0,
    chance: float = 0.9,
    exact: bool = False,
) -> PairPrediction:
    return PairPrediction(
        kind=kind,
        is_duplicate=duplicate,
        is_exact=exact,
        place=place,
        exact=exact and place is not None,
        flagged=chance > 0.5,
        by_document=False,
        chance=chance,
    )


def no(chance: float = 0.1) -> PairPrediction:
    return told("neg_random", duplicate=False, chance=chance)


def test_recall_counts_places_of_duplicates_only() -> None:
    some = [told(place=0), told(place=4), told(place=5), told(place=None), no()]
    assert [recall_at(some, most) for most in (1, 5, 20)] == [0.25, 0.5, 0.75]
    assert recall_at([no()], 5) is None


def test_exact_pairs_count_when_they_are_found_as_such() -> None:
    assert exact_recall([told(exact=True), told(exact=True, place=None), told()]) == 0.5
    assert exact_recall([told()]) is None


def test_recall_at_a_precision_is_the_best_threshold_that_holds_it() -> None:
    some = [told(chance=0.9), told(chance=0.8), no(0.7), told(chance=0.6), told(place=None, chance=0.99)]
    assert recall_at_precision(some, "cherry_pick", 0.95) == 0.5
    assert recall_at_precision(some, "cherry_pick", 0.75) == 0.75
    assert recall_at_precision([no()], "cherry_pick", 0.95) is None


def test_false_flags_are_of_one_kind() -> None:
    assert false_flags([no(0.9), no(0.1), told()], "neg_random") == 0.5
    assert false_flags([told()], "neg_random") is None


def test_calibration_is_how_far_chances_are_from_what_happened() -> None:
    assert calibration_error([told(chance=0.95), no(0.95)]) == pytest.approx(0.45)
    assert calibration_error([]) is None


def test_bench_measures_labelled_pairs(world: World, tmp_path: Path) -> None:
    first = world.propose(1, {b"src/app.py": RETRY}, "Retry step 3")
    same = world.propose(2, {b"src/app.py": RETRY, b"LICENSE": b"free\n"}, "Robust", on=world.main)
    other = world.propose(3, {b"src/parser.py": STRICT}, "Refuse NaN")
    pairs = [
        {"a_sha": first, "a_base": world.root, "b_sha": same, "b_base": world.main, "label": "SAME_CHANGE"}
        | {"kind": "cherry_pick", "exact": True, "a_time": 1, "b_time": 2},
        {"a_sha": first, "a_base": world.root, "b_sha": other, "b_base": world.root, "label": "NOT_RELATED"}
        | {"kind": "neg_random", "a_time": 1, "b_time": 3},
    ]
    file = tmp_path / "pairs.jsonl"
    file.write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    report = dupes_bench(world.workspace, file, others=0)
    assert (report.pairs, report.changes, report.unread) == (2, 3, 0)
    assert (report.exact_recall, report.recall_at_1, report.false_flags_random) == (1.0, 1.0, 0.0)
    assert report.false_flags_hard is None
    assert not list((world.built.path / ".git").glob("custody/custody.db"))


@pytest.mark.parametrize(
    ("line", "words"), [("{", "line 1 is not a labeled pair"), ('{"a_sha": 1}', "line 1 is not a labeled pair")]
)
def test_a_file_of_pairs_that_is_none_is_named(world: World, tmp_path: Path, line: str, words: str) -> None:
    (tmp_path / "pairs.jsonl").write_text(line)
    with pytest.raises(InputError, match=words):
        dupes_bench(world.workspace, tmp_path / "pairs.jsonl")


def test_the_bench_ends_with_one_json_object(world: World, tmp_path: Path) -> None:
    first = world.propose(1, {b"src/app.py": RETRY}, "Retry step 3")
    same = world.propose(2, {b"src/app.py": RETRY, b"LICENSE": b"free\n"}, "Robust", on=world.main)
    pair = {"a_sha": first, "a_base": world.root, "b_sha": same, "b_base": world.main, "label": "SAME_CHANGE"}
    more = {"kind": "cherry_pick", "exact": True, "a_time": 1, "b_time": 2}
    (tmp_path / "pairs.jsonl").write_text(json.dumps(pair | more) + "\n")
    out, err = io.StringIO(), io.StringIO()
    words = ["--pairs", str(tmp_path / "pairs.jsonl"), "--repo", str(world.built.path), "--others", "0"]
    assert main(["dupes-pairs", *words], out=out, err=err) == 0
    figures = json.loads(out.getvalue().splitlines()[-1])
    names = "exact_recall recall_at_1 recall_at_5 recall_at_20 recall_at_p95 false_flags_hard false_flags_random ece"
    assert set(f"{names} candidates_median candidates_p95".split()) <= figures.keys()
    assert figures["exact_recall"] == 1.0
