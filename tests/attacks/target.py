"""One copy of the repository, its users, and the gate that judges a change there."""

import json
import shutil
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from custody.core.ids import CommitSha
from custody.server.app.github_jobs import GitHubSettings
from custody.server.app.tenancy import connect_control_tables
from custody.store.seal import store_file_birth_ns
from custody.workspace.workspace import Workspace
from tests.attacks.ground import APP, OWNER, ROBOT, Ground, an_event_of, code_lines, put, stamp
from tests.attacks.model import Attack, Judgment, Outcome
from tests.builders.cli import Ran
from tests.builders.fake_github import REPOSITORY, FakeGitHub
from tests.builders.hooks import home_of, run_hook
from tests.builders.in_process import custody
from tests.builders.repo import Built, Files, a_clone
from tests.builders.service import Asked, a_keeper, asked


@dataclass
class Target:
    """A copy of the ground in ``folder``; the gate judges ``change`` in the repository ``court``."""

    ground: Ground
    folder: Path
    home: Built = field(init=False)
    court: Path = field(init=False)
    change: str = field(init=False)
    notes: dict[str, Any] = field(default_factory=dict)
    """What ``prepare`` and ``perform`` leave for ``check``."""
    environment: dict[str, str] = field(default_factory=dict)
    """Variables that the attacker sets for the gate."""
    days: float = 0
    """How far the machine's clock is from the true time."""
    verdict: Judgment | None = None
    """The latest judgment."""

    def __post_init__(self) -> None:
        self.home = copy_repository(self.ground.folder, self.folder / "home")
        configuration = self.home.path / ".git" / "config"
        configuration.write_text(configuration.read_text().replace(str(self.ground.remote), str(self.remote)))
        self.court = self.home.path
        self.judge_branch("topic")

    # --- judging ------------------------------------------------------------------------------------------------------

    def judge_branch(self, name: str) -> None:
        """Make the gate judge a branch of the ground."""
        self.change = f"{self.ground.base}..{self.ground.heads[name]}"

    def judge_head(self, head: str) -> None:
        """Make the gate judge this head."""
        self.change = f"{self.ground.base}..{head}"

    def judge(self) -> Judgment:
        """Return what the gate and ``trust approve`` say about the change."""
        with self.clock(days=self.days):
            self.verdict = self._judge()
        return self.verdict

    def _judge(self) -> Judgment:
        ran = self.run("gate", self.change, "--json", at=self.court)
        if ran.status not in (0, 1) or not ran.out:
            return Judgment("error", (ran.err.strip().partition("\n")[0],), None, "", is_granted=False)
        report = json.loads(ran.out)
        text = self.run("gate", self.change, at=self.court).out if report["level"] == "approve" else ""
        granted = self.run("trust", "approve", self.change, "--approver", "ci", "--dry-run", "--json", at=self.court)
        return Judgment(
            report["level"],
            tuple(sorted({reason["code"] for reason in report["reasons"]})),
            report.get("assurance"),
            text.partition("\n")[0],
            is_granted=granted.status == 0,
        )

    # --- the ways in --------------------------------------------------------------------------------------------------

    def run(self, *words: str, stdin: str = "", at: Path | None = None) -> Ran:
        """Run the command as the user does."""
        return custody(at or self.home.path, *words, stdin=stdin, **self.environment)

    def record(self, *events: Mapping[str, Any]) -> None:
        """Record generic events with ``custody record``."""
        for event in events:
            self.run("record", "--agent", ROBOT, stdin=json.dumps(event))

    def hook(self, *events: Mapping[str, Any]) -> None:
        """Run the installed hook on events."""
        for event in events:
            run_hook(self.home.path, dict(event))

    @contextmanager
    def service(self) -> Iterator[Asked]:
        """Serve the repository's store, connected to a repository of the code host."""
        workspace = Workspace(self.home.path)
        with connect_control_tables(workspace) as control:
            control.github.connect(REPOSITORY, "default")
        with asked(a_keeper(workspace), github=GitHubSettings(secret=FakeGitHub().secret)) as service:
            yield service

    @contextmanager
    def clock(self, *, days: float) -> Iterator[None]:
        """Set the machine's clock forward or back inside the block."""
        real = time.time_ns
        with patch("custody.workspace.machine.time.time_ns", lambda: real() + round(days * 86_400) * 1_000_000_000):
            yield

    # --- changes ------------------------------------------------------------------------------------------------------

    @property
    def files(self) -> dict[bytes, bytes]:
        """Return the files of the base."""
        return dict(self.ground.files)

    @property
    def topic_files(self) -> dict[bytes, bytes]:
        """Return the files of the unknown agent's change."""
        return {**self.files, APP.encode(): self.topic_text.encode()}

    def commit(
        self,
        files: Files,
        parent: str | None = None,
        *,
        author: str = OWNER,
        ref: str = "refs/heads/attack",
        **more: Any,
    ) -> str:
        """Commit exactly these files on top of a commit (default: the base)."""
        at = int(time.time()) - 1800
        return str(
            self.home.commit(
                files, CommitSha(parent or self.ground.base), author=author.encode(), at=at, ref=ref, **more
            )
        )

    def agent_commit(
        self,
        name: str,
        lines: int,
        *,
        agent: str = ROBOT,
        parent: str | None = None,
        author: str = OWNER,
        more: Files | None = None,
    ) -> str:
        """Commit a new file that an agent was recorded writing."""
        parent = parent or self.ground.base
        path, text = f"src/{name}.py", code_lines(name, lines)
        put(
            self.home.path,
            an_event_of(
                "edit",
                agent=agent,
                session=f"s-{agent}",
                path=path,
                before="",
                after=text,
                head=parent,
                at=stamp(time.time() - 3600),
            ),
        )
        return self.commit(
            {**self.files, **(more or {}), path.encode(): text.encode()},
            parent,
            author=author,
            ref=f"refs/heads/{name}",
        )

    @property
    def topic(self) -> str:
        """Return the head of the unknown agent's change."""
        return self.ground.heads["topic"]

    @property
    def topic_text(self) -> str:
        """Return the file that the unknown agent changed."""
        return self.home.blob(CommitSha(self.topic), APP.encode()).decode()

    # --- other people -------------------------------------------------------------------------------------------------

    def share(self) -> Built:
        """Return the remote with every branch and the user's chain."""
        if not self.remote.is_dir():
            shutil.copytree(self.ground.remote, self.remote, symlinks=True)
            self.home.git("push", "--quiet", "origin", "--all")
        return Built(self.remote)

    @property
    def remote(self) -> Path:
        """Return the path of the remote that the user's repository knows as origin."""
        return self.folder / "remote.git"

    def clone(self, name: str) -> Built:
        """Return a fresh clone of the remote, with every branch."""
        clone = a_clone(self.share(), self.folder / name)
        install_nothing(clone)
        return clone

    def pull(self, clone: Built) -> Ran:
        """Pull the shared chains into a clone."""
        return self.run("pull", "origin", at=clone.path)

    def push(self, clone: Built | None = None) -> Ran:
        """Push a repository's chain."""
        return self.run("push", "origin", at=(clone or self.home).path)

    @property
    def custody_home(self) -> Path:
        """Return the folder of the user's evidence."""
        return home_of(self.home.path)


