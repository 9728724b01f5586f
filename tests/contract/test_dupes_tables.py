"""The index of changes on every database: the same rows in, the same candidates out."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from custody.core.ids import CommitSha
from custody.dupes import ChangeRow
from custody.dupes.queries import DupesTables, EvidenceRow, SharedTerms
from custody.store import Store
from tests.contract.conftest import Opener

TERMS = st.dictionaries(st.integers(-(2**63), 2**63 - 1), st.integers(0, 9_000), min_size=1, max_size=20)


def a_row(number: int, *, name: str = "", base: str = "0" * 40, on_main: bool = False) -> ChangeRow:
    return ChangeRow(
        id=number,
        repo="",
        base=CommitSha(base),
        head=CommitSha(f"{number:040x}"),
        name=name,
        title="größe \x7f",
        opened_ns=number,
        on_main=on_main,
        version="1",
        signature=bytes([number, 0, 255]),
    )


def put(store: Store, row: ChangeRow, terms: list[int], exact: tuple[tuple[int, int], ...] = ()) -> None:
    with store.writing():
        DupesTables(store).put(row, exact, terms)


def test_changes_come_back_as_they_were(store: Store, open_store: Opener) -> None:
    rows = [a_row(number, name=f"refs/pull/{number}/head", on_main=number % 2 == 0) for number in (1, 2, 3)]
    for row in rows:
        put(store, row, [row.id])
    again = DupesTables(open_store())
    assert list(again.iterate_changes()) == rows
    assert again.changes([3, 1, 9]) == {1: rows[0], 3: rows[2]}
    assert (again.newest(), again.count()) == (3, 3)
    assert again.list_changes_by_name("refs/pull/2/head") == [rows[1]]
    assert again.list_changes_by_head("0" * 39 + "3") == [rows[2]]
    assert again.list_change_ends("") == {(row.base, row.head) for row in rows}
    assert again.find("", rows[1].base, rows[1].head) == 2
    assert (again.has_other_version("1"), again.has_other_version("2")) == (False, True)


def test_terms_are_counted_and_summed(store: Store) -> None:
    put(store, a_row(1), [10, -20, 30])
    put(store, a_row(2), [10, 30])
    put(store, a_row(3), [10])
    assert DupesTables(store).counts([10, -20, 30, 40]) == {10: 3, -20: 1, 30: 2}
    weights = {10: 1, 30: 5, -20: 7, 40: 100}
    assert DupesTables(store).find_sharing_changes(weights, 3, 9) == [
        SharedTerms(1, 13, 3),
        SharedTerms(2, 6, 2),
        SharedTerms(3, 1, 1),
    ]
    assert DupesTables(store).find_sharing_changes(weights, 2, 1) == [SharedTerms(1, 13, 3)]
    assert DupesTables(store).find_sharing_changes({}, 3, 9) == []
    assert DupesTables(store).sum_shared_terms(weights, 2) == SharedTerms(2, 6, 2)


def test_exact_hashes_are_found_up_to_a_change(store: Store) -> None:
    put(store, a_row(1), [], exact=((2**62, 0), (-5, 3)))
    put(store, a_row(2), [], exact=((2**62, 0),))
    assert DupesTables(store).find_exact_matches([(2**62, 0)], 2) == [(1, 0), (2, 0)]
    assert DupesTables(store).find_exact_matches([(2**62, 0), (-5, 3)], 1) == [(1, 0), (1, 3)]
    assert DupesTables(store).find_exact_matches([(2**62, 1)], 2) == []
    assert list(DupesTables(store).groups_by_exact()) == [(0, (1, 2))]


def test_changes_are_put_together_by_rare_terms(store: Store) -> None:
    for number in range(1, 5):
        put(store, a_row(number), [7, 100 + number // 2])
    assert list(DupesTables(store).pairs_by_terms(3)) == [(2, 3)]
    assert sorted(DupesTables(store).pairs_by_terms(4)) == [(1, 2, 3, 4), (2, 3)]


def test_what_could_not_be_read_is_remembered_until_it_can(store: Store) -> None:
    with store.writing():
        DupesTables(store).put_unread("", "b", "h", "gone")
        DupesTables(store).put_unread("", "b", "h", "missing")
    assert DupesTables(store).list_unread("") == [("b", "h", "missing")]
    with store.writing():
        DupesTables(store).delete_unread("", "b", "h")
    assert DupesTables(store).list_unread("") == []


def test_evidence_is_kept_once_and_stays_when_the_index_goes(store: Store) -> None:
    row = EvidenceRow("ab12", "cd34", "ef56", 5, '{"a":1}')
    put(store, a_row(1), [1])
    with store.writing():
        DupesTables(store).put_evidence(row)
        DupesTables(store).put_evidence(row)
        DupesTables(store).forget()
    assert DupesTables(store).evidence("ab") == DupesTables(store).evidence("cd34") == [row]
    assert DupesTables(store).evidence("ff") == []
    assert (DupesTables(store).newest(), DupesTables(store).counts([1])) == (0, {})


@given(TERMS)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_weights_are_summed_without_loss(store: Store, weights: dict[int, int]) -> None:
    with store.writing():
        DupesTables(store).forget()
    put(store, a_row(1), list(weights))
    (found,) = DupesTables(store).find_sharing_changes(weights, 1, 5)
    assert found == SharedTerms(1, sum(weights.values()), len(weights))
