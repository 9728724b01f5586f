"""The lines of an export: they are read back as written, to the byte."""

from base64 import b64encode

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from custody.core.errors import InputError
from custody.core.ids import PENDING, Digest, Link, Seq, StoreId, digest_from_bytes
from custody.core.record import ChainTip, Record, RecordDraft
from custody.core.wire.canonical import EVENT_BYTES_MAX, Json, dump_canonical_json, parse_json_bytes
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
    body_from_line,
    decode_export_line,
    encode_export_line,
    make_body_line,
    make_export_header,
    make_record_line,
    record_from_line,
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
    """Encode a line as one canonical line of JSON and decode it."""
    data = encode_export_line(line)
    assert data.endswith(b"\n") and data.count(b"\n") == 1
    assert dump_canonical_json(parse_json_bytes(data, bytes_max=LINE_BYTES_MAX)) + b"\n" == data
    return decode_export_line(data)


def refusal(value: Json) -> str:
    with pytest.raises(InputError) as refused:
        decode_export_line(dump_canonical_json(value))
    return refused.value.message


@given(st.lists(heads, max_size=3))
def test_a_header_survives(some: list[ChainTip]) -> None:
    line = again(make_export_header(some))
    assert line == make_export_header(some)
    assert isinstance(line, Header)
    assert [(chain.store, chain.seq, chain.link) for chain in line.chains] == [
        (head.store, head.seq, head.link.hex()) for head in some
    ]


@given(records)
def test_a_record_and_a_fork_survive_with_their_types(record: Record) -> None:
    line, fork = again(make_record_line(record)), again(make_record_line(record, ForkLine))
    assert type(line) is RecordLine and record_from_line(line) == record
    assert type(fork) is ForkLine and record_from_line(fork) == record


@given(names, moments_ns)
def test_any_name_and_any_timestamp_of_a_chain_survives(name: str, at_ns: int) -> None:
    (record,) = chain_of([RecordDraft(name, name, name, at_ns, digest_from_bytes(b""))])  # type: ignore[arg-type]
    line = again(make_record_line(record))
    assert isinstance(line, RecordLine) and record_from_line(line) == record


@given(st.binary(max_size=40) | st.text(max_size=40).map(str.encode))
@example(b"")
@example("é\0\n\x7f".encode())
@example(b"\xff\xfe")
@example(b"\xed\xa0\x80")
@example(b"\xed\xa0\xbd\xed\xb8\x80")
@example("😀".encode())
@example(b"\xef\xbb\xbfa")
def test_bodies_of_any_bytes_survive(data: bytes) -> None:
    line = again(make_body_line(digest_from_bytes(data), data))
    assert isinstance(line, BodyLine)
    assert body_from_line(line) == (digest_from_bytes(data), data)


def test_a_body_is_text_where_it_can_be_and_base64_where_not() -> None:
    assert make_body_line(digest_from_bytes(b"a"), b"a").text == "a"
    assert make_body_line(digest_from_bytes(b"\xff"), b"\xff") == BodyLine(
        "sha256:" + digest_from_bytes(b"\xff").hex(), base64="/w=="
    )


def test_an_erased_body_is_not_an_empty_one() -> None:
    digest = digest_from_bytes(b"")
    erased, empty = again(make_body_line(digest, None)), again(make_body_line(digest, b""))
    assert isinstance(erased, BodyLine) and isinstance(empty, BodyLine)
    assert (body_from_line(erased)[1], body_from_line(empty)[1]) == (None, b"")
    assert encode_export_line(erased) == b'{"digest":"sha256:%s","line":"body"}\n' % digest.hex().encode()


@given(names, json_values)
def test_a_pending_event_survives(event: str, value: Json) -> None:
    data = dump_canonical_json({"any": value})
    line = again(PendingLine(event, data.decode()))
    assert isinstance(line, PendingLine)
    assert (line.event, line.data.encode()) == (event, data)


@given(st.binary(min_size=32, max_size=32))
def test_the_last_line_survives(raw: bytes) -> None:
    assert again(EndLine("sha256:" + raw.hex())) == EndLine("sha256:" + raw.hex())


@given(chains(max_size=3))
def test_the_same_records_give_the_same_bytes(some: list[Record]) -> None:
    lines = [encode_export_line(make_record_line(record)) for record in some]
    assert [encode_export_line(decode_export_line(line)) for line in lines] == lines


@pytest.mark.parametrize("version", [0, 2, 99, None, "1", "\ud800", [], 1.5])
def test_an_export_of_another_version_is_refused_with_a_hint_to_upgrade(version: Json) -> None:
    with pytest.raises(InputError, match=r"unsupported export version .*: this custody reads version 1") as refused:
        decode_export_line(dump_canonical_json({"line": "export", "version": version, "chains": [], "unheard_of": 1}))
    assert refused.value.hint == "upgrade custody"


def test_a_first_line_without_a_version_is_refused_too() -> None:
    assert "this custody reads version 1" in refusal({"line": "export", "chains": []})


@pytest.mark.parametrize("version", [True, 1.0])
def test_a_value_that_only_equals_one_is_not_version_one(version: Json) -> None:
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
    decode_export_line(dump_canonical_json(RECORD))
    for wrong in WRONG[name]:
        assert refusal(RECORD | {name: wrong}).startswith("not a line of an export")


@pytest.mark.parametrize("name", sorted(RECORD))
def test_a_missing_field_of_a_record_is_named(name: str) -> None:
    assert f"missing required field `{name}`" in refusal({key: item for key, item in RECORD.items() if key != name})


