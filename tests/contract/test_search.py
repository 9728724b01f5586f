"""Every database finds the same sessions, and forgets erased and rebuilt texts."""

from custody.core.ids import RecordRef, Seq
from custody.search.model import SearchTerm, TextKind
from custody.search.queries import SearchFilter, SearchTables
from custody.store import Store
from tests.builders.events import an_arrival

TEXTS = {
    "one": "Round half to even, as the processor's statement does",
    "two": "even half of the größe is 1e5 too much, x2 v1.2",
    "three": "日本語の rounding of HTTPServer names' quotes",
}
EVERY = SearchFilter(tuple(TextKind))


def indexed(store: Store) -> SearchTables:
    for n, (session, text) in enumerate(TEXTS.items()):
        store.append([an_arrival("prompt", id=str(n), session=session, text=text)])
    tables = SearchTables(store)
    update(store, tables)
    return tables


def update(store: Store, tables: SearchTables) -> None:
    for chain, after, until in tables.list_unread():
        texts = tables.read_texts(chain, after, until)
        with store.writing():
            tables.put(chain, texts, after, until)


def sessions(tables: SearchTables, *words: str, is_prefix: bool = False) -> set[str]:
    return {session for _, session in tables.count_matches(SearchTerm(words, is_prefix), EVERY)}


def test_words_in_a_row_prefixes_and_scripts(store: Store) -> None:
    tables = indexed(store)
    for words, is_prefix, expected in (
        (("half",), False, {"one", "two"}),
        (("half", "to", "even"), False, {"one"}),
        (("even", "half"), False, {"two"}),
        (("hal",), False, set()),
        (("hal",), True, {"one", "two"}),
        (("half", "t"), True, {"one"}),
        (("grösse",), False, {"two"}),
        (("1e5",), False, {"two"}),
        (("日", "本"), False, {"three"}),
        (("http", "server"), False, {"three"}),
    ):
        assert sessions(tables, *words, is_prefix=is_prefix) == expected, (words, is_prefix)


def test_an_erased_text_leaves_the_index_and_the_others_stay(store: Store) -> None:
    tables = indexed(store)
    own = store.own()
    assert own is not None
    record = store.tables.record(RecordRef(own, Seq(1)))
    assert record is not None
    store.erase([record.entry.digest], who="ana", why="a name")
    assert sessions(tables, "half") == {"two"}
    update(store, tables)
    assert sessions(tables, "half") == {"two"}


def test_rebuilt_views_are_indexed_again(store: Store) -> None:
    tables = indexed(store)
    store.views.rebuild(lambda _: None)
    assert sessions(tables, "half") == set()
    update(store, tables)
    assert sessions(tables, "half") == {"one", "two"}
    assert tables.list_unread() == []
