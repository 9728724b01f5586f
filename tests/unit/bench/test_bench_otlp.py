"""The span bench: nothing is lost, and its files contain all parents."""

import io
import json
from pathlib import Path

import pytest

from bench import otlp
from bench.runner import MissingData
from custody.graph.otlp.json import parse_otlp_spans
from custody.graph.wire.otlp_span import OtlpSpan
from tests.builders.otlp import a_request, an_otlp_span


def test_the_table_says_what_became_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "spans.jsonl").write_text(json.dumps(a_request(an_otlp_span(1), an_otlp_span(2, parent=9))))
    out = io.StringIO()
    assert otlp.main([str(tmp_path / "spans.jsonl")], out=out) == 0
    assert "no-parent 1" in out.getvalue() and "MISSED" not in out.getvalue()
    assert out.getvalue().count("= 0 met") == 4


def test_generated_files_have_every_parent_later_in_the_same_trace() -> None:
    spans = [
        one for line in otlp._lines(250) for one in parse_otlp_spans(json.loads(line)) if isinstance(one, OtlpSpan)
    ]
    assert len({(one.trace, one.id) for one in spans}) == 250
    for place, one in enumerate(spans[:200]):
        later = {other.id for other in spans[place + 1 :] if other.trace == one.trace}
        assert (one.parent is None) == (place % 100 == 99) and (one.parent is None or one.parent in later)


def test_without_anything_to_measure_it_says_so() -> None:
    with pytest.raises(MissingData):
        otlp.main([])
