"""Events that git's hooks left in the spool: files of ``hook/commit.sh``, read as the event that the recorder writes.

Such a file has no digest, and the shell does not write it under a temporary name. Its name has the event, the commit
and a process, its modification time is the event's time, and its last field shows that it is complete.
"""

import errno
import os
import re
from typing import Final

from custody.capture.hook.fast_primitives import encode_hook_json, sha256
from custody.core.errors import InputError
from custody.core.platform import CLOEXEC, NOFOLLOW, NONBLOCK
from custody.core.wire.time import check_timestamp_ns, format_timestamp

END = b"\0end\0"
_FORMAT = "custody-git 1"
_FIELDS = 5
_ID_DIGITS = 32
_NAME: Final = r"(post-[a-z]{1,32})-([0-9a-f]{40}|[0-9a-f]{64})-\d{1,10}"


def is_git_event_name(name: str) -> bool:
    """Return whether a spool file of this name comes from git's hooks."""
    return re.fullmatch(_NAME, name, re.ASCII) is not None


def read_git_event_time(path: str) -> int | None:
    """Return the time of the event at ``path``; None if the file is incomplete or gone."""
    try:
        handle = os.open(path, os.O_RDONLY | NOFOLLOW | NONBLOCK | CLOEXEC)
    except OSError as error:
        # Another user's file is complete for all that is known: reading it reports why it cannot be read.
        return os.lstat(path).st_mtime_ns if error.errno == errno.EACCES else None
    try:
        status = os.fstat(handle)
        complete = os.pread(handle, len(END), max(0, status.st_size - len(END))) == END
    except OSError:
        return None  # not a regular file
    finally:
        os.close(handle)
    return status.st_mtime_ns if complete else None


def git_event_from_file(name: str, data: bytes, at_ns: int) -> bytes:
    """Return a hook's event as the recorder writes it; the same file gives the same bytes."""
    fields = data.removesuffix(END).decode("utf-8", "surrogateescape").split("\0")
    if not data.endswith(END) or len(fields) < _FIELDS or fields[0] != _FORMAT:
        raise InputError("not an event of git's hooks, or one of another version of custody")
    _, event, head, work_tree, git_input, *pairs = fields
    variables = dict(pair.partition("=")[::2] for pair in pairs if not pair.endswith("="))
    around = {
        "custody": 1,
        "kind": "hook",
        "agent": "git",
        "event": event,
        "id": sha256(b"%s %d\n%s" % (name.encode(), at_ns, data)).hexdigest()[:_ID_DIGITS],
        "at": format_timestamp(check_timestamp_ns(at_ns)),
        "unparsed": git_input,
        "head": head,
        **({"worktree": work_tree} if work_tree.isprintable() else {}),
        **({"payload": {"variables": variables}} if variables else {}),
    }
    return encode_hook_json(around)
