"""Snapshots: the changes of a shell call on disk, within limits."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from custody.capture.hook import snapshot
from custody.capture.hook.event_home import read_capture_gaps
from tests.builders.cli import a_git_folder
from tests.builders.hooks import a_hook_event, home_of, installed, run_hook
from tests.builders.in_process import custody


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    made = installed(a_git_folder(tmp_path / "repository"))
    (made / "kept.py").write_text("kept\n")
    (made / ".gitignore").write_text("ignored\n")
    subprocess.run(["git", "add", "."], cwd=made, check=True)
    return made


def shell(repository: Path, event: str, call: str = "toolu_01") -> None:
    """Send the hook an event before or after a shell command."""
    run_hook(
        repository, a_hook_event(event, repository, tool_name="Bash", tool_use_id=call, tool_input={"command": "x"})
    )


def snapshots(repository: Path) -> list[dict[str, Any]]:
    report = json.loads(custody(repository, "records", "--kind", "snapshot", "--json").out)
    return [
        json.loads(custody(repository, "show", str(record["number"]), "--json").out)["payloads"][0]
        for record in reversed(report["records"])
    ]


def test_a_commands_changes_are_stored(repository: Path) -> None:
    shell(repository, "PreToolUse")
    (repository / "made.py").write_text("new\n")
    (repository / "kept.py").write_text("changed\n")
    (repository / "ignored").write_text("secret build output\n")
    shell(repository, "PostToolUse")
    (taken,) = snapshots(repository)
    assert (taken["phase"], taken["call"], taken["missed"]) == ("after", "toolu_01", 0)
    assert {file["path"]: file["text"] for file in taken["files"]} == {"made.py": "new\n", "kept.py": "changed\n"}


def test_a_persons_changes_before_a_command_are_stored_separately(repository: Path) -> None:
    shell(repository, "PreToolUse", "one")
    (repository / "kept.py").write_text("by hand\n")
    shell(repository, "PreToolUse", "two")
    (repository / "kept.py").unlink()
    shell(repository, "PostToolUse", "two")
    before, after = snapshots(repository)
    assert (before["phase"], before["files"]) == ("before", [{"path": "kept.py", "text": "by hand\n"}])
    assert (after["phase"], after["files"]) == ("after", [{"path": "kept.py", "gone": True}])


def test_no_change_gives_no_snapshot(repository: Path) -> None:
    for event in ("PreToolUse", "PostToolUse", "PreToolUse"):
        shell(repository, event)
    assert snapshots(repository) == []


@pytest.mark.parametrize("first", ["PreToolUse", "PostToolUse"])
def test_the_first_snapshot_stores_uncommitted_files_without_an_author(repository: Path, first: str) -> None:
    (repository / "kept.py").write_text("a person had begun this\n")
    (repository / "new.py").write_text("and this\n")
    shell(repository, first)
    (taken,) = snapshots(repository)
    assert taken["phase"] == "before"
    assert {file["path"]: file["text"] for file in taken["files"]} == {
        "kept.py": "a person had begun this\n",
        "new.py": "and this\n",
    }


def test_binary_and_unusual_files(repository: Path) -> None:
    shell(repository, "PreToolUse")
    (repository / "image.png").write_bytes(b"\x89PNG\0\0")
    (repository / "latin.txt").write_bytes(b"caf\xe9\n")
    os.symlink("/etc/passwd", repository / "link")
    os.mkfifo(repository / "pipe")
    odd = os.fsencode(repository) + b"/new\nline\xff"
    Path(os.fsdecode(odd)).write_text("odd\n")
    shell(repository, "PostToolUse")
    (taken,) = snapshots(repository)
    files = {file["path"]: file for file in taken["files"]}
    assert set(files) == {"image.png", "latin.txt", "new\nline\udcff"}
    assert files["image.png"]["binary"]["bytes"] == 6
    assert files["latin.txt"]["text"] == "caf\udce9\n"


def test_over_the_limits_is_a_counted_gap(repository: Path) -> None:
    shell(repository, "PreToolUse")
    for n in range(snapshot.FILES_MAX + 5):
        (repository / f"f{n}").write_text("x")
    shell(repository, "PostToolUse")
    (taken,) = snapshots(repository)
    assert (len(taken["files"]), taken["missed"]) == (snapshot.FILES_MAX, 5)
    assert any("left out 5 changed files" in gap for gap in read_capture_gaps(home_of(repository)))


def test_deletions_do_not_crowd_out_what_was_written(repository: Path) -> None:
    for n in range(snapshot.FILES_MAX + 5):
        (repository / f"f{n}").write_text("x")
    shell(repository, "PreToolUse")
    for n in range(snapshot.FILES_MAX + 5):
        (repository / f"f{n}").unlink()
    (repository / "zz.py").write_text("new\n")
    shell(repository, "PostToolUse")
    _, taken = snapshots(repository)
    assert taken["files"][0] == {"path": "zz.py", "text": "new\n"}
    assert (len(taken["files"]), taken["missed"]) == (snapshot.FILES_MAX + 1, 5)


def test_a_file_that_is_now_ignored_is_not_deleted(repository: Path) -> None:
    (repository / "x.log").write_text("x")
    shell(repository, "PreToolUse")
    (repository / ".gitignore").write_text("*.log\n")
    shell(repository, "PostToolUse")
    _, taken = snapshots(repository)
    assert [file["path"] for file in taken["files"]] == [".gitignore"]


def test_a_change_with_an_unchanged_time_is_found(repository: Path) -> None:
    shell(repository, "PreToolUse")
    was = (repository / "kept.py").stat()
    (repository / "kept.py").write_text("tpek\n")
    os.utime(repository / "kept.py", ns=(was.st_atime_ns, was.st_mtime_ns))
    shell(repository, "PostToolUse")
    assert [file["path"] for file in snapshots(repository)[0]["files"]] == ["kept.py"]


def test_too_many_bytes_are_a_counted_gap(repository: Path) -> None:
    shell(repository, "PreToolUse")
    (repository / "a").write_text("x" * (snapshot.BYTES_MAX - 10))
    (repository / "b").write_text("x" * 11)
    (repository / "c").write_text("x" * 10)
    shell(repository, "PostToolUse")
    (taken,) = snapshots(repository)
    assert ([file["path"] for file in taken["files"]], taken["missed"]) == (["a", "c"], 1)


def test_git_cannot_run_programs_of_the_repository(repository: Path, tmp_path: Path) -> None:
    marker = tmp_path / "executed"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {marker}\ncat\n")
    program.chmod(0o755)
    (repository / ".gitattributes").write_text("* filter=evil diff=evil\n")
    for name in ("core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "diff.evil.textconv", "core.pager"):
        subprocess.run(["git", "config", name, str(program)], cwd=repository, check=True)
    shell(repository, "PreToolUse")
    (repository / "kept.py").write_text("changed\n")
    shell(repository, "PostToolUse")
    assert [taken["phase"] for taken in snapshots(repository)] == ["before", "after"]
    assert not marker.exists()


@pytest.mark.parametrize(
    ("event", "tool", "phase"),
    [
        ("PreToolUse", "Bash", "before"),
        ("PostToolUse", "Bash", "after"),
        ("PostToolUseFailure", "Bash", "after"),
        ("PostToolUse", "Edit", None),
        ("PostToolUse", "Read", None),
        ("Stop", None, None),
        ("AfterTool", "run_shell_command", "after"),
        ("PostToolUse", "functions.exec_command", "after"),
        ("afterFileEdit", None, "after"),
        ("beforeShellExecution", None, "before"),
    ],
)
def test_which_events_need_a_snapshot(event: str, tool: str | None, phase: str | None) -> None:
    assert snapshot.choose_snapshot_phase(event, tool) == phase


def test_a_git_that_never_answers_is_a_counted_gap(repository: Path, tmp_path: Path) -> None:
    slow = tmp_path / "slow" / "git"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    said = a_hook_event("PreToolUse", repository, tool_name="Bash", tool_use_id="c")
    assert run_hook(repository, said, PATH=f"{slow.parent}:/usr/bin:/bin").status == 0
    assert any("git did not list the files" in gap for gap in read_capture_gaps(home_of(repository)))


def test_nested_repositories_are_a_gap_counted_once(repository: Path) -> None:
    a_git_folder(repository / "nested")
    sub = a_git_folder(repository / "sub")
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "x"], cwd=sub, check=True)
    subprocess.run(["git", "-c", "advice.addEmbeddedRepo=false", "add", "sub"], cwd=repository, check=True)
    shell(repository, "PreToolUse")
    (repository / "nested" / "a.py").write_text("unseen\n")
    (repository / "kept.py").write_text("changed\n")
    shell(repository, "PostToolUse")
    (taken,) = snapshots(repository)
    assert [file["path"] for file in taken["files"]] == ["kept.py"]
    (gap,) = read_capture_gaps(home_of(repository))
    assert gap.endswith("claude-code: snapshots skip nested repositories and submodules; 2 found")
    shutil.rmtree(sub)
    shutil.rmtree(repository / "nested")
    shell(repository, "PostToolUse", "two")
    assert len(snapshots(repository)) == 1
    assert "set aside" not in custody(repository, "doctor").out


def test_a_submodule_that_was_never_fetched_is_not_a_gap(repository: Path) -> None:
    entry = f"160000,{'a' * 40},sub"
    subprocess.run(["git", "update-index", "--add", "--cacheinfo", entry], cwd=repository, check=True)
    (repository / "sub").mkdir()
    shell(repository, "PreToolUse")
    assert read_capture_gaps(home_of(repository)) == []


def test_files_over_the_limit_are_a_gap_counted_once(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "LISTED_MAX", 3)
    for n in range(5):
        (repository / f"f{n}").write_text("x")
    for _ in range(2):
        snapshot.take_snapshot({"agent": "a", "id": "1"}, "after", str(repository), str(home_of(repository)))
    (gap,) = read_capture_gaps(home_of(repository))
    assert gap.endswith("a: snapshots cover 3 of 7 files")
