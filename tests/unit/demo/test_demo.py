"""``custody demo``: every result is as expected, no file of the user is read, and nothing is left behind."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from custody.cli.main import main
from custody.cli.verb_table import SECTIONS
from custody.demo import narrator
from custody.demo.changes import SECRET, SampleHistory
from custody.demo.first_half import RECORDING
from custody.demo.narrator import STORY, play_demo_story
from custody.demo.sandbox import InProcessCommand
from custody.demo.step import Command, StoryStep
from tests.builders.in_process import custody

SHORT = RECORDING[:1]
LAST_LINES = 6
TEAM = "Team"
"""The section of verbs that need a server and are not in the story."""


@dataclass(frozen=True)
class Surroundings:
    """A user's environment around the story, full of traps; ``sprung`` exists once a trap was triggered."""

    folder: Path
    environment: dict[str, str]
    sprung: Path

    @property
    def temporary(self) -> Path:
        return Path(self.environment["TMPDIR"])

    def start(self, *words: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "custody", "demo", *words],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )


@pytest.fixture
def hostile(tmp_path: Path) -> Surroundings:
    """An environment without a repository, with a wrong GIT_DIR, and with settings for signing, hooks, a database."""
    sprung, hooks = tmp_path / "sprung", tmp_path / "hooks"
    places = {name: tmp_path / name for name in ("home", "temporary", "nowhere")}
    for place in (hooks, *places.values()):
        place.mkdir()
    trap = f"#!/bin/sh\ntouch '{sprung}'\nexit 1\n"
    for name in ("pre-commit", "post-commit", "commit-msg", "gpg"):
        (hooks / name).write_text(trap)
        (hooks / name).chmod(0o755)
    settings = f"[commit]\n\tgpgsign = true\n[gpg]\n\tprogram = {hooks}/gpg\n[core]\n\thooksPath = {hooks}\n"
    (places["home"] / ".gitconfig").write_text(settings + "[user]\n\tname = Somebody Else\n")
    (places["home"] / ".claude").mkdir()
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "XDG_"))},
        "HOME": str(places["home"]),
        "TMPDIR": str(places["temporary"]),
        "GIT_DIR": str(tmp_path / "astray"),
        "GIT_WORK_TREE": "/",
        "GIT_AUTHOR_DATE": "2001-01-01T00:00:00Z",
        "CUSTODY_DATABASE": "postgresql://user@127.0.0.1:1/nothing",
        "PYTHONIOENCODING": "utf-8",
    }
    return Surroundings(places["nowhere"], environment, sprung)


def test_two_stories_at_once_print_the_same_and_only_the_kept_one_stays(hostile: Surroundings) -> None:
    before = _files(Path(hostile.environment["HOME"]))
    removed, kept = hostile.start(), hostile.start("--keep", "--plain")
    (out, err), (kept_out, kept_err) = removed.communicate(), kept.communicate()
    assert (removed.returncode, err, kept.returncode, kept_err) == (0, "", 0, ""), out
    assert "commands ran, every result as expected." in out and "NOT AS EXPECTED" not in out
    assert out.splitlines()[:-LAST_LINES] == kept_out.splitlines()[: len(out.splitlines()) - LAST_LINES]
    assert not hostile.sprung.exists()
    assert _files(Path(hostile.environment["HOME"])) == before
    (folder,) = hostile.temporary.iterdir()
    assert str(folder / "till") in kept_out
    assert "\x1b" not in out + kept_out and str(folder) not in out
    assert _excerpt() <= set(out.splitlines())
    assert SECRET not in (folder / "evidence.jsonl").read_text()
    tries = kept_out.rpartition("Try:\n")[2].splitlines()
    assert len(tries) == 3
    for line in tries:
        ran = custody(folder / "till", *Command(line.strip()).arguments)
        assert (ran.status, bool(ran.out)) == (0, True), line


