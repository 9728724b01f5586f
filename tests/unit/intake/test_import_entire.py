"""Entire's checkpoints: transcripts by their agents' readers, commits by trailers, unreadable parts by name."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from custody.attribution.queries.traces import find_commit_session_links
from custody.capture.claims.entire import (
    checkpoint_from_ref,
    collect_checkpoint_folders,
    parse_checkpoint_session,
    parse_checkpoint_trailers,
)
from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.core.views import LinkOrigin
from custody.core.wire.time import parse_timestamp
from custody.intake import import_entire as entire
from custody.intake.import_entire import import_entire_checkpoints
from custody.intake.queries import has_imported_checkpoints
from tests.builders.gemini import Gemini
from tests.builders.hooks import a_recorded_edit
from tests.builders.in_process import custody
from tests.builders.lines import Scene, moment, text
from tests.builders.opencode import Opencode
from tests.builders.repo import a_repository
from tests.builders.transcripts import Transcript, a_transcript

V1 = "refs/heads/entire/checkpoints/v1"
SESSION = "253fd5ef-38bf-4f4a-804a-98df5088a868"
SESSION_OF_OPENCODE = "ses_0a1b2c3d4effABCDEFGHIJKLMN"
ULID = "01KXGTTNGCEACC83QZEJ5YAF0D"
ONE, TWO = "one = make_one()", "two = make_two()"
AT = "2026-02-03T06:34:50.246415Z"


def metadata(session: str = SESSION, at: str = AT, **more: Any) -> bytes:
    said = {"session_id": session, "strategy": "manual-commit", "created_at": at, "agent": "Claude Code", **more}
    return json.dumps(said, indent=2).encode()


def lines_of(transcript: Transcript) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in transcript.lines)


def a_session(folder: Path, count: int = 1) -> Transcript:
    """Write a file, line by line, as Claude Code."""
    made = a_transcript(SESSION, folder, at=moment(0)).prompt("make it").write("app.py", None, text(ONE))
    return made if count == 1 else made.edit("app.py", text(ONE), text(ONE), text(ONE, TWO))


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path / "here")


def test_a_transcript_answers_and_the_trailer_links(scene: Scene) -> None:
    root = scene.built.path
    told = lines_of(a_session(root, 2))
    files = {
        b"a3/b2c4d5e6f7/metadata.json": b'{"checkpoint_id": "a3b2c4d5e6f7"}',
        b"a3/b2c4d5e6f7/0/metadata.json": metadata(),
        b"a3/b2c4d5e6f7/0/full.jsonl": lines_of(a_session(root)),
        b"c4/d5e6f7a8b9/0/metadata.json": metadata(at="2026-02-03T07:00:00Z"),
        b"c4/d5e6f7a8b9/0/full.jsonl": told[: len(told) // 2],
        b"c4/d5e6f7a8b9/0/full.jsonl.001": told[len(told) // 2 :],
    }
    whole = files[b"c4/d5e6f7a8b9/0/full.jsonl"].rfind(b"\n") + 1
    files[b"c4/d5e6f7a8b9/0/full.jsonl"], files[b"c4/d5e6f7a8b9/0/full.jsonl.001"] = told[:whole], told[whole:]
    scene.built.commit(files, ref=V1)
    made = scene.committed(at=600, message="Add it\n\nEntire-Checkpoint: c4d5e6f7a8b9", app__py=text(ONE, TWO))
    report = import_entire_checkpoints(scene.workspace)
    assert (report.refs, report.checkpoints, report.sessions, report.without, report.problems) == ([V1], 2, 1, 0, [])
    assert (report.commits, report.links) == (1, 1)
    (read,) = report.transcripts
    assert (read.agent, read.files, read.edits, read.problems) == ("claude-code", 1, 2, [])
    assert [(one.agent, one.grade, one.session_id) for one in scene.said()] == [
        ("claude-code", "claimed", SESSION),
        ("claude-code", "claimed", SESSION),
    ]
    with scene.workspace.reading() as store:
        (link,) = find_commit_session_links(store, CommitSha(made))
        assert has_imported_checkpoints(store)
    assert link.view.origin is LinkOrigin.IMPORTED
    again = import_entire_checkpoints(scene.workspace)
    assert (again.links, again.known_links, again.transcripts[0].new) == (0, 1, 0)


def test_a_recorded_call_counts_once_and_stays_recorded(scene: Scene) -> None:
    told = a_session(scene.built.path)
    call = next(block["id"] for line in told.lines for block in _blocks(line) if block.get("type") == "tool_use")
    recorded = {"at": moment(1), "session": SESSION, "call": call}
    scene.saw(a_recorded_edit("app.py", None, text(ONE), root=scene.built.path, **recorded))
    scene.committed(at=5, app__py=text(ONE))
    files = {b"a3/b2c4d5e6f7/0/metadata.json": metadata(), b"a3/b2c4d5e6f7/0/full.jsonl": lines_of(told)}
    scene.built.commit(files, ref=V1)
    before = scene.said()
    import_entire_checkpoints(scene.workspace)
    assert [(one.grade, one.session_id, one.claims) for one in scene.said()] == [("recorded", SESSION, [])]
    assert len(before) == 1


def _blocks(line: dict[str, Any]) -> list[dict[str, Any]]:
    content = line.get("message", {}).get("content")
    return content if isinstance(content, list) else []


@pytest.mark.parametrize(
    ("ref", "below"),
    [
        (V1, "a3/b2c4d5e6f7/"),
        ("refs/remotes/origin/entire/checkpoints/v1", "a3/b2c4d5e6f7/0/"),
        ("refs/entire/checkpoints/f7/a3b2c4d5e6f7", "0/"),
        (f"refs/entire/checkpoints/{ULID[-2:]}/{ULID}", "0/"),
        ("refs/entire/checkpoints/v2/full/current", "a3/b2c4d5e6f7/0/"),
    ],
)
def test_every_place_of_checkpoints_is_found(scene: Scene, ref: str, below: str) -> None:
    name = "raw_transcript" if "v2" in ref else "full.jsonl"
    files = {
        f"{below}metadata.json": metadata(f"2026-02-03-{SESSION}"),
        f"{below}{name}": lines_of(a_session(scene.built.path)),
    }
    scene.built.commit({path.encode(): content for path, content in files.items()}, ref=ref)
    scene.committed(at=600, app__py=text(ONE))
    report = import_entire_checkpoints(scene.workspace)
    assert (report.refs, report.checkpoints, report.sessions, report.without) == ([ref], 1, 1, 0)
    assert [(one.agent, one.session_id) for one in scene.said()] == [("claude-code", SESSION)]


def cursors(root: Path) -> bytes:
    """Cursor's lines have no ids, and the names of their files identify nothing."""
    use = {"type": "tool_use", "name": "Write", "input": {"path": f"{root}/app.py", "contents": text(ONE)}}
    asked = {"type": "text", "text": "<user_query>\nmake it\n</user_query>"}
    said = [("user", [asked]), ("assistant", [{"type": "text", "text": "I make it."}, use])]
    return b"".join(json.dumps({"role": role, "message": {"content": parts}}).encode() + b"\n" for role, parts in said)


