"""An opencode session in a real repository: attributed through the real plugin, through stored sessions, and both."""

import hashlib
import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from custody.attribution.app.blame import blame
from custody.capture import TRANSCRIPT_READERS
from custody.cli.import_ import ImportKind, detect_import_kind
from custody.core.view_merge import merge_call_views, merge_session_views
from custody.core.views import CallStatus, CommitLink, FileState, Prompt, Session, SourceAccess, ToolCall
from custody.core.wire.report import ImportTranscriptsReport
from custody.intake.import_transcripts import import_transcripts
from custody.ledger.sessions import list_session_log
from custody.workspace.workspace import Workspace
from tests.builders.captured import views
from tests.builders.codex import patch_text, updated
from tests.builders.in_process import custody
from tests.builders.opencode import MIDDLE, MODEL, NEW, NEWEST, OLD, SESSION, Opencode
from tests.builders.opencode_host import run_plugin
from tests.builders.repo import Built, a_repository

OLD_TEXT = (
    "class Shop:\n    def price(self, item):\n        return item.cost\n\n    def total(self):\n        return 0\n"
)
NEW_TEXT = OLD_TEXT.replace("item.cost", "item.cost * self.discount_rate")
CHILD = "ses_5a5a5a5a5ffeZyXwVuTsRqPoNm"
PLUGIN = ".opencode/plugin/custody.js"
SHAPES: dict[str, Callable[[Opencode, Path], object]] = {
    "files": Opencode.put_files,
    "old files": Opencode.put_old_files,
    "database": Opencode.put_database,
}


@pytest.fixture
def built(tmp_path: Path) -> Built:
    made = a_repository(tmp_path / "repo")
    made.commit({b"src/app.py": OLD_TEXT.encode(), b"README.md": b"read me\n"})
    made.checkout()
    return made


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return where opencode stores its data."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data" / "opencode"


def at_work(built: Built, version: str = NEW, session: str = SESSION) -> Opencode:
    now = time.time_ns() // 1_000_000
    return Opencode(built.path, session, version=version, ms=now).prompt("give a discount")


def edited(built: Built, version: str = NEW) -> Opencode:
    return at_work(built, version).edit("src/app.py", OLD_TEXT, "item.cost", "item.cost * self.discount_rate")


def hooked(built: Built, session: Opencode) -> None:
    """Run the installed plugin on the session, in a program that loads it."""
    assert custody(built.path, "init", "--agent", "opencode", "--no-git-hooks").status == 0
    run_plugin(built.path / PLUGIN, session)


def imported(built: Built, place: Path | None = None) -> ImportTranscriptsReport:
    return import_transcripts(Workspace(built.path), TRANSCRIPT_READERS["opencode"], place)


def agents_lines(built: Built, path: str = "src/app.py") -> list[int]:
    told = blame(Workspace(built.path), path).report.attributions
    return [n for one in told for n in range(one.start_line, one.end_line + 1) if one.kind == "agent"]


def put(built: Built, text: str, path: str = "src/app.py") -> None:
    (built.path / path).parent.mkdir(exist_ok=True)
    (built.path / path).write_text(text, encoding="utf-8")


def bytes_of(home: Path) -> dict[str, str]:
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in home.rglob("*") if path.is_file()}


# Authors.


@pytest.mark.parametrize("version", [OLD, MIDDLE, NEW])
@pytest.mark.parametrize("way", ["plugin", "files", "old files", "database", "document"])
def test_the_agents_lines_are_attributed_to_the_agent(
    built: Built, home: Path, tmp_path: Path, way: str, version: str
) -> None:
    session = edited(built, version)
    place = None
    if way == "plugin":
        hooked(built, session)
    elif way == "document":
        place = session.exported(tmp_path / "exported.json")
    else:
        SHAPES[way](session, home)
    if way != "plugin":
        assert imported(built, place).problem_count == 0
        put(built, NEW_TEXT)
    assert agents_lines(built) == [3]
    (answer,) = [one for one in blame(Workspace(built.path), "src/app.py").report.attributions if one.kind == "agent"]
    assert (answer.agent, answer.model_id, answer.session_id) == ("opencode", MODEL, SESSION)
    assert answer.grade == ("recorded" if way == "plugin" else "claimed")


