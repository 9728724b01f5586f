"""A Gemini session in a real repository: its lines are attributed through hooks, through its chat, and through both."""

import json
import time
from pathlib import Path

import pytest

from custody.attribution.app.blame import blame
from custody.capture import TRANSCRIPT_READERS
from custody.cli.import_ import ImportKind, detect_import_kind
from custody.core.paths import RepoPath
from custody.core.view_merge import merge_call_views, merge_session_views
from custody.core.views import CommitLink, FileState, Session, SourceAccess, ToolCall
from custody.core.wire.report import ImportTranscriptsReport
from custody.core.wire.time import format_timestamp
from custody.intake.import_transcripts import import_transcripts
from custody.ledger.sessions import list_session_log, show_session_log
from custody.workspace.workspace import Workspace
from tests.builders.captured import lines, views
from tests.builders.gemini import MODEL, SESSION, Gemini, run_gemini_hook
from tests.builders.hooks import installed
from tests.builders.in_process import custody
from tests.builders.repo import Built, a_repository

OLD = "def price(item):\n    return item.cost\n\n\ndef total(items):\n    return sum(map(price, items))\n"
PIECE = "    return item.cost * (1 - item.discount)"
OWN = OLD.replace("    return item.cost", PIECE)
WITH_PERSON = OWN.replace(PIECE, f"    check_the_currency_of(item)\n{PIECE}")


