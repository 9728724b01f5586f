"""The repository that is attacked: built once for each policy, then copied."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from custody.capture.hook.durable import new_spool_name, write_spool_event
from custody.capture.hook.install import install_hook
from custody.core.ids import CommitSha
from custody.core.wire.canonical import dump_canonical_json
from custody.core.wire.time import format_timestamp
from custody.workspace.workspace import Workspace
from tests.attacks.keys import PersonKey
from tests.attacks.model import Judgment, Setting, Step
from tests.builders.cli import spool_of
from tests.builders.hooks import home_of, recorded_edits
from tests.builders.in_process import custody
from tests.builders.repo import Built, a_repository
from tests.builders.verdicts import a_key

NS = 1_000_000_000
HOUR, DAY = 3_600, 86_400
GOOD, ROBOT = "claude-code", "robot"
"""An agent with a good record, and one without any."""
ANA, BEN, OWNER = "Ana Ruiz <ana@example.com>", "Ben Li <ben@example.com>", "Olga Meier <olga@example.com>"
"""Reviewers of the policy with a device and with an ordinary key, and the author of the agents' commits."""
DECISIONS = 11
"""One more than an agent needs to merge anything without review."""
REVIEWED_LINES, CHANGED_LINES, LARGE_LINES = 60, 40, 110
LARGE = tuple(f"large-{n}" for n in range(5))
"""Branches that together are larger than the budget of a day."""
BUDGET_LINES = 500
APP = "src/app.py"
OLD = "import prices\n\nprint(prices.total())\n"
DEVICE, ORDINARY, AGENTS_OWN = PersonKey(), PersonKey(on_device=False), PersonKey()
"""Keys of Ana, of Ben, and one that the agent made for itself."""


def code_lines(name: str, count: int) -> str:
    """Return that many lines that no other file has."""
    return "".join(f"{name}_{n} = compute_{name}({n}, factor={n * 7 + 3})\n" for n in range(count))


@dataclass
class Ground:
    """The facts about the repository, the same in every copy."""

    setting: Setting
    folder: Path
    now: int = field(default_factory=lambda: int(time.time()))
    built: Built = field(init=False)
    files: dict[bytes, bytes] = field(init=False)
    """The files of the base."""
    store: str = field(init=False)
    store_key: str = field(init=False)
    base: CommitSha = field(init=False)
    person: CommitSha = field(init=False)
    """A commit of a person on main, without lines of agents."""
    good: list[str] = field(default_factory=list)
    """Commits on main with lines of the agent with a good record; Ana signed that she accepted each."""
    robots: list[str] = field(default_factory=list)
    """Commits on main with lines of the other agent, without a decision."""
    heads: dict[str, str] = field(default_factory=dict)
    """Branches on top of main, by name."""
    judged: dict[Step, Judgment] = field(default_factory=dict)
    """The judgment after each preparation: the same in every copy."""

    def __post_init__(self) -> None:
        self.built = a_repository(self.folder)
        install_hook(home_of(self.folder))
        self._open_store()
        self._make_history()
        self._make_branches()
        self._decide()
        self._share()

    @property
    def remote(self) -> Path:
        """Return the bare repository in which the branches and the chain are shared."""
        return self.folder.with_name(f"{self.folder.name}-remote.git")

    def policy(self) -> str:
        """Return ``custody.toml`` of the base branch."""
        least = self.setting.assurance_min
        rules = "[trust]\naudit_share = 0.0\n"
        if least is None:
            return rules
        reviewers = [("ana", DEVICE, ANA), ("ben", ORDINARY, BEN)]
        role = ', role = "witness"' if self.setting is Setting.WITNESSED else ""
        return "\n".join(
            (
                rules,
                f'[gate]\nassurance_min = "{least}"\n',
                "[stores]",
                f'owner-laptop = {{ id = "{self.store}", key = "{self.store_key}"{role} }}\n',
                "[reviewers]",
                *(
                    f'{name} = {{ key = "{key.public}", accounts = ["{mail_of(who)}", "github:{name}"] }}'
                    for name, key, who in reviewers
                ),
                "",
            )
        )

    def _open_store(self) -> None:
        tell(self.folder, "prompt", agent=GOOD, session="s-first", text="begin", at=stamp(self.now - 20 * DAY))
        with Workspace(self.folder).writing() as store:
            self.store = str(store.own())
        key = a_key(home_of(self.folder), "store_key")
        self.store_key = " ".join(key.public.decode().split()[:2])

    def _make_history(self) -> None:
        self.files = {
            APP.encode(): OLD.encode(),
            b"custody.toml": self.policy().encode(),
            b".github/workflows/ci.yml": b"on: push\n",
        }
        start = self.now - 15 * DAY
        last = self.built.commit(self.files, at=start, author=OWNER.encode())
        self.files[b"docs/notes.md"] = code_lines("note", 30).encode()
        last = self.person = self.built.commit(self.files, last, at=start + 60, author=OWNER.encode())
        for number in range(DECISIONS):
            for agent, commits in ((GOOD, self.good), (ROBOT, self.robots)):
                name = f"{agent.replace('-', '_')}_{number}"
                path, text = f"src/{name}.py", code_lines(name, REVIEWED_LINES)
                at = start + HOUR * (2 + 6 * number + (agent == ROBOT))
                self._wrote(agent, path, None, text, last, at)
                self.files[path.encode()] = text.encode()
                last = self.built.commit(self.files, last, at=at + 60, author=OWNER.encode())
                commits.append(last)
        self.base = last
        self.built.checkout()

    def _make_branches(self) -> None:
        """Make changes of both agents: small ones, and large ones of the good agent in files of their own."""
        at = self.now - 2 * HOUR
        self._branch("topic", ROBOT, APP, CHANGED_LINES, at)
        self._branch("trusted", GOOD, APP, CHANGED_LINES, at)
        for name in LARGE:
            self._branch(name, GOOD, f"src/{name}.py", LARGE_LINES, at)

    def _branch(self, name: str, agent: str, path: str, lines: int, at: int) -> None:
        before = self.files.get(path.encode())
        old = None if before is None else before.decode()
        text = (old or "") + code_lines(name.replace("-", "_"), lines)
        self._wrote(agent, path, old, text, self.base, at)
        files = {**self.files, path.encode(): text.encode()}
        self.heads[name] = self.built.commit(
            files, self.base, at=at + 60, author=OWNER.encode(), ref=f"refs/heads/{name}"
        )

    def _wrote(self, agent: str, path: str, before: str | None, after: str, head: str, at: int) -> None:
        """Record an edit as the agent's hook does."""
        leave_edit(self.folder, agent, path, before, after, head, at)

    def _share(self) -> None:
        """Share the branches and the chain; by now every event is in it."""
        a_repository(self.remote, bare=True)
        self.built.git("remote", "add", "origin", f"file://{self.remote}")
        self.built.git("push", "--quiet", "origin", "--all")
        shared = custody(self.folder, "push", "origin")
        assert shared.status == 0, shared.err

    def _decide(self) -> None:
        for number, commit in enumerate(self.good):
            decision = a_decision(
                GOOD, commit, id=f"good-{number}", at=stamp(self.now - 9 * DAY + number * HOUR), actor="ana"
            )
            put(self.folder, signed(decision, DEVICE, "ana"))


