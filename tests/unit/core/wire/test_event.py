"""The generic event, read strictly: every kind, every field, every error."""

import json
from typing import Any, get_args, get_type_hints

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.core.errors import InputError
from custody.core.ids import content_hash_from_lines
from custody.core.wire.arrival import SYSTEM_KINDS
from custody.core.wire.canonical import Json, parse_json_bytes
from custody.core.wire.event import (
    EVENTS,
    GENERIC,
    EditEvent,
    ErasedText,
    Event,
    Name,
    Sha,
    Short,
    event_from_json,
    list_edit_content_hashes,
)
from tests.builders.drawn import json_objects, json_values, names, texts
from tests.builders.events import KINDS as GENERIC_KINDS
from tests.builders.events import SHA, an_event
from tests.builders.table import table

CLASSES: dict[str, type[Event]] = {str(event.__struct_config__.tag): event for event in EVENTS}
VALUES: dict[str, dict[str, Any]] = {kind: json.loads(an_event(kind)) for kind in GENERIC_KINDS}
VALUES["hook"] = {
    "custody": 1, "kind": "hook", "id": "1", "at": "2026-01-31T12:00:00Z", "agent": "robot", "event": "PreToolUse",
    "session": "s1", "payload": {"tool_name": "Bash"},
}  # fmt: skip
VALUES["snapshot"] = {
    "custody": 1, "kind": "snapshot", "id": "1", "at": "2026-01-31T12:00:00Z", "agent": "robot", "phase": "after",
    "files": [{"path": "a.py", "text": "x"}],
}  # fmt: skip
VALUES["transcript"] = {
    "custody": 1, "kind": "transcript", "id": "1", "at": "2026-01-31T12:00:00Z", "agent": "robot", "session": "s1",
    "payload": {"type": "user"}, "paths": {"/w/a.py": "a.py", "/x": None},
}  # fmt: skip
VALUES["trace"] = {
    "custody": 1, "kind": "trace", "id": "1", "at": "2026-01-31T12:00:00Z", "agent": "robot", "session": "t1",
    "payload": {"files": []},
}  # fmt: skip
VALUES["trace_link"] = {
    "custody": 1, "kind": "trace_link", "id": "1", "at": "2026-01-31T12:00:00Z", "commit": "a" * 40, "traces": ["t1"],
    "payload": {},
}  # fmt: skip
VALUES["registry"] = {
    "custody": 1, "kind": "registry", "id": "1", "at": "2026-01-31T12:00:00Z", "op": "register", "number": 1,
    "how": "new", "source": {"title": "A"}, "keys": {"canonical": "text:a"},
}  # fmt: skip
KINDS = tuple(VALUES)
ERASED: dict[str, Json] = {"$erased": "sha256:" + "0" * 64}
FREE = (
    ("call", "input"),
    ("call", "output"),
    ("hook", "payload"),
    ("transcript", "payload"),
    ("trace", "payload"),
    ("trace_link", "payload"),
)
"""Input and output of tools: any JSON."""


def fields_of(kind: str) -> list[str]:
    return [field.encode_name for field in msgspec.structs.fields(CLASSES[kind])]


def fields_like(*shapes: object) -> list[tuple[str, str]]:
    """Return every (kind, field) of one of these types, required or not."""
    wanted = [variant for shape in shapes for variant in (shape, shape | None)]  # type: ignore[operator]
    return [
        (kind, name)
        for kind in KINDS
        for name, hint in get_type_hints(CLASSES[kind], include_extras=True).items()
        if hint in wanted
    ]


NAMES, SHORTS, SHAS = fields_like(Name), fields_like(Short), fields_like(Sha)
MOMENTS = [
    (kind, name) for kind in KINDS for name in fields_of(kind) if name in ("at", "seen_at", "ended_at", "opened_at")
]
TEXTS = [("prompt", "text"), ("edit", "before"), ("edit", "after"), ("source_read", "text"), ("hook", "unparsed")]
TEXTS += [("edit", "proposed"), ("registry", "text"), ("author", "text")]


def a_value(of: str, /, **fields: Any) -> dict[str, Any]:
    return VALUES[of] | fields