@pytest.mark.parametrize("then", [False, True])
def test_committed_lines_of_an_overwritten_file_stay_a_persons(built: Built, home: Path, *, then: bool) -> None:
    found = "".join(f"def step_{n}(order): return order.through_step({n})\n" for n in range(6))
    wrote = found.replace("through_step(2)", "skipped_by_the_agent()")
    built.commit({b"src/steps.py": found.encode()}, built.head(), at=int(time.time()) - 60)
    built.checkout()
    session = at_work(built).write("src/steps.py", wrote, exists=True)
    if then:
        session.edit("src/steps.py", wrote, "through_step(5)", "finished()")
        wrote = wrote.replace("through_step(5)", "finished()")
    session.put_database(home)
    imported(built)
    put(built, wrote, "src/steps.py")
    assert agents_lines(built, "src/steps.py") == ([3, 6] if then else [3])


def test_a_persons_lines_between_two_edits_are_not_the_agents(built: Built) -> None:
    session = edited(built)
    mine = NEW_TEXT.replace("        return 0", "        check_the_currency_of_all()\n        return 0")
    session.steps.append({"write": str(built.path / "src/app.py"), "text": mine})
    session.edit("src/app.py", mine, "        return 0\n", "        return self.sum_of_prices()\n")
    hooked(built, session)
    assert agents_lines(built) == [3, 7]


def test_a_commands_writes_are_found_by_snapshots(built: Built) -> None:
    session = at_work(built).shell("python gen.py", write={"gen.txt": "generated by the command\n"})
    hooked(built, session)
    assert agents_lines(built, "gen.txt") == [1]
    assert [state.phase for state in views(built, FileState)] == ["after"]


def test_a_failed_commands_writes_are_found_too(built: Built) -> None:
    session = at_work(built)
    session.shell("python gen.py", error="Tool execution aborted")
    before = next(n for n, step in enumerate(session.steps) if step["hook"] == "tool.execute.before")
    session.steps.insert(before + 1, {"write": str(built.path / "gen.txt"), "text": "half of what was generated\n"})
    for step in session.steps:
        step.setdefault("hook", "")
    hooked(built, session)
    assert agents_lines(built, "gen.txt") == [1]
    (call,) = merge_call_views(views(built, ToolCall))
    assert call.status is CallStatus.FAILED


def test_a_command_without_the_plugin_is_read_by_its_own_text(built: Built, home: Path) -> None:
    at_work(built).shell("cat > gen.txt <<'EOF'\nwritten by a command\nEOF").put_database(home)
    imported(built)
    put(built, "written by a command\n", "gen.txt")
    assert agents_lines(built, "gen.txt") == [1]


@pytest.mark.parametrize("way", ["plugin", "database"])
def test_a_patch_and_a_created_file(built: Built, home: Path, way: str) -> None:
    text = patch_text(updated("src/app.py", OLD_TEXT, NEW_TEXT))
    files = [{"path": "src/app.py", "type": "update", "before": OLD_TEXT, "after": NEW_TEXT}]
    session = at_work(built).patch(text, files, {"src/app.py": NEW_TEXT})
    session.write("src/new.py", "def the_rate_of(item):\n    return item.rate\n")
    if way == "plugin":
        hooked(built, session)
    else:
        session.put_database(home)
        imported(built)
        put(built, NEW_TEXT)
        put(built, "def the_rate_of(item):\n    return item.rate\n", "src/new.py")
    assert agents_lines(built) == [3]
    assert agents_lines(built, "src/new.py") == [1, 2]


# Counting once.


