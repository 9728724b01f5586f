"""Notes of git-ai: every shape of its programs is read, and written notes are read back unchanged."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.capture.claims.agent_trace import LineClaim
from custody.capture.claims.git_ai import (
    CUSTODY,
    NoteEntry,
    assign_claimed_lines,
    is_printable_note_path,
    parse_git_ai_note,
    render_git_ai_note,
)
from custody.core.errors import InputError
from custody.core.paths import Lines

COMMIT = "7734793b756b3921c88db5375a8c156e9532447b"
AGENT = {"tool": "claude", "id": "conv_abc", "model": "claude-sonnet-4-5"}


def a_note(told: str, **metadata: Any) -> bytes:
    """Return a note with metadata; everything that is not named is as git-ai writes it."""
    usual = {"schema_version": "authorship/3.0.0", "base_commit_sha": COMMIT, "prompts": {}}
    return f"{told}---\n{json.dumps({**usual, **metadata}, indent=2)}".encode()


@pytest.mark.parametrize(
    ("key", "where", "name"),
    [
        ("s_c9883b05a2487d::t_9f8e7d6c5b4a32", "sessions", "s_c9883b05a2487d"),
        ("s_c9883b05a2487d", "sessions", "s_c9883b05a2487d"),
        ("d9978a8723e02b52", "prompts", "d9978a8723e02b52"),
        ("e61c0a4", "prompts", "e61c0a4"),
        ("638f41ac-1dd9-49eb-b090-a4abfe235a97", "prompts", "638f41ac-1dd9-49eb-b090-a4abfe235a97"),
    ],
)
def test_every_shape_of_key_leads_to_its_session(key: str, where: str, name: str) -> None:
    note = parse_git_ai_note(a_note(f"src/main.rs\n  {key} 1-4,9\n", **{where: {name: {"agent_id": AGENT}}}))
    (entry,) = note.files["src/main.rs"]
    assert entry.lines == (Lines(1, 4), Lines(9, 9)) and not entry.is_persons
    assert note.author(entry) == LineClaim("claude-code", "conv_abc", "claude-sonnet-4-5")


@pytest.mark.parametrize("key", ["h_31dce776f88375", "human"])
def test_a_persons_lines_belong_to_no_session(key: str) -> None:
    (entry,) = parse_git_ai_note(a_note(f"a\n  {key} 1\n", humans={"h_31dce776f88375": {"author": "x"}})).files["a"]
    assert entry.is_persons


def test_unknown_fields_and_conversations_are_ignored() -> None:
    described = {"agent_id": {**AGENT, "more": 1}, "messages": [{"type": "user", "text": "a" * 5000}], "new": {}}
    note = parse_git_ai_note(a_note("a\n  d9978a8723e02b52 1\n", prompts={"d9978a8723e02b52": described}, later=[1]))
    assert note.problems == () and len(note.authors) == 1


def test_a_newer_version_is_read_and_reported() -> None:
    note = parse_git_ai_note(
        a_note("a\n  s_1::t_1 1\n", schema_version="authorship/4.1.0", sessions={"s_1": {"agent_id": AGENT}})
    )
    assert note.author(note.files["a"][0]) is not None
    assert note.problems == ("'authorship/4.1.0' is newer than authorship/3.0.0; read as that version",)


def test_extra_parts_of_a_newer_version_are_skipped_and_reported() -> None:
    told = "a\n  s_1::t_1 1\n---\na\n  f78a0f01-ead8-4fcc-a0db-f9b7552c6742 1\n"
    note = parse_git_ai_note(a_note(told, schema_version="authorship/4.0.0", sessions={"s_1": {"agent_id": AGENT}}))
    assert [entry.key for entry in note.files["a"]] == ["s_1::t_1"] and not note.ours
    assert note.author(note.files["a"][0]) is not None
    assert note.problems[1] == "skipped 1 part that authorship/3.0.0 does not have"


@pytest.mark.parametrize("model", ["unknown", "", "<synthetic>", None])
def test_an_unknown_model_is_none(model: str | None) -> None:
    note = parse_git_ai_note(a_note("a\n  s_1 1\n", sessions={"s_1": {"agent_id": {**AGENT, "model": model}}}))
    assert note.authors["s_1"].model is None


def test_unreadable_parts_are_reported_and_the_rest_is_used() -> None:
    sessions = {"s_1": {"agent_id": AGENT}, "s_2": {"agent_id": 5}, "s_3": {"agent_id": {**AGENT, "id": "a\nb"}}}
    note = parse_git_ai_note(a_note("  s_1 1\na b.py\n  s_1 1,x,9-3,0,2-2\n  s_2\n", sessions=sessions))
    assert note.files == {"a b.py": (NoteEntry("s_1", (Lines(1, 1), Lines(2, 2))),)}
    assert set(note.authors) == {"s_1"}
    assert [what.split(":")[0] for what in note.problems] == [
        "session 's_2' cannot be read",
        "session 's_3' has no valid name",
        "lines are claimed before any file is named",
        "'x' is not a line range",
        "'9-3' is not a line range",
        "'0' is not a line range",
    ]


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"some words\n", b"a\n---\n", b"a\n---\n{", b"\xff\xfe", b"---\n{}", b"---\n" + b"[" * 100_000),
        *(b"{}", b"[]", b'{"files": 5}', b'{"files": {}, "schema_version": 5}'),
        b'---\n{"schema_version": "authorship/x"}',
    ],
)
def test_other_texts_are_rejected(data: bytes) -> None:
    with pytest.raises(InputError):
        parse_git_ai_note(data)


@given(st.binary(max_size=200) | st.text(max_size=200).map(a_note))
def test_arbitrary_bytes_give_a_note_or_an_error(data: bytes) -> None:
    try:
        parse_git_ai_note(data)
    except InputError:
        return


def test_the_first_version_names_tools_and_persons_alike() -> None:
    authors = [
        {"author": "Cursor", "lines": [[27, 38], 42], "agent_metadata": None},
        {"author": "Ana", "lines": [1], "agent_metadata": None},
        {"author": "Robot", "lines": [2], "agent_metadata": {"tool": "robot"}},
    ]
    note = parse_git_ai_note(json.dumps({"files": {"a.rs": {"file": "a.rs", "authors": authors}}}).encode())
    assert note.version == "authorship/0.0.1"
    tool, person, robot = note.files["a.rs"]
    assert note.author(tool) == LineClaim("cursor", "git-ai:Cursor") and tool.lines == (Lines(27, 38), Lines(42, 42))
    assert person.is_persons and note.author(robot) == LineClaim("Robot", "git-ai:Robot")


@pytest.mark.parametrize("version", ["1.0.0", "2.0.0"])
def test_the_json_versions_name_sessions_beside_persons(version: str) -> None:
    log = {
        "schema_version": f"authorship/{version}",
        "files": {"a.rs": [[[1, [3, 9]], "5b1c2d3e", "session-1", 2], [[2], "5b1c2d3e"]], "bad": [[5]]},
        "authors": {"5b1c2d3e": {"username": "Ana", "email": ""}},
        "prompts": {"session-1": {"agent_id": {"tool": "cursor", "id": "session-1"}}},
    }
    note = parse_git_ai_note(json.dumps(log).encode())
    agent, person = note.files["a.rs"]
    assert note.author(agent) == LineClaim("cursor", "session-1") and agent.lines == (Lines(1, 1), Lines(3, 9))
    assert person.is_persons
    assert note.problems == ("'bad': an entry is not a list of lines and an author",)


def test_the_last_entry_for_a_line_counts_and_no_line_is_beyond_the_file() -> None:
    entries = [NoteEntry("a", (Lines(1, 4_000_000_000),)), NoteEntry("h_1", (Lines(2, 2),))]
    assert assign_claimed_lines(entries, 3) == ({"a": [Lines(1, 1), Lines(3, 3)], "h_1": [Lines(2, 2)]}, True)


def test_repeated_claims_take_linear_time() -> None:
    entries = [NoteEntry(f"{n}", (Lines(1, 20_000),)) for n in range(20_000)]
    assert assign_claimed_lines(entries, 20_000) == ({"19999": [Lines(1, 20_000)]}, False)


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 12), st.integers(0, 6)), max_size=8), st.integers(0, 9)
)
def test_every_line_belongs_to_the_last_entry_that_claims_it(told: list[tuple[str, int, int]], count: int) -> None:
    entries = [NoteEntry(key, (Lines(first, first + more),)) for key, first, more in told]
    whose, beyond = assign_claimed_lines(entries, count)
    slowly = {n: e.key for e in entries for n in range(e.lines[0].first, e.lines[0].last + 1) if n <= count}
    assert {n: key for key, runs in whose.items() for run in runs for n in range(run.first, run.last + 1)} == slowly
    assert beyond == any(entry.lines[0].last > count for entry in entries)


NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12).filter(
    lambda name: name.strip('"') == name
)
AUTHORS = st.builds(
    LineClaim,
    st.sampled_from(("claude-code", "claude", "copilot", "codex", "github-copilot")) | NAMES,
    NAMES,
    st.none() | NAMES.filter(lambda name: name not in ("unknown", "<synthetic>")),
    st.none() | NAMES,
)
PATHS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12).filter(is_printable_note_path)


@given(st.dictionaries(PATHS, st.dictionaries(AUTHORS, st.sets(st.integers(1, 50), min_size=1)), max_size=3))
def test_written_notes_are_read_back_unchanged(told: dict[str, dict[LineClaim, set[int]]]) -> None:
    files = {
        path: {author: [Lines(n, n) for n in numbers] for author, numbers in some.items()}
        for path, some in told.items()
    }
    note = parse_git_ai_note(render_git_ai_note(COMMIT, files))
    assert note.problems == ()
    read = {
        path: {
            (author.agent, author.session, author.model, line.first)
            for e in entries
            for line in e.lines
            if (author := note.author(e))
        }
        for path, entries in note.files.items()
    }
    written = {
        path: {(author.agent, author.session, author.model, n) for author, numbers in some.items() for n in numbers}
        for path, some in told.items()
        if some
    }
    assert read == written


@pytest.mark.parametrize("path", ["a\nb", "", "\udcff"])
def test_some_paths_cannot_be_written_to_a_note(path: str) -> None:
    assert not is_printable_note_path(path)


@pytest.mark.parametrize("path", ["---", '"a"', '"', "  a", "{x", "a b", "a\tb", "ä", "a\r", "s_1 1"])
def test_unusual_paths_can_be_written(path: str) -> None:
    assert is_printable_note_path(path)
    assert list(parse_git_ai_note(render_git_ai_note(COMMIT, {path: {LineClaim("a", "b"): [Lines(1, 1)]}})).files) == [
        path
    ]


# --- custody's own notes ----------------------------------------------------------------------------------------------

MINE = {"agent_id": AGENT, "custom_attributes": {CUSTODY: "1"}}
THEIRS = {"agent_id": {**AGENT, "id": "another"}}


def test_custodys_notes_are_recognized() -> None:
    files = {"a": {LineClaim("claude-code", "s1"): [Lines(1, 2)], LineClaim("cursor", "s2", "m", "c"): [Lines(3, 3)]}}
    assert parse_git_ai_note(render_git_ai_note(COMMIT, files)).ours
    assert parse_git_ai_note(a_note("a\n  s_1::t_1 1\n", sessions={"s_1": MINE})).ours


@pytest.mark.parametrize(
    ("told", "metadata"),
    [
        ("a\n  s_1::t_1 1\n  s_2::t_2 2\n", {"sessions": {"s_1": MINE, "s_2": THEIRS}}),
        ("a\n  s_1::t_1 1\n", {"sessions": {"s_1": MINE, "s_2": THEIRS}}),
        ("a\n  s_1::t_1 1\n", {"sessions": {"s_1": MINE}, "prompts": {"d9978a8723e02b52": THEIRS}}),
        ("a\n  s_1::t_1 1\n  s_2::t_2 2\n", {"sessions": {"s_1": MINE}}),
        ("a\n  s_1::t_1 1\n  h_31dce776f88375 2\n", {"sessions": {"s_1": MINE}}),
        ("a\n  s_1::t_1 1\nb\n  human 2\n", {"sessions": {"s_1": MINE}}),
        ("a\n  s_1::t_1 1\n", {"sessions": {"s_1": MINE, "s_2": {"agent": "unreadable"}}}),
        ("a\n  s_1::t_1 1\n  s_2::t_2 first\n", {"sessions": {"s_1": MINE}}),
        ("a\n  s_1::t_1 1\n", {"sessions": {"s_1": MINE}, "schema_version": "authorship/4.0.0"}),
        ("", {"sessions": {}}),
    ],
    ids=["other", "silent", "prompt", "undescribed", "person", "human", "unreadable", "lines", "newer", "empty"],
)
def test_notes_with_additions_are_not_custodys(told: str, metadata: dict[str, Any]) -> None:
    assert not parse_git_ai_note(a_note(told, **metadata)).ours
