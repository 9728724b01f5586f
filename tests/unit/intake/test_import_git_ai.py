"""Claims of git-ai's notes: read from real references, shown as claims, never instead of records."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from custody.attribution.app.stats import compute_line_stats
from custody.attribution.queries.traces import list_sessions_touching_files
from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.intake.import_git_ai import import_git_ai_notes
from custody.intake.import_traces import import_traces
from tests.builders.hooks import a_recorded_edit
from tests.builders.in_process import custody
from tests.builders.lines import Scene, moment, text
from tests.builders.repo import a_clone, a_repository

ONE, TWO, THREE = "one = make_one()", "two = make_two()", "three = make_three()"
CLAUDE = {"tool": "claude", "id": "s1", "model": "claude-opus-4-8"}
CURSOR = {"tool": "cursor", "id": "c1", "model": "gpt-5.5"}


def a_note(told: str, **sessions: Mapping[str, Any]) -> str:
    metadata = {
        "schema_version": "authorship/3.0.0",
        "base_commit_sha": "",
        "prompts": {},
        "sessions": {name: {"agent_id": agent} for name, agent in sessions.items()},
    }
    return f"{told}---\n{json.dumps(metadata)}"


class Noted(Scene):
    """A repository with notes of git-ai."""

    def noted(self, commit: CommitSha, note: str | bytes, ref: str = "refs/notes/ai") -> "Noted":
        data = note.encode() if isinstance(note, str) else note
        self.built.git("notes", "--ref", ref, "add", "-f", "-F", "-", commit, feed=data)
        return self

    def whose(
        self, path: str = "app.py", revision: str | None = None
    ) -> list[tuple[str | None, str | None, str | None]]:
        """Return agent, model and grade of every line."""
        return [
            (one.agent, one.model_id, one.grade)
            for one in self.said(path, revision)
            for _ in range(one.start_line, one.end_line + 1)
        ]


@pytest.fixture
def scene(tmp_path: Path) -> Noted:
    return Noted(tmp_path / "here")


def test_a_claim_is_about_its_commits_lines_wherever_they_are_now(scene: Noted) -> None:
    first = scene.committed(at=5, app__py=text(ONE, TWO))
    scene.noted(first, a_note("app.py\n  s_1::t_1 2\n", s_1=CLAUDE))
    second = scene.commit_of({b"new name.py": text(THREE, ONE, TWO).encode()}, first, at=15)
    report = import_git_ai_notes(scene.workspace)
    assert (report.notes, report.lines, report.new, report.known, report.problems) == (1, 1, 1, 0, [])
    claim = ("claude-code", "claude-opus-4-8", "claimed")
    assert scene.whose("app.py", first) == [(None, None, None), claim]
    assert scene.whose("new name.py", second) == [(None, None, None), (None, None, None), claim]
    scene.wrote("new name.py", text("zero = make_zero()", ONE, TWO))
    assert scene.whose("new name.py") == [(None, None, None), (None, None, None), claim]
    (one,) = (one for one in scene.said("new name.py") if one.agent)
    assert one.signals == ["commit_link", "range_match", "timestamp_match"] and one.tier == 4


def test_importing_twice_changes_nothing(scene: Noted) -> None:
    first = scene.committed(at=5, app__py=text(ONE))
    scene.noted(first, a_note("app.py\n  s_1::t_1 1\n", s_1=CLAUDE))
    scene.built.git("update-ref", "refs/notes/ai-remote/origin", "refs/notes/ai")
    assert import_git_ai_notes(scene.workspace).new == 1
    again = import_git_ai_notes(scene.workspace)
    assert (again.new, again.known, again.refs) == (0, 1, ["refs/notes/ai", "refs/notes/ai-remote/origin"])


def test_what_was_recorded_of_the_same_session_is_one_answer_and_one_session(scene: Noted) -> None:
    scene.saw(a_recorded_edit("app.py", None, text(ONE), root=scene.built.path, at=moment(1), session="s1"))
    first = scene.committed(at=5, app__py=text(ONE, TWO))
    before = scene.said()[0]
    import_git_ai_notes(scene.noted(first, a_note("app.py\n  s_1::t_1 1-2\n", s_1=CLAUDE)).workspace)
    assert [(one.agent, one.grade, one.session_id) for one in scene.said()] == [
        ("claude-code", "recorded", "s1"),
        ("claude-code", "claimed", "s1"),
    ]
    recorded = scene.said()[0]
    assert (recorded.claims, recorded.tier, recorded.model_id) == ([], before.tier, before.model_id)
    assert recorded.trace_id == scene.said()[1].trace_id
    with scene.workspace.reading() as store:
        assert [str(session) for session in list_sessions_touching_files(store)] == ["s1"]


def test_where_two_claim_the_same_line_both_are_shown(scene: Noted) -> None:
    scene.saw(a_recorded_edit("app.py", None, text(ONE), root=scene.built.path, at=moment(1), session="s1"))
    first = scene.committed(at=5, app__py=text(ONE, TWO))
    scene.noted(first, a_note("app.py\n  s_2::t_1 1-2\n", s_2=CURSOR))
    scene.noted(first, a_note("app.py\n  s_3::t_1 2\n", s_3={**CLAUDE, "id": "s9"}), "refs/notes/ai-remote/origin")
    import_git_ai_notes(scene.workspace)
    captured, claimed = scene.said()
    assert (captured.agent, captured.grade) == ("claude-code", "recorded")
    assert [(one.agent, one.producer, one.grade) for one in captured.claims] == [("cursor", "git-ai", "claimed")]
    assert {claimed.agent, *(one.agent for one in claimed.claims)} == {"claude-code", "cursor"}
    shown = custody(scene.built.path, "blame", "app.py", "-v")
    assert "also claimed: cursor, gpt-5.5, by git-ai; session c1" in shown.out


def test_the_documents_own_profile_takes_the_note_as_a_link(scene: Noted) -> None:
    first = scene.committed(at=5, app__py=text(ONE, TWO))
    import_git_ai_notes(scene.noted(first, a_note("app.py\n  s_1::t_1 2\n", s_1=CLAUDE)).workspace)
    scene.committed(first, at=15, app__py=text(ONE, TWO, THREE))
    told = scene.report(profile="document").attributions
    assert [(one.agent, one.start_line, one.end_line) for one in told][-1] == (None, 3, 3)


# --- bad input --------------------------------------------------------------------------------------------------------


def test_of_bad_notes_what_is_readable_is_read_and_the_rest_is_named(scene: Noted) -> None:
    first = scene.committed(at=5, app__py=text(ONE, TWO))
    second = scene.committed(first, at=15, app__py=text(ONE, TWO, THREE))
    gone = scene.built.commit({b"x": b"1\n"}, ref="refs/heads/gone")
    for ref, commit, note in (
        ("refs/notes/ai", first, a_note("app.py\n  s_1::t_1 2-999999\n../../etc/passwd\n  s_1::t_1 1\n", s_1=CLAUDE)),
        ("refs/notes/ai", second, a_note("gone.py\n  s_1::t_1 1\napp.py\n  s_x::t_1 3\n", s_1=CLAUDE)),
        ("refs/notes/ai", gone, a_note("x\n  s_1::t_1 1\n", s_1=CLAUDE)),
        ("refs/notes/ai-remote/a", second, "no note at all"),
        ("refs/notes/ai-remote/b", second, b"\xff"),
        ("refs/notes/ai-remote/c", second, a_note("app.py\n  s_9::t_1 3\n", s_9={**CLAUDE, "id": "\x1b[2J"})),
    ):
        scene.noted(commit, note, ref)
    scene.built.git("update-ref", "refs/notes/ai-remote/d", scene.built.git("rev-parse", "HEAD:app.py").strip())
    scene.built.git("update-ref", "-d", "refs/heads/gone")
    there = Noted(scene.built.path.parent / "there", a_clone(scene.built, scene.built.path.parent / "there"))
    report = import_git_ai_notes(there.workspace, scene.built.path)
    assert (report.notes, report.gone, report.unreadable, report.undescribed, report.lines) == (6, 1, 2, 2, 1)
    said = " ".join(problem.what for problem in report.problems)
    for wanted in ("beyond the end of 'app.py'", "leaves the repository", "about 'gone.py': not a file in the commit"):
        assert wanted in said
    for wanted in (
        "no note describes the session 's_x'",
        "it has no line '---'",
        "not UTF-8",
        "session 's_9' has no valid name",
        "but a blob",
    ):
        assert wanted in said
    assert [one[0] for one in there.whose()] == [None, "claude-code", None]


def test_a_note_that_is_too_large_is_named(scene: Noted, monkeypatch: pytest.MonkeyPatch) -> None:
    first = scene.committed(at=5, app__py=text(ONE))
    second = scene.committed(first, at=15, app__py=text(ONE, TWO))
    scene.noted(first, a_note("app.py\n  s_1::t_1 1\n", s_1=CLAUDE))
    scene.noted(second, a_note("app.py\n  s_1::t_1 2\n", s_1={**CLAUDE, "model": "m" * 2000}))
    monkeypatch.setattr("custody.intake.import_git_ai.NOTE_BYTES_MAX", 1000)
    report = import_git_ai_notes(scene.workspace)
    assert (report.notes, report.unreadable, report.lines) == (2, 1, 1)
    assert [problem.what for problem in report.problems] == ["cannot read the note: too large"]


def test_a_file_whose_text_a_partial_clone_has_not_is_named_as_such(scene: Noted) -> None:
    first = scene.committed(at=5, app__py=text(ONE), lost__py=text(TWO))
    scene.noted(first, a_note("app.py\n  s_1::t_1 1\nlost.py\n  s_1::t_1 1\ngone.py\n  s_1::t_1 1\n", s_1=CLAUDE))
    lost = scene.built.git("rev-parse", f"{first}:lost.py").decode().strip()
    (scene.built.path / ".git" / "objects" / lost[:2] / lost[2:]).unlink()
    report = import_git_ai_notes(scene.workspace)
    assert report.lines == 1
    assert [problem.what for problem in report.problems] == [
        "cannot use claims about 'lost.py': its text is missing here",
        "cannot use claims about 'gone.py': not a file in the commit",
    ]


def test_a_session_that_another_note_describes_is_found(scene: Noted) -> None:
    first = scene.committed(at=5, app__py=text(ONE))
    second = scene.committed(first, at=15, app__py=text(ONE, TWO))
    scene.noted(first, a_note("app.py\n  s_1::t_1 1\n", s_1=CLAUDE)).noted(second, a_note("app.py\n  s_1::t_2 2\n"))
    assert import_git_ai_notes(scene.workspace).undescribed == 0
    assert [one[0] for one in scene.whose()] == ["claude-code", "claude-code"]


def test_an_undescribed_session_takes_no_line_from_a_known_one(scene: Noted) -> None:
    first = scene.committed(at=5, app__py=text(ONE, TWO))
    scene.noted(first, a_note("app.py\n  s_1::t_1 1-2\n  s_x::t_1 2\n", s_1=CLAUDE))
    report = import_git_ai_notes(scene.workspace)
    assert (report.undescribed, report.lines) == (1, 2)
    assert [one[0] for one in scene.whose()] == ["claude-code", "claude-code"]


def test_the_first_versions_references_are_read(scene: Noted) -> None:
    first = scene.committed(at=5, app__py=text(ONE, TWO))
    old = {"files": {"app.py": {"file": "app.py", "authors": [{"author": "Cursor", "lines": [[2, 2]]}]}}}
    blob = scene.built.git("hash-object", "-w", "--stdin", feed=json.dumps(old).encode()).decode().strip()
    scene.built.git("update-ref", f"refs/ai/authorship/{first}", blob)
    report = import_git_ai_notes(scene.workspace)
    assert (report.refs, report.versions, report.lines) == (["refs/ai/authorship/"], {"authorship/0.0.1": 1}, 1)
    assert [one[0] for one in scene.whose()] == [None, "cursor"]


def test_a_secret_in_a_note_is_never_kept(scene: Noted) -> None:
    secret = "ghp_" + "a8Kd0Qz7Lm3Xw9Rt5Yb1Nc6Vf2Hj4Gs8Pq0E"
    first = scene.committed(at=5, app__py=text(ONE))
    import_git_ai_notes(scene.noted(first, a_note("app.py\n  s_1::t_1 1\n", s_1={**CLAUDE, "model": secret})).workspace)
    home = scene.built.path / ".git" / "custody"
    assert secret.encode() not in b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())


def test_a_claim_makes_nothing_of_a_recorded_session_better(scene: Noted) -> None:
    """A note may name a session captured here; the session keeps its model and its links."""
    scene.saw(a_recorded_edit("app.py", None, text(ONE), root=scene.built.path, at=moment(1), session="s1"))
    first = scene.committed(at=5, app__py=text(ONE))
    scene.edited("app.py", text(ONE), text(ONE, TWO), at=11, agent="claude-code", session="s1")
    scene.committed(first, at=15, app__py=text(ONE, TWO))
    before = scene.report()
    import_git_ai_notes(scene.noted(first, a_note("app.py\n  s_1::t_1 1\n", s_1=CLAUDE)).workspace)
    assert scene.report() == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("git-ai",), "No git-ai notes found"),
        (("git-ai", "nowhere"), "cannot find 'nowhere'"),
        (("git-ai", "--ref", "refs/notes/none"), "cannot find the reference"),
        (("git-ai", ".", "."), "takes only a repository and --ref"),
        (("git-ai", "--texts"), "takes only a repository and --ref"),
        (("claude-code", "--ref", "refs/notes/ai"), "--ref works only with git-ai and entire"),
        (("git-ai", "--ref", "--output=x"), "invalid prefix of references"),
    ],
)
def test_what_was_asked_wrongly_is_said(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    built = a_repository(tmp_path / "here")
    done = custody(built.path, "import", *words)
    assert said in done.out + done.err
    assert done.status == (0 if said.startswith("No git-ai notes") else 2)


def test_the_verb_says_what_it_did(scene: Noted) -> None:
    first = scene.committed(at=5, app__py=text(ONE, TWO))
    scene.noted(first, a_note("app.py\n  s_1::t_1 1-2\n", s_1=CLAUDE))
    done = custody(scene.built.path, "import", "git-ai")
    assert done.out.splitlines() == ["Imported 1 note about 2 lines of 1 session (1 record)"]
    with pytest.raises(InputError):
        import_git_ai_notes(scene.workspace, scene.built.path / "app.py" / "x")
    assert compute_line_stats(scene.workspace) is not None


def with_conversation(told: str, folder: Path, key: str = "cf4f29e") -> str:
    """Return a note of a session of Claude Code with its messages, as versions before 2026-04 wrote them."""
    messages = [
        {"type": "user", "text": "add the second", "timestamp": moment(0)},
        {
            "type": "tool_use",
            "name": "Write",
            "input": {"file_path": f"{folder}/app.py", "content": text(ONE, TWO)},
            "timestamp": moment(2),
        },
        {"type": "tool_use", "name": "Bash", "input": {"command": "make"}, "timestamp": moment(3)},
    ]
    agent = {"tool": "claude", "id": "5d2f0c3e-1111", "model": "claude-opus-4-6"}
    prompts = {key: {"agent_id": agent, "messages": messages}}
    return f"{told}---\n{json.dumps({'schema_version': 'authorship/3.0.0', 'prompts': prompts})}"


def test_conversations_inside_notes_are_read_as_transcripts(scene: Noted) -> None:
    first = scene.committed(at=5, app__py=text(ONE, TWO))
    note = with_conversation("app.py\n  cf4f29e 1-2\n", scene.built.path.resolve())
    report = import_git_ai_notes(scene.noted(first, note).workspace)
    (sessions,) = report.transcripts
    assert (sessions.agent, sessions.sessions, sessions.calls, sessions.edits) == ("claude-code", 1, 2, 1)
    again = import_git_ai_notes(scene.workspace)
    assert (again.new, again.transcripts[0].new) == (0, 0)
    (one,) = scene.said()
    assert (one.agent, one.session_id, one.grade) == ("claude-code", "5d2f0c3e-1111", "claimed")
    assert (one.conversation_summary, one.tool_call_id is not None) == ("add the second", True)


@pytest.mark.parametrize("known", [0, 1, 2])
def test_a_file_at_the_top_of_a_checkout_elsewhere_is_found_by_files_beside_it(scene: Noted, known: int) -> None:
    files = {b"app.py": text(ONE, TWO).encode(), b"src/a.py": b"a = 1\n", b"src/b.py": b"b = 1\n"}
    first = scene.commit_of(files, at=5)
    told, _, value = with_conversation("app.py\n  cf4f29e 1-2\n", Path("/gone/tree")).rpartition("---\n")
    prompts = json.loads(value)
    for name in ("a", "b")[:known]:
        read = {"type": "tool_use", "name": "Read", "input": {"file_path": f"/gone/tree/src/{name}.py"}}
        prompts["prompts"]["cf4f29e"]["messages"].append({**read, "timestamp": moment(4)})
    report = import_git_ai_notes(scene.noted(first, f"{told}---\n{json.dumps(prompts)}").workspace)
    assert report.transcripts[0].problem_count == (0 if known == 2 else 1)
    (one,) = scene.said()
    assert (one.agent, one.tool_call_id is not None) == ("claude-code", known == 2)


def test_import_without_arguments_finds_references_and_says_so(scene: Noted, monkeypatch: pytest.MonkeyPatch) -> None:
    first = scene.committed(at=5, app__py=text(ONE, TWO))
    scene.noted(first, with_conversation("app.py\n  cf4f29e 1-2\n", scene.built.path.resolve()))
    metadata = json.dumps({"session_id": "none", "agent": "Claude Code"}).encode()
    scene.built.commit({b"a3/b2c4d5e6f7/0/metadata.json": metadata}, ref="refs/remotes/origin/entire/checkpoints/v1")
    done = custody(scene.built.path, "import")
    found, notes, checkpoints, *rest = done.out.splitlines()
    assert found == "Found refs/notes/ai, refs/remotes/origin/entire/checkpoints/v1"
    assert notes == "Imported 1 note about 2 lines of 1 session (1 record)"
    assert checkpoints.startswith("Imported 1 checkpoint of 1 session (0 records)")
    assert any(line.startswith("From their conversations: Imported 1 session from 1 file") for line in rest)
    assert "import git-ai" not in done.out
    told = json.loads(custody(scene.built.path, "import", "--json").out)
    assert (told["notes"]["notes"], told["checkpoints"]["checkpoints"]) == (1, 1)


def test_thousands_of_notes_on_missing_commits_are_counted(scene: Noted) -> None:
    first = scene.committed(at=5, app__py=text(ONE, TWO))
    scene.noted(first, a_note("app.py\n  s_1::t_1 1-2\n", s_1=CLAUDE))
    stray = a_note("app.py\n  s_1::t_1 1-2\n", s_1=CLAUDE).encode()
    notes = {b"%040x" % n: stray for n in range(2_000)}
    scene.built.commit({**notes, first.encode(): stray}, ref="refs/notes/ai")
    report = import_git_ai_notes(scene.workspace)
    assert (report.notes, report.gone, report.new) == (2_001, 2_000, 1)


# --- traces of the specification's own hooks --------------------------------------------------------------------------


def a_hooks_trace(first: int, last: int, **metadata: str) -> dict[str, Any]:
    """Return a record as the hooks in the specification's repository write it (commit 2754f07, February 2026)."""
    contributor = {"type": "ai", "model_id": "anthropic/claude-opus-4-8"}
    ranges = [{"start_line": first, "end_line": last}]
    conversation = {"url": "file:///somewhere/s1.jsonl", "contributor": contributor, "ranges": ranges}
    return {
        "version": "1.0",
        "id": "550e8400-e29b-41d4-a716-446655440000",
        "timestamp": "2023-11-14T22:13:21.500Z",
        "vcs": {"type": "git", "revision": "a" * 40},
        "tool": {"name": "claude-code"},
        "files": [{"path": "app.py", "conversations": [conversation]}],
        "metadata": {"tool_name": "Edit", **metadata},
    }


