"""The contract of every source registry: in memory, in an append-only file, in either database."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from custody.cite.app.source_registry import SourceRegistry
from custody.cite.links import LinkAnswer, LinkCheck
from custody.cite.model import ResearchSource, SourceError, SourceUsage, UnknownSource
from custody.cite.opened_check import choose_best_source_reading
from custody.cite.registry import (
    collect_source_excerpts,
    collect_source_readings,
    list_source_aliases,
    list_source_merges,
    suggest_source_merges,
)
from custody.core.errors import InputError
from custody.core.views import Reading
from custody.store import Store
from tests.builders.sources import Opener, a_source, in_file, in_memory, in_store
from tests.builders.stores import a_postgres_store, a_sqlite_store

DOI = "https://doi.org/10.1000/182"


@pytest.fixture(params=["memory", "file", "sqlite", "postgres"])
def open_registry(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    """Opens the same registry repeatedly, as separate programs would."""
    opened: list[Store] = []
    url = request.getfixturevalue("empty_postgres") if request.param == "postgres" else None

    def store() -> Store:
        return a_sqlite_store(tmp_path) if url is None else a_postgres_store(url, tmp_path)

    match request.param:
        case "memory":
            yield in_memory()
        case "file":
            yield in_file(tmp_path / "sources.jsonl", pytest.fail)
        case _:
            yield in_store(store, tmp_path, opened)
    for one in opened:
        one.close()


@pytest.fixture
def registry(open_registry: Opener) -> SourceRegistry:
    return open_registry()


def ids(registry: SourceRegistry) -> list[str]:
    return [identity.source_id for identity, _ in registry.list_all()]


# Conformance: 003-002, 003-006, 003-024
def test_numbers_are_assigned_in_order_from_1_and_survive_reopening(open_registry: Opener) -> None:
    given = [open_registry().register(a_source(n)).source_id for n in range(5)]
    assert given == ["S1", "S2", "S3", "S4", "S5"]
    assert [open_registry().register(a_source(n)).source_id for n in reversed(range(5))] == given[::-1]
    assert ids(open_registry()) == given


# Conformance: 003-018, 003-021, 003-022
def test_all_spellings_of_a_page_are_one_source(registry: SourceRegistry) -> None:
    first = registry.register(a_source(url="https://example.org/a"))
    again = registry.register(a_source(url="HTTP://EXAMPLE.org:80/a?utm_source=x#top"))
    assert (again.source_id, again.canonical_key, again.version) == ("S1", "url:https://example.org/a", 1)
    assert first == again == registry.find_by_key("url:https://example.org/a")
    assert registry.find_by_key("https://example.org/a?fbclid=1") == first
    assert registry.find_by_canonical_key("url:https://example.org/a") == "S1"
    assert registry.register(a_source(url="https://example.org/A")).source_id == "S2"


# Conformance: 003-020
def test_the_same_title_without_a_page_is_one_source(registry: SourceRegistry) -> None:
    said = {"snippet": "some words"}
    assert registry.register(a_source(metadata=said)).source_id == "S1"
    assert registry.register(a_source(title="a  TITLE", metadata=said)).source_id == "S1"
    assert registry.register(a_source(title="a title")).source_id == "S2"
    assert registry.register(a_source(1, metadata=said)).source_id == "S3"


def test_a_work_is_one_source_with_a_visible_reason(registry: SourceRegistry) -> None:
    registry.register(a_source(url=DOI))
    assert registry.register(a_source(url="https://dl.acm.org/doi/10.1000/182")).source_id == "S1"
    (merge,) = registry.store.read(lambda catalog: list_source_merges(catalog, "S1"))
    assert merge.reason == "the same work, doi:10.1000/182"
    assert (merge.spelling, merge.who, merge.how.value) == ("https://dl.acm.org/doi/10.1000/182", "ana", "work")
    assert registry.register(a_source(9)).source_id == "S2", "a merged URL takes no number"


def test_a_work_that_is_known_later_merges_two_numbers(registry: SourceRegistry) -> None:
    registry.register(a_source(1))
    registry.register(a_source(2, metadata={"doi": "10.1000/182"}))
    late = registry.register(a_source(1, metadata={"doi": "10.1000/182"}))
    assert late.source_id == "S1"
    assert ids(registry) == ["S1"]
    assert registry.store.read(lambda catalog: list_source_aliases(catalog, "S2")) == ["S2"]
    assert registry.unmerge("S2").source_id == "S2"
    assert registry.register(a_source(1, metadata={"doi": "10.1000/182"})).source_id == "S1"
    assert ids(registry) == ["S1", "S2"], "a key does not merge what a person separated"


def test_separated_sources_stay_separate_when_registered_again(registry: SourceRegistry) -> None:
    registry.register(a_source(1, metadata={"doi": "10.1000/182"}))
    registry.register(a_source(2))
    assert registry.register(a_source(2, metadata={"doi": "10.1000/182"})).source_id == "S1"
    registry.unmerge("S2")
    assert registry.register(a_source(2, metadata={"doi": "10.1000/182"}, author="Ana")).source_id == "S2"
    assert ids(registry) == ["S1", "S2"]


def test_an_archived_copy_is_the_page(registry: SourceRegistry) -> None:
    registry.register(a_source(url="https://web.archive.org/web/2020/https://example.org/a"))
    assert registry.register(a_source(url="https://example.org/a")).source_id == "S1"
    (merge,) = registry.store.read(lambda catalog: list_source_merges(catalog, "S1"))
    assert merge.how.value == "work"


# Conformance: 003-023, 003-058
def test_richer_metadata_wins_and_nothing_is_lost(registry: SourceRegistry) -> None:
    registry.register(a_source(1, title="Attention", metadata={"year": 2017}))
    richer = registry.register(
        a_source(1, title="Attention is all you need", publisher="NeurIPS", metadata={"year": 2018, "pages": 11})
    )
    assert richer.version == 2
    poorer = registry.register(a_source(1, title="Something else"))
    assert poorer.version == 2, "the shown fields did not change"
    source = registry.get("S1")
    assert source is not None
    assert (source.title, source.publisher, source.metadata["year"]) == ("Attention is all you need", "NeurIPS", 2017)
    assert source.metadata["pages"] == 11
    assert source.metadata["also"] == {"title": ["Attention", "Something else"], "year": [2018]}


def test_a_registration_without_new_facts_changes_nothing(open_registry: Opener, tmp_path: Path) -> None:
    open_registry().register(a_source(1, publisher="P"))
    before = open_registry().list_all()
    file = tmp_path / "sources.jsonl"
    size = file.stat().st_size if file.exists() else 0
    assert open_registry().register(a_source(1)).version == 1
    assert open_registry().list_all() == before
    assert (file.stat().st_size if file.exists() else 0) == size


def test_a_merge_is_undone_exactly(registry: SourceRegistry) -> None:
    for n in (1, 2, 3):
        registry.register(a_source(n, publisher=f"P{n}"))
        registry.register_usage(f"S{n}", "finding", f"f{n}")
        registry.excerpt(f"S{n}", f"passage {n}")
    before = seen(registry)
    registry.merge("S2", "S3", "the same report")
    registry.merge("S1", "S2", "the same report")
    assert ids(registry) == ["S1"]
    both = registry.get("S3")
    assert both is not None
    assert both.source_id == "S1"
    assert registry.usage("S3") == SourceUsage("S1", finding_ids=("f1", "f2", "f3"))
    assert [e.text for e in registry.store.read(lambda s: collect_source_excerpts(s, "S2"))] == [
        f"passage {n}" for n in (1, 2, 3)
    ]
    registry.unmerge("S2")
    registry.unmerge("S3")
    assert seen(registry) == before


def seen(registry: SourceRegistry) -> list[object]:
    """Return everything that the registry shows."""
    keys = [f"url:https://example.org/{n}" for n in (1, 2, 3)]
    numbers = ["S1", "S2", "S3"]
    return [
        registry.list_all(),
        [registry.get(one) for one in numbers],
        [registry.usage(one) for one in numbers],
        [registry.find_by_key(key) for key in keys],
        [registry.store.read(lambda catalog, one=one: collect_source_excerpts(catalog, one)) for one in numbers],  # type: ignore[misc]
        [registry.store.read(lambda catalog, one=one: list_source_merges(catalog, one)) for one in numbers],  # type: ignore[misc]
    ]


def test_what_is_registered_after_a_merge_stays_with_its_own_number(registry: SourceRegistry) -> None:
    registry.register(a_source(1))
    registry.register(a_source(2))
    registry.merge("S1", "S2", "the same")
    assert registry.register(a_source(2, author="Ana")).source_id == "S1"
    registry.unmerge("S2")
    one, two = registry.get("S1"), registry.get("S2")
    assert one is not None
    assert two is not None
    assert (one.author, two.author) == (None, "Ana")


def test_a_url_merged_by_a_key_can_be_split_off(open_registry: Opener) -> None:
    registry = open_registry()
    registry.register(a_source(url="https://example.org/a", author="Ana"))
    registry.register(a_source(url="https://example.org/a#one", author="Ben"))
    parted = registry.part("S1", "https://example.org/a#one", "another document behind a fragment")
    assert parted.source_id == "S2"
    assert parted.canonical_key.startswith("url:")
    assert registry.find_by_key(parted.canonical_key) == parted
    again = open_registry()
    assert again.register(a_source(url="https://example.org/a#one")).source_id == "S2"
    assert again.register(a_source(url="https://example.org/a#two")).source_id == "S1"
    one, two = again.get("S1"), again.get("S2")
    assert one is not None
    assert two is not None
    assert (one.author, two.author) == ("Ana", "Ben")
    again.merge("S1", "S2", "no, the same")
    assert ids(again) == ["S1"]


def test_a_url_split_off_from_its_work_keeps_its_own_page(registry: SourceRegistry) -> None:
    registry.register(a_source(url=DOI))
    registry.register(a_source(url="https://dl.acm.org/doi/10.1000/182"))
    parted = registry.part("S1", "https://dl.acm.org/doi/10.1000/182", "only the abstract")
    assert (parted.source_id, parted.canonical_key) == ("S2", "url:https://dl.acm.org/doi/10.1000/182")
    assert registry.find_by_key("https://dl.acm.org/doi/10.1000/182") == parted
    assert registry.register(a_source(url="http://dl.acm.org/doi/10.1000/182#abstract")).source_id == "S2"
    assert registry.register(a_source(url="https://dx.doi.org/10.1000/182")).source_id == "S1"
    assert ids(registry) == ["S1", "S2"]


# Conformance: 003-003, 003-012, 003-028
def test_usage_is_stored_by_kind_and_once(open_registry: Opener) -> None:
    registry = open_registry()
    registry.register(a_source(1))
    for kind in ("finding", "cluster", "contradiction", "report_section"):
        for _ in range(2):
            registry.register_usage("S1", kind, f"a {kind}")
    assert open_registry().usage("S1") == SourceUsage(
        "S1", ("a finding",), ("a cluster",), ("a contradiction",), ("a report_section",)
    )
    with pytest.raises(SourceError, match="usage is by 'chapter'"):
        registry.register_usage("S1", "chapter", "x")  # type: ignore[arg-type]
    with pytest.raises(UnknownSource):
        registry.register_usage("S9", "finding", "x")


def test_the_most_complete_reading_counts(open_registry: Opener) -> None:
    registry = open_registry()
    registry.register(a_source(1))
    assert (
        registry.store.read(
            lambda catalog: choose_best_source_reading(
                event.reading for event in collect_source_readings(catalog, "S1")
            )
        )
        is Reading.NEVER
    )
    for reading in (Reading.LISTED, Reading.EXCERPT, Reading.ATTEMPTED, Reading.EXCERPT):
        registry.read("S1", reading, session="s1")
    told = open_registry().store.read(lambda catalog: collect_source_readings(catalog, "S1"))
    assert [one.reading for one in told] == [Reading.LISTED, Reading.EXCERPT, Reading.ATTEMPTED]
    assert choose_best_source_reading(event.reading for event in told) is Reading.EXCERPT


def test_excerpts_are_stored_once_with_their_span(open_registry: Opener) -> None:
    registry = open_registry()
    registry.register(a_source(1))
    long = "words of a long passage " * 400
    for text, span in ((long, (5, 9)), (long, (5, 9)), (long, None), ("other", None)):
        registry.excerpt("S1", text, span)
    kept = open_registry().store.read(lambda catalog: collect_source_excerpts(catalog, "S1"))
    assert [(one.text, one.span) for one in kept] == [(long, (5, 9)), (long, None), ("other", None)]
    with pytest.raises(SourceError, match="excerpt is 9 to 5"):
        registry.excerpt("S1", "x", (9, 5))
    with pytest.raises(SourceError, match="excerpt is empty"):
        registry.excerpt("S1", " ")


# Conformance: 003-045
def test_similar_sources_are_suggested_and_never_merged(registry: SourceRegistry) -> None:
    passage = " ".join(f"word{n}" for n in range(60))
    registry.register(a_source(url="https://example.org/a", title="One"))
    registry.register(a_source(url="https://www.example.org/a/", title="Two"))
    registry.register(a_source(url="https://other.example/x", title="A title of several words"))
    registry.register(a_source(url="https://other.example/y", title="a title OF several words"))
    registry.register(a_source(url="https://other.example/z", title="Three"))
    registry.excerpt("S1", passage)
    registry.excerpt("S5", passage + " and some more words behind it")
    assert ids(registry) == ["S1", "S2", "S3", "S4", "S5"]

    def suggested(source_id: str) -> list[tuple[str, str]]:
        found = registry.store.read(lambda catalog: suggest_source_merges(catalog, source_id))
        return [(one.source_id, one.why.split(" by ")[0]) for one in found]

    assert suggested("S1") == [("S2", "similar URLs"), ("S5", "a passage matches")]
    assert suggested("S3") == [("S4", "same title")]
    registry.merge("S1", "S2", "seen both")
    assert suggested("S2") == [("S5", "a passage matches")]


REFUSED: tuple[tuple[Callable[[SourceRegistry], object], str], ...] = (
    (lambda r: r.merge("S1", "S1", "x"), "'S1' and 'S1' are already merged as"),
    (lambda r: r.merge("S1", "S9", "x"), "unknown source 'S9'"),
    (lambda r: r.merge("S1", "S2", " "), "a merge needs a reason"),
    (lambda r: r.merge("1", "S2", "x"), "source_id is invalid: '1'"),
    (lambda r: r.unmerge("S1"), "'S1' was not merged into another source"),
    (lambda r: r.part("S1", "https://nowhere.example", "x"), "is not a URL of 'S1'"),
    (lambda r: r.part("S1", "https://example.org/1", "x"), "is the only URL of 'S1'"),
    (lambda r: r.register(a_source(url="javascript:alert(1)")), "is a 'javascript:' URL, not a page"),
    (lambda r: r.register(a_source(url="data:text/plain,x")), "is a 'data:' URL, not a page"),
    (lambda r: r.register(a_source(title="\0\x01")), "title and URL are both missing"),
)


def test_invalid_calls_raise_and_change_nothing(registry: SourceRegistry) -> None:
    registry.register(a_source(1))
    registry.register(a_source(2))
    before = registry.list_all()
    wrong = []
    for call, says in REFUSED:
        try:
            call(registry)
        except InputError as error:
            if says not in str(error):
                wrong.append((says, str(error)))
        else:
            wrong.append((says, "not refused"))
        if registry.list_all() != before:
            wrong.append((says, "changed the registry"))
            before = registry.list_all()
    assert wrong == []


# Conformance: 003-015, 003-016
def test_unknown_keys_and_ids_find_nothing(registry: SourceRegistry) -> None:
    assert registry.get("S1") is None
    assert registry.get("no id") is None
    assert registry.find_by_key("url:https://example.org/1") is None
    assert registry.find_by_key("javascript:alert(1)") is None
    assert registry.list_all() == []


def test_odd_texts_survive(open_registry: Opener) -> None:
    title = "\u202eelttit a\u202c <script>&\"' العربية 漢字 🙂"
    source = a_source(1, title=title, author="a\0b\nc", metadata={"snippet": "x\0y", "deep": {"list": [1, None, "é"]}})
    open_registry().register(source)
    kept = open_registry().get("S1")
    assert kept is not None
    assert (kept.title, kept.author) == (title, "a b c")
    assert kept.metadata == {"snippet": "x y", "deep": {"list": [1, None, "é"]}}


def test_a_password_in_a_url_is_never_stored(open_registry: Opener, tmp_path: Path) -> None:
    registry = open_registry()
    registry.register(a_source(url="https://ana:correct-horse@example.org/a"))
    kept = registry.get("S1")
    assert kept is not None
    assert kept.url == "https://example.org/a"
    assert not any(b"correct-horse" in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())


# Conformance: 003-070
def test_concurrent_registrations_have_numbers_without_gaps(open_registry: Opener) -> None:
    registries = [open_registry() for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        given = list(pool.map(lambda n: registries[n % 8].register(a_source(n % 48)).source_id, range(64)))
    assert {int(one[1:]) for one in given} == set(range(1, 49))
    assert given[:16] == given[48:], "the same source, the same id"
    assert [open_registry().register(a_source(n)).source_id for n in range(48)] == given[:48]


def test_replaying_the_same_session_gives_the_same_ids(open_registry: Opener) -> None:
    sources = [a_source(n % 7, author=None if n % 2 else f"A{n}") for n in range(30)]
    first = [open_registry().register(one) for one in sources]
    other = in_memory()()
    assert [other.register(one) for one in sources] == first
    assert [replace(s, metadata={}) for _, s in other.list_all()] == [
        replace(s, metadata={}) for _, s in open_registry().list_all()
    ]


def test_huge_sources_are_rejected(registry: SourceRegistry) -> None:
    with pytest.raises(SourceError, match="title has 100,000 bytes"):
        registry.register(ResearchSource(title="x" * 100_000))
    with pytest.raises(SourceError, match="metadata has about"):
        registry.register(a_source(1, metadata={"x": "y" * 100_000}))
    assert registry.list_all() == []


def a_look(answer: LinkAnswer = LinkAnswer.ABSENT, url: str = "https://example.org/1", **fields: Any) -> LinkCheck:
    return LinkCheck(**{"url": url, "answer": answer, "why": "status 404", "status": 404, **fields})


def test_link_checks_are_stored(open_registry: Opener) -> None:
    open_registry().register(a_source(1))
    open_registry().register(a_source(2))
    assert open_registry().check("S1") is None
    writer = open_registry()
    for _ in range(3):
        writer.record_checks([("S1", a_look()), ("S2", a_look(LinkAnswer.HERE, "https://example.org/2", status=200))])
    memory = open_registry().check("S1")
    assert memory is not None and memory.last == a_look()
    assert len(memory.failures_ns) == 3 and memory.failures_ns[-1] == memory.at_ns
    moved = a_look(LinkAnswer.MOVED, location="https://example.org/3", retry_seconds=2, status=200, why="moved")
    writer.record_checks([("S1", moved)])
    memory = open_registry().check("S1")
    assert memory is not None and (memory.last, memory.failures_ns) == (moved, ())
    other = open_registry().check("S2")
    assert other is not None and other.last.answer is LinkAnswer.HERE


def test_a_link_check_belongs_to_the_shown_url(registry: SourceRegistry) -> None:
    registry.register(a_source(1))
    registry.register(a_source(2))
    registry.record_checks([("S1", a_look()), ("S2", a_look(url="https://example.org/2"))])
    registry.merge("S1", "S2", "the same")
    assert registry.check("S2") == registry.check("S1")
    registry.unmerge("S2")
    memory = registry.check("S2")
    assert memory is not None and memory.url == "https://example.org/2"
    registry.record_checks([("S2", a_look(url="https://example.org/other"))])
    assert registry.check("S2") is None, "the shown URL was never checked"


def test_a_link_check_of_an_unknown_source_stores_nothing(registry: SourceRegistry) -> None:
    registry.register(a_source(1))
    with pytest.raises(UnknownSource):
        registry.record_checks([("S1", a_look()), ("S9", a_look())])
    assert registry.check("S1") is None
    registry.record_checks([])


def test_stored_text_and_accesses_survive_reopening(open_registry: Opener) -> None:
    registry = open_registry()
    registry.register(a_source(1, metadata={"snippet": "Some words."}))
    registry.register(a_source(2))
    registry.excerpt("S1", "A first passage.")
    registry.excerpt("S1", "A second passage.", (10, 27))
    registry.read("S1", Reading.VERBATIM, "session")
    first, second = open_registry().candidates()
    assert first.text == "Some words.\n\n[…]\n\nA first passage.\n\n[…]\n\nA second passage."
    assert (len(first.accesses), second.text, len(second.accesses)) == (4, None, 1)
    assert open_registry().find_with_text("S1") == (open_registry().get("S1"), first.text)
    assert open_registry().find_with_text("S3") is None
    open_registry().merge("S2", "S1", "the same")
    (merged,) = open_registry().candidates()
    assert (merged.source_id, merged.text, len(merged.accesses)) == ("S2", first.text, 5)