def install_nothing(clone: Built) -> None:
    """Give a clone the author of the tests only; nothing of custody is set up there."""
    clone.git("config", "user.name", "A Colleague")
    clone.git("config", "user.email", "colleague@example.com")


def copy_repository(source: Path, target: Path) -> Built:
    """Copy a repository with its store, which does not notice that it was copied and continues its chain."""
    shutil.copytree(source, target, symlinks=True)
    file = home_of(target) / "custody.db"
    stamp = f"{file.stat().st_ino}-{store_file_birth_ns(file)}"
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("UPDATE setting SET value = ? WHERE name = 'stamp'", (stamp,))
    return Built(target)


def carry_out(attack: Attack, ground: Ground, folder: Path) -> Outcome:
    """Judge the change, attack, judge again; return both judgments and everything that is wrong."""
    target = Target(ground, folder)
    attack.prepare(target)
    before = ground.judged[attack.prepare] = ground.judged.get(attack.prepare) or target.judge()
    faults = [f"NOT JUDGED: before the attack the gate said {before}"] if before.level == "error" else []
    attack.perform(target)
    after = target.judge()
    if ground.setting.assurance_min is None:
        faults += after.list_silences()
    else:
        faults += after.list_lifts(before)
    try:
        attack.check(target)
    except AssertionError as wrong:
        faults.append(f"CHECK: {str(wrong).partition(chr(10))[0]}")
    return Outcome(before, after, tuple(faults))
