"""What git's own hooks record: that a commit was made or rewritten, and which one.

Apart from ``recording``, because a commit should not wait for rules about secrets: there are only commit ids in it.
"""

from __future__ import annotations

import os
import sys

from .event_home import add_gap, write_event_file
from .fast_primitives import encode_json, format_now, read_stdin
from .place import head_of, work_tree_of

SAID_BYTES_MAX = 4 * 1024 * 1024
"""What git says on stdin: for a rewrite, a line with two ids per commit."""


def main(arguments: list[str], here: str) -> None:
    """Record one of git's hooks; ``here`` is the launcher's folder, whose parent is the store's home."""
    home = os.path.dirname(here)
    event = arguments[arguments.index("--event") + 1] if "--event" in arguments[:-1] else "unknown"
    around = {
        "custody": 1,
        "kind": "hook",
        "agent": "git",
        "event": event,
        "id": os.urandom(16).hex(),
        "at": format_now(),
        "unparsed": _read_git_input(home).decode("utf-8", "surrogateescape"),
    }
    found = work_tree_of(os.getcwd())
    if found is not None:
        head = head_of(found[1])
        around.update({"head": head} if head is not None else {})
        around.update({"worktree": found[0]} if found[0].isprintable() else {})
    try:
        write_event_file(home, encode_json(around), dict(os.environ))
    except OSError as error:
        add_gap(home, f"git: cannot write: {error.strerror}", dict(os.environ))
        sys.stderr.write(f"custody: git: cannot write: {error.strerror}\n")


def _read_git_input(home: str) -> bytes:
    """What git says on stdin, as far as it says it in time."""
    said = b""
    try:
        for piece in read_stdin(sys.stdin.fileno()):
            said += piece
            if len(said) >= SAID_BYTES_MAX:
                break
    except TimeoutError:
        add_gap(home, "git: its input was never closed", dict(os.environ))
    return said[:SAID_BYTES_MAX]
