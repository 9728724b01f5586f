"""A repository with a change to judge, later events there, and the keys to sign the verdicts."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from custody.cite.app.registry import cite_add
from custody.core.wire.report import encode_report
from custody.core.wire.time import format_timestamp
from custody.dupes.app.index import IndexRequest, dupes_index
from custody.gate.app.gate import GateRequest, gate
from custody.gate.app.verify_verdict import VerdictCheck, verify_verdict
from custody.gate.wire.report import GateReport, VerdictReport
from custody.share.export import export_chains_to_file, import_chain_export
from custody.workspace.workspace import Workspace
from tests.builders.cli import spool_of
from tests.builders.events import an_event
from tests.builders.hooks import home_of
from tests.builders.repo import NOON, Built, a_repository
from tests.builders.traces import a_conversation, a_range, a_trace, written
from tests.house.not_run import not_run

NS = 1_000_000_000
OLD = b"one = first(1)\ntwo = second(2)\n"
ADDED = b"alpha = beta(gamma)\ndelta = epsilon(zeta)\n"
NEW = OLD + ADDED
NOTES = b"# Notes\n\nAs [S1] says, it is so.\n"
RULES = b'[gate]\ncalls = "on"\nrisky_paths = ["a.py"]\ncalls_learnt_min = 1\ngap_hours_after = 48\n'
MESSAGE = b"Add what is missing\n\nIt rests on [S1] and [S2].\n"


@dataclass
class Court:
    """A change by an agent with a good record: code, a document and a message; a test moves its clock."""

    folder: Path
    database: str | None = None
    seconds: int = NOON + 3600
    happened: int = 0
    built: Built = field(init=False)

    def __post_init__(self) -> None:
        self.built = a_repository(self.folder)
        files = {b"a.py": OLD, b"custody.toml": RULES}
        self.base = self.built.commit(files)
        self.head = self.built.commit({**files, b"a.py": NEW, b"notes.md": NOTES}, self.base, message=MESSAGE)
        self.built.checkout()
        self.workspace = Workspace(self.folder, self.database, now_ns=lambda: self.seconds * NS)

    # --- what was there before ----------------------------------------------------------------------------------------

    def proven(self, count: int = 12) -> "Court":
        """Give the agent a good record, and some tool calls before its edit."""
        for number in range(count):
            at = format_timestamp((NOON - 3600 * number) * NS)
            self.put(an_event("decision", id=f"d{number}", at=at, changed_lines=50, commit=self.base))
        for session in ("s1", "s2", "s3"):
            for step, name in enumerate(("Read", "Grep", "Edit")):
                at, ended = (format_timestamp((NOON + 70 + 3 * step + more) * NS) for more in (0, 1))
                self.put(an_event("call", id=f"{session}-{step}", session=session, name=name, at=at, ended_at=ended))
        return self

    def edited(self, after: bytes = NEW, path: str = "a.py", before: bytes | None = OLD) -> "Court":
        """Record an agent's edit with this result."""
        at = format_timestamp((NOON + 90) * NS)
        was = {} if before is None else {"before": before.decode()}
        self.put(an_event(id=f"e-{path}", at=at, path=path, after=after.decode(), head=self.base, call="s1-2", **was))
        return self

    def put(self, event: bytes) -> None:
        spool_of(self.folder).put(event)

    # --- what may come later ------------------------------------------------------------------------------------------

    def rejected(self) -> None:
        """Reject a change of the agent, with an old date."""
        self.put(self._next("decision", decision="rejected", changed_lines=40))

    def edited_again(self) -> None:
        """Let another session claim the same lines, earlier."""
        self.put(self._next("edit", path="a.py", before=OLD.decode(), after=NEW.decode(), session="s9", agent="other"))

    def called(self) -> None:
        """Let another session call other tools."""
        self.put(self._next("call", name="Bash", session=f"t{self.happened}"))

    def registered(self) -> None:
        """Register a source."""
        cite_add(self.workspace, {"url": f"https://example.org/{self.happened}", "title": f"Source {self.happened}"})

    def indexed(self) -> None:
        """Propose and index a change equal to ours."""
        files = {b"a.py": NEW, b"custody.toml": RULES, b"notes.md": NOTES}
        message = b"The same again, no. %d" % self.happened
        self.built.commit(files, self.base, message=message, ref=f"refs/pull/{self.happened + 1}/head")
        dupes_index(self.workspace, IndexRequest(workers=1))

    def imported(self) -> None:
        """Import another store's chain."""
        other = Court(self.folder.parent / f"other-{self.happened}").proven(2)
        out = self.folder.parent / f"other-{self.happened}.jsonl"
        export_chains_to_file(other.workspace, out)
        import_chain_export(self.workspace, out)

    def lost(self) -> None:
        """Record a gap."""
        with (home_of(self.folder) / "gaps").open("a") as file:
            file.write(f"{(self.seconds - 1) * NS} the disk was full\n")

    def traced(self) -> None:
        """Put a trace into the work tree that claims the lines."""
        trace = a_trace(
            "a.py", a_conversation(a_range(1, 4)), id=f"550e8400-e29b-41d4-a716-44665544{self.happened:04d}"
        )
        written(self.folder / ".agent-trace" / "traces.jsonl", trace)

    def ruled(self) -> None:
        """Set other rules in the work tree, and advance the branch."""
        (self.folder / "custody.toml").write_bytes(b"[gate]\ntier_max = 1\n[attribute]\nnear_lines_max = 1\n")
        self.built.commit({b"a.py": b"other = 1\n"}, self.head, ref="refs/heads/main")

    def happens(self, name: str) -> None:
        """Run one of the steps above, some time later."""
        self.seconds += 600
        self.happened += 1
        getattr(self, name)()

    def _next(self, kind: str, **fields: object) -> bytes:
        at = format_timestamp((NOON + 60 + self.happened) * NS)
        return an_event(kind, id=f"later-{self.happened}", at=at, **fields)

    # --- judging ------------------------------------------------------------------------------------------------------

    def said(self, description: bytes | None = None, *, worktree: bool = False) -> GateReport:
        change = None if worktree else f"{self.base}..{self.head}"
        return gate(self.workspace, GateRequest(change=change, description=description))

    def said_about(self, base: str, head: str) -> GateReport:
        """Return the verdict on another change."""
        return gate(self.workspace, GateRequest(change=f"{base}..{head}"))

    def checked(self, verdict: GateReport | bytes, **more: Any) -> VerdictReport:
        data = verdict if isinstance(verdict, bytes) else encode_report(verdict)
        return verify_verdict(self.workspace, VerdictCheck(verdict=data, **more))


LATER = ("rejected", "edited_again", "called", "registered", "indexed", "imported", "lost", "traced", "ruled")
"""Everything that may happen after a verdict and must not change it."""


def changed(verdict: GateReport, **fields: object) -> bytes:
    """Return the verdict with other values in it."""
    return json.dumps({**json.loads(encode_report(verdict)), **fields}).encode()


@dataclass(frozen=True)
class Key:
    """A private key with its public one beside it."""

    private: Path

    @property
    def public_path(self) -> Path:
        return self.private.with_suffix(".pub")

    @property
    def public(self) -> bytes:
        return self.public_path.read_bytes()

    def allowed(self, name: str = "ci@example.org", options: str = "") -> bytes:
        """Return a list of signers that contains this one."""
        return f"{name} {options}{self.public.decode()}".encode()


def a_key(folder: Path, name: str = "key", passphrase: str = "", kind: str = "ed25519") -> Key:
    """Return a fresh key as a user makes one."""
    program = shutil.which("ssh-keygen")
    if program is None:
        not_run("ssh-keygen", "it is not installed")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    words = [program, "-q", "-t", kind, "-N", passphrase, "-C", "a comment", "-f", os.fspath(path)]
    subprocess.run(words, check=True, capture_output=True)
    return Key(path)