def test_a_trace_of_a_call_that_was_captured_claims_nothing_beside_it(scene: Noted, tmp_path: Path) -> None:
    """Its positions may be outdated: the captured text of the same call shows which lines it wrote."""
    scene.edited("app.py", None, text(ONE), at=1, agent="claude-code", session="s1", call="toolu_1")
    scene.committed(at=5, app__py=text("person = wrote_this()", ONE))
    before = scene.said()
    file = tmp_path / "traces.jsonl"
    file.write_text(json.dumps(a_hooks_trace(1, 1, session_id="s1", tool_use_id="toolu_1")) + "\n")
    assert import_traces(scene.workspace, file).traces == 1
    assert [(one.kind, one.session_id) for one in scene.said()] == [(one.kind, one.session_id) for one in before]


def test_a_trace_of_an_uncaptured_call_is_a_claim(scene: Noted, tmp_path: Path) -> None:
    scene.committed(at=5, app__py=text("person = wrote_this()", ONE))
    file = tmp_path / "traces.jsonl"
    file.write_text(json.dumps(a_hooks_trace(2, 2, session_id="s1", tool_use_id="toolu_1")) + "\n")
    import_traces(scene.workspace, file)
    assert [one.kind for one in scene.said()] == ["none", "agent"] and scene.said()[1].grade == "claimed"


def test_a_pipe_among_notes_is_named_and_not_waited_for(scene: Noted, tmp_path: Path) -> None:
    commit = scene.committed(at=5, app__py=text(ONE))
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / commit).write_text(a_note("app.py\n  s_1::t_1 1\n", s_1=CLAUDE))
    os.mkfifo(folder / ("f" * 40))
    (folder / ("e" * 40)).mkdir()
    report = import_git_ai_notes(scene.workspace, folder)
    assert (report.notes, report.unreadable, report.new) == (3, 2, 1)
    assert [problem.what for problem in report.problems] == [
        "cannot read the note: unreadable: it is not a regular file"
    ] * 2
