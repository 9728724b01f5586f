"""``python -m bench first-minutes``: the commands of README and tutorial on somebody's repository, from an empty home.

    python -m bench first-minutes --repository GITDIR --import entire
    python -m bench first-minutes --repository GITDIR --import claude-code --transcripts DIR --keep DIR --json FILE

Clones the repository by its path, installs the built wheel into a new environment and runs each command with a PATH
that has only that environment and git. With ``--keep``, a run that was stopped continues after its last command.
"""

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from http import HTTPStatus
from pathlib import Path
from typing import Any, TextIO

from bench.bars import BenchError
from bench.columns import columns
from bench.install import build_wheel, make_environment
from bench.progress import Progress, Tell

SECONDS_MAX = 600.0
SERVE_SECONDS_MAX = 60.0
FILES_SEARCHED_MAX = 40
"""Files that are searched for a line that an agent wrote."""
FOUND = frozenset((0, 1))
"""Exit statuses of an answer: 1 says that there are findings, or that a change needs review."""


@dataclass(frozen=True, slots=True)
class CommandRun:
    """A command as typed, with its result."""

    command: str
    status: int
    seconds: float
    first_line: str
    failed: bool


@dataclass(frozen=True, slots=True)
class Trial:
    """The places of one run."""

    folder: Path
    """Holds the home, the environment, the clone and what was run."""

    @property
    def clone(self) -> Path:
        """The clone that the commands run in."""
        return self.folder / "repository"

    @property
    def results(self) -> Path:
        """The file with one line of JSON for each command that ended."""
        return self.folder / "commands.jsonl"

    def environment(self) -> dict[str, str]:
        """Return the whole environment of a command: an empty home, custody and git."""
        path = os.pathsep.join((str(self.folder / "env" / "bin"), "/usr/bin", "/bin"))
        return {"HOME": str(self.folder / "home"), "PATH": path, "LANG": "C.UTF-8", "TZ": "UTC"}

    def run(self, *words: str) -> CommandRun:
        """Run a command of custody, or take its result from an earlier run."""
        command = " ".join(("custody", *words))
        known = next(
            (result for result in self.list_results() if result.command == command.replace(str(self.folder), "…")), None
        )
        return known or self.record(_run_command(self, command, words))

    def list_results(self) -> list[CommandRun]:
        """Return the commands that ended, in order."""
        lines = self.results.read_text("utf-8").splitlines() if self.results.exists() else []
        return [CommandRun(**json.loads(line)) for line in lines]

    def record(self, result: CommandRun) -> CommandRun:
        """Write a result down."""
        # Neither the folder nor the service's token is the same anywhere else.
        command, line = (text.replace(str(self.folder), "…") for text in (result.command, result.first_line))
        stored = replace(result, command=command, first_line=line.partition("?token=")[0])
        with self.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(stored)) + "\n")
        return stored


