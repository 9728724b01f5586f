"""From search results to a saved report: tools with ids, findings, assembly, writing, over every kind of repository."""

import asyncio
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from custody.sources import (
    AppendOnlySourceRepository,
    CitationWarning,
    CitedReport,
    Contradiction,
    FindingCluster,
    FootnoteFormatter,
    HierarchicalFinding,
    InMemorySourceRepository,
    ReportWriter,
    ResearchResults,
    ResearchSource,
    StoreSourceRepository,
    UnknownSource,
    cited_report,
    generate_structured_result,
    with_source_ids,
)
from tests.builders.cli import a_git_folder

Make = Callable[[Path], Any]
HITS = (
    {"title": "Fishery statistics", "url": "https://example.org/Statistics?utm_source=x", "snippet": "rose by 12%"},
    {"title": "Annual review", "link": "https://example.org/review", "published": "2024-05-01", "score": 17.5},
    {"name": "Statistics of fisheries", "href": "http://EXAMPLE.org/Statistics", "publisher": "Agency"},
    {"title": "An interview", "snippet": "boats are smaller"},
)


def in_memory(_: Path) -> Any:
    return InMemorySourceRepository()


def in_file(folder: Path) -> Any:
    return AppendOnlySourceRepository(folder / "sources.jsonl")


def in_store(folder: Path) -> Any:
    return StoreSourceRepository(a_git_folder(folder / "repository"))


MAKES: tuple[Make, ...] = (in_memory, in_file, in_store)


def search(query: str) -> dict[str, Any]:
    """Search the web."""
    return {"query": query, "results": list(HITS)}


async def fetch(url: str) -> str:
    return f"All of {url}: catches fell to 3,000 tonnes."


def scripted(prompt: str) -> str:
    """Return a writer that cites the sources of its contract, in the order of the findings."""
    found = re.findall(r"^- (.*?) ((?:\[S\d+\])+)$", prompt, re.MULTILINE)
    assert found and all(f"\n{one} – " in prompt for _, ids in found for one in re.findall(r"S\d+", ids))
    return "# Mackerel\n\n" + "\n\n".join(f"{said} {markers}." for said, markers in found) + "\n"


async def research(repository: Any) -> ResearchResults:
    hits = (await with_source_ids(search, repository)("mackerel"))["results"]
    page = await with_source_ids(fetch, repository)(hits[1]["link"])
    findings = [
        HierarchicalFinding(finding="Catches fell to 3,000 tonnes", source_ids=(page["source_id"],)),
        HierarchicalFinding(
            finding="Prices rose by 12%",
            source_ids=(hits[0]["source_id"],),
            supporting_source_ids=(hits[2]["source_id"],),
        ),
        HierarchicalFinding(finding="Boats are smaller than before", source_ids=(hits[3]["source_id"],)),
    ]
    cluster = FindingCluster(cluster_id="c1", finding_ids=(findings[0].finding_id, findings[1].finding_id))
    against = Contradiction(contradiction_id="x1", finding_ids=(findings[2].finding_id,), source_ids=("S2",))
    return await generate_structured_result(repository, findings, [cluster], [against])


async def run(repository: Any, path: Path) -> tuple[ResearchResults, CitedReport]:
    results = await research(repository)
    report = await ReportWriter(scripted, repository=repository).write(results, "Write.", name="fish", path=path)
    return results, report


# Conformance: 003-068
@pytest.mark.parametrize("make", MAKES)
def test_search_results_become_a_report_with_the_same_ids_and_footnotes_every_time(make: Make, tmp_path: Path) -> None:
    repository = make(tmp_path)
    results, report = asyncio.run(run(repository, tmp_path / "fish.md"))
    assert report.passed
    assert (tmp_path / "fish.md").read_text() == (
        "# Mackerel\n\nCatches fell to 3,000 tonnes [^1].\n\nPrices rose by 12% [^2].\n\n"
        "Boats are smaller than before [^3].\n\n## Footnotes\n\n"
        "[^1]: Annual review (2024) <https://example.org/review>\n"
        "[^2]: Fishery statistics — Agency <https://example.org/Statistics?utm_source=x>\n"
        "[^3]: An interview\n"
    )
    assert [one.source_id for one in results.sources] == ["S1", "S2", "S3"]
    assert results.metadata.sources_consulted == 3, "two hits were one page"
    again, repeated = asyncio.run(run(repository, tmp_path / "again.md"))
    assert (again.sources, repeated.text) == (results.sources, report.text)
    assert (tmp_path / "again.md").read_bytes() == (tmp_path / "fish.md").read_bytes()


