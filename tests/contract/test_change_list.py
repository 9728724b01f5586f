"""The list of indexed changes on every database."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from custody.core.ids import CommitSha
from custody.dupes import ChangeRow
from custody.dupes.queries import NAME_CHARS_MAX, ChangeList, DupesTables
from custody.store import Store


def put(store: Store, number: int, *, title: str = "A change", name: str = "", on_main: bool = False) -> None:
    row = ChangeRow(
        id=number,
        repo="",
        base=CommitSha("0" * 40),
        head=CommitSha(f"{number:040x}"),
        name=name,
        title=title,
        opened_ns=number,
        on_main=on_main,
        version="1",
        signature=b"\0",
    )
    with store.writing():
        DupesTables(store).put(row, (), [])


def ids(
    store: Store, *, before: int | None = None, limit: int = 99, landed: bool | None = None, words: str = ""
) -> list[int]:
    found = ChangeList(store)
    listed = [one.id for one in found.list_page(before=before, limit=limit, landed=landed, text=words)]
    if before is None and limit == 99:
        assert found.count(landed, words) == len(listed)
    return listed


def test_the_last_indexed_come_first_and_the_others_follow(store: Store) -> None:
    for number in range(1, 6):
        put(store, number, on_main=number % 2 == 0)
    assert ids(store) == [5, 4, 3, 2, 1]
    assert ids(store, limit=2) == [5, 4]
    assert ids(store, before=4, limit=2) == [3, 2]
    assert ids(store, landed=True) == [4, 2]
    assert ids(store, landed=False) == [5, 3, 1]


def test_words_are_sought_in_titles_names_and_the_beginning_of_heads(store: Store) -> None:
    put(store, 1, title="Retry STEP 3")
    put(store, 2, name="refs/heads/again/step")
    put(store, 0xABC)
    assert ids(store, words="Step") == [2, 1]
    assert ids(store, words=f"{0xABC:040x}"[:40]) == [0xABC]
    assert ids(store, words="step", landed=True) == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(st.text(st.characters(codec="ascii", exclude_categories=["C"]), min_size=1, max_size=6))
def test_no_character_of_the_words_is_an_operator(store: Store, words: str) -> None:
    if DupesTables(store).count() == 0:
        put(store, 1, title="plain")
    assert ids(store, words=words) == ([1] if words.lower() in "plain" or set(words) == {"0"} else [])


def test_a_title_without_end_is_read_by_its_beginning(store: Store) -> None:
    put(store, 1, title="x" * 1_000_000)
    (one,) = ChangeList(store).list_page(before=None, limit=9, landed=None)
    assert one.title == "x" * NAME_CHARS_MAX