def main(argv: Sequence[str] | None = None, *, out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Run the commands and print the table; return 1 if a command failed."""
    out, err = out or sys.stdout, err or sys.stderr
    args = _arguments().parse_args(argv)
    with _open_folder(args.keep) as folder, Progress(err) as tell:
        trial = Trial(folder)
        try:
            _set_up(trial, args.repository.resolve(), tell)
            for words in _list_commands(trial, args):
                tell(f"custody {' '.join(words)}")
                if words[0] == "serve":
                    _run_serve(trial, words)
                else:
                    trial.run(*words)
        except BenchError as error:
            err.write(f"{error}\n")
            return 1
        results = trial.list_results()
    rows = [(run.command, str(run.status), f"{run.seconds:.1f}", run.first_line[:100]) for run in results]
    out.write(columns(("command", "status", "seconds", "first line"), rows))
    failed = sum(run.failed for run in results)
    out.write(f"\n{len(results)} commands, {failed} failed\n")
    if args.json:
        text = json.dumps([asdict(run) for run in results], indent=2, ensure_ascii=False)
        Path(args.json).write_text(text + "\n", encoding="utf-8")
    return int(failed > 0)


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench first-minutes", description="Try the first commands.")
    parser.add_argument("--repository", type=Path, required=True, metavar="PATH", help="the repository to clone")
    parser.add_argument("--import", dest="source", default="", metavar="SOURCE", help="what 'custody import' reads")
    parser.add_argument("--transcripts", type=Path, metavar="PATH", help="transcripts outside the repository")
    parser.add_argument("--change", default="HEAD~1..HEAD", metavar="RANGE", help="the change for the gate")
    parser.add_argument("--keep", type=Path, metavar="PATH", help="keep everything here, and continue from it")
    parser.add_argument("--json", metavar="FILE", help="write the results as JSON too")
    return parser


@contextlib.contextmanager
def _open_folder(kept: Path | None) -> Iterator[Path]:
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="custody-trial-") as folder:
        yield Path(folder)


def _set_up(trial: Trial, repository: Path, tell: Tell) -> None:
    (trial.folder / "home").mkdir(exist_ok=True)
    if not (trial.folder / "env").exists():
        tell("installing the wheel")
        with tempfile.TemporaryDirectory() as folder:
            make_environment(trial.folder / "env", build_wheel(Path(folder)))
    if not trial.clone.exists():
        tell("cloning")
        # Not only the branches: notes and references of other tools have evidence too.
        references = ("+refs/heads/*:refs/remotes/origin/*", "+refs/notes/*:refs/notes/*")
        _git(trial, "clone", "--quiet", "--local", "--no-checkout", str(repository), str(trial.clone))
        _git(trial, "-C", str(trial.clone), "fetch", "--quiet", str(repository), *references)
        # A mirror may lack large files; those that can be had are enough.
        _git(trial, "-C", str(trial.clone), "checkout", "--quiet", "HEAD", may_fail=True)


def _git(trial: Trial, *words: str, may_fail: bool = False) -> None:
    ran = subprocess.run(["git", *words], env=trial.environment(), capture_output=True, text=True, check=False)
    if ran.returncode and not may_fail:
        raise BenchError(f"git {words[0]} exited with {ran.returncode}: {ran.stderr[-300:]}")


def _list_commands(trial: Trial, args: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    """Yield the commands in the order of README and tutorial; a line to explain is searched after the import."""
    sources = [args.source] if args.source else []
    transcripts = ["--transcripts", str(args.transcripts.resolve())] if args.transcripts else []
    yield ("init", "--yes")
    yield ("import", *sources, *transcripts)
    file, line, session = _find_agent_line(trial)
    yield ("why", f"{file}:{line}")
    yield ("blame", file)
    yield ("--version",)
    yield ("log",)
    yield ("log", session, "--tree")
    yield ("stats",)
    yield ("gate", args.change)
    yield ("gate", args.change, "--format", "markdown")
    yield ("trust", "approve", args.change, "--dry-run")
    yield ("dupes", "check", args.change)
    yield ("cite", "audit", "README.md")
    yield ("trust", "record", _agent_of(trial, file, line), "accepted", "HEAD", "--review-seconds", "300")
    yield ("trust", "list")
    yield ("serve", "--port", "0")
    yield ("report", "--html", str(trial.folder / "pages"))
    yield ("doctor",)
    yield ("verify",)
    yield ("uninstall",)


def _find_agent_line(trial: Trial) -> tuple[str, int, str]:
    """Return a file, a line and the session that wrote it: the longest block among files that agents changed."""
    found: list[tuple[int, str, int, str]] = []
    for file in _list_recent_files(trial)[:FILES_SEARCHED_MAX]:
        for block in _read_blocks(trial, file):
            if block["session_id"]:
                length = block["end_line"] - block["start_line"] + 1
                found.append((length, file, block["start_line"], block["session_id"]))
        if found:
            break
    if not found:
        raise BenchError("no line of an agent was found in the files that changed last")
    _, file, line, session = max(found)
    return file, line, session


def _list_recent_files(trial: Trial) -> list[str]:
    command = ["git", "-C", str(trial.clone), "log", "-n", "200", "--diff-filter=AM", "--name-only", "--format="]
    names = subprocess.run(command, env=trial.environment(), capture_output=True, text=True, check=True).stdout
    code = (".go", ".rs", ".py", ".ts", ".js")
    return [
        name for name in dict.fromkeys(names.splitlines()) if name.endswith(code) and (trial.clone / name).is_file()
    ]


def _read_blocks(trial: Trial, file: str) -> list[dict[str, Any]]:
    command = ["custody", "blame", file, "--json"]
    ran = _start(trial, command)
    return list(json.loads(ran.stdout)["attributions"]) if ran.returncode == 0 else []


def _agent_of(trial: Trial, file: str, line: int) -> str:
    blocks = _read_blocks(trial, file)
    return next(str(block["agent"]) for block in blocks if block["start_line"] == line)


def _start(trial: Trial, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    program = str(trial.folder / "env" / "bin" / command[0])
    return subprocess.run(
        [program, *command[1:]],
        cwd=trial.clone,
        env=trial.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )


def _run_command(trial: Trial, command: str, words: Sequence[str]) -> CommandRun:
    before = time.monotonic()
    ran = _start(trial, ["custody", *words])
    seconds = time.monotonic() - before
    return CommandRun(
        command, ran.returncode, seconds, _first_line(ran.stdout or ran.stderr), ran.returncode not in FOUND
    )


def _run_serve(trial: Trial, words: Sequence[str]) -> None:
    """Start the service, wait until its page answers, and stop it as Ctrl-C does."""
    command = " ".join(("custody", *words))
    if any(result.command == command for result in trial.list_results()):
        return
    program = shutil.which("custody", path=trial.environment()["PATH"]) or "custody"
    before = time.monotonic()
    with (trial.folder / "serve.txt").open("w+", encoding="utf-8") as output:
        service = subprocess.Popen(
            [program, *words], cwd=trial.clone, env=trial.environment(), stdout=output, stderr=output
        )
        url = _wait_for_url(trial.folder / "serve.txt", service)
        answered = url is not None and _is_answered(url)
        seconds = time.monotonic() - before
        service.send_signal(signal.SIGINT)
        status = service.wait(SERVE_SECONDS_MAX)
    failed = not answered or status not in (0, 130)
    trial.record(
        CommandRun(
            command, status, seconds, url or _first_line((trial.folder / "serve.txt").read_text("utf-8")), failed
        )
    )


def _wait_for_url(file: Path, service: subprocess.Popen[bytes]) -> str | None:
    until = time.monotonic() + SERVE_SECONDS_MAX
    while time.monotonic() < until and service.poll() is None:
        line = next((line for line in file.read_text("utf-8").splitlines() if "http://" in line), None)
        if line is not None:
            return line
        time.sleep(0.1)
    return None


def _is_answered(line: str) -> bool:
    url = next(word for word in line.split() if word.startswith("http://"))
    try:
        # The token becomes a cookie, and the page is behind a redirect.
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with browser.open(url, timeout=SERVE_SECONDS_MAX) as answer:
            return bool(answer.status == HTTPStatus.OK)
    except OSError:
        return False


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
