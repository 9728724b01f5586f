"""A change for the gate, its recorded evidence, and attacks on that evidence."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from custody.core.wire.time import format_timestamp
from custody.gate.app.gate import GateRequest, gate
from custody.gate.wire.report import GateReport
from custody.intake.install.doctor import run_doctor_checks
from custody.ledger.verify import verify_ledger
from custody.workspace.workspace import Workspace
from tests.builders.cli import spool_of
from tests.builders.events import an_event
from tests.builders.hooks import RECORDED_AGENT, a_recorded_event, home_of, recorded_edits
from tests.builders.repo import NOON, a_repository

NS = 1_000_000_000
OLD = "one = first(1)\ntwo = second(2)\n"
ADDED = "alpha = beta(gamma)\ndelta = epsilon(zeta)\n"
NEW = OLD + ADDED
LEVELS = ("approve", "review", "block")
DAY = 86_400


class Judged:
    """A repository whose second commit, made at ``noon``, adds two lines; the gate judges it an hour later."""

    def __init__(
        self, folder: Path, noon: int = NOON, files: dict[bytes, bytes] | None = None, message: bytes | None = None
    ) -> None:
        self.noon = noon
        self.built = a_repository(folder)
        self.first = self.built.commit({b"a.py": OLD.encode()}, at=noon - 7200)
        self.second = self.built.commit(
            {b"a.py": NEW.encode(), **(files or {})}, self.first, at=noon, message=message or b"a change"
        )
        self.base = self.first
        self.built.checkout()
        self.workspace = Workspace(folder, now_ns=lambda: (noon + 3600) * NS)
        self.answers: list[str] = []
        """The output of imports."""

    # --- set-up -------------------------------------------------------------------------------------------------------

    def event(self, kind: str, at: int, **fields: Any) -> bytes:
        """Return an event this many seconds after the commit."""
        who = {} if kind in ("span", "source", "change") else {"agent": RECORDED_AGENT}
        return an_event(kind, at=format_timestamp((self.noon + at) * NS), **(who | fields))

    def tell(self, kind: str, at: int, **fields: Any) -> None:
        """Record an event."""
        spool_of(self.built.path).put(self.event(kind, at, **fields))

    def edit(self, at: int = -30, **fields: Any) -> None:
        """Record by a hook an agent's edit that makes the file as in the commit."""
        moment, agent = format_timestamp((self.noon + at) * NS), fields.get("agent", RECORDED_AGENT)
        for event in recorded_edits(
            **({"root": self.built.path, "at": moment, "agent": agent} | self.an_edit() | fields)
        ):
            self.put(event)

    def hook(self, event: str, at: int, payload: dict[str, Any], **fields: Any) -> None:
        """Record an event of the agent's hook."""
        moment = format_timestamp((self.noon + at) * NS)
        given: dict[str, Any] = {"root": self.built.path, "at": moment} | fields
        self.put(a_recorded_event(event, payload, **given))

    def put(self, event: bytes) -> None:
        """Add an event as a hook does."""
        spool_of(self.built.path).put(event)

    def an_edit(self) -> dict[str, Any]:
        return {"id": "e1", "path": "a.py", "before": OLD, "after": NEW, "head": self.first}

    def decide(self, count: int, **fields: Any) -> None:
        """Record this many decisions about an agent, an hour apart."""
        for number in range(count):
            self.tell(
                "decision",
                -DAY - 3600 * number,
                **({"id": f"d{number}", "agent": RECORDED_AGENT, "changed_lines": 50, "commit": self.first} | fields),
            )

    def drained(self) -> "Judged":
        """Ingest all waiting events."""
        with self.workspace.reading():
            return self

    # --- queries ------------------------------------------------------------------------------------------------------

    def said(self) -> GateReport:
        return gate(self.workspace, GateRequest(change=f"{self.base}..{self.second}"))

    def named(self, report: GateReport) -> str:
        """Return the output of the verdict, ``verify``, ``doctor`` and imports."""
        reasons = [f"{reason.code} {reason.sentence}" for reason in report.reasons]
        verified = verify_ledger(self.workspace)
        damage = [f"{finding.code} {finding.what}" for finding in (*verified.findings, *verified.warnings)]
        looks = [check.what for check in run_doctor_checks(self.workspace).checks if check.state != "well"]
        return "\n".join((*reasons, *damage, *looks, *self.answers))

    # --- attacks ------------------------------------------------------------------------------------------------------

    @property
    def home(self) -> Path:
        return home_of(self.built.path)

    @contextmanager
    def database(self) -> Iterator[sqlite3.Connection]:
        """Open the store's file for writing."""
        self.drained()
        with closing(sqlite3.connect(self.home / "custody.db")) as db, db:
            yield db

    def head_file(self) -> Path:
        (path,) = self.home.glob("head-*")
        return path


def codes(report: GateReport) -> list[str]:
    return [reason.code for reason in report.reasons]


def shown(report: GateReport) -> set[tuple[str, int]]:
    """Return the added lines with enough evidence: those without a reason about attribution."""
    if any(reason.code.startswith("INTEG") for reason in report.reasons):
        return set()
    doubted = {
        (place.path, line)
        for reason in report.reasons
        if reason.code in ("ATTR-NONE", "ATTR-WEAK", "ATTR-UNSEEN")
        for place in reason.places
        if place.start_line is not None and place.end_line is not None
        for line in range(place.start_line, place.end_line + 1)
    }
    everywhere = any(reason.code == "ATTR-UNSEEN" and not reason.places for reason in report.reasons)
    return set() if everywhere else {("a.py", line) for line in (3, 4)} - doubted