# Conformance: 003-068
def test_every_repository_gives_the_same_ids_and_the_same_bytes(tmp_path: Path) -> None:
    saved = []
    for make in MAKES:
        folder = tmp_path / make.__name__
        folder.mkdir()
        results, _ = asyncio.run(run(make(folder), folder / "fish.md"))
        ids = [(one.finding_id, one.source_ids, one.supporting_source_ids) for one in results.findings]
        saved.append(((folder / "fish.md").read_bytes(), (folder / "fish.md.citations.json").read_bytes(), ids))
    assert saved[0] == saved[1] == saved[2]


@pytest.mark.parametrize("make", MAKES)
def test_usage_is_recorded_as_results_are_assembled_and_reports_written(make: Make, tmp_path: Path) -> None:
    async def story() -> None:
        repository = make(tmp_path)
        results, _ = await run(repository, tmp_path / "fish.md")
        first = results.findings[1].finding_id
        for source_id in ("S1", "S2", "S3"):
            assert await repository.usage(source_id) == results.source_usage[source_id]
        usage = results.source_usage["S1"]
        assert (usage.finding_ids, usage.cluster_ids, usage.report_sections) == ((first,), ("c1",), ("fish#Mackerel",))
        assert results.source_usage["S2"].contradiction_ids == ("x1",)
        assert results.clusters[0].source_ids == ("S2", "S1"), "those of its findings"

    asyncio.run(story())


# Conformance: 003-096
def test_removing_a_marker_makes_the_audit_fail(tmp_path: Path) -> None:
    results, report = asyncio.run(run(InMemorySourceRepository(), tmp_path / "fish.md"))
    for source in results.sources:
        without = report.draft.replace(f"[{source.source_id}]", "")
        failed = cited_report(without, results.sources)
        assert not failed.passed and failed.quality_metrics["orphaned_sources"] == 1.0

        def forgets(_: str, text: str = without) -> str:
            return text

        with pytest.warns(CitationWarning, match="CITE-UNUSED"):
            asyncio.run(ReportWriter(forgets).write(results))


# Conformance: 003-069
def test_the_footnotes_are_the_sources_of_the_results(tmp_path: Path) -> None:
    results, report = asyncio.run(run(InMemorySourceRepository(), tmp_path / "fish.md"))
    lines = report.text.split("## Footnotes\n\n")[1].splitlines()
    assert lines == [FootnoteFormatter().format_footnote(n, one) for n, one in enumerate(report.sources, start=1)]
    assert sorted(report.sources, key=lambda one: str(one.source_id)) == list(results.sources)


def test_merged_ids_become_the_shown_id() -> None:
    async def story() -> None:
        repository = InMemorySourceRepository()
        for n in (1, 2, 3):
            await repository.register(ResearchSource(title=f"T{n}", url=f"https://example.org/{n}"))
        source = await repository.get("S2")
        await repository.merge("S1", "S2", "the same")
        found = HierarchicalFinding(finding="f", source=source, supporting_source_ids=("S1",))
        results = await generate_structured_result(repository, [found], consulted=["S2", "S3"])
        assert [one.source_id for one in results.sources] == ["S1"]
        assert results.findings[0].source_ids == ("S1",) == results.findings[0].supporting_source_ids
        assert results.findings[0].finding_id == found.finding_id
        assert results.metadata.sources_consulted == 2

    asyncio.run(story())


def test_an_unknown_id_is_an_error() -> None:
    found = HierarchicalFinding(finding="f", source_ids=("S4",))
    with pytest.raises(UnknownSource, match="S4"):
        asyncio.run(generate_structured_result(InMemorySourceRepository(), [found]))


def tagged(answer: Any, repository: Any = None) -> Any:
    return asyncio.run(with_source_ids(lambda: answer, repository or InMemorySourceRepository())())


