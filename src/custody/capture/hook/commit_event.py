"""Events of git's own hooks: a commit was made or rewritten.

Separate from ``event_recorder``, because a commit should not wait for redaction rules: there are only commit ids in it.
"""

from __future__ import annotations

import os
import sys

from .event_home import print_last_words, record_capture_gap, spool_hook_event
from .fast_primitives import encode_hook_json, format_hook_time, read_hook_stdin
from .place import find_owned_work_tree, read_head_without_git

INPUT_BYTES_MAX = 4 * 1024 * 1024
"""Limit of git's input: a rewrite has a line with two ids per commit."""
ESCAPED_BYTES_MAX = 15 * 1024 * 1024
"""Limit of the encoded event, which the store can read: escapes are six times as long as what they stand for."""


def main(arguments: list[str], here: str) -> None:
    """Record one of git's hooks; ``here`` is the launcher's folder, in the store's home."""
    home = os.path.dirname(here)
    event = arguments[arguments.index("--event") + 1] if "--event" in arguments[:-1] else "unknown"
    around = {
        "custody": 1,
        "kind": "hook",
        "agent": "git",
        "event": event,
        "id": os.urandom(16).hex(),
        "at": format_hook_time(),
        "unparsed": _read_git_hook_input(home).decode("utf-8", "surrogateescape"),
    }
    place = find_owned_work_tree(os.getcwd())
    if place is not None:
        head = read_head_without_git(place[1])
        around.update({"head": head} if head is not None else {})
        around.update({"worktree": place[0]} if place[0].isprintable() else {})
    data = encode_hook_json(around)
    if len(data) > ESCAPED_BYTES_MAX:
        record_capture_gap(home, "git: the input is not a list of commits", dict(os.environ))
        data = encode_hook_json({**around, "unparsed": ""})
    try:
        spool_hook_event(home, data, dict(os.environ))
    except OSError as error:
        print_last_words(f"git: cannot write: {error.strerror}")
        record_capture_gap(home, f"git: cannot write: {error.strerror}", dict(os.environ))


def _read_git_hook_input(home: str) -> bytes:
    """Return git's input, as far as it comes in time."""
    data = b""
    try:
        for piece in read_hook_stdin(sys.stdin.fileno()):
            data += piece
            if len(data) > INPUT_BYTES_MAX:
                record_capture_gap(home, f"git: skipped commits beyond {INPUT_BYTES_MAX:,} bytes", dict(os.environ))
                break
    except TimeoutError:
        record_capture_gap(home, "git: the input was never closed", dict(os.environ))
    return data[:INPUT_BYTES_MAX]
