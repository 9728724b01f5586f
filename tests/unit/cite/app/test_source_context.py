"""The attention-aware context manager, over memory, a file and a store."""

import asyncio
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from custody.cite import context as source_rank
from custody.cite.app.context import AttentionAwareContextManager
from custody.cite.app.registry_stores import FileRegistryStore, MemoryRegistryStore, RecordRegistryStore, RegistryStore
from custody.cite.app.source_registry import SourceRegistry
from custody.cite.compression import Level, Unrestorable
from custody.cite.context import HEAD, Context
from custody.cite.model import UnknownSource
from custody.cite.monitor import ContextPerformanceMonitor, ContextSettings
from custody.cite.rules import CiteRules
from custody.cite.source_texts import APART
from custody.core.views import Reading
from custody.sources import AppendOnlySourceRepository, InMemorySourceRepository
from custody.store import Store
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder
from tests.builders.sources import StoreWorkspace, a_registry, a_source
from tests.builders.stores import a_sqlite_store

CACHES = "Caches store answers. Shared caches store answers for many clients. Snow fell."
FISH = "Mackerel swim north. Prices of mackerel rose by 4 percent in 2024. It rained."


@pytest.fixture(params=["memory", "file", "store"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RegistryStore]:
    if request.param == "memory":
        yield MemoryRegistryStore()
    elif request.param == "file":
        yield FileRegistryStore(tmp_path / "sources.jsonl", pytest.fail)
    else:
        opened: list[Store] = []

        def store() -> Store:
            opened.append(a_sqlite_store(tmp_path))
            return opened[-1]

        yield RecordRegistryStore(StoreWorkspace(tmp_path, open_store=store))
        for one in opened:
            one.close()


def filled(store: RegistryStore) -> SourceRegistry:
    """Four sources: two with passages, one with a snippet, one without text."""
    registry = a_registry(store)
    for n in range(1, 5):
        registry.register(a_source(n, title=f"Title {n}", metadata={"snippet": "Some words."} if n == 3 else {}))
    registry.excerpt("S1", CACHES)
    registry.excerpt("S2", FISH, (10, 90))
    registry.excerpt("S2", "A second passage.")
    registry.read("S2", Reading.EXCERPT, "session")
    registry.register_usage("S1", "finding", "f1")
    return registry


def a_manager(registry: SourceRegistry, **fields: object) -> AttentionAwareContextManager:
    ticks = count(10**18)
    return AttentionAwareContextManager(registry, clock=lambda: next(ticks), **fields)  # type: ignore[arg-type]


def test_every_store_has_the_same_texts_and_accesses(store: RegistryStore) -> None:
    found = filled(store).candidates()
    assert [one.text for one in found] == [CACHES, f"{FISH}{APART}A second passage.", "Some words.", None]
    assert [(len(one.accesses), one.uses) for one in found] == [(2, 1), (4, 0), (1, 0), (1, 0)]


def test_every_store_gives_the_same_context(store: RegistryStore) -> None:
    made = a_manager(filled(store)).context()
    assert made.text == (
        f"{HEAD}S1 – Title 1 (https://example.org/1)\n    {CACHES}\n"
        f"S2 – Title 2 (https://example.org/2)\n    {FISH}\n\n    […]\n\n    A second passage.\n"
        "S3 – Title 3 (https://example.org/3)\n    Some words.\n"
        "S4 – Title 4 (https://example.org/4) [credibility 0.50, relevance 0.50]\n"
    )


def test_merged_sources_are_shown_as_one_with_both_texts(store: RegistryStore) -> None:
    registry = filled(store)
    registry.merge("S1", "S2", "the same")
    manager = a_manager(registry)
    assert manager.restore("S2") == manager.restore("S1") == f"{CACHES}{APART}{FISH}{APART}A second passage."
    assert list(manager.context().levels) == ["S1", "S3", "S4"]
    registry.unmerge("S2")
    assert manager.restore("S2") == f"{FISH}{APART}A second passage."


def test_compressed_sources_are_restored_byte_for_byte(store: RegistryStore) -> None:
    registry = filled(store)
    manager = a_manager(registry, rules=CiteRules(recent_sources=0, full_tokens_max=500, brief_sentences=1))
    made = manager.context(400)
    assert Level.FULL not in made.levels.values()
    for one in registry.candidates():
        shown = manager.compressor.compress(one.source, one.text, made.levels[one.source_id])
        registry.excerpt(one.source_id, "Something else that was read later.")
        whole = manager.compressor.restore(shown)
        assert whole == manager.compressor.compress(one.source, one.text, 0)
    with pytest.raises(UnknownSource):
        manager.restore("S9")


def test_erased_text_is_not_restored(tmp_path: Path) -> None:
    folder = a_git_folder(tmp_path / "repository")
    registry = SourceRegistry(RecordRegistryStore(Workspace(folder)), "ana")
    registry.register(a_source(1))
    registry.excerpt("S1", "words " * 2000)
    manager = a_manager(registry)
    shown = manager.compressor.compress(*registry.find_with_text("S1") or (a_source(1), None), Level.ID)
    with Workspace(folder).writing() as store:
        own = store.own()
        assert own is not None
        (*_, record) = store.tables.records(own)
        (text,) = store.db.rows("SELECT text FROM part WHERE body = ?", (record.entry.digest,))[0]
        store.erase([text], who="ana", why="a secret")  # type: ignore[list-item]
    assert manager.restore("S1") is None
    assert manager.context().without_text == ("S1",)
    with pytest.raises(Unrestorable):
        manager.compressor.restore(shown)


def test_search_hits_and_failed_attempts_do_not_count_as_accesses() -> None:
    registry = a_registry(MemoryRegistryStore())
    registry.register(a_source(1))
    for n, reading in enumerate(Reading):
        registry.read("S1", reading, f"session {n}")
    (found,) = registry.candidates()
    assert len(found.accesses) == 1 + len({Reading.VERBATIM, Reading.EXCERPT, Reading.SUMMARISED})


def full(made: Context) -> list[str]:
    return [source_id for source_id, level in made.levels.items() if level is Level.FULL]


# Conformance: 003-052
def test_objectives_weights_and_accesses_decide_the_levels(store: RegistryStore) -> None:
    manager = a_manager(filled(store), rules=CiteRules(recent_sources=1, brief_sentences=1))
    manager.aim("how caches store answers")
    assert full(manager.context()) == ["S1"]
    manager.aim("price of mackerel")
    assert full(manager.context()) == ["S2"]
    manager.weigh("S1", 10.0)
    assert full(manager.context()) == ["S1"]
    manager.weigh("S1", 1.0)
    manager.aim()
    for _ in range(8):
        manager.restore("S1")
    assert full(manager.context()) == ["S1"]


def test_a_later_source_changes_no_earlier_line(store: RegistryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = filled(store)
    # The last two accessed are shown in full: planned again, the earlier ones would lose their texts.
    monkeypatch.setattr(source_rank, "ACCESS_DECAY", 0.1)
    rules = CiteRules(recent_sources=2)
    manager = a_manager(registry, rules=rules)
    before = manager.context()
    for n in range(5, 9):
        registry.register(a_source(n, metadata={"snippet": "Words. " * n}))
        after = manager.context()
        assert after.text.startswith(before.text)
        before = after
    assert a_manager(registry, rules=rules).context().levels != before.levels
    assert manager.context(600).tokens <= 600


def test_showing_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "sources.jsonl"
    manager = a_manager(filled(FileRegistryStore(path, pytest.fail)))
    before = path.read_bytes()
    manager.context()
    manager.restore("S1")
    manager.adapt()
    assert path.read_bytes() == before


# Conformance: 003-044
def test_a_file_that_is_opened_again_gives_the_same_context_and_texts(tmp_path: Path) -> None:
    path = tmp_path / "sources.jsonl"
    before = a_manager(filled(FileRegistryStore(path, pytest.fail)))
    after = a_manager(a_registry(FileRegistryStore(path, pytest.fail)))
    assert after.context() == before.context()
    assert after.restore("S2") == before.restore("S2")


# The cache.


def test_a_second_context_uses_the_cache_except_for_changed_sources() -> None:
    registry = filled(MemoryRegistryStore())
    manager = a_manager(registry)
    first = manager.context()
    made = manager.monitor.metrics().look_ups
    assert manager.monitor.metrics().hit_rate == 0
    assert manager.context() == first
    seen = manager.monitor.metrics()
    assert seen.hit_rate == (seen.look_ups - made) / seen.look_ups > 0, "all of the second one came from the cache"
    registry.excerpt("S4", "Something at last.")
    manager.weigh("S4", 2.0)
    assert "Something at last." in manager.context().text


# Conformance: 003-077
def test_the_cache_stays_within_its_size_and_adapts() -> None:
    registry = a_registry(MemoryRegistryStore())
    for n in range(1, 41):
        registry.register(a_source(n, metadata={"snippet": f"Sentence number {n}. Another one."}))
    manager = a_manager(registry, monitor=ContextPerformanceMonitor(ContextSettings(cache_sources=16)))
    made = manager.context()
    seen = manager.monitor.metrics()
    assert seen.kept == 16 and seen.evicted > 0
    assert "cache-grow" in [step.name for step in manager.adapt()]
    assert manager.monitor.settings.cache_sources == 32
    assert manager.context() == made, "the cache never changes the context"


# Conformance: 003-102
def test_the_monitor_knows_how_many_registrations_were_of_known_sources() -> None:
    manager = a_manager(a_registry(MemoryRegistryStore()))
    ids = [manager.register(a_source(n)).source_id for n in (1, 2, 1, 1)]
    seen = manager.monitor.metrics()
    assert ids == ["S1", "S2", "S1", "S1"]
    assert (seen.registrations, seen.duplicates_found, seen.dedup_effectiveness) == (4, 2, 0.5)


def test_prefetched_sources_are_used_when_requested() -> None:
    registry = a_registry(MemoryRegistryStore())
    for n in range(1, 9):
        registry.register(a_source(n, metadata={"snippet": f"Sentence number {n}. " + "More of it follows here. " * 9}))
    settings = ContextSettings(prefetch_sources=4)
    rules = CiteRules(recent_sources=1)
    manager = a_manager(registry, rules=rules, monitor=ContextPerformanceMonitor(settings))
    manager.context(400)
    manager.context(3000)
    seen = manager.monitor.metrics()
    assert seen.prefetched > 0 and seen.prefetch_used == 1.0


@pytest.mark.parametrize("make", [InMemorySourceRepository, AppendOnlySourceRepository])
def test_the_documents_repositories_store_passages_and_make_contexts(
    make: Callable[..., object], tmp_path: Path
) -> None:
    async def story() -> None:
        repository: InMemorySourceRepository = make(*([] if make is InMemorySourceRepository else [tmp_path / "s"]))  # type: ignore[assignment]
        await repository.register(a_source(1))
        await repository.excerpt("S1", CACHES)
        await repository.read("S1", Reading.VERBATIM)
        assert await repository.known("S1") == (await repository.get("S1"), CACHES)
        assert await repository.known("S2") is None
        assert CACHES in AttentionAwareContextManager(repository.registry).context().text

    asyncio.run(story())
