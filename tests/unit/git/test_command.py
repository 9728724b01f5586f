"""Running git: bounded, without deadlocks, no process left; and its environment."""

import gc
import os
import signal
import subprocess
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from custody.core.errors import GitError, InputError
from custody.core.paths import RepoPath
from custody.git import Comparison, ProcessLimits, Repository, check_git_version, discover_repository
from custody.git.command import AnswerStream, Git, parse_git_version
from custody.git.environment import find_program, make_open_environment, make_sealed_environment
from tests.builders.repo import Built, a_clone, a_history, a_repository

Processes = list[subprocess.Popen[bytes]]


def a_git(folder: Path, script: str, limits: ProcessLimits | None = None) -> Git:
    """Return a git that is a shell script."""
    program = folder / "bin" / "git"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    environment = {"PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"}
    return Git(folder, environment, limits=limits or ProcessLimits())


def has_ended(pid: int) -> bool:
    """Return whether the process has ended; a zombie has."""
    for _ in range(100):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.02)
    return False


def test_the_output_of_git_is_returned(tmp_path: Path) -> None:
    assert a_git(tmp_path, "printf 'a\\0b'; seq 100000 | wc -l").run("verb") == b"a\x00b100000\n"


def test_an_error_has_the_message_of_git(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="git verb failed: fatal: no such thing"):
        a_git(tmp_path, "echo out; echo 'fatal: no such thing' >&2; exit 128").run("verb")
    with pytest.raises(GitError, match="exit status 3 without a message"):
        a_git(tmp_path, "exit 3").run("verb")
    assert a_git(tmp_path, "echo out; exit 1").run("verb", statuses=(0, 1)) == b"out\n"


def test_a_killed_git_is_reported(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="killed by signal 9"):
        a_git(tmp_path, "kill -9 $$").run("verb")


def test_error_output_is_bounded_and_printable(tmp_path: Path) -> None:
    with pytest.raises(GitError) as caught:
        a_git(tmp_path, "printf '\\033[2Jhello' >&2; seq 1000000 >&2; exit 1").run("verb")
    assert "\\x1b[2Jhello" in caught.value.message
    assert len(caught.value.message) < 20_000


def test_a_slow_git_is_stopped(tmp_path: Path, started: Processes) -> None:
    git = a_git(tmp_path, "sleep 100 & echo $!; exec sleep 100", ProcessLimits(wait_seconds_max=0.3))
    before = time.monotonic()
    pids: list[int] = []
    with pytest.raises(GitError, match="took longer than 0.3 seconds"), git.start("verb") as child:
        pids.extend(int(chunk) for chunk in child.chunks())
    assert time.monotonic() - before < 5
    assert started[0].returncode == -signal.SIGKILL
    assert has_ended(pids[0])


def test_a_git_that_closes_its_output_and_stays_is_stopped(tmp_path: Path, started: Processes) -> None:
    git = a_git(tmp_path, "exec >&- 2>&-; exec sleep 100", ProcessLimits(wait_seconds_max=0.3))
    with pytest.raises(GitError, match="took longer"):
        git.run("verb")
    assert started[0].returncode == -signal.SIGKILL


def test_a_git_with_too_much_output_is_stopped(tmp_path: Path, started: Processes) -> None:
    with pytest.raises(GitError, match="printed more than 100,000 bytes"):
        a_git(tmp_path, "exec yes", ProcessLimits(output_bytes_max=100_000)).run("verb")
    assert started[0].returncode == -signal.SIGKILL


def test_our_own_time_between_two_reads_is_not_counted(tmp_path: Path) -> None:
    git = a_git(tmp_path, "seq 100000", ProcessLimits(wait_seconds_max=0.5))
    with git.start("verb") as child:
        chunks = child.chunks()
        first = next(chunks)
        time.sleep(0.7)
        assert (first + b"".join(chunks)).endswith(b"\n100000\n")


def test_leaving_early_leaves_no_process(tmp_path: Path, started: Processes) -> None:
    with a_git(tmp_path, "yes & echo $!; wait").start("verb") as child:
        assert child.read()
    assert child.closed
    assert started[0].returncode == -signal.SIGKILL


def test_dropping_a_stream_leaves_no_process(tmp_path: Path, started: Processes) -> None:
    git = a_git(tmp_path, "exec yes")

    def take_one() -> bytes:
        return next(iter(AnswerStream(git.start("verb"), iter)))

    assert take_one()
    gc.collect()
    assert started[0].returncode == -signal.SIGKILL


def test_closing_a_generator_leaves_no_process(tmp_path: Path, started: Processes) -> None:
    def lines() -> Generator[bytes, None, None]:
        with a_git(tmp_path, "exec yes").start("verb") as child:
            yield from child.chunks()

    stream = lines()
    next(stream)
    stream.close()
    assert started[0].returncode == -signal.SIGKILL


def test_an_error_in_the_feed_leaves_no_process(tmp_path: Path, started: Processes) -> None:
    def feed() -> Iterator[bytes]:
        yield b"one\n"
        raise InputError("no more")

    with (
        pytest.raises(InputError),
        AnswerStream(a_git(tmp_path, "exec cat").start("verb", feed=feed()), iter) as answers,
    ):
        list(answers)
    assert started[0].returncode is not None


def test_feeding_and_reading_do_not_deadlock(tmp_path: Path) -> None:
    line = b"x" * 199_999 + b"\n"  # more than a pipe takes at once
    with a_git(tmp_path, "exec tee /dev/stderr").start("verb", feed=(line for _ in range(100))) as child:
        assert sum(map(len, child.chunks())) == 20_000_000


def test_a_git_that_closes_its_input_is_not_an_error(tmp_path: Path) -> None:
    with a_git(tmp_path, "exec <&-; echo done").start("verb", feed=(b"x" * 100_000 for _ in range(100))) as child:
        assert b"".join(child.chunks()) == b"done\n"


