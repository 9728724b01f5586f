"""The events in lines of Codex CLI's rollouts, as an import would store them; every file is ``a.py``."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from custody.capture import (
    TRANSCRIPT_READERS,
    FileLine,
    LineProblem,
    SkippedLine,
    SubagentLaunch,
    TranscriptLine,
    transcript_views,
)
from custody.capture.transcripts import Starts
from custody.core.views import CallStatus, ToolCall, View
from tests.builders.codex import Rollout

READER = TRANSCRIPT_READERS["codex"]
ANY_FILE = Path(__file__)
"""Only the name and the time of the file are used."""


def begun_in(rollout: Rollout) -> list[SubagentLaunch]:
    """Return the subagents that a rollout reports, with their calls."""
    return list(READER.starts(ANY_FILE, _lines(rollout.lines)))


def read(*values: Any, starts: Starts | None = None) -> list[TranscriptLine | SkippedLine | LineProblem]:
    """Return the reader's events for lines; ``starts`` are the subagents of other files, by default of these lines."""
    if starts is None:
        starts = {(one.session, one.subagent): one.call for one in READER.starts(ANY_FILE, _lines(values))}
    return list(READER.read(ANY_FILE, _lines(values), starts))


def _lines(values: Iterable[Any]) -> Iterator[FileLine]:
    for number, value in enumerate(values, 1):
        data = json.dumps(value).encode()
        yield FileLine(number, data, len(data) + 1, True)


def an_event(found: TranscriptLine) -> dict[str, Any]:
    """Return the stored event of a line, with long outputs cut."""
    event: dict[str, Any] = {
        "custody": 1,
        "kind": "transcript",
        "id": found.id,
        "at": found.at,
        "agent": "codex",
        "session": found.session,
        "payload": found.payload,
        "calls": found.calls,
        "paths": {named.name: "a.py" for named in found.edits},
        "subagent": found.subagent,
        "parent_call": found.parent_call,
        "opens": found.opens,
    }
    value: dict[str, Any] = json.loads(json.dumps(READER.trimmed({k: v for k, v in event.items() if v})))
    return value


def told(rollout: Rollout) -> list[View]:
    """Return the events of all lines of a rollout."""
    kept = [item for item in read(*rollout.lines) if isinstance(item, TranscriptLine)]
    return [view for item in kept for view in transcript_views(an_event(item))]


def of(views: list[View], kind: type[View]) -> list[Any]:
    """Return the events of one kind."""
    return [view for view in views if isinstance(view, kind)]


def ended(views: list[View]) -> list[Any]:
    """Return the ends of calls."""
    return [call for call in of(views, ToolCall) if call.status is not CallStatus.RUNNING]
