"""The script that git's hooks run: the same events as the recorder's, without an interpreter."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from custody.attribution.app.commit_claims import CommitLinkIndex, SessionEdit
from custody.capture.git_event import END, git_event_from_file
from custody.capture.hook.install import (
    git_hook_shell_command,
    hook_argv,
    hook_shell_command,
    install_hook,
    is_hook_current,
    is_hook_installed,
)
from custody.capture.spool import Spool, format_rejected_gap
from custody.core.ids import AgentName, CommitSha, SessionId
from custody.core.views import ObservedCommit
from custody.intake.install.doctor import run_doctor_checks
from custody.intake.settings import HOOKS
from custody.ledger.assurance import rate_workspace_chains
from custody.workspace.workspace import Workspace
from tests.builders.cli import spool_of
from tests.builders.hooks import SESSION, an_edit, home_of, run_hook
from tests.builders.in_process import custody

SHELLS = [
    shell
    for shell in (["sh"], ["dash"], ["bash"], ["bash", "--posix"], ["busybox", "ash"], ["zsh"], ["ksh"], ["mksh"])
    if shutil.which(shell[0])
]
ODD_NAMES = ("plain", "with space", "quote's", 'double"quote', "$HOME", "ünïcode", "a\\b", "-dash", "semi;colon")
REWRITTEN = f"{'b' * 40} {'a' * 40}\n{'c' * 40} {'a' * 40} amend\n"
AGENT_VARIABLES = ("CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID", "CURSOR_AGENT", "GEMINI_CLI", "OPENCODE")


def shell_of_old_hooks(home: Path, name: str) -> str:
    """Return what earlier versions of custody put into git's hooks."""
    return f"( {hook_shell_command(home, 'git', '--event', name)} )"


def a_repository(path: Path, shell: Callable[[Path, str], str] = git_hook_shell_command) -> Path:
    """Return a repository with the recorder, and hooks that run ``shell``."""
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(path)], check=True)
    home = home_of(path)
    install_hook(home)
    (home / "spool").mkdir(mode=0o700)
    for name in HOOKS:
        feed = "" if name == "post-rewrite" else " </dev/null"
        hook = path / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\n{{ {shell(home, name)}; }}{feed}\n")
        hook.chmod(0o755)
    return path


def git(folder: Path, *words: str, **environment: str) -> str:
    """Run git with dates that are the same in every run."""
    dates = {"GIT_AUTHOR_DATE": "1700000000 +0000", "GIT_COMMITTER_DATE": "1700000000 +0000"}
    names = ["-c", "user.name=Ana", "-c", "user.email=ana@example.invalid"]
    return subprocess.run(
        ["git", *names, *words],
        cwd=folder,
        env={**os.environ, **dates, **environment},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


def events(spool: Spool) -> list[dict[str, Any]]:
    """Return the pending events without their ids and times."""
    content = spool.oldest(100)
    assert content.refused == ()
    payloads = [json.loads(arrival.payload) for arrival in content.arrivals]
    return [{name: value for name, value in event.items() if name not in ("id", "at")} for event in payloads]


def empty(spool: Spool) -> None:
    for path in spool.folder.iterdir():
        path.unlink()


@pytest.mark.parametrize("name", ODD_NAMES)
def test_every_shell_writes_the_event_that_the_recorder_writes(tmp_path: Path, name: str) -> None:
    repository = a_repository(tmp_path / name)
    git(repository, "commit", "--quiet", "--allow-empty", "-m", "x")
    spool = spool_of(repository)
    for event in HOOKS:
        given_input = REWRITTEN.encode() if event == "post-rewrite" else b""
        empty(spool)
        argv = hook_argv(home_of(repository), "git", "--event", event)
        subprocess.run(argv, cwd=repository, input=given_input, check=True)
        expected = events(spool)
        assert len(expected) == 1
        for shell in SHELLS:
            empty(spool)
            ran = subprocess.run(
                [*shell, "-c", git_hook_shell_command(home_of(repository), event)],
                cwd=repository,
                input=given_input,
                capture_output=True,
                check=False,
            )
            assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b""), shell
            assert [path.name.startswith(event) for path in spool.folder.iterdir()] == [True], "no interpreter ran"
            assert events(spool) == expected, shell