@pytest.mark.parametrize("version", [OLD, MIDDLE, NEW, NEWEST])
def test_plugin_and_database_together_count_once(built: Built, home: Path, version: str) -> None:
    session = edited(built, version)
    child = session.task("look", CHILD).read("README.md", "read me\n").write("b.txt", "written by the helper\n")
    session.task_ends(child).shell("make", "no\n", code=2).shell("true", error="aborted")
    hooked(built, session)
    before = blame(Workspace(built.path), "src/app.py").report.attributions
    calls = {call.id: call for call in merge_call_views(views(built, ToolCall))}
    prompts = {prompt.id for prompt in views(built, Prompt)}
    if version == NEWEST:
        session.put_newest(home)
    else:
        session.put_database(home)
        session.put_files(home)
    first = imported(built)
    assert first.problem_count == 0
    after = blame(Workspace(built.path), "src/app.py").report.attributions
    assert [(one.kind, one.tier, one.grade, one.signals) for one in after] == [
        (one.kind, one.tier, one.grade, one.signals) for one in before
    ]
    together = {call.id: call for call in merge_call_views(views(built, ToolCall))}
    assert set(together) == set(calls)
    assert {name: call.status for name, call in together.items()} == {name: call.status for name, call in calls.items()}
    assert {prompt.id for prompt in views(built, Prompt)} == prompts
    assert {session.id for session in views(built, Session)} == {SESSION}
    assert len(list_session_log(Workspace(built.path), limit=9).sessions) == 1
    assert agents_lines(built, "b.txt") == [1]
    again = imported(built)
    assert (again.new, again.problem_count) == (0, 0)


def test_files_and_database_together_count_once(built: Built, home: Path) -> None:
    session = edited(built, MIDDLE)
    session.put_files(home)
    session.put_database(home)
    report = imported(built)
    assert (report.files, report.new, report.repeated, report.sessions) == (2, 2, 2, 1)


def test_a_fork_adds_only_its_own_content(built: Built, home: Path) -> None:
    session = edited(built)
    fork = Opencode(built.path, CHILD, ms=session.ms)
    copied = json.dumps(session.messages).replace(SESSION, CHILD)
    fork.messages = json.loads(copied.replace(f"msg_{SESSION[-6:]}", "msg_a").replace(f"prt_{SESSION[-6:]}", "prt_a"))
    fork.prompt("go on").shell("ls")
    session.put_database(home)
    fork.put_database(home)
    report = imported(built)
    assert (report.new, report.repeated) == (4, 2)
    assert {call.session: call.name for call in views(built, ToolCall)} == {SESSION: "edit", CHILD: "bash"}


def test_a_grown_session_adds_what_is_new(built: Built, home: Path) -> None:
    session = edited(built)
    session.put_database(home)
    assert imported(built).new == 2
    session.shell("ls").put_database(home)
    report = imported(built)
    assert (report.new, report.known) == (1, 2)


# Identity, subagents, sources, commits.


def test_the_whole_of_a_session(built: Built, home: Path) -> None:
    session = edited(built)
    child = session.task("look", CHILD, model="small-model").read("README.md", "read me\n")
    session.task_ends(child)
    put(built, NEW_TEXT)
    subprocess.run(["git", "commit", "--quiet", "-am", "x"], cwd=built.path, check=True)
    sha = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=built.path, capture_output=True, text=True, check=True
    ).stdout.strip()
    session.shell("git commit -am x", f"[main {sha[:9]}] x\n 1 file changed\n")
    session.put_database(home)
    report = imported(built)
    assert (report.sessions, report.calls, report.edits, report.edits_without_file) == (1, 4, 1, 0)
    assert (report.subagents, report.subagents_unattached, report.versions) == (1, 0, [NEW])
    whole = merge_session_views(views(built, Session))
    assert whole is not None and whole.model == MODEL
    (read,) = [call for call in views(built, ToolCall) if call.name == "read"]
    assert (read.subagent, read.parent) == (CHILD, child.task_call)
    assert [source.locator for source in views(built, SourceAccess)] == [str(built.path / "README.md")]
    assert [link.commit for link in views(built, CommitLink)] == [sha]


def test_other_repositories_sessions_are_not_imported(built: Built, home: Path, tmp_path: Path) -> None:
    Opencode(tmp_path / "elsewhere", CHILD).prompt("x").shell("ls").put_database(home)
    edited(built).put_database(home)
    report = imported(built)
    assert (report.files, report.sessions) == (1, 1)
    assert {call.session for call in views(built, ToolCall)} == {SESSION}


