"""The lines of an export: what was written is what is read, to the byte."""

from base64 import b64encode

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from custody.core.errors import InputError
from custody.core.ids import PENDING, Digest, Link, Seq, StoreId, digest_of
from custody.core.record import ChainTip, Record, RecordDraft
from custody.core.wire.canonical import EVENT_BYTES_MAX, Json, dump, parse
from custody.share.wire import (
    LINE_BYTES_MAX,
    BodyLine,
    ChainHead,
    EndLine,
    ExportLine,
    ForkLine,
    Header,
    PendingLine,
    RecordLine,
    body_line,
    decode_line,
    encode_line,
    header,
    record_from,
    record_line,
    stored_body,
)
from tests.builders.drawn import STORE, chain_of, chains, entries, json_objects, json_values, moments_ns, names
from tests.builders.events import an_event

ZERO = "sha256:" + "0" * 64
HEX = "ab" * 32
RECORD: dict[str, Json] = {
    "line": "record", "store": STORE, "seq": 1, "event": "e", "kind": "edit", "key": "k", "at_ns": 0, "digest": ZERO,
    "link": HEX,
}  # fmt: skip
stores = st.sampled_from((STORE, "0" * 32, "0123456789abcdef" * 2)).map(StoreId)
links = st.integers(0, 2**256 - 1).map(lambda number: Link(number.to_bytes(32, "big")))
records = st.builds(Record, stores, st.integers(1, 2**63 - 1).map(Seq), entries, links)
heads = st.builds(ChainTip, stores, st.integers(1, 2**63 - 1).map(Seq), links)


def again(line: ExportLine) -> ExportLine:
    """A line after its way through bytes, which are one canonical line of JSON."""
    data = encode_line(line)
    assert data.endswith(b"\n") and data.count(b"\n") == 1
    assert dump(parse(data, bytes_max=LINE_BYTES_MAX)) + b"\n" == data
    return decode_line(data)


def refusal(value: Json) -> str:
    with pytest.raises(InputError) as refused:
        decode_line(dump(value))
    return refused.value.message


@given(st.lists(heads, max_size=3))
def test_a_header_survives(some: list[ChainTip]) -> None:
    line = again(header(some))
    assert line == header(some)
    assert isinstance(line, Header)
    assert [(chain.store, chain.seq, chain.link) for chain in line.chains] == [
        (head.store, head.seq, head.link.hex()) for head in some
    ]


@given(records)
def test_a_record_and_a_fork_survive_and_stay_what_they_are(record: Record) -> None:
    line, fork = again(record_line(record)), again(record_line(record, ForkLine))
    assert type(line) is RecordLine and record_from(line) == record
    assert type(fork) is ForkLine and record_from(fork) == record


@given(names, moments_ns)
def test_any_name_and_any_moment_that_a_chain_may_hold_survives(name: str, at_ns: int) -> None:
    (record,) = chain_of([RecordDraft(name, name, name, at_ns, digest_of(b""))])  # type: ignore[arg-type]
    line = again(record_line(record))
    assert isinstance(line, RecordLine) and record_from(line) == record


@given(st.binary(max_size=40) | st.text(max_size=40).map(str.encode))
@example(b"")
@example("é\0\n\x7f".encode())
@example(b"\xff\xfe")
@example(b"\xed\xa0\x80")
@example(b"\xed\xa0\xbd\xed\xb8\x80")
@example("😀".encode())
@example(b"\xef\xbb\xbfa")
def test_bodies_of_any_bytes_survive(data: bytes) -> None:
    line = again(body_line(digest_of(data), data))
    assert isinstance(line, BodyLine)
    assert stored_body(line) == (digest_of(data), data)


def test_a_body_is_text_where_it_can_be_and_base64_where_not() -> None:
    assert body_line(digest_of(b"a"), b"a").text == "a"
    assert body_line(digest_of(b"\xff"), b"\xff") == BodyLine("sha256:" + digest_of(b"\xff").hex(), base64="/w==")


def test_an_erased_body_is_not_an_empty_one() -> None:
    digest = digest_of(b"")
    gone, empty = again(body_line(digest, None)), again(body_line(digest, b""))
    assert isinstance(gone, BodyLine) and isinstance(empty, BodyLine)
    assert (stored_body(gone)[1], stored_body(empty)[1]) == (None, b"")
    assert encode_line(gone) == b'{"digest":"sha256:%s","line":"body"}\n' % digest.hex().encode()


