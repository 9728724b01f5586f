"""Cursor's sessions in a real repository: play them, import them, and query custody about them."""

import json
import time
from pathlib import Path

from custody.capture import TRANSCRIPT_READERS
from custody.core.wire.report import ImportTranscriptsReport
from custody.core.wire.time import format_timestamp
from custody.intake.import_transcripts import import_transcripts
from custody.workspace.workspace import Workspace
from tests.builders.captured import lines as lines
from tests.builders.captured import views as views
from tests.builders.cursor import Cursor, run_cursor_hook
from tests.builders.hooks import installed
from tests.builders.repo import Built, a_repository

OLD = "def price(item):\n    return item.cost\n\n\ndef total(items):\n    return sum(map(price, items))\n"
PIECE = "    return item.cost * (1 - item.discount)"
OWN = OLD.replace("    return item.cost", PIECE)
BY_HAND = "def check_the_currency_of(item):\n    return item.currency\n\n\n"
CHILD = "7a000002-2000-4000-8000-000000000002"
APP = "src/app.py"


def a_shop(path: Path) -> Built:
    """Return a repository with a little program in it."""
    made = a_repository(path)
    made.commit({APP.encode(): OLD.encode(), b"README.md": b"read me\n"})
    made.checkout()
    return made


def a_session(built: Built) -> Cursor:
    return Cursor(built.path, at=format_timestamp(time.time_ns())).prompt("give a discount")


def happened(built: Built, session: Cursor, *, hooks: bool = True) -> None:
    """Play all events and run the hook on each hook event."""
    installed(built.path)
    for step in session.told:
        if not isinstance(step, dict):
            step()
        elif hooks:
            ran = run_cursor_hook(built.path, step)
            assert (ran.status, ran.err) == (0, "")
            assert json.loads(ran.out) in ({}, {"permission": "allow"}, {"continue": True})


def imported(built: Built, place: Path | None = None) -> ImportTranscriptsReport:
    return import_transcripts(Workspace(built.path), TRANSCRIPT_READERS["cursor"], place)


def known_by(way: str, built: Built, home: Path, session: Cursor) -> None:
    happened(built, session, hooks=way == "hooks")
    if way != "hooks":
        session.put_database(home) if way == "database" else session.put_transcript(home)
        assert imported(built).problem_count == 0


def agents_lines(built: Built, path: str = APP) -> list[int]:
    return [n for n, kind in lines(built, path).items() if kind == "agent"]
