"""A file of decisions is read as far as it can be: packed or not, and a damaged line costs only itself."""

import gzip
import json
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from custody.trust.app.bench import trust_bench
from custody.trust.wire.chance import TrustBenchReport
from custody.workspace.workspace import Progress, Workspace
from tests.builders.decisions import a_row, a_stream, written


def benched(path: Path) -> TrustBenchReport:
    return trust_bench(Workspace(path.parent), path)


def test_a_packed_file_is_the_same_file(tmp_path: Path) -> None:
    plain = written(tmp_path / "s.jsonl", a_stream())
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    one, other = (replace(benched(path), path="") for path in (plain, packed))
    assert one == other


def test_moments_may_be_seconds_or_text(tmp_path: Path) -> None:
    seconds = written(tmp_path / "a.jsonl", [a_row(), a_row(1)])
    text = written(
        tmp_path / "b.jsonl",
        [
            a_row(opened="2023-11-14T22:13:20Z", time="2023-11-14T22:23:20Z"),
            a_row(1, opened=1_700_003_600.0, time="2023-11-14T23:23:20Z"),
        ],
    )
    one, other = (replace(benched(path), path="") for path in (seconds, text))
    assert one == other


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("{", "Input data was truncated"),
        ('{"agent": "robot"}', "Object missing required field"),
        (json.dumps(a_row(decision="liked")), "Invalid enum value 'liked' - at `$.decision`"),
        (json.dumps(a_row(lines=-1)), "Expected `int` >= 0 - at `$.lines`"),
        (json.dumps(a_row(time=5)), "decided before it was opened"),
        (json.dumps(a_row(opened="noon")), "'noon' is not a moment"),
        (json.dumps(a_row(time=1e300)), "the moment is outside the years 1678 to 2261"),
        ("[" * 100_000, "Expected `object`, got `array`"),
        ('{"agent": "' + "x" * (1 << 20) + '"}', "a line of more than 1,048,576 bytes"),
        ("\x00\x01", "JSON is malformed"),
    ],
)
def test_a_damaged_line_is_named_and_costs_only_itself(tmp_path: Path, line: str, what: str) -> None:
    path = written(tmp_path / "s.jsonl", [a_row()], line, "", json.dumps(a_row(1)))
    report = benched(path)
    assert (report.decisions, report.damaged_count) == (2, 1)
    (damaged,) = report.damaged
    assert damaged.line == 2
    assert what in damaged.what


def test_a_packed_file_that_is_cut_off_is_used_as_far_as_it_goes(tmp_path: Path) -> None:
    rows = [a_row(place, agent=f"{Random(place).random()}") for place in range(2000)]
    whole = gzip.compress(written(tmp_path / "s.jsonl", rows).read_bytes())
    (tmp_path / "cut.gz").write_bytes(whole[: len(whole) // 2])
    report = benched(tmp_path / "cut.gz")
    assert 0 < report.decisions < 2000
    assert report.damaged_count == 1
    assert "the packed file is damaged from here on" in report.damaged[0].what


def test_areas_and_operators_are_read(tmp_path: Path) -> None:
    rows = [a_row(0, area="src", operator="ana"), a_row(1, areas=["src", "docs"]), a_row(2, repo="owner/name")]
    report = benched(written(tmp_path / "s.jsonl", rows))
    assert (report.decisions, report.damaged_count, report.repositories) == (3, 0, 2)


def test_progress_is_told(tmp_path: Path) -> None:
    started: list[tuple[str, int | None]] = []
    steps: list[int] = []
    workspace = Workspace(tmp_path, progress=Progress(lambda what, total: started.append((what, total)), steps.append))
    trust_bench(workspace, written(tmp_path / "s.jsonl", a_stream()))
    assert started == [("reading", None), ("replaying", 120)]
    assert sum(steps) == 120
