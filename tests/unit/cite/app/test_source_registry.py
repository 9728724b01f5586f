"""The registry of a store: its numbers outlive rebuilding, erasing, copying the store and moving its chain."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from custody.cite.app.registry_stores import RecordRegistryStore
from custody.cite.app.source_registry import SourceRegistry
from custody.cite.queries.registry import RegistryTables
from custody.cite.registry import collect_source_excerpts
from custody.core.ids import EventId
from custody.core.wire.arrival import arrival_from_json
from custody.core.wire.canonical import Json
from custody.store import Store
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder, spool_of
from tests.builders.events import an_arrival, an_event
from tests.builders.in_process import custody
from tests.builders.sources import a_source

DOC = "https://docs.example.org/document/d/{}/edit"
TOKENS = ("1a2B3cD4e5F6g7H8i9J0kLmNoPqRsTuVwXyZ1a2B3c", "9z8Y7xW6v5U4t3S2r1Q0pOnMlKjIhGfEdCbA9z8Y7x")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return a_git_folder(tmp_path / "repository")


def opened(folder: Path, talk: Callable[[str], None] = pytest.fail) -> SourceRegistry:
    return SourceRegistry(RecordRegistryStore(Workspace(folder, talk=talk)), "ana")


def ids(registry: SourceRegistry) -> list[str]:
    return [identity.source_id for identity, _ in registry.list_all()]


def a_catalog(folder: Path) -> SourceRegistry:
    """Three sources, two of them merged, with a use and a passage."""
    registry = opened(folder)
    for n in (1, 2, 3):
        registry.register(a_source(n, author=f"A{n}"))
    registry.register(a_source(1, title="A Title that says more"))
    registry.merge("S1", "S3", "the same")
    registry.register_usage("S3", "finding", "f1")
    registry.excerpt("S1", "a passage that was read " * 300)
    return registry


def test_registrations_are_records_of_the_chain(folder: Path) -> None:
    a_catalog(folder)
    with Workspace(folder).reading() as store:
        own = store.own()
        assert own is not None
        kinds = [record.entry.kind for record in store.tables.records(own)]
        keys = [record.entry.key.rpartition(":")[0] for record in store.tables.records(own)]
    assert kinds == ["registry"] * 7
    assert keys == [
        "registry:1:register",
        "registry:2:register",
        "registry:3:register",
        "registry:1:register",
        "registry:1:merge",
        "registry:3:use",
        "registry:1:excerpt",
    ]


def test_rebuilding_gives_the_same_registry(folder: Path) -> None:
    before = a_catalog(folder).list_all()
    with Workspace(folder).writing() as store:
        store.views.rebuild(lambda _: None)
        assert store.views.current()
    registry = opened(folder)
    assert registry.list_all() == before
    assert registry.usage("S1").finding_ids == ("f1",)


def test_rows_of_another_version_are_built_again(folder: Path) -> None:
    before = a_catalog(folder).list_all()
    with Workspace(folder).writing() as store, store.writing():
        store.db.run("DELETE FROM registry_key")
        store.db.run("UPDATE state SET version = '0' WHERE view = 'registry'")
    assert opened(folder).list_all() == before
    assert opened(folder).register(a_source(2)).source_id == "S2"


def test_a_copied_store_continues_with_the_same_numbers(folder: Path, tmp_path: Path) -> None:
    before = a_catalog(folder).list_all()
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    assert opened(copy).list_all() == before
    assert opened(copy).register(a_source(2)).source_id == "S2"
    assert opened(copy).register(a_source(4)).source_id == "S4"
    assert opened(folder).register(a_source(5)).source_id == "S4", "each store is a registry of its own"
    with Workspace(copy).writing() as store:
        assert len(store.tables.list_owned_chains()) == 2, "the copy starts a chain that continues the other"
        store.views.rebuild(lambda _: None)
    assert ids(opened(copy)) == ["S1", "S2", "S4"]
    kept = opened(copy).store.read(lambda catalog: collect_source_excerpts(catalog, "S1"))
    assert [one.text for one in kept] == ["a passage that was read " * 300]


def test_an_erased_registration_keeps_its_number(folder: Path) -> None:
    registry = opened(folder)
    for n in (1, 2, 3):
        registry.register(a_source(n, author="A Secret Name" if n == 2 else None))
    with Workspace(folder).writing() as store:
        own = store.own()
        assert own is not None
        second = list(store.tables.records(own))[1]
        store.erase([second.entry.digest], who="ana", why="a name")
        assert b"A Secret Name" not in b"".join(row_bytes(store))
    assert ids(registry) == ["S1", "S3"]
    assert registry.get("S2") is None
    assert registry.register(a_source(2)).source_id == "S4", "erased text is not available"
    assert registry.register(a_source(3)).source_id == "S3"


def row_bytes(store: Store) -> list[bytes]:
    """Return the rows of the registry."""
    return [bytes(state) for (state,) in store.db.rows("SELECT state FROM registry_source") if isinstance(state, bytes)]


def test_an_erased_passage_leaves_a_trace(folder: Path) -> None:
    registry = opened(folder)
    registry.register(a_source(1))
    registry.excerpt("S1", "words " * 2000)
    with Workspace(folder).writing() as store:
        own = store.own()
        assert own is not None
        (*_, record) = store.tables.records(own)
        (text,) = store.db.rows("SELECT text FROM part WHERE body = ?", (record.entry.digest,))[0]
        assert isinstance(text, bytes)
        store.erase([text], who="ana", why="a secret")  # type: ignore[list-item]
    (kept,) = registry.store.read(lambda catalog: collect_source_excerpts(catalog, "S1"))
    assert kept.text is None
    assert len(kept.digest) == 64


def test_a_registry_moves_with_its_chain_and_stays_separate(folder: Path, tmp_path: Path) -> None:
    a_catalog(folder)
    file = tmp_path / "export.jsonl"
    assert custody(folder, "export", "-o", str(file)).status == 0
    other = a_git_folder(tmp_path / "other")
    opened(other).register(a_source(9))
    assert custody(other, "import", str(file)).status == 0
    assert ids(opened(other)) == ["S1"], "another store's numbers are not ours"
    with Workspace(folder).reading() as here, Workspace(other).reading() as there:
        own = here.own()
        mine, theirs = (list(RegistryTables(store).catalog(own).entries()) for store in (here, there))
    assert mine == theirs


# Conformance: 003-078
def test_recorded_sources_get_numbers(folder: Path) -> None:
    said: list[str] = []
    for n in (1, 2, 1):
        spool_of(folder).put(an_event("source", id=f"s{n}", url=f"https://example.org/{n}", publisher="P", year=2020))
    spool_of(folder).put(an_event("source", id="bad", url="javascript:alert(1)"))
    registry = opened(folder, said.append)
    assert ids(registry) == ["S1", "S2"]
    source = registry.get("S1")
    assert source is not None
    assert (source.publisher, source.metadata) == ("P", {"year": 2020})
    assert len(said) == 1, "recorded once"
    assert "has an invalid source: the source's url is a 'javascript:' URL" in said[0]
    spool_of(folder).put(an_event("source", id="s3", url="https://example.org/3"))
    assert registry.register(a_source(4)).source_id == "S4", "earlier records get lower numbers"


def test_urls_that_differ_only_in_a_secret_are_two_sources(folder: Path) -> None:
    registry = opened(folder)
    assert [registry.register(a_source(url=DOC.format(token))).source_id for token in TOKENS] == ["S1", "S2"]
    assert [opened(folder).register(a_source(url=DOC.format(token))).source_id for token in TOKENS] == ["S1", "S2"]
    kept = [source.url for _, source in registry.list_all()]
    assert kept == [DOC.format("[redacted:random]")] * 2
    files = [file.read_bytes() for file in (folder / ".git" / "custody").rglob("*") if file.is_file()]
    assert not any(token.encode() in data for token in TOKENS for data in files)


def test_contradictory_records_are_skipped(folder: Path) -> None:
    opened(folder).register(a_source(1))
    event: dict[str, Json] = {"custody": 1, "kind": "registry", "id": "x", "at": "2026-01-31T12:00:00Z"}
    strange: list[dict[str, Json]] = [
        {**event, "op": "merge", "number": 1, "other": 77, "how": "person"},
        {**event, "op": "merge", "number": 1, "id": "y"},
        {**event, "op": "register", "number": 2**31 - 1, "how": "new", "source": {}, "keys": {"canonical": "text:x"}},
    ]
    with Workspace(folder).writing() as store:
        store.append([arrival_from_json(EventId(f"strange-{n}"), one) for n, one in enumerate(strange)])
        store.append([an_arrival("prompt")])
    assert ids(opened(folder)) == ["S1"]
    assert opened(folder).register(a_source(2)).source_id == "S2"
