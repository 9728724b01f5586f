"""A file of decisions is read completely, compressed or not, or its first damaged line is named."""

import gzip
import json
from pathlib import Path
from random import Random

import pytest

from bench.bars import BenchError
from bench.trust_decisions import read_decisions
from tests.builders.decisions import a_row, a_stream, written


def test_a_packed_file_is_the_same_file(tmp_path: Path) -> None:
    plain = written(tmp_path / "s.jsonl", a_stream())
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert read_decisions(packed) == read_decisions(plain)


def test_times_may_be_seconds_or_text(tmp_path: Path) -> None:
    seconds = written(tmp_path / "a.jsonl", [a_row(), a_row(1)])
    text = written(
        tmp_path / "b.jsonl",
        [
            a_row(opened="2023-11-14T22:13:20Z", time="2023-11-14T22:23:20Z"),
            a_row(1, opened=1_700_003_600.0, time="2023-11-14T23:23:20Z"),
        ],
    )
    assert read_decisions(text) == read_decisions(seconds)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("{", "Input data was truncated"),
        ('{"agent": "robot"}', "Object missing required field"),
        (json.dumps(a_row(decision="liked")), "Invalid enum value 'liked' - at `$.decision`"),
        (json.dumps(a_row(lines=-1)), "Expected `int` >= 0 - at `$.lines`"),
        (json.dumps(a_row(time=5)), "decided before it was opened"),
        (json.dumps(a_row(opened="noon")), "invalid timestamp 'noon'"),
        (json.dumps(a_row(time=1e300)), "the timestamp is outside the years 1678 to 2261"),
        ("[" * 100_000, "Expected `object`, got `array`"),
        ('{"agent": "' + "x" * (1 << 20) + '"}', "more than 1,048,576 bytes"),
        ("\x00\x01", "JSON is malformed"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: str, what: str) -> None:
    path = written(tmp_path / "s.jsonl", [a_row()], "", line, json.dumps(a_row(1)))
    with pytest.raises(BenchError) as caught:
        read_decisions(path)
    assert "s.jsonl: line 3: " in str(caught.value)
    assert what in str(caught.value)


def test_a_packed_file_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    rows = [a_row(place, agent=f"{Random(place).random()}") for place in range(2000)]
    whole = gzip.compress(written(tmp_path / "s.jsonl", rows).read_bytes())
    (tmp_path / "cut.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BenchError, match=r"damaged after line \d+"):
        read_decisions(tmp_path / "cut.gz")


def test_areas_and_operators_are_read(tmp_path: Path) -> None:
    rows = [a_row(0, area="src", operator="ana"), a_row(1, areas=["src", "docs"]), a_row(2, repo="owner/name")]
    stream = read_decisions(written(tmp_path / "s.jsonl", rows))
    assert [(change.case.areas, change.case.operator) for change in stream] == [
        (("src",), "ana"),
        (("src", "docs"), None),
        ((), None),
    ]
    assert {change.case.repository for change in stream} == {"7", "owner/name"}


def test_an_unreadable_file_is_refused(tmp_path: Path) -> None:
    for path, problem in ((tmp_path / "none", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(BenchError, match=problem):
            read_decisions(path)
    with pytest.raises(BenchError, match="no decisions"):
        read_decisions(written(tmp_path / "empty.jsonl", []))