def in_a_worktree(repository: Path) -> None:
    git(repository, "worktree", "add", "--quiet", "../tree", "-b", "tree")
    git(repository.parent / "tree", "commit", "--quiet", "--allow-empty", "-m", "in a work tree")


def amended(repository: Path) -> None:
    git(repository, "commit", "--quiet", "--amend", "--allow-empty", "-m", "amended once")
    git(repository, "commit", "--quiet", "--amend", "--allow-empty", "-m", "amended twice")


def rebased(repository: Path) -> None:
    git(repository, "checkout", "--quiet", "-b", "topic")
    for name in ("one", "two", "three"):
        (repository / name).write_text(name)
        git(repository, "add", name)
        git(repository, "commit", "--quiet", "-m", name)
    git(repository, "checkout", "--quiet", "main")
    git(repository, "commit", "--quiet", "--allow-empty", "-m", "meanwhile")
    git(repository, "rebase", "--quiet", "main", "topic")


def merged(repository: Path) -> None:
    git(repository, "checkout", "--quiet", "-b", "other")
    git(repository, "commit", "--quiet", "--allow-empty", "-m", "other")
    git(repository, "checkout", "--quiet", "main")
    git(repository, "commit", "--quiet", "--allow-empty", "-m", "meanwhile")
    git(repository, "merge", "--quiet", "--no-edit", "other")


def detached_and_packed(repository: Path) -> None:
    git(repository, "checkout", "--quiet", "--detach")
    git(repository, "commit", "--quiet", "--allow-empty", "-m", "detached")
    git(repository, "checkout", "--quiet", "-b", "folder/branch")
    git(repository, "pack-refs", "--all", "--prune")
    git(repository, "commit", "--quiet", "--allow-empty", "-m", "loose again")
    git(repository, "pack-refs", "--all", "--prune")
    hook = repository / ".git/hooks/post-merge"
    subprocess.run([hook], cwd=repository, env=dict(os.environ), check=True)


def through_a_link(repository: Path) -> None:
    link = repository.parent / "link"
    link.symlink_to(repository)
    git(link, "commit", "--quiet", "--allow-empty", "-m", "through a link", PWD=str(link))


def from_a_folder_and_by_git_dir(repository: Path) -> None:
    (repository / "deep/er").mkdir(parents=True)
    git(repository / "deep/er", "commit", "--quiet", "--allow-empty", "-m", "from below")
    git(
        repository.parent,
        "commit",
        "--quiet",
        "--allow-empty",
        "-m",
        "by variables",
        GIT_DIR=str(repository / ".git"),
        GIT_WORK_TREE=str(repository),
    )


STEPS = (in_a_worktree, amended, rebased, merged, detached_and_packed, through_a_link, from_a_folder_and_by_git_dir)


def seen_commits(repository: Path) -> list[tuple[Any, ...]]:
    """Return what the store knows of commits from git's hooks, with work trees relative to the repository."""
    with Workspace(repository).reading() as store:
        views = [found.view for found in store.views.look_up(ObservedCommit, "1 = ?", (1,))]
    relative = [(str(v.commit), os.path.relpath(v.worktree or "/", repository), tuple(v.replaced)) for v in views]
    return sorted(relative)


