"""Any damage to a chain's records is found, and the first finding names the right record.

"Right" is the record that was touched; where it is gone, the place that it left; where only what follows shows it, the
record directly behind. A chain that was made again as a whole shows only at the place that its head remembers.
"""

import re

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from custody.core.ids import Digest, EventId, Link, NaturalKey, RecordRef, Seq, StoreId
from custody.core.record import (
    ChainTip,
    Damage,
    DamageCode,
    Record,
    RecordDraft,
    chain_tip_from_record,
    check_record_chain,
    empty_chain_tip,
    record_from_draft,
)
from tests.builders.drawn import STORE, chain_of, chains, entries

OTHER_STORE = StoreId("6" * 32)
LINK, GAP, CUT, DIFFERS = DamageCode.CHAIN_LINK, DamageCode.CHAIN_GAP, DamageCode.CHAIN_CUT, DamageCode.HEAD_DIFFERS


def found(records: list[Record], remembered: ChainTip | None = None) -> list[Damage]:
    return list(check_record_chain(STORE, records, remembered))


def at(code: DamageCode, seq: int) -> tuple[DamageCode, RecordRef]:
    return code, RecordRef(STORE, Seq(seq))


def named(damages: list[Damage]) -> list[tuple[DamageCode, RecordRef | None]]:
    return [(damage.code, damage.record) for damage in damages]


def place(data: st.DataObject, records: list[Record]) -> int:
    """Return a record's position, from 1."""
    return data.draw(st.integers(1, len(records)), label="place")


def put(records: list[Record], seq: int, record: Record) -> list[Record]:
    return [*records[: seq - 1], record, *records[seq:]]


@given(chains(min_size=0), st.data())
def test_a_sound_chain_has_no_damage_whichever_of_its_heads_is_remembered(
    records: list[Record], data: st.DataObject
) -> None:
    assert found(records) == []
    heads = [empty_chain_tip(STORE), *map(chain_tip_from_record, records)]
    assert found(records, data.draw(st.sampled_from(heads))) == [], "a head behind the chain is a killed write"


@settings(max_examples=200)
@given(st.sampled_from(sorted(RecordDraft.__struct_fields__)), chains(), st.data())
def test_a_changed_field_of_an_entry_is_found_at_that_record_alone(
    field: str, records: list[Record], data: st.DataObject
) -> None:
    seq, other = place(data, records), data.draw(entries)
    record = records[seq - 1]
    assume(getattr(record.entry, field) != getattr(other, field))
    changed = replace(record, entry=replace(record.entry, **{field: getattr(other, field)}))
    damages = found(put(records, seq, changed), chain_tip_from_record(records[-1]))
    assert named(damages) == [at(LINK, seq)]


@given(chains(), st.data())
def test_a_changed_link_is_found_at_its_record_and_behind_it(records: list[Record], data: st.DataObject) -> None:
    seq, bit = place(data, records), data.draw(st.integers(0, 255))
    link = Link((int.from_bytes(records[seq - 1].link, "big") ^ (1 << bit)).to_bytes(32, "big"))
    damages = found(put(records, seq, replace(records[seq - 1], link=link)))
    assert named(damages) == [at(LINK, n) for n in (seq, seq + 1) if n <= len(records)]


@given(chains(), st.data())
def test_a_record_under_another_chains_name_is_found_at_its_place(records: list[Record], data: st.DataObject) -> None:
    seq = place(data, records)
    damages = found(put(records, seq, replace(records[seq - 1], store=OTHER_STORE)), chain_tip_from_record(records[-1]))
    assert named(damages) == [at(LINK, seq)]


@given(st.lists(entries, min_size=1, max_size=4))
def test_a_sound_chain_of_another_store_is_not_this_one(made: list[RecordDraft]) -> None:
    assert named(found(chain_of(made, OTHER_STORE)))[0] == at(LINK, 1)


