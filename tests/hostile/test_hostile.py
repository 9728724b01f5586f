"""Every method of the git adapter in every trap: nothing is executed, no outside file is opened."""

import inspect
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from custody import git as door
from custody.core.errors import CustodyError, GitError
from custody.core.paths import RepoPath
from custody.git import ProcessLimits, Repository, discover_repository
from custody.git import command as child
from custody.git.environment import SETTINGS
from custody.git.private_repository import PREFIX
from tests.hostile.calls import CALLS, CallTarget
from tests.hostile.traps import ENVIRONMENTS, TRAPS, Trap, a_trap, hostile_repositories
from tests.house.guard import ROOT
from tests.house.not_run import WORDS

FACTS = {"place", "limits", "connections", "git_dir", "common_dir", "work_tree", "object_format", "buffers"}
"""Properties that need no git."""

BRIEF = ProcessLimits(wait_seconds_max=10)


PURE = {
    "make_pull_refspec",
    "parse_commit",
    "parse_remote_url",
    "parse_tree_object",
    "read_small_file",
    "read_work_file",
}
"""Functions that need no git."""


def test_every_method_is_in_the_table() -> None:
    methods = {name for name in dir(Repository) if not name.startswith("_")} - FACTS
    functions = {name for name in door.__all__ if inspect.isfunction(inspect.unwrap(getattr(door, name)))}
    assert set(CALLS) == (methods | functions) - PURE


@pytest.mark.parametrize("name", [*TRAPS, *ENVIRONMENTS])
def test_the_trap_works(name: str, tmp_path: Path) -> None:
    trap = a_trap(name, tmp_path)
    if trap.hidden_from_plain_git:
        assert name == "links"
        return
    assert not trap.marker.exists()
    trap.plain()
    assert trap.marker.exists()


