"""The document's models: their fields and defaults, their bounds, and errors that name what is wrong."""

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import asdict

from custody.cite.model import (
    ResearchSource,
    SourceError,
    SourceIdentity,
    SourceUsage,
    degraded,
    is_validated,
    moment_from,
)
from custody.cite.results import (
    FindingCluster,
    HierarchicalFinding,
    ResearchResults,
    quality_metrics,
    source_from,
    with_ids,
    with_sources,
)
from tests.builders.table import table


# Conformance: 003-030
def test_a_source_has_the_documents_fields_and_defaults() -> None:
    source = ResearchSource(title="t")
    assert [*asdict(source).items()] == [
        ("source_id", None),
        ("canonical_key", None),
        ("title", "t"),
        ("url", None),
        ("author", None),
        ("publisher", None),
        ("date", None),
        ("source_type", None),
        ("credibility_score", 0.5),
        ("relevance_score", 0.5),
        ("metadata", {}),
    ]


# Conformance: 003-009, 003-010, 003-012, 003-095
def test_identity_and_usage_are_the_documents() -> None:
    assert SourceIdentity.build(3, "url:x") == SourceIdentity(source_id="S3", canonical_key="url:x", version=1)
    assert SourceUsage("S1") == SourceUsage("S1", (), (), (), ())
    with pytest.raises(AttributeError):
        SourceUsage("S1").source_id = "S2"  # type: ignore[misc]


# Conformance: 003-031, 003-032, 003-034
@table(
    ("said", "wrong"),
    [
        ({"title": ""}, "title and URL are both missing"),
        ({"title": " ", "url": " "}, "title and URL are both missing"),
        ({"title": None}, "title is None, not text"),
        ({"title": 3}, "title is 3, not text"),
        ({"title": "t", "credibility_score": 1.01}, "credibility_score is 1.01, not a number from 0 to 1"),
        ({"title": "t", "relevance_score": -0.1}, "relevance_score is -0.1"),
        ({"title": "t", "relevance_score": float("nan")}, "relevance_score is nan"),
        ({"title": "t", "relevance_score": True}, "relevance_score is True"),
        ({"title": "t", "relevance_score": "high"}, "relevance_score is 'high'"),
        ({"title": "t", "date": "2026-01-31"}, "date is '2026-01-31', not a datetime"),
        ({"title": "t", "source_id": "S0"}, "source_id is invalid: 'S0'"),
        ({"title": "t", "source_id": "3"}, "source_id is invalid: '3'"),
        ({"title": "x" * 5000}, "title has 5,000 bytes"),
        ({"title": "t", "metadata": []}, "metadata is \\[\\], not a mapping"),
        ({"title": "t", "metadata": {"f": object}}, "metadata contains .* which is not JSON"),
        ({"title": "t", "metadata": {"f": float("inf")}}, "metadata contains inf"),
    ],
)
def test_invalid_fields_are_named(said: dict[str, Any], wrong: str) -> None:
    with pytest.raises(SourceError, match=wrong):
        ResearchSource(**said)


# Conformance: 003-033, 003-064
def test_metadata_is_the_sources_own() -> None:
    said = {"tags": ["a"], "when": datetime(2026, 1, 31, tzinfo=UTC)}
    source = ResearchSource(title="t", metadata=said)
    said["tags"].append("b")  # type: ignore[attr-defined]
    assert source.metadata == {"tags": ["a"], "when": "2026-01-31T00:00:00+00:00"}
    deep: Any = {}
    for _ in range(20):
        deep = {"d": deep}
    with pytest.raises(SourceError, match="nested deeper than 16"):
        ResearchSource(title="t", metadata=deep)


# Conformance: 003-035
@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "2026-02-30", "31.01.2026", "2026-01-31T25:00:00Z"])
def test_an_invalid_date_is_an_error(text: str) -> None:
    with pytest.raises(SourceError, match="date is invalid"):
        moment_from(text)


# Conformance: 003-058, 003-059, 003-063
def test_only_a_registered_source_that_was_not_degraded_is_validated() -> None:
    registered = ResearchSource(title="t", source_id="S1", canonical_key="text:x")
    assert is_validated(registered)
    assert not is_validated(ResearchSource(title="t"))
    worse = degraded(registered, "404")
    assert worse.metadata == {"validation_state": "degraded", "validation_error": "404"}
    assert not is_validated(worse)