@given(chains(), st.integers(1, 9), st.data())
def test_a_place_moved_up_leaves_a_gap_where_the_record_was(
    records: list[Record], up: int, data: st.DataObject
) -> None:
    seq = place(data, records)
    moved = replace(records[seq - 1], seq=Seq(seq + up))
    assert named(found(put(records, seq, moved)))[0] == at(GAP, seq)


@given(chains(), st.data())
def test_a_place_moved_down_is_found_at_the_claimed_place_and_where_it_is_missed(
    records: list[Record], data: st.DataObject
) -> None:
    seq = place(data, records)
    claimed = data.draw(st.integers(-1, seq - 1), label="claimed")
    moved = replace(records[seq - 1], seq=Seq(claimed))
    damages = found(put(records, seq, moved), chain_tip_from_record(records[-1]))
    assert named(damages)[0] == at(LINK, claimed)
    assert named(damages)[1] in (at(GAP, seq), at(CUT, seq))


@given(chains(), st.data())
def test_a_deleted_record_is_missed_at_its_place(records: list[Record], data: st.DataObject) -> None:
    seq = place(data, records)
    damages = found(records[: seq - 1] + records[seq:], chain_tip_from_record(records[-1]))
    assert named(damages) == [at(CUT if seq == len(records) else GAP, seq)]


@given(chains(min_size=2), st.data())
def test_deleted_records_are_missed_from_the_first_to_the_last(records: list[Record], data: st.DataObject) -> None:
    first = data.draw(st.integers(1, len(records) - 1))
    last = data.draw(st.integers(first, len(records) - 1))
    (damage,) = found(records[: first - 1] + records[last:])
    assert (damage.code, damage.record) == at(GAP, first)
    which = f"record {first} is" if first == last else f"records {first} to {last} are"
    assert damage.what == f"{which} missing from chain {STORE}"


@given(chains(), st.data())
def test_a_cut_end_is_missed_from_its_first_record_on_when_the_head_was_remembered(
    records: list[Record], data: st.DataObject
) -> None:
    first = place(data, records)
    (damage,) = found(records[: first - 1], chain_tip_from_record(records[-1]))
    assert (damage.code, damage.record) == at(CUT, first)
    which = f"record {first} is" if first == len(records) else f"records {first} to {len(records)} are"
    assert damage.what.startswith(f"{which} missing from the end of chain {STORE}")
    assert found(records[: first - 1]) == [], "without a head the missing end is unknown"


@given(chains(min_size=2), st.data())
def test_of_two_records_swapped_the_earlier_is_missed_at_its_place(records: list[Record], data: st.DataObject) -> None:
    one = data.draw(st.integers(1, len(records) - 1))
    other = data.draw(st.integers(one + 1, len(records)))
    swapped = put(put(records, one, records[other - 1]), other, records[one - 1])
    damages = found(swapped)
    assert named(damages)[0] == at(GAP, one)
    assert at(LINK, one) in named(damages), "and named where it stands instead"


@given(chains(min_size=2), st.data())
def test_two_entries_swapped_under_their_places_and_links_are_both_found(
    records: list[Record], data: st.DataObject
) -> None:
    one = data.draw(st.integers(1, len(records) - 1))
    other = data.draw(st.integers(one + 1, len(records)))
    mine, theirs = records[one - 1], records[other - 1]
    assume(mine.entry != theirs.entry)
    swapped = put(put(records, one, replace(mine, entry=theirs.entry)), other, replace(theirs, entry=mine.entry))
    assert named(found(swapped)) == [at(LINK, one), at(LINK, other)]


@given(chains(), st.data())
def test_a_record_that_stands_twice_is_found_at_its_second_standing(records: list[Record], data: st.DataObject) -> None:
    seq = place(data, records)
    after = data.draw(st.integers(seq, len(records)))
    damages = found([*records[:after], records[seq - 1], *records[after:]], chain_tip_from_record(records[-1]))
    assert named(damages) == [at(LINK, seq)], "the rest of the chain is sound"