@pytest.fixture
def built(tmp_path: Path) -> Built:
    made = a_repository(tmp_path / "repo")
    made.commit({b"src/app.py": OLD.encode(), b"README.md": b"read me\n"})
    made.checkout()
    return made


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return where Gemini CLI stores its chats."""
    monkeypatch.setenv("GEMINI_CLI_HOME", str(tmp_path / "g"))
    return tmp_path / "g" / ".gemini" / "tmp"


def a_session(built: Built) -> Gemini:
    return Gemini(built.path, at=format_timestamp(time.time_ns())).prompt("give a discount")


def hooked(built: Built, session: Gemini) -> None:
    """Run the hook on all its events."""
    installed(built.path)
    for said in session.hooks:
        ran = run_gemini_hook(built.path, said)
        assert (ran.status, ran.out, ran.err) == (0, "", "")


def imported(built: Built, place: Path | None = None) -> ImportTranscriptsReport:
    return import_transcripts(Workspace(built.path), TRANSCRIPT_READERS["gemini"], place)


def put(built: Built, text: str, path: str = "src/app.py") -> None:
    (built.path / path).parent.mkdir(exist_ok=True)
    (built.path / path).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("way", ["hooks", "document", "lines"])
def test_the_agents_lines_are_attributed_to_the_agent(built: Built, home: Path, way: str) -> None:
    session = a_session(built).replace("src/app.py", OLD, "    return item.cost\n", f"{PIECE}\n")
    if way == "hooks":
        hooked(built, session)
    else:
        session.put(home, old=way == "document")
        assert imported(built).problem_count == 0
    put(built, OWN)
    told = lines(built)
    assert [n for n, kind in told.items() if kind == "agent"] == [2]
    (answer,) = [one for one in blame(Workspace(built.path), "src/app.py").report.attributions if one.kind == "agent"]
    assert answer.agent == "gemini"
    assert answer.model_id == (None if way == "hooks" else MODEL)
    assert answer.grade == ("recorded" if way == "hooks" else "claimed")


@pytest.mark.parametrize("way", ["hooks", "chat"])
@pytest.mark.parametrize("tool", ["replace", "write_file"])
def test_the_persons_lines_of_an_accepted_edit_are_not_the_agents(
    built: Built, home: Path, way: str, tool: str
) -> None:
    session = a_session(built)
    if tool == "replace":
        session.replace("src/app.py", OLD, "    return item.cost", PIECE, applied=WITH_PERSON)
    else:
        session.write("src/app.py", OLD, WITH_PERSON, proposed=OWN)
    if way == "hooks":
        hooked(built, session)
    else:
        session.put(home)
        imported(built)
    put(built, WITH_PERSON)
    told = lines(built)
    assert told[3] == "agent"
    assert told[2] != "agent"


def test_hooks_and_chat_together_count_once(built: Built, home: Path) -> None:
    session = a_session(built).replace("src/app.py", OLD, "    return item.cost\n", f"{PIECE}\n")
    session.shell("make").shell("make").read("README.md", "read me\n")
    hooked(built, session)
    put(built, OWN)
    before = blame(Workspace(built.path), "src/app.py").report.attributions
    calls = {call.id for call in views(built, ToolCall)}
    session.put(home)
    imported(built)
    after = blame(Workspace(built.path), "src/app.py").report.attributions
    assert [(one.kind, one.tier, one.grade, one.signals) for one in after] == [
        (one.kind, one.tier, one.grade, one.signals) for one in before
    ]
    assert {call.id for call in views(built, ToolCall)} == calls
    assert len(merge_call_views(views(built, ToolCall))) == 4
    assert len({read.id for read in views(built, SourceAccess)}) == 1
    shown = list_session_log(Workspace(built.path), limit=1).sessions[0]
    assert (shown.session, shown.prompts) == (SESSION, 1)
    assert len(show_session_log(Workspace(built.path), SESSION).prompts) == 1
    whole = merge_session_views(views(built, Session))
    assert whole is not None and whole.model == MODEL


def test_a_grown_chat_adds_what_is_new_and_a_second_import_nothing(built: Built, home: Path) -> None:
    session = a_session(built).replace("src/app.py", OLD, "    return item.cost\n", f"{PIECE}\n")
    session.put(home)
    first = imported(built)
    assert (first.files, first.sessions, first.calls, first.edits, first.new) == (1, 1, 1, 1, 2)
    session.write("src/new.py", None, "a_new_file = True\n").put(home)
    assert imported(built).new == 1
    assert imported(built).new == 0
    # The same chat in its older shape, before it was resumed.
    session.put(home, old=True)
    again = imported(built)
    assert (again.new, again.files) == (0, 2)


def test_each_commands_changes_are_found_by_snapshots(built: Built) -> None:
    installed(built.path)
    for text in ("first_run = 1\n", "first_run = 1\nsecond_run = 2\n"):
        session = a_session(built)
        session._count = len(text)
        before, after = session.shell("make it").hooks[-2:]
        run_gemini_hook(built.path, before)
        put(built, text, "made.py")
        run_gemini_hook(built.path, after)
    seen = [state for state in views(built, FileState) if state.phase == "after" and state.path == RepoPath(b"made.py")]
    assert len({state.call for state in seen}) == 2
    assert {state.call for state in seen} == {call.id for call in views(built, ToolCall)}
    assert set(lines(built, "made.py").values()) == {"agent"}


def test_a_commands_writes_by_its_own_text_and_its_commit(built: Built, home: Path) -> None:
    head = built.head()
    session = a_session(built).shell("cat > src/made.py <<'EOF'\nmade_by_a_command = True\nEOF\n")
    session.shell("git add -A && git commit -qm x", f"[main {head[:7]}] x\n 1 file changed")
    session.shell("git commit -m y", "[main 1234567] y").shell("cat log", f"[main {head[:7]}] x")
    session.put(home, project="repo")
    (home / "repo" / ".project_root").write_text(str(built.path), encoding="utf-8")
    report = imported(built)
    put(built, "made_by_a_command = True\n", "src/made.py")
    assert lines(built, "src/made.py") == {1: "agent"}
    assert [link.commit for link in views(built, CommitLink)] == [head]
    assert [problem.what for problem in report.problems] == ["commit '1234567' is not in this repository"]


@pytest.mark.parametrize("old", [False, True])
def test_a_work_tree_is_recognized_by_its_hash_if_a_chat_names_no_full_path(
    built: Built, home: Path, old: bool
) -> None:
    a_session(built).shell("cat > notes.py <<'EOF'\nDISCOUNT = 0.19\nEOF").put(home, old=old)
    (built.path / "notes.py").write_text("DISCOUNT = 0.19\n", encoding="utf-8")
    imported(built)
    assert lines(built, "notes.py") == {1: "agent"}


def test_a_subagents_edits_are_its_own_under_the_call_that_started_it(built: Built, home: Path) -> None:
    session, agent = a_session(built), "0f1e2d3c-1111-4222-8333-999988887777"
    session.subagent(agent).replace("src/app.py", OLD, "    return item.cost\n", f"{PIECE}\n")
    session.call("invoke_agent", {"agent_name": "x"}, "done", agentId=agent).put(home)
    report = imported(built)
    assert (report.files, report.sessions, report.subagents, report.subagents_unattached) == (2, 1, 1, 0)
    calls = {call.name: call for call in merge_call_views(views(built, ToolCall))}
    assert (calls["replace"].subagent, calls["replace"].parent) == (agent, calls["invoke_agent"].id)
    put(built, OWN)
    assert lines(built)[2] == "agent"


def test_secrets_are_redacted_and_the_call_keeps_its_name(built: Built, home: Path) -> None:
    secret = "ghp_" + "aZ3kQ9xW7vB2nM5cT8rY1uE4oP6sD0fGhJkL"[:36]
    session = a_session(built).write("src/key.py", None, f"TOKEN = '{secret}'\n").shell("env", f"TOKEN={secret}")
    hooked(built, session)
    session.put(home)
    imported(built)
    assert len(merge_call_views(views(built, ToolCall))) == 2
    with Workspace(built.path).reading() as store:
        digests = list(store.tables.body_digests())
        bodies = b"\n".join(body.data or b"" for body in store.tables.bodies(digests).values())
    assert secret.encode() not in bodies
    assert b"[redacted:" in bodies


def test_the_chats_of_another_repository_are_left_alone(built: Built, home: Path, tmp_path: Path) -> None:
    Gemini(tmp_path / "other").prompt("x").put(home)
    assert imported(built).files == 0


def test_import_accepts_the_agents_name_or_a_path(built: Built, home: Path) -> None:
    file = a_session(built).replace("src/app.py", OLD, "    return item.cost\n", f"{PIECE}\n").put(home)
    ran = custody(built.path, "import", "gemini", "--json")
    said = json.loads(ran.out)
    assert (ran.status, said["agent"], said["place"], said["new"]) == (0, "gemini", str(home), 2)
    again = json.loads(custody(built.path, "import", str(file), "--json").out)
    assert (again["agent"], again["new"], again["known"]) == ("gemini", 0, 2)


def test_a_file_is_recognized_by_its_content(built: Built, tmp_path: Path) -> None:
    for old in (True, False):
        file = a_session(built).put(tmp_path / f"{old}", old=old)
        for place in (file, tmp_path / f"{old}"):
            what, reader = detect_import_kind(place)
            assert (what, reader and reader.agent) == (ImportKind.TRANSCRIPTS, "gemini")
    what, reader = detect_import_kind(Path("gemini"))
    assert (what, reader and reader.agent) == (ImportKind.AGENT, "gemini")