def linked_commits(repository: Path, edit: SessionEdit) -> set[str]:
    """Return the commits that are linked to an edit of a session."""
    workspace = Workspace(repository)
    names = git(repository, "log", "--all", "--reflog", "--format=%H").split()
    with workspace.reading() as store:
        index = CommitLinkIndex(store, rate_workspace_chains(workspace, store))
        commits = (workspace.repository.log([CommitSha(name)]) for name in dict.fromkeys(names))
        found = [next(iter(log)) for log in commits]
        return {str(commit.id) for commit in found if index.find_link_records(commit, edit)}


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_links_equal_those_of_the_recorder(tmp_path: Path, step: Callable[[Path], None]) -> None:
    seen, linked = [], []
    for name, shell in (("old", shell_of_old_hooks), ("new", git_hook_shell_command)):
        folder = tmp_path / name
        folder.mkdir()
        repository = a_repository(folder / "repository", shell)
        git(repository, "commit", "--quiet", "--allow-empty", "-m", "first")
        at_ns = time.time_ns()
        run_hook(repository, an_edit(repository, "a.py", "", "one", "two"))
        step(repository)
        written = [path.name.startswith("post-") for path in spool_of(repository).folder.iterdir()]
        assert any(written) is (name == "new")
        seen.append(seen_commits(repository))
        edit = SessionEdit(AgentName("claude-code"), SessionId(SESSION), at_ns, lambda: 0)
        linked.append(linked_commits(repository, edit))

    assert seen[0] == seen[1]
    assert linked[0] == linked[1]
    assert linked[0], "the edit is linked to the commits after it"


def test_any_storage_of_references_will_do(tmp_path: Path) -> None:
    repository = a_repository(tmp_path / "repository")
    git(repository, "commit", "--quiet", "--allow-empty", "-m", "x")
    empty(spool_of(repository))
    git(repository, "pack-refs", "--all", "--prune")
    subprocess.run([repository / ".git/hooks/post-commit"], cwd=repository, check=True)
    (name,) = spool_of(repository).names()
    assert name.startswith(f"post-commit-{git(repository, 'rev-parse', 'HEAD')}-"), "git says it, not the recorder"


def test_variables_of_agents_are_recorded(tmp_path: Path) -> None:
    repository = a_repository(tmp_path / "repository")
    values = {name: f"{name.lower()} '\"$x\n" for name in AGENT_VARIABLES}
    git(repository, "commit", "--quiet", "--allow-empty", "-m", "x", **values)
    (event,) = events(spool_of(repository))
    assert event["payload"] == {"variables": values}
    git(repository, "commit", "--quiet", "--allow-empty", "-m", "x", **dict.fromkeys(values, ""))
    assert "payload" not in events(spool_of(repository))[-1]


def test_a_secret_in_a_variable_is_redacted(tmp_path: Path) -> None:
    repository = a_repository(tmp_path / "repository")
    secret = "ghp_" + "A1b2C3d4E5f6" * 3
    git(repository, "commit", "--quiet", "--allow-empty", "-m", "x", CODEX_THREAD_ID=secret)
    with Workspace(repository).reading() as store:
        payloads = store.tables.payloads(store.tables.records_where("1 = ?", (1,)))
    assert len(payloads) == 1
    assert secret not in str(payloads)


def test_the_time_is_that_of_the_commit_also_if_it_is_read_much_later(tmp_path: Path) -> None:
    repository = a_repository(tmp_path / "repository")
    before = time.time_ns()
    git(repository, "commit", "--quiet", "--allow-empty", "-m", "x")
    after = time.time_ns()
    (path,) = spool_of(repository).folder.iterdir()
    assert before - 20_000_000 <= path.stat().st_mtime_ns <= after
    os.utime(path, ns=(0, 1_772_536_800_123_456_789))
    (arrival,) = spool_of(repository).oldest(1).arrivals
    assert json.loads(arrival.payload)["at"] == "2026-03-03T11:20:00.123456789Z"


def test_events_are_read_by_time(tmp_path: Path) -> None:
    repository = a_repository(tmp_path / "repository")
    run_hook(repository, an_edit(repository, "a.py", "", "one", "two"))
    git(repository, "commit", "--quiet", "--allow-empty", "-m", "x")
    time.sleep(0.02)
    run_hook(repository, an_edit(repository, "a.py", "", "two", "three", call="toolu_02"))
    names = spool_of(repository).names()
    assert [name.startswith("post-commit") for name in names] == [False, True, False]


# Being killed, and other trouble.