def stamp(seconds: float) -> str:
    """Return a time as events have it."""
    return format_timestamp(round(seconds) * NS)


def mail_of(person: str) -> str:
    """Return the email address of ``NAME <ADDRESS>``."""
    return person.partition("<")[2].rstrip(">")


def an_event_of(kind: str, **fields: Any) -> dict[str, Any]:
    """Return a generic event."""
    return {"custody": 1, "kind": kind, "id": f"e-{time.time_ns()}", "at": stamp(time.time()), **fields}


def a_decision(agent: str, commit: str | None, **fields: Any) -> dict[str, Any]:
    """Return a generic event of a decision that looks as honest as possible."""
    facts: dict[str, Any] = {
        "agent": agent,
        "decision": "accepted",
        "changed_lines": REVIEWED_LINES,
        "agent_lines": REVIEWED_LINES,
        "patch": sha256(str(commit).encode()).hexdigest(),
        "complexity": "moderate",
        "areas": ["src"],
        "review_ms": 600_000,
    }
    return an_event_of("decision", **(facts | ({} if commit is None else {"commit": commit}) | fields))


def signed(event: Mapping[str, Any], key: PersonKey, by: str) -> dict[str, Any]:
    """Return a decision with a person's signature of its other fields."""
    plain = {name: value for name, value in event.items() if name != "witness"}
    witness = {"kind": "signature", "by": by, "signature": key.sign(dump_canonical_json(plain))}
    return {**plain, "witness": witness}


def put(folder: Path, *events: Mapping[str, Any]) -> None:
    """Leave the files of acknowledged events for the store, past every check of the recorder."""
    for event in events:
        _leave(folder, json.dumps(event).encode())


def leave_edit(folder: Path, agent: str, path: str, before: str | None, after: str, head: str, at: float) -> None:
    """Leave the events of an edit as the agent's hook does."""
    facts = {"session": f"s-{agent}", "head": head, "at": stamp(at), "id": f"call-{path}-{round(at)}"}
    for event in recorded_edits(path, before, after, agent=agent, root=folder, **facts):
        _leave(folder, event)


def _leave(folder: Path, event: bytes) -> None:
    write_spool_event(str(spool_of(folder).folder), new_spool_name(), event)


def tell(folder: Path, kind: str, **fields: Any) -> None:
    """Leave one generic event for the store."""
    put(folder, an_event_of(kind, **fields))
