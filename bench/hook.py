"""What a hook costs an agent: against the same interpreter doing nothing, with one sync, and against a plain start."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.bars import BenchError, at_most
from bench.runner import Bench, Ground, Sides
from custody.capture.hook.install import FLAGS, hook_argv, install_hook

EVENT_BYTES = 20_000
FILES, CHANGED = 1_000, 3
TIMES = 3
"""Starts per measurement: a single one is too noisy to compare."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A repository with the hook installed, and the events that an agent would send."""

    repository: Path
    argv: list[str]
    environment: dict[str, str]

    def hook(self, event: bytes) -> None:
        """Run the hook once, as the agent does."""
        self._run(self.argv, event)

    def bare(self) -> None:
        """Start the same interpreter with the same flags, do nothing, and sync one file of the event's size."""
        self.start()
        handle = os.open(self.repository / "synced", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.write(handle, bytes(EVENT_BYTES))
        os.fsync(handle)
        os.close(handle)

    def start(self) -> None:
        """Start the same interpreter with the same flags and do nothing."""
        self._run([self.argv[0], *FLAGS, "-c", "pass"], b"")

    def plain(self) -> None:
        """Start the same interpreter without flags."""
        self._run([self.argv[0], "-c", "pass"], b"")

    def _run(self, argv: list[str], given: bytes) -> None:
        done = subprocess.run(
            argv, input=given, capture_output=True, env=self.environment, cwd=self.repository, check=False
        )
        if done.returncode or done.stdout or done.stderr:
            raise BenchError(f"'{argv[0]}' said {done.stderr!r} and ended with {done.returncode}")


def a_scene(ground: Ground) -> Scene:
    """Return a repository of a thousand files with the hook beside its store."""
    repository = ground.folder / "repository"
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    for n in range(FILES):
        (repository / f"f{n}.py").write_text(f"x = {n}\n")
    subprocess.run(["git", "add", "."], cwd=repository, check=True)
    home = repository / ".git" / "custody"
    install_hook(home)
    return Scene(repository, hook_argv(home, "claude-code"), {"PATH": os.environ["PATH"], "HOME": str(ground.folder)})


def an_event(scene: Scene, tool: str, event: str, filling: str) -> bytes:
    """Return a hook event of about 20 kB."""
    said: dict[str, Any] = {
        "session_id": "5d2f0c3e-1111-4222-8333-444455556666",
        "cwd": str(scene.repository),
        "hook_event_name": event,
        "tool_name": tool,
        "tool_use_id": "toolu_01",
        "tool_input": {"file_path": str(scene.repository / "f1.py"), "command": "true"},
        "tool_response": {"originalFile": filling * (EVENT_BYTES // len(filling))},
    }
    return json.dumps(said).encode()


def quiet(scene: Scene) -> Callable[[], None]:
    """Return an event in which nothing looks like a secret."""
    event = an_event(scene, "Edit", "PostToolUse", "def f(x):\n    return x + 1\n")
    return lambda: scene.hook(event)


def secret(scene: Scene) -> Callable[[], None]:
    """Return an event with a secret in it."""
    event = an_event(scene, "Edit", "PostToolUse", "def f(x):\n    return x + 1\n")
    event = event.replace(b"return x + 1", b"token = '" + b"ghp_" + b"A1b2C3d4E5f6" * 3 + b"'", 1)
    return lambda: scene.hook(event)


def shell(scene: Scene) -> Callable[[], None]:
    """Return an event after a shell command that changed some files."""
    event = an_event(scene, "Bash", "PostToolUse", "done\n")
    scene.hook(event)
    count = 0

    def run() -> None:
        nonlocal count
        count += 1
        for n in range(CHANGED):
            (scene.repository / f"f{n}.py").write_text(f"x = {n} + {count}\n")
        scene.hook(event)

    return run


def sides(event: Callable[[Scene], Callable[[], None]], baseline: str) -> Callable[[Ground], Sides]:
    """Measure the hook on one kind of event against one of the baselines."""

    def set_up(ground: Ground) -> Sides:
        scene = a_scene(ground)
        run = event(scene)
        against = scene.bare if baseline == "bare" else scene.plain
        return Sides(lambda: _times(run), lambda: _times(against))

    return set_up


def _times(run: Callable[[], None]) -> None:
    for _ in range(TIMES):
        run()


def commits(hook: str | None) -> Callable[[Ground], Sides]:
    """Measure commits with our hooks against commits without hooks, or with a post-commit ``hook``."""

    def set_up(ground: Ground) -> Sides:
        hooked = a_scene(Ground(_made(ground.folder / "hooked"), None))
        plain = a_scene(Ground(_made(ground.folder / "plain"), None))
        init = [str(Path(sys.executable).parent / "custody"), "init", "--agent", "claude-code"]
        subprocess.run(init, cwd=hooked.repository, env=hooked.environment, check=True, capture_output=True)
        if hook is not None:
            path = plain.repository / ".git/hooks/post-commit"
            path.write_text(hook)
            path.chmod(0o755)
        return Sides(_committer(hooked), _committer(plain))

    return set_up


def _committer(scene: Scene) -> Callable[[], None]:
    """Return a function that changes some files and commits them; the first commit is made at once."""
    count = 0

    def run() -> None:
        nonlocal count
        for _ in range(TIMES):
            count += 1
            for n in range(CHANGED):
                (scene.repository / f"f{n}.py").write_text(f"x = {n} + {count}\n")
            _commit(scene)

    run()
    return run


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _commit(scene: Scene) -> None:
    names = ["-c", "user.name=Ana", "-c", "user.email=ana@example.org"]
    words = ["git", *names, "commit", "-q", "-a", "-m", "x"]
    subprocess.run(words, cwd=scene.repository, env=scene.environment, check=True, capture_output=True)


_EVENTS = {"quiet": (quiet, 2.0, 1.5), "redact": (secret, 4.0, 2.5), "snapshot": (shell, 5.0, 3.0)}
_WHAT = {
    "quiet": "a 20 kB event without a secret",
    "redact": "a 20 kB event with a secret",
    "snapshot": f"a shell event among {FILES:,} files, {CHANGED} of them changed",
}

_HOOKS = tuple(
    Bench(
        name=f"hook-{name}-{against}",
        what=f"the installed hook on {_WHAT[name]}, sync included",
        baseline=words,
        bar=at_most(bar),
        set_up=sides(event, against),
        calls=1,
    )
    for name, (event, over_bare, over_plain) in _EVENTS.items()
    for against, words, bar in (
        ("bare", "the same interpreter and flags with '-c pass', plus one fsync", over_bare),
        ("plain", "a plain 'python -c pass'", over_plain),
    )
)

BENCHES = (
    *_HOOKS,
    *(
        Bench(
            name=name,
            what=f"'git commit' of {CHANGED} changed files among {FILES:,}, with our hooks",
            baseline=f"the same commit {words}",
            bar=at_most(bar),
            set_up=commits(hook),
            calls=1,
        )
        for name, words, hook, bar in (
            ("commit", "without hooks", None, 1.2),
            ("commit-hook", "with an empty hook, which starts the shell and nothing else", "#!/bin/sh\n", 1.1),
        )
    ),
)
