"""``python -m bench trust``: figures against their bars, of a stream and of its parts."""

import io
import json
import re
from pathlib import Path
from typing import Any

from bench.__main__ import main
from bench.trust import parts_of
from bench.trust_decisions import read_decisions
from tests.builders.decisions import a_row, a_stream, written


def run(*words: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    status = main(["trust", *words], out=out, err=err)
    return status, out.getvalue(), err.getvalue()


def told(*words: str) -> list[dict[str, Any]]:
    status, out, _ = run(*words, "--json")
    assert status == 0
    answer: list[dict[str, Any]] = json.loads(out)
    return answer


def test_every_bar_has_its_figure_and_its_verdict(tmp_path: Path) -> None:
    status, out, err = run(str(written(tmp_path / "s.jsonl", a_stream())))
    assert (status, err) == (0, "")
    for words in ("log loss over that of the document's score", "AUC above", "≤ 0.88", "≥ 0.01", "risk target"):
        assert words in out
    for name in ("constant rate", "document's score, with stakes", "Beta per agent", "ours"):
        assert out.count(f"\n{name} ") == 2
    assert len(re.findall(r"  (?:met|missed)\b", out)) == 5


def test_a_missed_bar_is_reported_and_fails_only_on_request(tmp_path: Path) -> None:
    """Two agents that do not differ: no model can beat the constant rate by much."""
    rows = [a_row(n, agent=f"a{n % 2}", decision=("accepted", "rejected")[n // 2 % 2]) for n in range(60)]
    path = str(written(tmp_path / "s.jsonl", rows))
    assert run(path)[0] == 0
    assert run(path, "--strict")[0] == 1


def test_parts_are_the_stream_again_by_agent_and_by_half(tmp_path: Path) -> None:
    rows = [a_row(n, agent=f"a{n % 3}", repo=f"r{n % 7}") for n in range(42)]
    stream = read_decisions(written(tmp_path / "s.jsonl", rows))
    parts = parts_of("s", stream)
    assert [name.partition(": ")[2] for name in parts] == [
        *("agent a0", "agent a1", "agent a2"),
        *("repositories, half 1", "repositories, half 2"),
    ]
    assert sum(len(part) for name, part in parts.items() if "agent" in name) == 42
    halves = [{one.case.repository for one in part} for name, part in parts.items() if "half" in name]
    assert not halves[0] & halves[1]


def test_json_has_every_stream(tmp_path: Path) -> None:
    (whole, *parts) = told(str(written(tmp_path / "s.jsonl", a_stream())), "--parts")
    assert (whole["stream"], whole["decisions"]) == ("s.jsonl", 120)
    assert len(whole["figures"]) == 5
    assert {part["stream"] for part in parts} >= {"s.jsonl: agent good", "s.jsonl: agent bad"}


def test_a_damaged_stream_has_no_figures(tmp_path: Path) -> None:
    status, out, err = run(str(written(tmp_path / "s.jsonl", a_stream(), "{")))
    assert (status, out) == (1, "")
    assert "line 121: Input data was truncated" in err
    assert run(str(tmp_path / "none"))[0] == 1
