"""The installed hook: always exits 0, prints nothing, and counts every loss."""

import json
import os
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from custody.capture.hook.event_home import locate_event_fallback, read_capture_gaps, read_repository_id
from custody.capture.hook.install import (
    LAUNCHER,
    LIBRARY,
    assign_repository_id,
    hook_argv,
    hook_shell_command,
    install_hook,
    remove_hook,
    remove_repository_id,
)
from custody.capture.hook.place import find_owned_work_tree, read_head_without_git
from tests.builders.cli import a_git_folder, spool_of
from tests.builders.hooks import SESSION, a_hook_event, an_edit, home_of, installed, run_hook
from tests.builders.in_process import custody


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository with one commit and the hook installed, to copy from."""
    made = a_git_folder(tmp_path_factory.mktemp("begun") / "repository")
    (made / "a.py").write_text("one\n")
    subprocess.run(["git", "add", "."], cwd=made, check=True)
    subprocess.run(["git", "commit", "-qm", "begin"], cwd=made, check=True)
    return installed(made)


@pytest.fixture
def repository(begun: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(begun, tmp_path / "repository"))


def payloads(repository: Path) -> list[dict[str, object]]:
    """Return all recorded events, oldest first, without gaps."""
    lines = custody(repository, "export").out.splitlines()
    texts = [json.loads(line) for line in lines]
    found = [json.loads(line["text"]) for line in texts if line["line"] == "body" and line["text"].startswith("{")]
    return [one for one in found if one.get("kind") != "lost"]


def test_the_hook_records_and_prints_nothing(repository: Path) -> None:
    ran = run_hook(repository, an_edit(repository, "a.py", "one\n", "one", "two"))
    assert (ran.status, ran.out, ran.err) == (0, "", "")
    (event,) = payloads(repository)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=repository, capture_output=True, text=True, check=True)
    assert event["head"] == head.stdout.strip()
    assert (event["agent"], event["event"], event["session"]) == ("claude-code", "PostToolUse", SESSION)
    assert event["worktree"] == "FOLDER"


def test_a_receipt_is_the_name_of_the_durable_event(repository: Path) -> None:
    ran = run_hook(repository, a_hook_event("Stop", repository), "--receipt")
    assert ran.out.strip() == spool_of(repository).names()[0]


def test_the_hook_imports_no_slow_module(repository: Path) -> None:
    words = hook_argv(home_of(repository), "claude-code")
    ran = subprocess.run(
        [words[0], "-X", "importtime", *words[1:]],
        input=json.dumps(a_hook_event("Stop", repository)).encode(),
        capture_output=True,
        check=True,
    )
    loaded = {line.rpartition("|")[2].strip() for line in ran.stderr.decode().splitlines() if "|" in line}
    assert not loaded & {
        "re",
        "json",
        "typing",
        "subprocess",
        "hashlib",
        "pathlib",
        "datetime",
        "tempfile",
        "site",
        "select",
        "signal",
    }


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"not json",
        b"\xff\xfe\x00",
        b"[1, 2]",
        b"[" * 200_000,
        b'{"a": NaN}',
        b'{"session_id": 7, "cwd": []}',
        b'{"a": "b',
    ],
    ids=["nothing", "text", "bytes", "list", "deep", "nan", "odd types", "half"],
)
def test_any_input_is_stored(repository: Path, said: bytes) -> None:
    ran = run_hook(repository, said)
    assert (ran.status, ran.out) == (0, "")
    assert custody(repository, "verify").status == 0
    (event,) = payloads(repository)
    assert event["kind"] == "hook"


def test_a_hundred_megabytes_are_stored_as_digest_and_size(repository: Path) -> None:
    ran = run_hook(repository, b'{"a": "' + b"x" * 100_000_000 + b'"}')
    assert (ran.status, ran.out) == (0, "")
    (event,) = payloads(repository)
    assert isinstance(event["dropped"], dict)
    assert event["dropped"]["bytes"] == 100_000_009
    assert read_capture_gaps(home_of(repository))
    assert "1 event not recorded" in custody(repository, "doctor").out


def test_a_transcript_that_is_a_private_key_is_never_opened(repository: Path, tmp_path: Path) -> None:
    secret = tmp_path / "id_rsa"
    os.mkfifo(secret)  # opening it would hang
    said = a_hook_event("Stop", repository) | {"transcript_path": str(secret), "agent_transcript_path": str(secret)}
    assert run_hook(repository, said).status == 0
    assert custody(repository, "log").status == 0


def test_paths_outside_the_repository_give_no_edits(repository: Path) -> None:
    for n, path in enumerate(("/etc/passwd", "../outside.py", str(repository) + "x/a.py")):
        said = an_edit(repository, "a.py", "", "a", "b", call=f"c{n}")
        said["tool_input"]["file_path"] = said["tool_response"]["filePath"] = path
        run_hook(repository, said)
    report = json.loads(custody(repository, "log", "--json").out)
    assert report["sessions"][0]["calls"] == 3
    assert report["sessions"][0]["files"] == []


@pytest.mark.parametrize(
    "odd",
    [
        {"duration_ms": 1e300},
        {"duration_ms": 10**30},
        {"tool_name": "Read", "tool_response": {"file": {"filePath": "/x\ud800"}}},
        {"tool_name": "WebFetch", "tool_response": {"url": "\ud800\0"}},
        {"tool_name": ["Edit"], "agent_id": "\ud83d", "prompt_id": "\0"},
    ],
    ids=["long", "longer", "half a character", "nul", "types"],
)
def test_no_event_stops_the_commands(repository: Path, odd: dict[str, object]) -> None:
    run_hook(repository, an_edit(repository, "a.py", "one\n", "one", "two") | odd)
    run_hook(repository, a_hook_event("UserPromptSubmit", repository, prompt="\x1b[2J half \ud83d"))
    for verb in (("verify",), ("log",), ("log", SESSION), ("records",), ("export",), ("doctor", "--rebuild")):
        ran = custody(repository, *verb)
        assert (ran.status, "\x1b" in ran.out) == (0, False), ran.err


@pytest.mark.parametrize(
    "said",
    [b'{"a":1,"a":2}', b'{"a":1e999}', b'{"a":' + b"1" * 400 + b"}", b'{"a":' * 200 + b"1" + b"}" * 200],
    ids=["twice", "infinite", "long number", "deep"],
)
def test_input_that_the_store_would_reject_is_stored_as_text(repository: Path, said: bytes) -> None:
    run_hook(repository, said)
    (event,) = payloads(repository)
    assert isinstance(event["unparsed"], str)
    assert custody(repository, "doctor").status == 0


def test_an_event_that_grows_over_the_limit_is_stored_as_digest_and_size(repository: Path) -> None:
    run_hook(repository, b"\xff" * 6_000_000)
    (event,) = payloads(repository)
    assert isinstance(event["dropped"], dict)
    assert read_capture_gaps(home_of(repository))


def test_the_work_tree_is_of_the_stores_own_repository(repository: Path, tmp_path: Path) -> None:
    other = a_git_folder(tmp_path / "other")
    said = an_edit(repository, "a.py", "one\n", "one", "two", call="c1") | {"cwd": str(other)}
    run_hook(repository, said)
    run_hook(repository, an_edit(other, "b.py", "", "a", "b", call="c2"))
    (tmp_path / "link").symlink_to(repository)
    run_hook(repository, an_edit(tmp_path / "link", "sub/../c.py", "", "a", "b", call="c3"))
    relative = an_edit(repository, "d.py", "", "a", "b", call="c4") | {"cwd": str(tmp_path / "link")}
    relative["tool_input"]["file_path"] = relative["tool_response"]["filePath"] = "d.py"
    run_hook(repository, relative)
    report = json.loads(custody(repository, "log", "--json").out)
    assert report["sessions"][0]["files"] == ["a.py", "c.py", "d.py"]


def test_odd_file_names_survive(repository: Path) -> None:
    said = an_edit(repository, "new\nline \udcff.py", "", "a", "b")
    run_hook(repository, said)
    report = json.loads(custody(repository, "log", "--json").out)
    assert report["sessions"][0]["files"] == ["new\\nline \\xff.py"]


def test_generic_events_are_completed(repository: Path) -> None:
    ran = run_hook(repository, {"custody": 1, "kind": "prompt", "session": "mine", "text": "hello"})
    assert ran.status == 0
    (event,) = payloads(repository)
    assert (event["kind"], event["agent"], event["session"]) == ("prompt", "claude-code", "mine")
    assert event["head"]


def test_a_git_folder_that_cannot_be_written_falls_back_to_the_user(repository: Path) -> None:
    spool = spool_of(repository).folder
    spool.parent.mkdir(exist_ok=True)
    spool.write_text("in the way")
    ran = run_hook(repository, a_hook_event("Stop", repository), "--receipt")
    assert ran.status == 0
    assert ran.out.strip()
    fallback = Path(locate_event_fallback(str(home_of(repository)), dict(os.environ)))
    assert (fallback / "repository").read_text().strip() == str(home_of(repository))
    spool.unlink()
    assert custody(repository, "verify").out.startswith("OK: 1 record verified")


def test_when_nothing_can_be_written_the_agent_continues_and_stderr_reports_it(
    repository: Path, tmp_path: Path
) -> None:
    (tmp_path / "state").write_text("in the way")
    spool_of(repository).folder.write_text("in the way")
    ran = run_hook(repository, a_hook_event("Stop", repository), XDG_STATE_HOME=str(tmp_path / "state"))
    assert (ran.status, ran.out) == (0, "")
    assert ran.err.startswith("custody: claude-code: cannot write")
    assert len(read_capture_gaps(home_of(repository))) == 1
    spool_of(repository).folder.unlink()
    assert "1 event not recorded" in custody(repository, "doctor").out


def test_a_broken_library_is_counted_and_harmless(repository: Path) -> None:
    shutil.rmtree(home_of(repository) / "hook" / "lib")
    ran = run_hook(repository, a_hook_event("Stop", repository))
    assert (ran.status, ran.out) == (0, "")
    assert ran.err.startswith("custody: not recorded: ModuleNotFoundError")
    assert len(read_capture_gaps(home_of(repository))) == 1


@pytest.mark.parametrize("path", ["/usr/bin:/bin", "/nowhere"], ids=["another python", "no python"])
def test_a_missing_interpreter_is_replaced_or_counted(repository: Path, path: str) -> None:
    line = hook_shell_command(home_of(repository), "claude-code").replace(
        hook_argv(home_of(repository), "x")[0], "/gone/python"
    )
    said = json.dumps(a_hook_event("Stop", repository)).encode()
    ran = subprocess.run(["/bin/sh", "-c", line], input=said, capture_output=True, env={"PATH": path}, check=False)
    assert (ran.returncode, ran.stdout) == (0, b"")
    kept = len(spool_of(repository).names())
    assert kept + len(read_capture_gaps(home_of(repository))) == 1


def test_a_deleted_hook_is_silent(repository: Path) -> None:
    line = hook_shell_command(home_of(repository), "claude-code")
    assert remove_hook(home_of(repository))
    ran = subprocess.run(["/bin/sh", "-c", line], input=b"{}", capture_output=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


def test_installing_twice_changes_nothing(repository: Path) -> None:
    assert install_hook(home_of(repository)) is False
    (home_of(repository) / "hook" / "lib" / LIBRARY[0]).write_text("changed")
    assert install_hook(home_of(repository)) is True
    compiled = home_of(repository) / "hook" / "lib" / "__pycache__"
    assert len(list(compiled.iterdir())) == len(LIBRARY) + 1


def test_the_launcher_is_short_and_the_list_of_files_complete() -> None:
    folder = Path(__file__).parents[4] / "src" / "custody" / "capture" / "hook"
    assert len((folder / LAUNCHER).read_text().splitlines()) <= 40
    assert set(LIBRARY) == {p.name for p in folder.glob("*.py")} - {"__init__.py", "install.py", LAUNCHER}


def test_the_hook_runs_on_older_pythons(repository: Path) -> None:
    for name in ("python3.9", "python3.10", "python3.12", "python3.13"):
        found = shutil.which(name)
        # A version manager may offer names that do not run.
        if found is None or subprocess.run([found, "-c", "pass"], capture_output=True, check=False).returncode:
            continue
        words = [found, *hook_argv(home_of(repository), "claude-code", "--receipt")[1:]]
        said = json.dumps(a_hook_event("Stop", repository)).encode()
        ran = subprocess.run(words, input=said, capture_output=True, check=False)
        assert (ran.returncode, bool(ran.stdout), ran.stderr) == (0, True, b""), name
    assert sys.version_info >= (3, 11)


def test_head_is_found_without_git(repository: Path, tmp_path: Path) -> None:
    def head(folder: Path) -> str:
        return subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True, text=True, check=True
        ).stdout.strip()

    def ours(folder: Path) -> str | None:
        found = find_owned_work_tree(str(folder))
        assert found is not None
        return read_head_without_git(found[1])

    (repository / "deep").mkdir()
    assert ours(repository / "deep") == head(repository)
    subprocess.run(["git", "pack-refs", "--all"], cwd=repository, check=True)
    assert ours(repository) == head(repository)
    subprocess.run(["git", "worktree", "add", "-q", "-b", "other", "../other"], cwd=repository, check=True)
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "x"], cwd=tmp_path / "other", check=True)
    assert ours(tmp_path / "other") == head(tmp_path / "other") != head(repository)
    subprocess.run(["git", "checkout", "-q", "--detach"], cwd=repository, check=True)
    assert ours(repository) == head(repository)
    assert ours(a_git_folder(tmp_path / "unborn")) is None
    assert find_owned_work_tree("/") is None


def test_a_user_level_hook_finds_the_repository_and_does_nothing_outside(repository: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    install_hook(state)
    words = hook_argv(state, "claude-code", "--user")
    for folder in (repository, tmp_path):
        said = json.dumps(a_hook_event("Stop", folder)).encode()
        ran = subprocess.run(words, input=said, capture_output=True, check=False)
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")
    assert len(spool_of(repository).names()) == 1
    assert not (state / "spool").exists()


def keys(repository: Path) -> list[str]:
    report = json.loads(custody(repository, "records", "--json").out)
    return [record["key"] for record in reversed(report["records"])]


def test_two_subagents_of_one_prompt_have_separate_stops(repository: Path) -> None:
    for agent in ("a1", "a2"):
        run_hook(repository, a_hook_event("SubagentStop", repository, prompt_id="p1", agent_id=agent))
    one, two = keys(repository)
    assert one.endswith(":SubagentStop:p1%3Aa1") and two.endswith(":SubagentStop:p1%3Aa2")
    assert "was observed" not in custody(repository, "doctor").out


def test_events_before_and_after_a_call_are_separate(repository: Path) -> None:
    for event in ("PreToolUse", "PostToolUse"):
        run_hook(repository, a_hook_event(event, repository, tool_name="Edit", tool_use_id="c1", prompt_id="p1"))
    one, two = keys(repository)
    assert one.endswith(":PreToolUse:c1") and two.endswith(":PostToolUse:c1")


@pytest.mark.parametrize("event", ["Stop", "afterFileEdit", "afterShellExecution"])
def test_repeated_events_of_a_prompt_are_not_named_by_it(repository: Path, event: str) -> None:
    for _ in range(2):
        run_hook(repository, a_hook_event(event, repository, generation_id="g1"))
    assert len(keys(repository)) == 2
    assert "was observed" not in custody(repository, "doctor").out


def test_names_of_maximum_length_make_a_valid_event(repository: Path) -> None:
    run_hook(repository, a_hook_event("SubagentStop", repository, prompt_id="p" * 490, agent_id="a" * 490))
    assert len(keys(repository)) == 1


def unended(repository: Path, said: bytes) -> tuple[int, bytes, bytes]:
    """Run the hook with an input that is never closed."""
    words = hook_argv(home_of(repository), "claude-code", "--receipt")
    reading, writing = os.pipe()
    os.write(writing, said)
    try:
        ran = subprocess.run(words, stdin=reading, capture_output=True, cwd=repository, timeout=30, check=False)
    finally:
        os.close(reading)
        os.close(writing)
    return ran.returncode, ran.stdout, ran.stderr


def test_an_input_without_data_is_a_counted_gap(repository: Path) -> None:
    status, out, err = unended(repository, b"")
    assert (status, out) == (0, b"")
    assert err == b"custody: claude-code: the input was never closed, and 0 bytes are not a complete event\n"
    assert len(read_capture_gaps(home_of(repository))) == 1
    assert spool_of(repository).names() == []


def test_a_complete_event_is_stored_even_if_its_input_is_never_closed(repository: Path) -> None:
    status, out, err = unended(repository, json.dumps(a_hook_event("Stop", repository)).encode())
    assert (status, out.decode().split(), err) == (0, spool_of(repository).names(), b"")
    assert read_capture_gaps(home_of(repository)) == []


def test_half_an_event_is_stored_and_counted(repository: Path) -> None:
    status, _, err = unended(repository, b'{"session_id": "s')
    assert status == 0
    assert err.startswith(b"custody: claude-code: the input was never closed, and 17 bytes")
    (event,) = payloads(repository)
    assert event["unparsed"] == '{"session_id": "s'


def test_a_slow_agent_is_waited_for(repository: Path) -> None:
    words = hook_argv(home_of(repository), "claude-code", "--receipt")
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=repository) as process:
        assert process.stdin is not None and process.stdout is not None
        for piece in (b'{"session_id"', b': "s1", "hook_event_name"', b': "Stop"}'):
            process.stdin.write(piece)
            process.stdin.flush()
            time.sleep(2)
        process.stdin.close()
        assert process.stdout.read().split()
    assert process.returncode == 0
    assert read_capture_gaps(home_of(repository)) == []


def test_a_nonblocking_input_is_waited_for(repository: Path) -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    words = hook_argv(home_of(repository), "claude-code")
    with subprocess.Popen(words, stdin=reading, cwd=repository):
        time.sleep(0.5)
        os.write(writing, b'{"session_id": "s1"}')
        os.close(writing)
    os.close(reading)
    (event,) = payloads(repository)
    assert event["session"] == "s1"


def test_the_receipt_does_not_wait_for_the_snapshot(repository: Path, tmp_path: Path) -> None:
    slow = tmp_path / "slow" / "git"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    said = a_hook_event("PreToolUse", repository, tool_name="Bash", tool_use_id="c")
    with subprocess.Popen(
        hook_argv(home_of(repository), "claude-code", "--receipt"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=repository,
        env={**os.environ, "PATH": f"{slow.parent}:/usr/bin:/bin"},
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(said).encode())
        process.stdin.close()
        assert process.stdout.readline().decode().strip() == spool_of(repository).names()[0]
        assert process.poll() is None, "it still waits for git"
    assert process.returncode == 0


def test_the_fallbacks_owner_file_is_readable_by_its_owner_only(repository: Path) -> None:
    spool_of(repository).folder.write_text("in the way")
    old = os.umask(0)
    try:
        run_hook(repository, a_hook_event("Stop", repository))
    finally:
        os.umask(old)
    note = Path(locate_event_fallback(str(home_of(repository)), dict(os.environ))) / "repository"
    assert stat.S_IMODE(note.stat().st_mode) == 0o600


def fallen_back(repository: Path) -> None:
    """Record an event of the repository in the user's folder."""
    spool = spool_of(repository).folder
    spool.write_text("in the way")
    run_hook(repository, a_hook_event("Stop", repository))
    spool.unlink()