def refusal(value: Json) -> str:
    with pytest.raises(InputError) as refused:
        event_from_json(value)
    return refused.value.message


def test_the_fields_that_are_tried_are_all_there_are() -> None:
    assert set(CLASSES) == set(KINDS)
    assert {name for _, name in NAMES} == set(
        "id agent session model operator parent name prompt subagent call actor complexity event parent_call"
        " commit_name reverts overrides chain_head who artifact person".split()
    )
    assert {name for _, name in SHORTS} == set(
        "worktree folder locator title reason url snippet publisher author message".split()
    )
    assert {name for _, name in SHAS} == {"head", "commit", "base", "head_commit", "other_head"}
    assert len(NAMES) >= 40 and len(SHORTS) >= 18 and len(SHAS) >= 13


@table("kind", KINDS)
def test_every_kind_is_read(kind: str) -> None:
    event = event_from_json(parse_json_bytes(json.dumps(VALUES[kind]).encode()))
    assert type(event) is CLASSES[kind]
    assert (event.id, event.at) == ("1", "2026-01-31T12:00:00Z")


REQUIRED = {
    "session": {"agent", "session"},
    "prompt": {"agent", "session", "text"},
    "call": {"agent", "session", "name"},
    "edit": {"agent", "session", "path"},
    "source_read": {"agent", "session", "locator", "reading"},
    "link": {"agent", "session", "commit", "origin"},
    "decision": {"agent", "decision"},
    "duplicate_answer": {"head", "base", "other_head", "other_base", "answer"},
    "read": {"person", "hunk", "path", "head_commit"},
    "author": {"person", "path", "text"},
    "source": set(),
    "change": {"base", "head_commit"},
    "span": {"execution", "span", "phase", "name", "span_kind"},
    "hook": {"agent", "event"},
    "snapshot": {"agent", "phase", "files"},
    "transcript": {"agent", "session"},
    "trace": {"agent", "session", "payload"},
    "trace_link": {"commit", "traces", "payload"},
    "registry": {"op", "number"},
}


@table("kind", KINDS)
def test_every_required_field_is_named_when_it_is_missing(kind: str) -> None:
    for name in {"custody", "kind", "id", "at"} | REQUIRED[kind]:
        value = a_value(kind)
        del value[name]
        assert f"missing required field `{name}`" in refusal(value)


@table("kind", KINDS)
def test_nothing_else_is_required(kind: str) -> None:
    kept = {"custody", "kind", "id", "at"} | REQUIRED[kind]
    event_from_json({name: item for name, item in a_value(kind).items() if name in kept})


@given(st.sampled_from(KINDS), texts, json_values)
def test_an_unknown_field_is_refused_whatever_it_holds(kind: str, name: str, item: Json) -> None:
    if name not in fields_of(kind) and name != "kind":
        assert refusal(a_value(kind) | {name: item})
    assert "unknown field `color`" in refusal(a_value(kind, color=None))


@table("kind", KINDS)
def test_a_value_of_the_wrong_type_is_refused_and_its_field_named(kind: str) -> None:
    wrongs: list[Json] = [1.5, True, [[]], {"a": 1}]
    for name in fields_of(kind):
        for wrong in wrongs if (kind, name) not in FREE else []:
            if (name, wrong) in (("unreviewed", True), ("attributes", {"a": 1})):
                continue
            assert f"`$.{name}" in refusal(a_value(kind, **{name: wrong}))


@pytest.mark.parametrize("wrong", [None, 0, 1.5, "", "x", True, [], ["a"]])
def test_a_value_that_is_not_an_object_is_not_an_event(wrong: Json) -> None:
    assert refusal(wrong) == "an event is a JSON object"


@pytest.mark.parametrize("version", [2, 3, 99, 2**64, 10**300])
def test_a_newer_version_says_to_upgrade(version: int) -> None:
    with pytest.raises(InputError, match=r"event version \d+ is newer than this custody knows \(1\)") as refused:
        event_from_json(a_value("edit", custody=version, unheard_of="field"))
    assert refused.value.hint == "upgrade custody"


@pytest.mark.parametrize("version", [0, -1, 1.0, 2.0, True, "1", None, [1], {}])
def test_any_other_version_is_refused_and_named(version: Json) -> None:
    assert "$.custody" in refusal(a_value("edit", custody=version))