def test_a_file_cut_off_anywhere_is_unfinished_and_nothing_else(tmp_path: Path) -> None:
    repository = a_repository(tmp_path / "repository")
    git(repository, "commit", "--quiet", "--allow-empty", "-m", "x")
    spool = spool_of(repository)
    (path,) = spool.folder.iterdir()
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert (spool.names(), spool.list_unfinished_files(), spool.list_foreign_files()) == ([], [path], [])
        assert not spool.oldest(10)
    assert custody(repository, "verify").status == 0
    notes = [check.what for check in run_doctor_checks(Workspace(repository)).checks]
    assert "1 recorder killed before the event was acknowledged" in notes
    path.write_bytes(whole)
    assert len(events(spool)) == 1


def test_a_killed_ingest_adds_nothing_twice(tmp_path: Path) -> None:
    repository = a_repository(tmp_path / "repository")
    git(repository, "commit", "--quiet", "--allow-empty", "-m", "x")
    child = os.fork()
    if not child:
        try:
            Spool.remove = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[method-assign]
            with Workspace(repository).writing():
                pass
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert len(spool_of(repository).names()) == 1, "killed after the record was stored"
    with Workspace(repository).writing() as store:
        assert len(store.tables.records_where("1 = ?", (1,))) == 1
    assert spool_of(repository).names() == []


def test_a_killed_commit_leaves_no_event_of_a_commit_that_does_not_exist(tmp_path: Path) -> None:
    repository, random = a_repository(tmp_path / "repository"), Random()
    git(repository, "commit", "--quiet", "--allow-empty", "-m", "x")
    for number in range(25):
        words = ["git", "-c", "user.name=A", "-c", "user.email=a@b.invalid", "commit", "-q", "--allow-empty"]
        run = subprocess.Popen([*words, "-m", f"{number}"], cwd=repository, start_new_session=True)
        time.sleep(random.uniform(0, 0.02))
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        (repository / ".git/index.lock").unlink(missing_ok=True)
        (repository / ".git/HEAD.lock").unlink(missing_ok=True)
        (repository / ".git/refs/heads/main.lock").unlink(missing_ok=True)
    commits = git(repository, "log", "--reflog", "--format=%H").split()
    assert {event["head"] for event in events(spool_of(repository))} <= set(commits)
    assert custody(repository, "verify").status == 0


@pytest.mark.parametrize("blocked", [False, True], ids=["missing", "a file"])
def test_if_the_spool_cannot_be_written_the_recorder_finds_another_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blocked: bool
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    repository = a_repository(tmp_path / "repository")
    git(repository, "commit", "--quiet", "--allow-empty", "-m", "x")
    shutil.rmtree(spool_of(repository).folder)
    if blocked:
        spool_of(repository).folder.write_text("")
    git(repository, "commit", "--quiet", "--amend", "--allow-empty", "-m", "y")
    found = [event for spool in Workspace(repository).spools if spool.folder.is_dir() for event in events(spool)]
    assert sorted(event["event"] for event in found) == ["post-commit", "post-rewrite"]
    assert [event["unparsed"].split()[1] for event in found if event["event"] == "post-rewrite"] == [found[0]["head"]]


def test_nothing_is_printed_and_nothing_stops_a_commit_whatever_is_broken(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    subprocess.run(["git", "init", "--quiet", str(repository)], check=True)
    assert custody(repository, "init", "--agent", "claude-code").status == 0
    script = home_of(repository) / "hook/commit.sh"
    whole = script.read_text()
    for content in ("if then fi (", "false\n", "nonsense\n", "echo x; echo y >&2\n", "set -eu; $nothing\n", whole):
        script.write_text(content)
        words = ["git", "-c", "user.name=A", "-c", "user.email=a@b.invalid", "commit", "-q", "--allow-empty"]
        environment = {**os.environ, "XDG_STATE_HOME": "/dev/null/x", "PATH": os.environ["PATH"]}
        if content == whole:
            shutil.rmtree(home_of(repository))
        ran = subprocess.run([*words, "-m", "x"], cwd=repository, env=environment, capture_output=True, check=False)
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b""), content


