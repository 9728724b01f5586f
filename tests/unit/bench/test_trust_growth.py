"""Reading a score takes the same steps among few and many decisions."""

from dataclasses import replace
from pathlib import Path

from bench.growth import grow
from bench.runner import Ground, Verdict
from bench.trust_growth import BENCHES


def test_a_score_costs_the_same_among_ten_times_as_many_decisions(tmp_path: Path) -> None:
    (bench,) = BENCHES
    grown = grow(replace(bench, small=600, large=6_000), Ground(tmp_path))
    assert {look_up: grown.verdict(look_up) for look_up in grown.small} == dict.fromkeys(grown.small, Verdict.MET)
    assert grown.ratio("score") < 1.1