def geminis(root: Path) -> bytes:
    """Return a document with its fields in this order, so that its type comes last."""
    chat = Gemini(root, SESSION, at=moment(0)).prompt("make it").says("I make it. " * 3)
    for n in range(10):
        chat.says(f"step {n}")
    chat.write("app.py", None, text(ONE))
    return json.dumps(json.loads(chat.document()), indent=2, sort_keys=True).encode()


def opencodes(root: Path) -> bytes:
    """Return the output of ``opencode export``: none of the agent's own files has this format."""
    at_ms = parse_timestamp(moment(0)) // 1_000_000
    session = Opencode(root, SESSION_OF_OPENCODE, ms=at_ms).prompt("make it").answer().write("app.py", text(ONE))
    return json.dumps({"info": session.info(), "messages": session.messages}, indent=2).encode()


@pytest.mark.parametrize(
    ("name", "agent", "session", "told"),
    [
        ("Cursor", "cursor", SESSION, cursors),
        ("Gemini CLI", "gemini", SESSION, geminis),
        ("OpenCode", "opencode", SESSION_OF_OPENCODE, opencodes),
    ],
)
def test_transcripts_of_every_agent_are_read_whatever_their_files_are_called(
    scene: Scene, name: str, agent: str, session: str, told: Callable[[Path], bytes]
) -> None:
    files = {
        b"a3/b2c4d5e6f7/0/metadata.json": metadata(session, moment(0), agent=name),
        b"a3/b2c4d5e6f7/0/full.jsonl": told(scene.built.path),
    }
    scene.built.commit(files, ref=V1)
    scene.committed(at=600, app__py=text(ONE))
    report = import_entire_checkpoints(scene.workspace)
    (read,) = report.transcripts
    assert (read.agent, read.files, read.sessions, read.edits, report.problems) == (agent, 1, 1, 1, [])
    assert [(one.agent, one.session_id) for one in scene.said()] == [(agent, session)]