def test_every_verb_is_in_the_story() -> None:
    shown = {next(word for word in command.arguments if not word.startswith(("-", "."))) for command in _commands()}
    verbs = {verb for section, verbs in SECTIONS.items() if section != TEAM for verb in verbs}
    assert shown == verbs - {"demo", "help", "lsp", "mcp"}


def test_every_command_expects_an_output_or_an_exit_status() -> None:
    silent = [command.line for command in _commands() if not (command.says or command.status)]
    assert [line.partition(" | ")[2] for line in silent] == ["custody record --agent patchbot"]


def test_an_unexpected_result_is_reported_and_the_exit_status_is_1(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {
        "output without 'pigs fly'": Command("custody verify", says=("pigs fly",)),
        "output with 'OK: '": Command("custody verify", never=("OK: ",)),
        "exit status 0, not 1": Command("custody verify", status=1),
        "exit status 2, not 0": Command("custody show 12345678"),
    }
    monkeypatch.setattr(narrator, "STORY", (*SHORT, StoryStep("Wrong", "Wrong expectations.", tuple(wrong.values()))))
    ran = InProcessCommand(main).run(("demo",))
    assert ran.status == 1
    assert [line.strip() for line in ran.out.splitlines() if "NOT AS" in line] == [
        f"NOT AS EXPECTED: {mismatch}" for mismatch in wrong
    ]
    assert "4 results NOT as expected: please report it." in ran.out


def test_json_has_every_command_and_nothing_else_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(narrator, "STORY", SHORT)
    ran = InProcessCommand(main).run(("demo", "--json"))
    report = json.loads(ran.out)
    assert (ran.status, ran.err, report["report"], report["outcome"], report["folder"]) == (0, "", "demo", "fine", None)
    (step,) = report["steps"]
    assert [command["line"] for command in step["commands"]] == [command.line for command in SHORT[0].commands]
    assert all(command["as_told"] and not command["wrong"] for command in step["commands"])


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_with_few_characters_works(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stats = StoryStep("Look", "With bars.", (Command("custody stats", says=("agents wrote",)),))
    monkeypatch.setattr(narrator, "STORY", (*SHORT, stats))
    ran = InProcessCommand(main, encoding).run(("demo",))
    assert (ran.status, ran.err) == (0, "")
    assert ("####" in ran.out) == (encoding == "latin-1")


@dataclass(frozen=True)
class Process:
    """What the story changes about this process while it runs."""

    folder: str
    environment: dict[str, str]
    rest: tuple[object, ...]

    @classmethod
    def now(cls) -> "Process":
        streams = (sys.stdin, sys.stdout, sys.stderr)
        return cls(os.getcwd(), dict(os.environ), (*streams, sys.argv, sys.excepthook, time.time_ns))


def test_the_process_is_restored_however_the_story_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = Process.now()
    assert play_demo_story(InProcessCommand(main), lambda _kind, _line: None, SHORT).outcome == "fine"
    assert Process.now() == before

    def breaks(_history: SampleHistory) -> None:
        raise ZeroDivisionError

    broken = (*SHORT, StoryStep("Break", "Something breaks.", (), breaks))
    with pytest.raises(ZeroDivisionError):
        play_demo_story(InProcessCommand(main), lambda _kind, _line: None, broken, keep=True)
    assert Process.now() == before
    assert not list(tmp_path.iterdir())


def test_without_git_it_fails_with_a_message_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path))
    ran = InProcessCommand(main).run(("demo",))
    assert ran.status == 3
    assert "error: cannot use 'git'" in ran.err and "Traceback" not in ran.err
    assert not list((tmp_path / "temporary").iterdir())


def _commands() -> Iterator[Command]:
    return (command for step in STORY for command in step.commands)


def _excerpt() -> set[str]:
    """Return the lines of the story that docs/demo.md shows."""
    page = (Path(__file__).parents[3] / "docs" / "demo.md").read_text(encoding="utf-8")
    return set(page.split("```")[1].splitlines()[1:]) - {"...", ""}


def _files(folder: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}