@given(names, json_values)
def test_a_waiting_event_survives(event: str, value: Json) -> None:
    data = dump({"any": value})
    line = again(PendingLine(event, data.decode()))
    assert isinstance(line, PendingLine)
    assert (line.event, line.data.encode()) == (event, data)


@given(st.binary(min_size=32, max_size=32))
def test_the_last_line_survives(raw: bytes) -> None:
    assert again(EndLine("sha256:" + raw.hex())) == EndLine("sha256:" + raw.hex())


@given(chains(max_size=3))
def test_the_same_records_give_the_same_bytes(some: list[Record]) -> None:
    lines = [encode_line(record_line(record)) for record in some]
    assert [encode_line(decode_line(line)) for line in lines] == lines


@pytest.mark.parametrize("version", [0, 2, 99, None, "1", "\ud800", [], 1.5])
def test_an_export_of_another_version_says_so_and_to_upgrade(version: Json) -> None:
    with pytest.raises(InputError, match=r"an export of version .*; this custody knows version 1") as refused:
        decode_line(dump({"line": "export", "version": version, "chains": [], "unheard_of": 1}))
    assert refused.value.hint == "upgrade custody"


def test_a_first_line_without_a_version_says_so_too() -> None:
    assert "this custody knows version 1" in refusal({"line": "export", "chains": []})


@pytest.mark.parametrize("version", [True, 1.0])
def test_what_only_equals_one_is_not_version_one(version: Json) -> None:
    assert "$.version" in refusal({"line": "export", "version": version, "chains": []})


NOT_A_NAME: list[Json] = ["", "\0", "a\n", "\na", "a\x7f", "a\x9b", "\ud800", "a" * 65_537, None, 1]
NOT_A_STORE: list[Json] = ["", "5" * 31, "5" * 33, "A" * 32, PENDING, "5" * 32 + "\n", "g" * 32, 5]
NOT_A_LINK: list[Json] = ["", "0" * 63, "0" * 65, "A" * 64, "0" * 64 + "\n", "sha256:" + "0" * 57, None]
WRONG: dict[str, list[Json]] = {
    "store": NOT_A_STORE,
    "seq": [0, -1, 2**63, 2**64, 10**300, 1.0, "1", True, None],
    "event": NOT_A_NAME,
    "kind": NOT_A_NAME,
    "key": NOT_A_NAME,
    "at_ns": [-(2**63), 2**63, 10**300, 0.5, "0", None],
    "digest": [None, 1],
    "link": NOT_A_LINK,
    "line": ["unheard_of", "\ud800", None],
    "more": [1],
    "\ud800": [1],
}


@pytest.mark.parametrize("name", WRONG)
def test_a_bad_field_of_a_record_is_refused(name: str) -> None:
    decode_line(dump(RECORD))
    for wrong in WRONG[name]:
        assert refusal(RECORD | {name: wrong}).startswith("not a line of an export")


@pytest.mark.parametrize("name", sorted(RECORD))
def test_a_missing_field_of_a_record_is_named(name: str) -> None:
    assert f"missing required field `{name}`" in refusal({key: item for key, item in RECORD.items() if key != name})


def test_limits_of_a_record_are_read() -> None:
    for seq, at_ns in ((1, -(2**63) + 1), (2**63 - 1, 2**63 - 1)):
        line = decode_line(dump(RECORD | {"seq": seq, "at_ns": at_ns}))
        assert isinstance(line, RecordLine)
        assert (line.seq, line.at_ns) == (seq, at_ns)
    decode_line(dump(RECORD | {"event": "a" * 65_536}))


@pytest.mark.parametrize("digest", ["", "junk", "sha256:" + "0" * 63, "0" * 64, "sha256:" + "A" * 64])
def test_a_digest_that_is_none_is_refused_when_it_is_used(digest: str) -> None:
    line = decode_line(dump(RECORD | {"digest": digest}))
    assert isinstance(line, RecordLine)
    with pytest.raises(InputError, match="is not a digest"):
        record_from(line)
    with pytest.raises(InputError, match="is not a digest"):
        stored_body(BodyLine(digest, text="a"))