def test_a_commit_is_linked_with_the_session_that_a_subagent_is_part_of(scene: Scene) -> None:
    root = scene.built.path
    outer = Opencode(root, SESSION_OF_OPENCODE)
    inner = Opencode(root, "ses_0a1b2c3d4effABCDEFGHIJKLMX", parent=outer).prompt("look").answer().read("app.py", ONE)
    alone = Opencode(root, "ses_0a1b2c3d4effABCDEFGHIJKLMY").prompt("look").answer().read("app.py", ONE)
    blotted = {**alone.info(), "parentID": "REDACTED"}
    files = {}
    for n, (session, info) in enumerate(((inner, inner.info()), (alone, blotted))):
        told = json.dumps({"info": info, "messages": session.messages}, indent=2)
        files[f"a3/b2c4d5e6f7/{n}/metadata.json".encode()] = metadata(session.session, agent="OpenCode")
        files[f"a3/b2c4d5e6f7/{n}/full.jsonl".encode()] = told.encode()
    scene.built.commit(files, ref=V1)
    made = scene.committed(at=600, message="Add it\n\nEntire-Checkpoint: a3b2c4d5e6f7", app__py=text(ONE))
    import_entire_checkpoints(scene.workspace)
    with scene.workspace.reading() as store:
        links = [seen.view for seen in find_commit_session_links(store, CommitSha(made))]
    assert sorted(link.session for link in links) == [outer.session, alone.session]


def test_what_cannot_be_read_is_named_and_the_rest_is_used(scene: Scene) -> None:
    good = lines_of(a_session(scene.built.path))
    files = {
        b"README.md": b"no checkpoint",
        b"a3/b2c4d5e6f7/0/metadata.json": metadata(),
        b"a3/b2c4d5e6f7/0/full.jsonl": good + b"{half a li",
        b"a3/b2c4d5e6f7/1/metadata.json": metadata("no-transcript"),
        b"a3/b2c4d5e6f7/2/metadata.json": b"{",
        b"a3/b2c4d5e6f7/2/full.jsonl": good,
        b"a3/b2c4d5e6f7/3/full.jsonl": good,
        b"a3/b2c4d5e6f7/4/metadata.json": metadata("../../evil", agent="Later Agent"),
        b"a3/b2c4d5e6f7/4/full.jsonl": b"words of an agent that nobody knows\n",
        b"a3/b2c4d5e6f7/5/metadata.json": metadata("x\x00y"),
    }
    scene.built.commit(files, ref=V1)
    scene.committed(at=600, message="Entire-Checkpoint: ffffffffffff\n", app__py=text(ONE))
    report = import_entire_checkpoints(scene.workspace)
    assert (report.checkpoints, report.sessions, report.without, report.commits, report.links) == (1, 3, 2, 1, 0)
    assert {problem.file: problem.what.split(":")[0] for problem in report.problems} == {
        "a3b2c4d5e6f7/1": "no transcript",
        "a3b2c4d5e6f7/2": "not JSON",
        "a3b2c4d5e6f7/3": "no metadata",
        "a3b2c4d5e6f7/4": "unknown transcript format",
        "a3b2c4d5e6f7/5": "the metadata has no session id",
    }
    (read,) = report.transcripts
    assert [(one.file, one.line) for one in read.problems] == [("a3b2c4d5e6f7/0", len(good.splitlines()) + 1)]
    assert [one.agent for one in scene.said()] == ["claude-code"]