def test_a_secret_is_redacted_first(built: Built, home: Path) -> None:
    secret = "ghp_" + "A1b2C3d4E5f6G7h8I9j0" * 2
    at_work(built).shell(f"echo {secret[:40]}", secret[:40]).put_database(home)
    imported(built)
    kept = (built.path / ".git" / "custody" / "custody.db").read_bytes()
    assert secret[:40].encode() not in kept


# Recognition.


def test_import_recognizes_its_input(built: Built, home: Path, tmp_path: Path) -> None:
    session = edited(built)
    database = session.put_database(home)
    (file,) = session.put_files(home)
    document = session.exported(tmp_path / "one.json")
    for path in (database, file, document, home):
        what, reader = detect_import_kind(path)
        assert (what, reader and reader.agent) == (ImportKind.TRANSCRIPTS, "opencode"), path
    assert detect_import_kind(Path("opencode"))[0] is ImportKind.AGENT
    ran = custody(built.path, "import", str(database), "-v")
    assert ran.status == 0
    assert "1 tool call, 1 edit," in ran.out
    ran = custody(built.path, "import", "opencode")
    assert "from 2 files" in ran.out and "(0 records" in ran.out


def test_no_sessions_is_an_answer(built: Built, home: Path) -> None:
    ran = custody(built.path, "import", "opencode")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith("No sessions of opencode found for this repository in ")


# Databases of a running agent.


@contextmanager
def held(path: Path, *statements: str) -> Iterator[None]:
    """Open the database in another program that has run these statements; it is closed without a commit."""
    code = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None);"
        " [c.execute(one).fetchall() for one in sys.argv[2:]]; print('.', flush=True); sys.stdin.read()"
    )
    words = [sys.executable, "-c", code, str(path), *statements]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdout is not None and program.stdout.readline() == b".\n"
        try:
            yield
        finally:
            program.communicate()


def test_a_database_in_use_is_read_and_left_unchanged(built: Built, home: Path) -> None:
    path = edited(built).put_database(home)
    told = "UPDATE session SET title = 'under way'"
    with held(path, "PRAGMA journal_mode = WAL", told, "BEGIN IMMEDIATE", told):
        before = bytes_of(home)
        assert any(name.endswith("-wal") for name in before)
        assert imported(built).problem_count == 0
        assert bytes_of(home) == before
    put(built, NEW_TEXT)
    assert agents_lines(built) == [3]


def test_a_locked_database_is_reported_and_the_files_are_read(built: Built, home: Path) -> None:
    edited(built, MIDDLE).put_files(home)
    path = at_work(built, session=CHILD).shell("ls").put_database(home)
    before = bytes_of(home)
    with held(path, "BEGIN EXCLUSIVE"):
        ran = custody(built.path, "import", "opencode", "-v")
    assert ran.status == 0
    assert "opencode.db/sessions: cannot read: locked by another program: close it and import again" in ran.out
    assert ran.out.startswith("Imported 1 session from ")
    assert bytes_of(home) == before
    assert imported(built).sessions == 2


@pytest.mark.parametrize("size", [0, 50, 5000])
def test_a_truncated_database_is_reported(built: Built, home: Path, size: int) -> None:
    edited(built, MIDDLE).put_files(home)
    path = at_work(built, session=CHILD).shell("ls").put_database(home)
    os.truncate(path, size)
    before = bytes_of(home)
    ran = custody(built.path, "import", "opencode", "-v")
    assert ran.status == 0
    assert ran.out.startswith("Imported 1 session from ")
    assert size == 0 or f"{path}/sessions: cannot read: " in ran.out.replace("FOLDER", str(built.path))
    assert bytes_of(home) == before


def test_thousands_of_calls_and_unreadable_rows(built: Built, home: Path) -> None:
    session = edited(built)
    for n in range(1500):
        session.shell(f"echo {n}", f"{n}\n")
    path = session.put_database(home)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE part SET data = substr(data, 1, 30) WHERE data LIKE '%echo 7%'")
    connection.commit()
    connection.close()
    report = imported(built)
    assert report.problem_count == 111
    assert (report.calls, report.new) == (1 + 1500 - 111, 2 + 1500 - 111)