@given(chains(min_size=2), st.data())
def test_a_record_that_also_stands_too_early_is_found_where_it_stands(
    records: list[Record], data: st.DataObject
) -> None:
    seq = data.draw(st.integers(2, len(records)))
    before = data.draw(st.integers(1, seq - 1))
    damages = found([*records[: before - 1], records[seq - 1], *records[before - 1 :]])
    assert named(damages)[0] == at(GAP, before)


@given(chains(min_size=0), entries, st.booleans(), st.data())
def test_a_record_put_in_between_is_found_there_or_directly_behind(
    records: list[Record], entry: RecordDraft, fits: bool, data: st.DataObject
) -> None:
    before = data.draw(st.integers(0, len(records)))
    last = chain_tip_from_record(records[before - 1]) if before else empty_chain_tip(STORE)
    added = record_from_draft(last, entry) if fits else Record(STORE, Seq(before + 1), entry, Link(bytes(32)))
    assume(fits is False or before < len(records))  # a record that fits after the last one is simply the next
    pushed = [replace(record, seq=Seq(record.seq + 1)) for record in records[before:]]
    damages = found([*records[:before], added, *pushed])
    assert named(damages)[0] == at(LINK, before + 2 if fits else before + 1)


@given(chains(), entries, st.data())
def test_a_chain_made_again_from_some_place_on_is_found_against_its_remembered_head(
    records: list[Record], entry: RecordDraft, data: st.DataObject
) -> None:
    seq = place(data, records)
    assume(records[seq - 1].entry != entry)
    again = chain_of([record.entry for record in put(records, seq, replace(records[seq - 1], entry=entry))])
    for remembered in (n for n in range(seq, len(records) + 1)):
        assert named(found(again, chain_tip_from_record(records[remembered - 1]))) == [at(DIFFERS, remembered)]
    assert found(again) == [], "only a head kept elsewhere shows it"


@given(chains(min_size=2), entries, st.data())
def test_a_chain_made_again_and_made_longer_or_shorter_is_found_too(
    records: list[Record], entry: RecordDraft, data: st.DataObject
) -> None:
    seq = place(data, records)
    rest = data.draw(st.lists(entries, max_size=8))
    again = chain_of([*(record.entry for record in records[: seq - 1]), entry, *rest])
    assume(again[seq - 1] != records[seq - 1])
    damages = found(again, chain_tip_from_record(records[-1]))
    if len(again) < len(records):
        assert named(damages) == [at(CUT, len(again) + 1)]
    else:
        assert named(damages) == [at(DIFFERS, len(records))]


def test_a_chain_that_is_gone_is_missed_from_its_first_record_on() -> None:
    (damage,) = found([], ChainTip(STORE, Seq(3), Link(b"x" * 32)))
    assert (damage.code, damage.record) == at(CUT, 1)


@given(chains(), st.data())
def test_what_is_said_never_counts_backwards(records: list[Record], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(records + records[:2]))
    for damage in found(list(shuffled)):
        if stretch := re.match(r"records (\d+) to (\d+) are missing", damage.what):
            assert int(stretch[1]) < int(stretch[2])


def test_findings_by_hand() -> None:
    one, two, three = chain_of(
        [RecordDraft(EventId(e), "edit", NaturalKey("key"), 0, Digest(bytes(32))) for e in "abc"]
    )
    assert [damage.what for damage in found([two])] == [f"record 1 is missing from chain {STORE}"]
    assert [damage.what for damage in found([one, replace(two, link=three.link), three])] == [
        f"record {n} of chain {STORE} (edit) does not fit its place in the chain:"
        " it, its link or the record before it was changed or moved"
        for n in (2, 3)
    ]
    assert [damage.what for damage in found([one, two, one, three])] == [
        f"record 1 of chain {STORE} (edit) follows record 2: it was moved or repeated"
    ]


def test_every_code_has_a_label_and_a_sentence() -> None:
    assert DamageCode.CHAIN_GAP.label == "CHAIN-GAP"
    assert all(code.value and code.value[0].islower() and not code.value.endswith(".") for code in DamageCode)
    assert len({code.label for code in DamageCode}) == len(DamageCode)
