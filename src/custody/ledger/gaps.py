"""What could not be recorded, wherever it was counted."""

from pathlib import Path

from custody.capture.hook.event_home import gaps_in
from custody.core.errors import StoreError
from custody.ledger.gap import RecordingGap, gap_of
from custody.workspace.workspace import Workspace

FILE = "gaps"


def gaps(workspace: Workspace) -> list[RecordingGap]:
    """Every gap that may concern this repository; a ``StoreError`` where one cannot tell.

    What was chained counts as well as what stands in a file, so that deleting the file makes nothing better.
    """
    counted = [line for folder in workspace.gap_folders if _has_gaps(folder) for line in gaps_in(folder)]
    found = [gap_of(line) for line in dict.fromkeys((*_chained(workspace), *counted))]
    until_ns = workspace.until_ns
    return [gap for gap in found if until_ns is None or gap.at_ns is None or gap.at_ns <= until_ns]


def _chained(workspace: Workspace) -> list[str]:
    if not workspace.exists():
        return []
    try:
        with workspace.reading() as store:
            payloads = store.tables.payloads(store.tables.records_lost())
    except StoreError:
        return []  # what is wrong with the store is told by whoever checks it
    values = (payload.get("what") for payload in payloads.values() if isinstance(payload, dict))
    return [what for what in values if isinstance(what, str)]


def _has_gaps(folder: Path) -> bool:
    """Whether anything was counted there: what may not be read is not the same as nothing."""
    try:
        (folder / FILE).open("rb").close()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise StoreError(
            f"cannot read what could not be recorded, in '{folder / FILE}': {error.strerror}", hint="check who owns it"
        ) from error
    return True