@pytest.mark.parametrize("at", ["yesterday", "0001-01-01T00:00:00Z", ""])
def test_a_checkpoint_that_does_not_say_when_it_was_made_is_read(scene: Scene, at: str) -> None:
    good = lines_of(a_session(scene.built.path))
    scene.built.commit({b"a3/b2c4d5e6f7/0/metadata.json": metadata(at=at), b"a3/b2c4d5e6f7/0/full.jsonl": good}, ref=V1)
    scene.committed(at=600, app__py=text(ONE))
    assert import_entire_checkpoints(scene.workspace).problems == []
    assert [one.agent for one in scene.said()] == ["claude-code"]


def test_another_repositorys_checkpoints_are_read_and_absent_ones_are_said(scene: Scene, tmp_path: Path) -> None:
    scene.committed(at=600, app__py=text(ONE))
    other = a_repository(tmp_path / "other")
    assert import_entire_checkpoints(scene.workspace, other.path).checkpoints == 0
    files = {b"0/metadata.json": metadata(), b"0/full.jsonl": lines_of(a_session(scene.built.path))}
    other.commit(files, ref=f"refs/entire/checkpoints/{ULID[-2:]}/{ULID}")
    done = custody(scene.built.path, "import", "entire", str(other.path))
    assert done.status == 0 and "Imported 1 checkpoint of 1 session" in done.out
    with pytest.raises(InputError, match="cannot find the reference"):
        import_entire_checkpoints(scene.workspace, other.path, "refs/heads/entire/checkpoints/v9")
    assert "No Entire checkpoints found" in custody(scene.built.path, "import", "entire").out


def test_a_trailer_is_at_the_start_of_a_line() -> None:
    said = f"Fix\n\nEntire-Checkpoint: a3b2c4d5e6f7\nEntire-Checkpoint: {ULID}\nEntire-Checkpoint: a3b2c4d5e6f7\n"
    assert parse_checkpoint_trailers(said) == ["a3b2c4d5e6f7", ULID]
    assert parse_checkpoint_trailers("the Entire-Checkpoint: a3b2c4d5e6f7 in prose, Entire-Checkpoint: a3b2") == []


def test_a_reference_with_another_name_is_not_a_checkpoint() -> None:
    assert checkpoint_from_ref(f"refs/entire/checkpoints/{ULID[-2:]}/{ULID}") == ULID
    assert checkpoint_from_ref(f"refs/entire/checkpoints/AB/{ULID}") is None
    assert checkpoint_from_ref("refs/entire/checkpoints/v2/main") is None


def test_what_stands_beside_sessions_is_their_summary() -> None:
    files = [("a3/b2c4d5e6f7/metadata.json", "1"), ("a3/b2c4d5e6f7/0/metadata.json", "2"), ("zz/1/metadata.json", "3")]
    assert [(one.place, one.metadata) for one in collect_checkpoint_folders(files).values()] == [
        ("a3b2c4d5e6f7/0", "2")
    ]
    assert parse_checkpoint_session(metadata(agent="Agent")).agent is None


def test_transcripts_take_no_more_room_than_agreed_on(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    good = lines_of(a_session(scene.built.path))
    files = {
        b"a3/b2c4d5e6f7/0/metadata.json": metadata(),
        b"a3/b2c4d5e6f7/0/full.jsonl": good,
        b"a3/b2c4d5e6f7/1/metadata.json": metadata("second", at="2026-02-03T07:00:00Z"),
        b"a3/b2c4d5e6f7/1/full.jsonl": good.replace(SESSION.encode(), b"second"),
        b"a3/b2c4d5e6f7/2/metadata.json": metadata("third", at="2026-02-03T08:00:00Z"),
        b"a3/b2c4d5e6f7/2/full.jsonl": good,
        b"a3/b2c4d5e6f7/2/full.jsonl.001": good,
    }
    scene.built.commit(files, ref=V1)
    monkeypatch.setattr(entire, "LAYOUT_BYTES_MAX", len(good) + 100)
    report = import_entire_checkpoints(scene.workspace)
    (read,) = report.transcripts
    assert (read.files, report.without) == (1, 2)
    assert [(problem.file[-2:], "skipped: over the limit" in problem.what) for problem in report.problems] == [
        ("/1", True),
        ("/2", True),
    ]