# Conformance: 003-003, 003-037, 003-039
def test_a_finding_leads_with_the_id_of_its_source() -> None:
    source = ResearchSource(title="t", source_id="S3")
    assert HierarchicalFinding(finding="x", source=source).source_ids == ("S3",)
    assert HierarchicalFinding(source=source, source_ids=("S1",)).source_ids == ("S3", "S1")
    assert HierarchicalFinding(source=source, source_ids=("S1", "S3", "S1")).source_ids == ("S1", "S3")
    with pytest.raises(SourceError, match="source_ids is the text 'S1'"):
        HierarchicalFinding(source_ids="S1")  # type: ignore[arg-type]
    with pytest.raises(SourceError, match="source_id is invalid: 'x'"):
        HierarchicalFinding(source_ids=("x",))


def test_the_same_finding_has_the_same_id_and_another_has_another() -> None:
    one = HierarchicalFinding(finding="x", source_ids=("S1",))
    assert len(one.finding_id) == 32
    assert one.finding_id == HierarchicalFinding(finding="x", source_ids=("S1",)).finding_id
    assert one.finding_id != HierarchicalFinding(finding="x", supporting_source_ids=("S1",)).finding_id
    assert HierarchicalFinding(finding_id="f").finding_id == "f"


# Conformance: 003-040, 003-041
def test_results_record_usage_once_by_kind() -> None:
    results = ResearchResults()
    for _ in range(2):
        results.record_usage("S1", finding_id="f1")
    results.record_usage("S1", cluster_id="c1", contradiction_id="x1")
    assert results.source_usage == {"S1": SourceUsage("S1", ("f1",), ("c1",), ("x1",))}
    with pytest.raises(SourceError):
        results.record_usage("one", finding_id="f1")


# Conformance: 003-081, 003-108
def test_usage_of_old_results_is_filled_in_from_their_findings() -> None:
    finding = HierarchicalFinding(finding_id="f1", source_ids=("S1",), supporting_source_ids=("S2",))
    results = ResearchResults(findings=(finding,), clusters=(FindingCluster(cluster_id="c1", source_ids=("S2",)),))
    results.backfill_usage()
    assert results.source_usage == {"S1": SourceUsage("S1", ("f1",)), "S2": SourceUsage("S2", ("f1",), ("c1",))}


# Conformance: 003-080, 003-082
def test_sources_consulted_counts_each_source_once_in_the_order_of_ids() -> None:
    told = [ResearchSource(title="t", source_id=one) for one in ("S10", "S2", "S10")]
    results = with_sources(ResearchResults(), told)
    assert [source.source_id for source in results.sources] == ["S2", "S10"]
    assert results.metadata.sources_consulted == 2


# Conformance: 003-107
def test_sources_from_before_ids_get_ids_with_a_warning_and_share_none() -> None:
    told = [ResearchSource(title=t, source_id=i) for t, i in (("a", "S2"), ("b", None), ("c", "S2"), ("d", "S7"))]
    loaded = with_ids(told)
    assert [source.source_id for source in loaded.sources] == ["S2", "S8", "S9", "S7"]
    assert loaded.warnings == ("'b' had no id; it is S8 now", "'c' had the id of another, S2; it is S9 now")
    assert with_ids(loaded.sources).warnings == ()


# Conformance: 003-078
def test_a_source_is_parsed_from_json() -> None:
    source = source_from({"url": "https://example.org", "date": "2024-02-29", "snippet": "s", "metadata": {"year": 1}})
    assert (source.title, source.date, source.metadata) == ("", moment_from("2024-02-29"), {"snippet": "s", "year": 1})
    with pytest.raises(SourceError, match="date is invalid: 'soon'"):
        source_from({"title": "t", "date": "soon"})


# Conformance: 003-007, 003-074, 003-075, 003-076
def test_the_metrics_have_the_documents_names() -> None:
    made = quality_metrics(citation_coverage=0.5, orphaned_sources=1, audit_failures=2)
    assert made == {"citation_coverage": 0.5, "orphaned_sources": 1.0, "audit_failures": 2.0}
