"""``custody.sources``: the document's names and calls, over memory, a file and a store, in an event loop."""

import asyncio
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import custody.sources
from custody.sources import (
    AbstractSourceRepository,
    AppendOnlySourceRepository,
    FootnoteFormatter,
    InMemorySourceRepository,
    ResearchSource,
    SourceIdentity,
    SourceRegistryWarning,
    SourceUsage,
    StoreSourceRepository,
)
from tests.builders.cli import a_git_folder
from tests.builders.sources import a_source

Make = Callable[[], Any]
NAMES = (
    "InMemorySourceRepository AppendOnlySourceRepository AbstractSourceRepository SourceIdentity SourceUsage"
    " ResearchSource HierarchicalFinding ResearchResults SynthesisMetadata ResearchMetadata SourceID FootnoteNumber"
    " RestorableSourceCompressor SimHash LSHForest compute_semantic_hash find_duplicates ContextPerformanceMonitor"
    " SourceValidationPipeline SourceValidationError CircuitBreaker FootnoteFormatter is_validated degraded"
).split()


@pytest.fixture(params=["memory", "file", "store"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """Opens a repository in the same place repeatedly; in memory it is the same object."""
    if request.param == "memory":
        only = InMemorySourceRepository()
        return lambda: only
    if request.param == "file":
        return lambda: AppendOnlySourceRepository(tmp_path / "sources.jsonl")
    folder = a_git_folder(tmp_path / "repository")
    return lambda: StoreSourceRepository(folder)


# Conformance: 003-062
def test_the_documents_names_are_there() -> None:
    assert [name for name in NAMES if not hasattr(custody.sources, name)] == []
    assert len(inspect.getsource(custody.sources).splitlines()) <= 60


# Conformance: 003-070
def test_64_registrations_at_once_have_ids_without_gaps_in_the_order_of_the_calls(make: Make) -> None:
    async def register(count: int) -> list[SourceIdentity]:
        repository: AbstractSourceRepository = make()
        return await asyncio.gather(*(repository.register(a_source(n)) for n in range(count)))

    first = asyncio.run(register(64))
    assert [one.source_id for one in first] == [f"S{n}" for n in range(1, 65)]
    assert asyncio.run(register(64)) == first


# Conformance: 003-070
def test_several_repositories_at_once_share_no_id(make: Make) -> None:
    async def register() -> list[SourceIdentity]:
        repositories: list[AbstractSourceRepository] = [make() for _ in range(4)]
        return await asyncio.gather(*(repositories[n % 4].register(a_source(n)) for n in range(64)))

    given = asyncio.run(register())
    assert {int(one.source_id[1:]) for one in given} == set(range(1, 65))


# Conformance: 003-001, 003-006, 003-014, 003-015, 003-016, 003-017, 003-018, 003-025, 003-028, 003-098
# Conformance: 003-112, 003-113, 003-115
def test_the_documents_interface(make: Make) -> None:
    async def story() -> None:
        repository = make()
        one = await repository.register(a_source(1, publisher="P", metadata={"year": 2020}))
        await repository.register(a_source(2))
        assert one == SourceIdentity.build(1, "url:https://example.org/1")
        assert await repository.find_by_key(one.canonical_key) == one
        assert await repository.find_by_canonical_key(one.canonical_key) == "S1"
        assert await repository.find_by_key("text:nothing") is None
        assert await repository.get("S9") is None
        source = await repository.get("S1")
        assert (source.source_id, source.publisher) == ("S1", "P")
        assert [identity.source_id async for identity, _ in repository.iter_all()] == ["S1", "S2"]
        assert [source.source_id async for source in repository.iter_sources()] == ["S1", "S2"]
        assert await repository.register_usage("S1", "finding", "f1") == SourceUsage("S1", ("f1",))
        assert (await repository.usage("S1")).finding_ids == ("f1",)
        assert (await repository.merge("S1", "S2", "the same")).source_id == "S1"
        assert [source.source_id for source in repository.ordered_sources()] == ["S1"]
        assert (await repository.unmerge("S2")).source_id == "S2"
        line = FootnoteFormatter().format_footnote(1, source)
        assert line == "[^1]: A Title — P (2020) <https://example.org/1>"

    asyncio.run(story())


# Conformance: 003-027
def test_sources_are_ordered_by_the_number_in_their_id(make: Make) -> None:
    async def register() -> None:
        repository = make()
        for n in range(12):
            await repository.register(a_source(n))
        ordered = [source.source_id for source in repository.ordered_sources()]
        assert ordered == [f"S{n}" for n in range(1, 13)]

    asyncio.run(register())


def test_exceptions_of_a_call_propagate(make: Make) -> None:
    async def register() -> None:
        repository = make()
        with pytest.raises(custody.sources.SourceError, match="javascript"):
            await repository.register(ResearchSource(title="t", url="javascript:alert(1)"))
        assert (await repository.register(a_source(1))).source_id == "S1"

    asyncio.run(register())


def test_a_garbled_line_of_a_file_is_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "sources.jsonl"
    asyncio.run(AppendOnlySourceRepository(file).register(a_source(1)))
    with file.open("ab") as end:
        end.write(b"garbage\n")
    with pytest.warns(SourceRegistryWarning, match="skipped line 2 of "):
        assert len(AppendOnlySourceRepository(str(file)).ordered_sources()) == 1
