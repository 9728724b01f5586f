"""What could not be recorded, wherever it was counted."""

import os
from pathlib import Path

from custody.app.desk import Desk
from custody.gate.model import Gap
from custody.model.errors import StoreError
from custody.world.hook.homes import gaps_in, state_folder

FILE = "gaps"


def gaps(desk: Desk) -> list[Gap]:
    """Every gap that may concern this repository; a ``StoreError`` where one cannot tell."""
    return [_gap(line) for folder in gap_folders(desk) if _has_gaps(folder) for line in gaps_in(folder)]


def gap_folders(desk: Desk) -> tuple[Path, ...]:
    """Where gaps of this repository are counted; none for a team database outside a repository."""
    if desk.home is None:
        return ()
    # The last is where a hook at the user's level counts what it could not even find a repository for.
    return desk.home, desk.fallback, Path(state_folder(dict(os.environ)))


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


def _gap(line: str) -> Gap:
    """One line of the file; one that the shell counted does not say when."""
    first, _, rest = line.partition(" ")
    if first.isascii() and first.isdigit():
        return Gap(int(first), rest)
    return Gap(None, line)