@pytest.mark.parametrize("name", [*TRAPS, *ENVIRONMENTS])
def test_nothing_is_executed_and_no_pipe_is_opened(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trap = a_trap(name, tmp_path)
    for variable, value in trap.environment.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.chdir(trap.path)
    refused = ask_everything(trap)
    assert not trap.marker.exists(), trap.marker.read_text()
    assert not refused or trap.refused, refused


def ask_everything(trap: Trap) -> dict[str, CustodyError]:
    """Make every call; return the errors by name."""
    try:
        repository = discover_repository(trap.path, BRIEF)
    except CustodyError as error:
        return {"discover": error}
    refused: dict[str, CustodyError] = {}
    for name, call in CALLS.items():
        try:
            call(repository, CallTarget(trap.commits[-1], trap.commits[0], RepoPath(b"x")))
        except CustodyError as error:
            refused[name] = error
    assert not [name for name, error in refused.items() if "took longer" in error.message]
    return refused


def test_a_partial_clone_reports_missing_objects(tmp_path: Path) -> None:
    """Missing objects are reported as missing, and the other calls work."""
    refused = ask_everything(a_trap("promisor-ext", tmp_path))
    assert set(refused) <= {"blame", "diffs", "with_draft", "with_work_tree"}
    assert all(isinstance(error, GitError) for error in refused.values())


def test_configuration_that_includes_a_pipe_times_out(tmp_path: Path) -> None:
    trap = a_trap("links", tmp_path)
    trap.config("include.path", str(trap.pipe))
    with pytest.raises(GitError, match="took longer than 0.3 seconds"):
        discover_repository(trap.path, ProcessLimits(wait_seconds_max=0.3))


def test_the_helper_lists_all_repositories(tmp_path: Path) -> None:
    offered = list(hostile_repositories(tmp_path))
    assert [name for name, _, _ in offered] == list(TRAPS)
    assert all(path.is_dir() and not marker.exists() for _, path, marker in offered)


OPEN = {"rev-parse", "symbolic-ref", "for-each-ref", "ls-files", "config", "update-ref"}
PRIVATE = {"ls-files", "check-attr"}
SEALED = {"cat-file", "ls-tree", "diff-tree", "rev-list", "merge-base", "blame"}


def test_every_command_is_hardened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    orders: list[child.ProcessOrder] = []
    spawn = child._spawn_git

    def spawn_and_note(order: child.ProcessOrder, *, fed: bool) -> subprocess.Popen[bytes]:
        orders.append(order)
        return spawn(order, fed=fed)

    monkeypatch.setattr(child, "_spawn_git", spawn_and_note)
    trap = a_trap("fsmonitor", tmp_path)
    assert not ask_everything(trap)
    trap.built.git("symbolic-ref", "HEAD", "refs/heads/without-commits")
    assert discover_repository(trap.path).head().commit is None
    assert {order.verb for order in orders} == OPEN | SEALED | PRIVATE | {"version"}
    for order in orders:
        program, *said = order.command
        assert os.path.isabs(program)
        assert tuple(said[: len(SETTINGS)]) == SETTINGS
        arguments = said[len(SETTINGS) + 1 :]
        if order.verb in ("blame", "diff-tree"):
            assert {"--no-ext-diff", "--no-textconv"} <= set(arguments)
        if order.verb in ("diff-tree", "ls-tree", "ls-files", "config", "check-attr"):
            assert "-z" in arguments
        if b"x" in arguments:
            assert arguments[arguments.index(b"x") - 1] == "--"
        assert order.verb not in SEALED or "sealed" in order.environment["GIT_DIR"]
        assert order.verb in OPEN | SEALED | {"version"} or PREFIX in order.environment["GIT_DIR"]
        if "GIT_WORK_TREE" in order.environment:
            assert PREFIX in order.environment["GIT_DIR"], "git sees a work tree from a private repository only"
            assert PREFIX in order.environment["GIT_OBJECT_DIRECTORY"]


def test_the_sealed_repository_is_empty() -> None:
    sealed = Path(door.__file__).parent / "sealed"
    files = {str(path.relative_to(sealed)): path.read_text() for path in sealed.rglob("*") if path.is_file()}
    assert sorted(files) == sorted(
        f"{kind}/{name}" for kind in ("sha1", "sha256") for name in ("HEAD", "config", "refs/.keep")
    )
    keys = re.findall(r"(\w+) = ", files["sha1/config"] + files["sha256/config"])
    assert set(keys) == {"repositoryformatversion", "bare", "objectFormat"}
    assert files["sha1/HEAD"] == files["sha256/HEAD"] == "ref: refs/heads/none\n"


def test_the_settings_of_the_reliability_page_are_set() -> None:
    said = " ".join(SETTINGS)
    for wanted in """--no-pager --no-replace-objects --literal-pathspecs core.fsmonitor=false core.hooksPath=/dev/null
        diff.external= log.showSignature=false protocol.allow=never core.sshCommand=false
        core.alternateRefsCommand=""".split():
        assert wanted in said


# Under strace: the started programs and the opened files.

_EXECUTED = re.compile(r'execve\("([^"]+)"')
_OPENED = re.compile(r'open(?:at|at2)?\((?:AT_FDCWD, )?"([^"]+)"[^)]*\)\s+= \d')
_SYSTEM = ("/usr/", "/lib", "/etc/ld.so", "/etc/localtime", "/proc/", "/sys/", "/dev/null", "/dev/urandom")


@pytest.mark.parametrize("name", ["everything", "reads-mail-map", "alternate-refs", "tracked-textconv", "links"])
def test_only_git_is_started_and_only_the_repository_is_read(name: str, tmp_path: Path) -> None:
    if not shutil.which("strace"):
        pytest.skip(f"{WORDS}: strace is not installed; it adds certainty, the markers decide")
    trap = a_trap(name, tmp_path / "trap")
    log = tmp_path / "strace.log"
    command = (sys.executable, "-m", "tests.hostile.ask", str(trap.path), trap.commits[-1], trap.commits[0])
    tracing = ("strace", "-f", "-qq", "-s", "4096", "-e", "trace=execve,open,openat,openat2", "-o", str(log))
    done = subprocess.run((*tracing, *command), cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    if "ptrace" in done.stderr.lower():
        pytest.skip(f"{WORDS}: strace may not trace here ({done.stderr})")
    assert done.returncode == 0, done.stderr
    calls = log.read_text()
    programs = {os.path.basename(program) for program in _EXECUTED.findall(calls)}
    assert programs <= {"git", os.path.basename(sys.executable)}
    sealed = os.fspath(Path(door.__file__).parent / "sealed")
    private = os.path.join(tempfile.gettempdir(), PREFIX)
    allowed = (*_SYSTEM, os.fspath(trap.built.path), sealed, private)
    by_git = [line for line in calls.splitlines() if line.split()[0] in git_processes(calls)]
    opened = {os.path.normpath(path) for line in by_git for path in _OPENED.findall(line) if path.startswith("/")}
    outside = {path for path in opened if not path.startswith(allowed)}
    assert not {path for path in outside if "other/.git/objects" not in path}, outside
    assert not any("secret" in path or path == str(trap.pipe) for path in opened)
    assert not trap.marker.exists()


def git_processes(calls: str) -> set[str]:
    return {
        line.split()[0] for line in calls.splitlines() if "execve(" in line and "/git" in line.split("execve(")[1][:200]
    }
