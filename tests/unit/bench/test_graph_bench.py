"""The graph benches: their input, and that both sides do the same job."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from bench.bars import BenchError
from bench.graph import hub_sides, memory_row, ours, pair_sides, theirs
from bench.graph_next import main, sessions_of, told_of
from custody.graph.calls import CallPlace, SequenceCall


def test_both_sides_hold_the_same_edges() -> None:
    engine, graph = ours(2_000), theirs(2_000)
    mine = {(edge.start, edge.end, edge.type) for edge in engine.get_graph_snapshot().edges}
    assert mine == set(graph.edges(keys=True))


def test_both_sides_find_the_same_costs_and_as_many_nodes() -> None:
    pair_sides(2_000)
    sides = hub_sides(2_000)
    mine: Any = sides.subject()
    found: Any = sides.baseline()
    assert len(mine) == len(found) > 0


def test_memory_is_reported_with_its_bar() -> None:
    edges, mine, other, *_ = memory_row(1_000)
    assert edges == "1,000" and int(mine.replace(",", "")) < int(other.replace(",", ""))


def a_transcript(folder: Path, name: str, day: int, tools: list[str]) -> None:
    lines: list[Any] = [
        {"type": "user", "uuid": "u1", "message": {"content": "do it"}, "timestamp": "2026-01-01T00:00:00Z"}
    ]
    for number, tool in enumerate(tools):
        at = f"2026-01-{day:02d}T00:00:{number:02d}Z"
        use = {"type": "tool_use", "id": f"c{number}", "name": tool, "input": {"file_path": "a.py"}}
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "is_error": tool == "Edit"}
        lines.append({"type": "assistant", "message": {"id": f"m{number}", "content": [use]}, "timestamp": at})
        lines.append({"type": "user", "message": {"content": [result]}, "timestamp": at})
    (folder / f"{name}.jsonl").write_text("\n".join(json.dumps(line) for line in lines) + "\n{torn")


def test_transcripts_are_read_by_time_with_their_outcomes(tmp_path: Path) -> None:
    a_transcript(tmp_path, "late", 9, ["Read"])
    a_transcript(tmp_path, "early", 2, ["Read", "Edit"])
    early, late = sessions_of(tmp_path, fine=True)
    assert [(call.name, call.failed, call.message) for call in early] == [
        ("Read .py", False, "m0"),
        ("Edit .py", True, "m1"),
    ]
    assert (early[0].place.node, len(late)) == ("turn", 1)


def test_figures_are_reported_for_fine_and_plain_names(tmp_path: Path) -> None:
    for day in range(1, 9):
        a_transcript(tmp_path, f"s{day}", day, ["Read", "Edit", "Read", "Bash"])
    out = StringIO()
    assert main([str(tmp_path)], out=out) == 0
    assert out.getvalue().count("order-1 Markov") == 2


def test_too_few_sessions_give_no_figure(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="0 sessions"):
        main([str(tmp_path)], out=StringIO())


def test_where_two_calls_back_decide_the_last_one_alone_does_not_do() -> None:
    calls = [SequenceCall(name, name, CallPlace("t", "turn")) for name in "abcdbe" * 4]
    told = told_of([calls] * 10)
    assert told.right["ours"] > told.right["order-1 Markov"] > told.right["popularity"]
    assert told.calibration < 0.2
