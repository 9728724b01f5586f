"""The fields that a link covers, against a second implementation of the store page."""

import hashlib

from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from custody.core.ids import Digest, EventId, Link, NaturalKey, Seq, StoreId
from custody.core.record import (
    GENESIS,
    ChainTip,
    Record,
    RecordDraft,
    chain_tip_from_record,
    compute_record_link,
    empty_chain_tip,
    record_from_draft,
)
from tests.builders.drawn import STORE, chain_of, chains, entries

ENTRY = RecordDraft(EventId("e-1"), "edit", NaturalKey("event:robot:s1:edit:1"), -1, Digest(bytes(range(32))))

# Computed without custody: printf of the eight fields, each after its length in eight bytes, into sha256sum.
FIRST_LINK = "658563ccfdf7a6102a2f5413ae72bb5267dbb4637f83c3182c3a9ac8c6bc29dc"
SECOND_LINK = "9155a539bb095bdfbee847b1fabe40bb84c33134f567bd7ae5bb2dd6142ff1fd"


def link_as_written(record: Record, previous: bytes) -> bytes:
    """SHA-256 over previous link, store, seq, event, kind, key, at_ns and digest, each length-prefixed."""
    entry = record.entry
    spelled = (
        previous,
        record.store.encode("utf-8"),
        b"%d" % record.seq,
        entry.event.encode("utf-8"),
        entry.kind.encode("utf-8"),
        entry.key.encode("utf-8"),
        b"%d" % entry.at_ns,
        entry.digest,
    )
    return hashlib.sha256(b"".join(len(field).to_bytes(8, "big") + field for field in spelled)).digest()


def test_links_by_hand() -> None:
    one, two = chain_of([ENTRY, replace(ENTRY, kind="prompt", at_ns=2**62)])
    assert one.link.hex() == FIRST_LINK
    assert two.link.hex() == SECOND_LINK


@given(chains())
def test_every_link_is_what_the_page_says(records: list[Record]) -> None:
    previous = bytes(32)
    for seq, record in enumerate(records, 1):
        assert record.seq == seq
        assert record.link == link_as_written(record, previous)
        previous = record.link


@given(entries, entries, st.integers(1, 99).map(Seq), st.integers(0, 255))
def test_every_field_matters(entry: RecordDraft, other: RecordDraft, seq: Seq, bit: int) -> None:
    before = compute_record_link(GENESIS, STORE, seq, entry)
    assert compute_record_link(Link((1 << bit).to_bytes(32, "big")), STORE, seq, entry) != before
    assert compute_record_link(GENESIS, StoreId("6" + STORE[1:]), seq, entry) != before
    assert compute_record_link(GENESIS, STORE, Seq(seq + 1), entry) != before
    for field in RecordDraft.__struct_fields__:
        changed = replace(entry, **{field: getattr(other, field)})
        assert (compute_record_link(GENESIS, STORE, seq, changed) == before) == (changed == entry), field


@given(st.text("ab1", min_size=2, max_size=8), st.data())
def test_a_byte_cannot_move_from_one_field_into_the_next(text: str, data: st.DataObject) -> None:
    cuts = st.integers(0, len(text))
    one, other = data.draw(cuts), data.draw(cuts)
    assume(one != other)
    entries_alike = [
        (replace(ENTRY, event=EventId(text[:cut]), kind=text[cut:]) for cut in (one, other)),
        (replace(ENTRY, kind=text[:cut], key=NaturalKey(text[cut:])) for cut in (one, other)),
    ]
    for here, there in entries_alike:
        assert compute_record_link(GENESIS, STORE, Seq(1), here) != compute_record_link(GENESIS, STORE, Seq(1), there)


def test_a_digit_cannot_move_between_store_place_event_key_and_time() -> None:
    def link(store: str, seq: int, event: str, key: str, at_ns: int) -> Link:
        entry = RecordDraft(EventId(event), "k", NaturalKey(key), at_ns, ENTRY.digest)
        return compute_record_link(GENESIS, StoreId(store), Seq(seq), entry)

    assert len({link("a1", 2, "e", "k", 1), link("a", 12, "e", "k", 1)}) == 2
    assert len({link("a", 12, "e", "k", 1), link("a", 1, "2e", "k", 1)}) == 2
    assert len({link("a", 1, "e", "k1", 1), link("a", 1, "e", "k", 11)}) == 2


def test_an_empty_chain_begins_with_zeros() -> None:
    assert empty_chain_tip(STORE) == ChainTip(STORE, Seq(0), Link(bytes(32)))


@given(chains(max_size=3), entries)
def test_an_entry_is_chained_right_behind_the_head(records: list[Record], entry: RecordDraft) -> None:
    head = chain_tip_from_record(records[-1])
    assert (head.store, head.seq, head.link) == (STORE, records[-1].seq, records[-1].link)
    made = record_from_draft(head, entry)
    assert (made.store, made.seq, made.entry) == (STORE, head.seq + 1, entry)
    assert made.link == link_as_written(made, head.link)
    assert (made.ref.store, made.ref.seq) == (made.store, made.seq)