def test_events_in_the_users_folder_are_found_after_a_move(repository: Path, tmp_path: Path) -> None:
    assign_repository_id(home_of(repository), os.environ)
    fallen_back(repository)
    moved = repository.rename(tmp_path / "moved")
    assert custody(moved, "verify").out.startswith("OK: 1 record verified")


def test_events_from_before_the_repository_had_an_id_are_found(repository: Path) -> None:
    fallen_back(repository)
    assign_repository_id(home_of(repository), os.environ)
    assert custody(repository, "verify").out.startswith("OK: 1 record verified")


def test_a_copy_does_not_take_the_events_of_the_original(repository: Path, tmp_path: Path) -> None:
    assign_repository_id(home_of(repository), os.environ)
    named = read_repository_id(str(home_of(repository)))
    copy = Path(shutil.copytree(repository, tmp_path / "copy"))
    assign_repository_id(home_of(copy), os.environ)
    assign_repository_id(home_of(repository), os.environ)
    assert read_repository_id(str(home_of(copy))) != named == read_repository_id(str(home_of(repository)))
    repository.rename(tmp_path / "moved")
    assign_repository_id(home_of(tmp_path / "moved"), os.environ)
    assert read_repository_id(str(home_of(tmp_path / "moved"))) == named


def test_an_id_with_waiting_events_is_not_removed(repository: Path) -> None:
    assign_repository_id(home_of(repository), os.environ)
    fallen_back(repository)
    remove_repository_id(home_of(repository), os.environ)
    assert read_repository_id(str(home_of(repository))) is not None
    shutil.rmtree(locate_event_fallback(str(home_of(repository)), dict(os.environ)))
    remove_repository_id(home_of(repository), os.environ)
    assert read_repository_id(str(home_of(repository))) is None