def test_limits_of_a_record_are_read() -> None:
    for seq, at_ns in ((1, -(2**63) + 1), (2**63 - 1, 2**63 - 1)):
        line = decode_export_line(dump_canonical_json(RECORD | {"seq": seq, "at_ns": at_ns}))
        assert isinstance(line, RecordLine)
        assert (line.seq, line.at_ns) == (seq, at_ns)
    decode_export_line(dump_canonical_json(RECORD | {"event": "a" * 65_536}))


@pytest.mark.parametrize("digest", ["", "junk", "sha256:" + "0" * 63, "0" * 64, "sha256:" + "A" * 64])
def test_an_invalid_digest_is_refused_when_it_is_used(digest: str) -> None:
    line = decode_export_line(dump_canonical_json(RECORD | {"digest": digest}))
    assert isinstance(line, RecordLine)
    with pytest.raises(InputError, match="is not a digest"):
        record_from_line(line)
    with pytest.raises(InputError, match="is not a digest"):
        body_from_line(BodyLine(digest, text="a"))


@pytest.mark.parametrize("seq", [0, -1, 2**63, 10**300, 1.0, "1"])
def test_a_header_promises_only_positions_that_exist(seq: Json) -> None:
    chain: Json = {"store": STORE, "seq": seq, "link": HEX}
    assert "$.chains[0].seq" in refusal({"line": "export", "version": 1, "chains": [chain]})
    most = Header(1, [ChainHead(STORE, 2**63 - 1, HEX)])
    assert again(most) == most


@pytest.mark.parametrize("wrong", ["=", "a", "ab=", "a b=", "/w==\n", "é", "\ud800", "____", "/w==/w=="])
def test_invalid_base64_is_refused(wrong: str) -> None:
    line = decode_export_line(dump_canonical_json({"line": "body", "digest": ZERO, "base64": wrong}))
    assert isinstance(line, BodyLine)
    with pytest.raises(InputError, match="cannot decode the base64 of a body"):
        body_from_line(line)


def test_a_body_has_only_one_encoding() -> None:
    with pytest.raises(InputError, match="both a text and base64"):
        body_from_line(BodyLine(ZERO, text="", base64=""))


@pytest.mark.parametrize("fill", [b"a", b"\xff"])
def test_a_record_of_50_mb_is_refused_with_its_size_and_why(fill: bytes) -> None:
    data = fill * 50_000_000
    line = make_body_line(Digest(bytes(32)), data)
    read = decode_export_line(encode_export_line(line))
    assert isinstance(read, BodyLine)
    with pytest.raises(InputError, match="a record of 50,000,000 bytes is over the limit of 16,777,216") as refused:
        body_from_line(read)
    assert refused.value.hint is not None and "custody does not write such a record" in refused.value.hint


def test_a_body_as_large_as_an_event_may_be_is_read_and_one_byte_more_is_not() -> None:
    body_from_line(BodyLine(ZERO, base64=b64encode(b"\xff" * EVENT_BYTES_MAX).decode()))
    for over in (
        BodyLine(ZERO, base64=b64encode(b"\xff" * (EVENT_BYTES_MAX + 1)).decode()),
        BodyLine(ZERO, "é" * 2**23 + "a"),
    ):
        with pytest.raises(InputError, match="a record of 16,777,217 bytes"):
            body_from_line(over)


def test_the_largest_body_has_a_line_that_can_be_read_however_it_is_spelled() -> None:
    most = encode_export_line(make_body_line(digest_from_bytes(b""), b"\x01" * EVENT_BYTES_MAX))
    assert 6 * EVENT_BYTES_MAX < len(most) <= LINE_BYTES_MAX < 7 * EVENT_BYTES_MAX, "and nothing much larger"
    with pytest.raises(InputError, match="is over the limit"):
        decode_export_line(b" " * (LINE_BYTES_MAX + 1))


def test_a_pending_event_that_no_recorder_wrote_is_refused() -> None:
    assert "$.data" in refusal({"line": "pending", "event": "e", "data": "\ud800"})
    assert "$.event" in refusal({"line": "pending", "event": "e\n", "data": an_event("edit").decode()})


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"[]", b"null", b"1", b'"x"', b"{}", b'{"line":{}}', b"[" * 100_000, b"\xff"]
)
def test_an_invalid_line_is_refused(data: bytes) -> None:
    with pytest.raises(InputError):
        decode_export_line(data)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_line_or_refused(data: bytes) -> None:
    with pytest.raises(InputError):
        decode_export_line(data)


@given(st.sampled_from(("export", "body", "record", "fork", "pending", "end")), json_objects, st.data())
def test_any_object_is_a_line_or_refused(kind: str, value: dict[str, Json], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted({*RECORD, "version", "chains", "text", "base64", "data"} - {"line"})))
    base = RECORD if kind in ("record", "fork") else {}
    try:
        line = decode_export_line(dump_canonical_json({**base, **value, name: data.draw(json_values), "line": kind}))
        if isinstance(line, RecordLine):
            record_from_line(line)
        if isinstance(line, BodyLine):
            body_from_line(line)
    except InputError:
        pass  # any other exception would be a bug


def test_a_refusal_stays_short_whatever_was_sent() -> None:
    long = "k" * 100_000
    values: list[Json] = [RECORD | {long: 1}, RECORD | {"line": long}, {"line": "export", "version": long}]
    assert all(len(refusal(value)) < 500 for value in values)