@pytest.mark.parametrize("kind", ["", "Edit", "edit ", "unheard_of", "\ud800", *sorted(SYSTEM_KINDS)])
def test_an_unknown_kind_is_refused_and_those_of_the_store_itself_too(kind: str) -> None:
    assert refusal(a_value("edit", kind=kind)).startswith("not a valid event")


@table("odd", "\0\x01\t\n\r\x1b\x1f\x7f\x80\x9b\x9f\ud800\udcff\udfff")
def test_names_hold_no_control_characters_and_no_surrogates(odd: str) -> None:
    for kind, name in NAMES:
        for value in (odd, f"a{odd}", f"{odd}a", f"a{odd}b"):
            assert f"$.{name}" in refusal(a_value(kind, **{name: value}))


def test_names_have_at_least_one_and_at_most_1000_characters() -> None:
    for kind, name in NAMES:
        for fine in ("a", " ", "a b", "é", "😀", "\u00a0", "a" * 1000, "😀" * 1000):
            event_from_json(a_value(kind, **{name: fine}))
        for size in ("", "a" * 1001):
            assert f"$.{name}" in refusal(a_value(kind, **{name: size}))


@given(st.sampled_from(NAMES), names)
def test_any_other_name_is_kept_as_it_is(where: tuple[str, str], value: str) -> None:
    kind, name = where
    assert getattr(event_from_json(a_value(kind, **{name: value})), name) == value


@pytest.mark.parametrize("odd", "\0\ud800\udcff")
def test_short_texts_hold_no_nul_and_no_surrogates(odd: str) -> None:
    for kind, name in SHORTS:
        for value in (odd, f"a{odd}", f"{odd}\n", f"a\n{odd}\nb"):
            assert f"$.{name}" in refusal(a_value(kind, **{name: value}))


def test_short_texts_may_have_lines_and_at_most_4096_bytes() -> None:
    for kind, name in SHORTS:
        for fine in ("", "a\nb\n", "\x1b", "a" * 4000, "é" * 2048, "😀" * 1024):
            assert getattr(event_from_json(a_value(kind, **{name: fine})), name) == fine
        for long in ("a" * 4001, "é" * 2048 + "a", "😀" * 1024 + "a", "😀" * 4000):
            assert name in refusal(a_value(kind, **{name: long}))


@pytest.mark.parametrize("fine", ["0" * 40, "f" * 64, SHA])
def test_object_ids_have_40_or_64_digits(fine: str) -> None:
    for kind, name in SHAS:
        assert getattr(event_from_json(a_value(kind, **{name: fine})), name) == fine


@pytest.mark.parametrize("size", [0, 4, 39, 41, 63, 65])
def test_object_ids_of_any_other_size_are_refused(size: int) -> None:
    for kind, name in SHAS:
        assert f"$.{name}" in refusal(a_value(kind, **{name: "a" * size}))


@pytest.mark.parametrize("wrong", ["HEAD", "A" * 40, "g" * 40, "a" * 40 + "\n", " " + "a" * 39, "\ud800" * 40])
def test_object_ids_are_lower_case_hex(wrong: str) -> None:
    for kind, name in SHAS:
        assert f"$.{name}" in refusal(a_value(kind, **{name: wrong}))


@pytest.mark.parametrize(
    "wrong", ["", "yesterday", "2026-01-31T12:00:00", "2026-02-30T12:00:00Z", "2500-01-01T00:00:00Z"]
)
def test_every_timestamp_is_checked(wrong: str) -> None:
    for kind, name in MOMENTS:
        event_from_json(a_value(kind, **{name: "2262-04-11T23:47:16.854775807Z"}))
        assert "timestamp" in refusal(a_value(kind, **{name: wrong}))
        assert f"$.{name}" in refusal(a_value(kind, **{name: "9" * 65}))


@table(
    "path",
    ["../a", "a/../../b", "..", "/etc/passwd", "a//b", "a/", ".", "./a", "a\0b", "a/\udc7f", "\udd00"],
)
def test_a_path_that_leaves_the_repository_or_is_none_is_refused(path: str) -> None:
    assert refusal(a_value("edit", path=path))