def test_without_a_feed_there_is_nothing_to_read(tmp_path: Path) -> None:
    assert a_git(tmp_path, "cat; [ -t 0 ] || echo closed").run("verb") == b"closed\n"


def test_git_has_no_terminal(tmp_path: Path) -> None:
    assert a_git(tmp_path, "(: < /dev/tty) 2>/dev/null || echo none").run("verb") == b"none\n"


def test_arguments_are_not_interpreted_by_a_shell(tmp_path: Path) -> None:
    output = a_git(tmp_path, 'for last; do :; done; printf %s "$last"').run("verb", b"$(touch x); `y` \xff * 'z")
    assert output == b"$(touch x); `y` \xff * 'z"


def test_git_is_not_taken_from_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_git(tmp_path, "touch sprung")
    monkeypatch.chdir(tmp_path)
    assert find_program(os.pathsep.join(("", ".", "bin"))) is None
    assert find_program(os.pathsep.join(("bin", str(tmp_path / "bin")))) == str(tmp_path / "bin" / "git")


def test_a_missing_git_is_reported_with_a_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitError, match="git is not installed") as caught:
        discover_repository(tmp_path)
    assert "2.34" in (caught.value.hint or "")


def test_a_git_that_cannot_start_is_reported(tmp_path: Path) -> None:
    git = a_git(tmp_path, "")
    (tmp_path / "bin" / "git").write_bytes(b"\x7fELF rubbish")
    with pytest.raises(GitError, match="cannot start git verb"):
        git.run("verb")


def test_a_nul_in_an_argument_is_a_git_error(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="cannot start git verb"):
        a_git(tmp_path, "").run("verb", b"a\0b")


def test_an_old_git_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder, version, problem in (
        ("a", "git version 2.33.1", r"git 2\.33\.1 is too old"),
        ("b", "hello", "version"),
    ):
        (tmp_path / folder).mkdir()
        monkeypatch.setenv("PATH", a_git(tmp_path / folder, f"echo {version}").environment["PATH"])
        with pytest.raises(GitError, match=problem) as caught:
            check_git_version()
        assert "2.34" in (caught.value.hint or "")


def test_versions_are_parsed() -> None:
    assert parse_git_version(b"git version 2.39.5 (Apple Git-154)\n") == (2, 39, 5)
    assert parse_git_version(b"git version 2.45.GIT\n") == (2, 45, 0)
    assert check_git_version() >= (2, 34)


def test_only_the_users_variables_are_passed_on() -> None:
    environment = {
        "PATH": "/bin",
        "HOME": "/home",
        "GIT_CONFIG_GLOBAL": "/g",
        "GIT_CEILING_DIRECTORIES": "/c",
        "GIT_DIR": "/x",
        "GIT_TRACE": "/t",
        "GIT_CONFIG_COUNT": "1",
        "GIT_TERMINAL_PROMPT": "1",
        "GIT_ALLOW_PROTOCOL": "ext",
    }
    passed = make_open_environment(environment)
    assert (
        passed["GIT_CONFIG_GLOBAL"] == "/g" and passed["GIT_CEILING_DIRECTORIES"] == "/c" and passed["HOME"] == "/home"
    )
    assert "GIT_DIR" not in passed and "GIT_TRACE" not in passed and "GIT_CONFIG_COUNT" not in passed
    assert passed["GIT_TERMINAL_PROMPT"] == "0" and passed["GIT_ALLOW_PROTOCOL"] == "none" and passed["LC_ALL"] == "C"
    sealed = make_sealed_environment(environment, Path("/r/.git"), "sha1")
    assert sealed["GIT_CONFIG_GLOBAL"] == sealed["GIT_CONFIG_SYSTEM"] == "/dev/null"
    assert sealed["GIT_OBJECT_DIRECTORY"] == "/r/.git/objects"
    assert "GIT_CEILING_DIRECTORIES" not in sealed


@pytest.fixture
def partial(tmp_path: Path) -> Repository:
    built = a_repository(tmp_path / "whole")
    a_history(built, {b"x": b"1\n"}, {b"x": b"2\n"})
    built.git("config", "uploadpack.allowFilter", "true")
    return discover_repository(a_clone(built, tmp_path / "partial", "--no-checkout", "--filter=blob:none").path)


def test_a_partial_clone_is_explained_and_not_fetched(partial: Repository) -> None:
    head = partial.head().commit
    assert head
    with pytest.raises(GitError, match="missing") as caught:
        list(partial.blame(head, RepoPath(b"x")))
    assert "partial clone" in (caught.value.hint or "")
    with pytest.raises(GitError) as caught:
        list(partial.diffs([Comparison(head)]))
    assert "partial clone" in (caught.value.hint or "")
    with pytest.raises(InputError, match="no such path"):
        list(partial.blame(head, RepoPath(b"y")))


def test_a_shallow_clone_is_explained(tmp_path: Path) -> None:
    built = a_repository(tmp_path / "whole")
    a_history(built, {b"x": b"1\n"}, {b"x": b"2\n"})
    repository = discover_repository(a_clone(built, tmp_path / "shallow", "--depth=1").path)
    with pytest.raises(InputError) as caught:
        repository.resolve("HEAD~1")
    assert "shallow" in (caught.value.hint or "")


def test_every_git_of_a_repository_is_bounded(tmp_path: Path) -> None:
    built: Built = a_repository(tmp_path)
    head = built.commit({b"x": b"1\n" * 1000})
    repository = Repository(discover_repository(tmp_path).place, ProcessLimits(output_bytes_max=100))
    with pytest.raises(GitError, match="more than 100 bytes"):
        list(repository.log([head]))