def test_without_any_interpreter_a_gap_is_counted(tmp_path: Path) -> None:
    repository = a_repository(tmp_path / "repository")
    git(repository, "commit", "--quiet", "--allow-empty", "-m", "x")
    shutil.rmtree(spool_of(repository).folder)
    (tmp_path / "bin").mkdir()
    command = git_hook_shell_command(home_of(repository), "post-commit")
    command = command.replace(shlex.quote(hook_argv(tmp_path, "git")[0]), "/nowhere")
    subprocess.run(["/bin/sh", "-c", command], cwd=repository, env={"PATH": str(tmp_path / "bin")}, check=True)
    assert (home_of(repository) / "gaps").read_text() == "git: the recorder could not be run\n"


@pytest.mark.parametrize(
    "data",
    [END, b"custody-git 2\0post-commit\0" + b"a" * 40 + b"\0/w\0" + END, b"rubbish" + END, b"custody-git 1\0x" + END],
    ids=["empty", "another version", "rubbish", "too few"],
)
def test_a_file_that_cannot_be_read_is_a_gap_of_its_time(tmp_path: Path, data: bytes) -> None:
    repository = a_repository(tmp_path / "repository")
    path = spool_of(repository).folder / f"post-commit-{'a' * 40}-7"
    path.write_bytes(data)
    os.utime(path, ns=(0, 1_772_536_800_000_000_000))
    (refused,) = spool_of(repository).oldest(1).refused
    assert not refused.is_damaged
    assert format_rejected_gap(refused).startswith("1772536800000000000 the waiting event 'post-commit-aaaa")
    assert "SPOOL-REFUSED" in custody(repository, "verify").out
    assert [file.event for file in spool_of(repository).list_rejected_files()] == [path.name]


def test_links_and_pipes_of_such_a_name_are_not_read(tmp_path: Path) -> None:
    repository = a_repository(tmp_path / "repository")
    git(repository, "commit", "--quiet", "--allow-empty", "-m", "x")
    (path,) = spool_of(repository).folder.iterdir()
    os.mkfifo(path.with_name(f"post-commit-{'b' * 40}-7"))
    path.with_name(f"post-commit-{'c' * 40}-7").symlink_to(path)
    assert spool_of(repository).names() == [path.name]


@given(
    st.text(st.characters(blacklist_characters="\0", codec="utf-8")),
    st.binary().map(lambda data: data.replace(b"\0", b"")),
    st.integers(0, 2**62),
)
@settings(max_examples=100, deadline=None)
def test_any_folder_and_input_can_be_ingested_and_gives_the_same_event_twice(folder: str, raw: bytes, at: int) -> None:
    name = f"post-rewrite-{'a' * 40}-7"
    data = b"\0".join((b"custody-git 1", b"post-rewrite", b"a" * 40, folder.encode(), raw)) + END
    first = git_event_from_file(name, data, at)
    assert first == git_event_from_file(name, data, at)
    assert json.loads(first)["id"] != json.loads(git_event_from_file(name, data, at + 1))["id"]
    event: Mapping[str, Any] = json.loads(first)
    assert event["unparsed"].encode("utf-8", "surrogateescape") == raw
    assert event.get("worktree") == (folder if folder.isprintable() else None)


def test_hooks_of_an_earlier_version_work_and_init_replaces_them(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    subprocess.run(["git", "init", "--quiet", str(repository)], check=True)
    custody(repository, "init", "--agent", "claude-code")
    home, hook = home_of(repository), repository / ".git/hooks/post-commit"
    new = hook.read_text()
    lines = [
        f"{shell_of_old_hooks(home, 'post-commit')} </dev/null >/dev/null || :" if line.startswith("{ ") else line
        for line in new.splitlines()
    ]
    hook.write_text("\n".join(lines) + "\n")
    (home / "hook/commit.sh").unlink()

    git(repository, "commit", "--quiet", "--allow-empty", "-m", "x")
    (event,) = events(spool_of(repository))
    assert event["head"] == git(repository, "rev-parse", "HEAD")
    assert is_hook_installed(home), "agents are still recorded"
    assert "is from another version of custody" in custody(repository, "doctor").out

    custody(repository, "init", "--agent", "claude-code")
    assert hook.read_text() == new
    assert is_hook_current(home)
    git(repository, "commit", "--quiet", "--allow-empty", "-m", "y")
    assert [name.startswith("post-commit-") for name in spool_of(repository).names()] == [True]