@table("path", ["a", "a\nb", "\udcff", "..a", "a" * 4096, "é" * 2048, " ", "-rf", ":(top)a", "\x1b[2J"])
def test_a_path_may_have_any_other_bytes(path: str) -> None:
    event = event_from_json(a_value("edit", path=path))
    assert isinstance(event, EditEvent) and event.path == path


@pytest.mark.parametrize("path", ["", "a" * 4097, "é" * 2048 + "a", "😀" * 4096])
def test_a_path_has_at_least_one_and_at_most_4096_bytes(path: str) -> None:
    assert "path" in refusal(a_value("edit", path=path))


@pytest.mark.parametrize("path", ["../a", "/a", "a//b", "", "a\0b", "\ud800", "a" * 4097, None, 1])
def test_every_path_of_a_snapshot_is_checked(path: Json) -> None:
    event_from_json(a_value("snapshot", files=[{"path": "a\udcff", "gone": True}, {"path": "b", "text": ERASED}]))
    assert refusal(a_value("snapshot", files=[{"path": "a"}, {"path": path}]))


def test_a_redacted_line_says_where_by_which_rule_and_what_its_machine_can_match() -> None:
    mark = {"at": "/text", "line": 1, "mac": "ab" * 32, "rule": "github-token"}
    event_from_json(a_value("prompt", redacted=[mark, mark | {"mac": "", "line": 2**31 - 1}]))
    wrongs = (
        {"mac": "AB"},
        {"mac": "ab" * 33},
        {"mac": "ab\n"},
        {"line": 0},
        {"rule": "a\n"},
        {"at": "\0"},
        {"more": 1},
    )
    for wrong in wrongs:
        assert "$.redacted[0]" in refusal(a_value("prompt", redacted=[mark | wrong]))


@pytest.mark.parametrize(
    ("first", "last"), [(0, 1), (-1, 1), (2, 1), (1, 2**31), (2**31, 2**31), (1.0, 2), ("1", 2), (None, 1), (True, 2)]
)
def test_invalid_line_ranges_are_refused(first: Json, last: Json) -> None:
    assert refusal(a_value("edit", lines=[{"first": 1, "last": 1}, {"first": first, "last": last}]))


def test_a_line_range_has_both_ends_and_nothing_more() -> None:
    for wrong in ({}, {"first": 1}, {"last": 1}, {"first": 1, "last": 2, "step": 1}, [1, 2], "1-2"):
        assert "$.lines[0]" in refusal(a_value("edit", lines=[wrong]))
    event = event_from_json(a_value("edit", lines=[{"first": 1, "last": 2**31 - 1}, {"first": 7, "last": 7}]))
    assert isinstance(event, EditEvent)
    assert [(stretch.first, stretch.last) for stretch in event.lines] == [(1, 2**31 - 1), (7, 7)]


@pytest.mark.parametrize("value", ["0" * 8, "sha256:" + "0" * 16, "ABCDEF01", "f" * 64])
def test_content_hashes_have_eight_to_64_digits(value: str) -> None:
    event_from_json(a_value("edit", content_hashes=[value]))


@pytest.mark.parametrize(
    "value", ["", "0" * 7, "0" * 65, "sha256:", "SHA256:" + "0" * 8, "g" * 8, "0" * 8 + "\n", 12345678]
)
def test_an_invalid_content_hash_is_refused(value: Json) -> None:
    assert "$.content_hashes[1]" in refusal(a_value("edit", content_hashes=["0" * 8, value]))


@pytest.mark.parametrize(
    ("kind", "name"), [("decision", "changed_lines"), ("decision", "review_ms"), ("change", "number")]
)
def test_counts_are_whole_and_within_a_double(kind: str, name: str) -> None:
    for fine in (0, 1, 2**53):
        event_from_json(a_value(kind, **{name: fine}))
    for wrong in (-1, 2**53 + 1, 2**64, 10**300, 1.0, "1", True):
        assert f"$.{name}" in refusal(a_value(kind, **{name: wrong}))


