"""Finding spans takes the same steps among few and many of them."""

from dataclasses import replace
from pathlib import Path

from bench.growth import grow
from bench.runner import Ground, Verdict
from bench.span_growth import BENCHES


def test_spans_are_found_at_the_same_cost_among_ten_times_as_many(tmp_path: Path) -> None:
    (bench,) = BENCHES
    grown = grow(replace(bench, small=500, large=5_000), Ground(tmp_path))
    assert {look_up: grown.verdict(look_up) for look_up in grown.small} == dict.fromkeys(grown.small, Verdict.MET)
    assert len(grown.small) == 4