@pytest.mark.parametrize("seq", [0, -1, 2**63, 10**300, 1.0, "1"])
def test_a_header_promises_only_places_that_exist(seq: Json) -> None:
    chain: Json = {"store": STORE, "seq": seq, "link": HEX}
    assert "$.chains[0].seq" in refusal({"line": "export", "version": 1, "chains": [chain]})
    most = Header(1, [ChainHead(STORE, 2**63 - 1, HEX)])
    assert again(most) == most


@pytest.mark.parametrize("wrong", ["=", "a", "ab=", "a b=", "/w==\n", "é", "\ud800", "____", "/w==/w=="])
def test_base64_that_is_none_is_refused(wrong: str) -> None:
    line = decode_line(dump({"line": "body", "digest": ZERO, "base64": wrong}))
    assert isinstance(line, BodyLine)
    with pytest.raises(InputError, match="base64 cannot be read"):
        stored_body(line)


def test_a_body_is_not_written_in_two_ways_at_once() -> None:
    with pytest.raises(InputError, match="both a text and base64"):
        stored_body(BodyLine(ZERO, text="", base64=""))


@pytest.mark.parametrize("fill", [b"a", b"\xff"])
def test_a_record_of_50_mb_is_refused_with_its_size_and_why(fill: bytes) -> None:
    data = fill * 50_000_000
    line = body_line(Digest(bytes(32)), data)
    read = decode_line(encode_line(line))
    assert isinstance(read, BodyLine)
    with pytest.raises(InputError, match="a record of 50,000,000 bytes is over the limit of 16,777,216") as refused:
        stored_body(read)
    assert refused.value.hint is not None and "no custody writes such a record" in refused.value.hint


def test_a_body_as_large_as_an_event_may_be_is_read_and_one_byte_more_is_not() -> None:
    stored_body(BodyLine(ZERO, base64=b64encode(b"\xff" * EVENT_BYTES_MAX).decode()))
    for over in (
        BodyLine(ZERO, base64=b64encode(b"\xff" * (EVENT_BYTES_MAX + 1)).decode()),
        BodyLine(ZERO, "é" * 2**23 + "a"),
    ):
        with pytest.raises(InputError, match="a record of 16,777,217 bytes"):
            stored_body(over)


def test_the_largest_body_has_a_line_that_can_be_read_however_it_is_spelled() -> None:
    most = encode_line(body_line(digest_of(b""), b"\x01" * EVENT_BYTES_MAX))
    assert 6 * EVENT_BYTES_MAX < len(most) <= LINE_BYTES_MAX < 7 * EVENT_BYTES_MAX, "and nothing much larger"
    with pytest.raises(InputError, match="is over the limit"):
        decode_line(b" " * (LINE_BYTES_MAX + 1))


def test_a_waiting_event_that_no_recorder_wrote_is_refused() -> None:
    assert "$.data" in refusal({"line": "pending", "event": "e", "data": "\ud800"})
    assert "$.event" in refusal({"line": "pending", "event": "e\n", "data": an_event("edit").decode()})


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"[]", b"null", b"1", b'"x"', b"{}", b'{"line":{}}', b"[" * 100_000, b"\xff"]
)
def test_what_is_no_line_is_refused(data: bytes) -> None:
    with pytest.raises(InputError):
        decode_line(data)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_line_or_refused(data: bytes) -> None:
    with pytest.raises(InputError):
        decode_line(data)


@given(st.sampled_from(("export", "body", "record", "fork", "pending", "end")), json_objects, st.data())
def test_any_object_is_a_line_or_refused(kind: str, value: dict[str, Json], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted({*RECORD, "version", "chains", "text", "base64", "data"} - {"line"})))
    base = RECORD if kind in ("record", "fork") else {}
    try:
        line = decode_line(dump({**base, **value, name: data.draw(json_values), "line": kind}))
        if isinstance(line, RecordLine):
            record_from(line)
        if isinstance(line, BodyLine):
            stored_body(line)
    except InputError:
        pass  # it only must not be any other error


def test_a_refusal_stays_short_whatever_was_sent() -> None:
    long = "k" * 100_000
    values: list[Json] = [RECORD | {long: 1}, RECORD | {"line": long}, {"line": "export", "version": long}]
    assert all(len(refusal(value)) < 500 for value in values)
