"""What an agent left on disk of this repository that nothing is recorded of.

Looked at lightly: of each transcript only as much as it takes to know its session.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from custody.capture import TRANSCRIPT_READERS, TranscriptLine, TranscriptReader, lines_for
from custody.core.errors import CustodyError, InputError
from custody.core.wire.report import BackFill
from custody.intake.transcript_paths import work_trees
from custody.workspace.workspace import Workspace

FILES_LOOKED_AT_MAX = 500
"""Of an agent's transcripts, the newest."""
LINES_LOOKED_AT_MAX = 200
"""Of a transcript, to find its session."""


def back_fill(workspace: Workspace, agent: str, known: set[tuple[str, str]]) -> BackFill | None:
    """What ``custody import`` would find of this repository; None for an agent without transcripts that we read."""
    reader = TRANSCRIPT_READERS.get(agent)
    if reader is None:
        return None
    looking = _BackfillScan(reader, known)
    try:
        files = reader.of_trees(reader.home(os.environ), work_trees(workspace.repository))
    except (OSError, CustodyError) as error:
        why = error.message if isinstance(error, CustodyError) else error.strerror or str(error)
        return BackFill(transcripts=0, new_sessions=0, looked_at=0, trouble=why)
    newest = files[-FILES_LOOKED_AT_MAX:]
    fresh = {session for file in newest for session in looking.sessions(file)}
    return BackFill(transcripts=len(files), new_sessions=len(fresh), looked_at=len(newest), trouble=looking.trouble)


@dataclass
class _BackfillScan:
    reader: TranscriptReader
    known: set[tuple[str, str]]
    trouble: str | None = None

    def sessions(self, file: Path) -> Iterator[str]:
        """The session of a transcript, where nothing is known of it."""
        try:
            lines = islice(lines_for(self.reader, file), LINES_LOOKED_AT_MAX)
            seen = (entry for entry in self.reader.read(file, lines, {}) if isinstance(entry, TranscriptLine))
            first = next(seen, None)
        except (OSError, InputError) as error:
            self.trouble = error.message if isinstance(error, InputError) else f"'{file}': {error.strerror}"
            return
        if first is not None and (str(self.reader.agent), first.session) not in self.known:
            yield first.session