# Conformance: 003-079
def test_every_source_in_an_answer_gets_its_id() -> None:
    page = {"title": "A", "url": "https://example.org/a"}
    assert tagged(page) == {**page, "source_id": "S1"}
    assert tagged([page, page]) == [{**page, "source_id": "S1"}] * 2
    assert tagged({"data": {"web": ({"title": "B"}, page)}}) == {
        "data": {"web": ({"title": "B", "source_id": "S1"}, {**page, "source_id": "S2"})}
    }
    source = ResearchSource(title="A", url="https://example.org/a")
    assert tagged([source]) == [replace(source, source_id="S1", canonical_key="url:https://example.org/a")]


@dataclass
class Page:
    title: str
    url: str


class Row(NamedTuple):
    title: str
    hits: tuple[Page, ...] = ()


@dataclass
class Wrapped:
    return_value: Any
    metadata: Any = None


class Dumped:
    def model_dump(self) -> dict[str, Any]:
        return {"results": [{"title": "A", "url": "https://example.org/a"}]}


def test_objects_with_sources_become_mappings_and_wrappers_stay() -> None:
    page = {"title": "A", "url": "https://example.org/a", "source_id": "S1"}
    assert tagged([Page("A", "https://example.org/a")]) == [page]
    assert tagged(Row("", (Page("A", "https://example.org/a"),))) == {"title": "", "hits": (page,)}
    assert tagged(Dumped()) == {"results": [page]}
    assert tagged(Wrapped([Page("A", "https://example.org/a")], "m")) == Wrapped([page], "m")
    assert tagged(Wrapped(3)) == Wrapped(3)
    within = Wrapped(None)
    within.return_value = within
    assert isinstance(tagged(within), Wrapped), "at any depth"


@pytest.mark.parametrize(
    "answer", [Row(""), Page("", ""), Page, None, "", "no results", [], {}, 3, {"count": 3}, {"name": "x"}, ["a", "b"]]
)
def test_answers_without_sources_are_unchanged(answer: Any) -> None:
    repository = InMemorySourceRepository()
    assert tagged(answer, repository) is answer
    assert repository.ordered_sources() == []


def test_foreign_ids_are_ignored_and_odd_fields_do_no_harm() -> None:
    repository = InMemorySourceRepository()
    hit = {
        "source_id": "abc-9",
        "title": "A" * 9000,
        "url": "https://example.org/a",
        "content": "x" * 200_000,
        "date": "yesterday",
        "relevance_score": 40,
        "authors": ["Ana", "Bo"],
        "extra": object(),
    }
    assert tagged(hit, repository) == {**hit, "source_id": "S1"}
    (source,) = repository.ordered_sources()
    assert (source.author, source.date, source.relevance_score) == ("Ana, Bo", None, 0.5)
    assert len(source.title) == 4096 and len(source.metadata["snippet"]) == 500
    assert source.metadata["date_said"] == "yesterday"


def test_a_source_that_cannot_be_registered_is_degraded_or_says_why() -> None:
    repository = InMemorySourceRepository()
    answer = tagged([{"title": "A", "url": "javascript:alert(1)"}, {"url": "javascript:alert(1)"}], repository)
    assert answer[0]["source_id"] == "S1"
    (source,) = repository.ordered_sources()
    assert (source.url, source.metadata["validation_state"]) == (None, "degraded")
    assert answer[1]["source_id"] is None and "javascript" in answer[1]["source_error"]


# Conformance: 003-079
def test_text_read_from_a_url_has_an_id() -> None:
    async def story() -> None:
        repository = InMemorySourceRepository()
        read = with_source_ids(fetch, repository)
        page = await read(url="https://example.org/a")
        assert page["source_id"] == "S1" == (await read("https://example.org/a#top"))["source_id"]
        assert page["content"] == "All of https://example.org/a: catches fell to 3,000 tonnes."
        assert inspect.signature(read) == inspect.signature(fetch) and read.__name__ == "fetch"

    asyncio.run(story())


def test_exceptions_of_a_tool_propagate() -> None:
    def broken() -> None:
        raise TimeoutError("away")

    with pytest.raises(TimeoutError, match="away"):
        asyncio.run(with_source_ids(broken, InMemorySourceRepository())())