def test_years_have_at_most_four_digits() -> None:
    for fine in (0, 1999, 9999):
        event_from_json(a_value("source", year=fine))
    for wrong in (-1, 10_000, 1999.0):
        assert "$.year" in refusal(a_value("source", year=wrong))


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("call", "status"),
        ("source_read", "reading"),
        ("link", "origin"),
        ("decision", "decision"),
        ("duplicate_answer", "answer"),
        ("read", "via"),
        ("snapshot", "phase"),
    ],
)
def test_a_word_that_is_not_on_the_list_is_refused(kind: str, name: str) -> None:
    for wrong in ("", "unheard_of", "OK", "ok\n", "After", "\ud800", None, 1):
        assert refusal(a_value(kind, **{name: wrong}))


@pytest.mark.parametrize(("kind", "name"), TEXTS)
def test_a_text_may_be_anything_or_erased_but_the_mark_must_name_a_digest(kind: str, name: str) -> None:
    for fine in ("", "\0\ud800\x1b\n", "x" * 100_000):
        assert getattr(event_from_json(a_value(kind, **{name: fine})), name) == fine
    erased = event_from_json(a_value(kind, **{name: ERASED}))
    assert getattr(erased, name) == ErasedText("sha256:" + "0" * 64)
    for digest in ("junk", "", "sha256:" + "A" * 64, "sha256:" + "0" * 63, "sha256:" + "0" * 64 + "\n", None, 1):
        assert f"$.{name}" in refusal(a_value(kind, **{name: {"$erased": digest}}))
    wrongs: list[Json] = [{}, {"$body": "x"}, ERASED | {"more": "1"}, {"\ud800": 1}, [{**ERASED}]]
    assert all(refusal(a_value(kind, **{name: wrong})) for wrong in wrongs)


@given(st.sampled_from(FREE), json_values)
def test_what_a_tool_takes_and_gives_and_what_an_agent_says_may_be_any_json(where: tuple[str, str], item: Json) -> None:
    kind, name = where
    assert getattr(event_from_json(a_value(kind, **{name: item})), name) == item


@given(json_objects, st.sampled_from(KINDS))
def test_any_object_is_an_event_or_refused(value: dict[str, Json], kind: str) -> None:
    assert refusal(value | {"custody": 1, "kind": kind})
    assert refusal(value)


@given(st.binary(max_size=60))
def test_any_bytes_are_an_event_or_refused(data: bytes) -> None:
    with pytest.raises(InputError):
        event_from_json(parse_json_bytes(data))


def test_a_refusal_stays_short_whatever_was_sent() -> None:
    for value in (
        a_value("edit") | {"k" * 100_000: 1},
        a_value("edit", kind="k" * 100_000),
        a_value("edit", custody=10**300),
        a_value("edit", path="../" + "k" * 4000),
        a_value("call", status="k" * 100_000),
    ):
        assert len(refusal(value)) < 340


def test_the_hash_of_an_edits_own_text_is_added_once() -> None:
    def hashes(**fields: Any) -> tuple[str, ...]:
        event = event_from_json(a_value("edit", **fields))
        assert isinstance(event, EditEvent)
        return list_edit_content_hashes(event)

    whole = content_hash_from_lines([b"print(1)"])
    assert hashes() == (whole,)
    assert hashes(after="print(1)") == (whole,), "a line end at the end of a file does not add a line"
    assert hashes(after="print(1)\r\n") == (content_hash_from_lines([b"print(1)\r"]),)
    assert hashes(after="a\nb\n\n") == (content_hash_from_lines([b"a", b"b", b""]),)
    assert hashes(content_hashes=["0" * 8, whole, "0" * 8]) == ("0" * 8, whole)
    assert hashes(after=None, content_hashes=["0" * 8]) == ("0" * 8,)
    assert hashes(after=ERASED, content_hashes=["0" * 8]) == ("0" * 8,), "what was erased supports nothing"


def test_every_kind_is_in_the_union_once() -> None:
    assert len({str(event.__struct_config__.tag) for event in EVENTS}) == len(EVENTS) == len(KINDS)
    assert [str(event.__struct_config__.tag) for event in GENERIC] == list(GENERIC_KINDS)
    assert get_args(get_type_hints(EVENTS[0], include_extras=True)["custody"]) == (1,)
