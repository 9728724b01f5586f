"""Record ids: a chain and a position in it."""

from hypothesis import given
from hypothesis import strategies as st

from custody.core.ids import PENDING, RecordRef, Seq, StoreId

refs = st.builds(
    RecordRef, st.sampled_from(("0" * 32, "f" * 32, PENDING)).map(StoreId), st.integers(1, 2**63 - 1).map(Seq)
)


def test_a_reference_is_written_as_chain_and_place() -> None:
    assert str(RecordRef(StoreId("ab" * 16), Seq(12))) == "ab" * 16 + ":12"


@given(refs, refs)
def test_references_sort_by_chain_and_then_by_number(one: RecordRef, other: RecordRef) -> None:
    assert (one < other) == ((one.store, one.seq) < (other.store, other.seq)), "9 comes before 10"


@given(refs, refs)
def test_two_references_never_look_alike(one: RecordRef, other: RecordRef) -> None:
    assert (str(one) == str(other)) == (one == other)


def test_the_chain_of_waiting_events_can_be_no_stores() -> None:
    assert set(PENDING) - set("0123456789abcdef")
