"""Snapshots of what changed on disk around a shell call, or around an edit without previous text.

git only lists names. It never compares contents (that would run the repository's filters): files are checked by
``lstat``, and those with a changed size, time or inode are read within limits.
"""

from __future__ import annotations

import os
import stat
import time

from .event_home import record_capture_gap, spool_hook_event
from .fast_primitives import format_hook_time, sha256
from .place import find_owned_work_tree
from .secret_removal import drop_event, redact_event

TYPE_CHECKING = False  # importing typing takes longer than these modules
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    ChangedFiles = tuple[list[str], Callable[[str], str | None] | None]
    """The files that a call reports as changed and, for a call without a start, their text before it."""

FILES_MAX = 200
BYTES_MAX = 8 * 1024 * 1024
EVENT_BYTES_MAX = 16 * 1024 * 1024
LISTED_MAX = 200_000
GIT_SECONDS_MAX = 2.0
"""An agent waits for its hook: a slower listing is a counted gap."""

SIGKILL = 9  # the module that defines it is slow to import

BEFORE, AFTER = "before", "after"

_SHELL = frozenset(
    "bash shell shell_command exec_command run_shell_command local_shell functions.shell functions.shell_command"
    " functions.exec_command apply_patch functions.apply_patch".split()
)
"""Shell tools, and Codex's patches: these do not report the previous text."""
_PHASES = {
    "PreToolUse": BEFORE,
    "preToolUse": BEFORE,
    "BeforeTool": BEFORE,
    "PostToolUse": AFTER,
    "postToolUse": AFTER,
    "PostToolUseFailure": AFTER,
    "postToolUseFailure": AFTER,
    "AfterTool": AFTER,
}
_OPENCODES = {
    "tool.execute.before": BEFORE,
    "tool.execute.after": AFTER,
    "message.part.updated": AFTER,
}
"""opencode's events; the last one reports failed calls."""
_OPENCODES_WRITERS = frozenset("bash shell edit write multiedit patch apply_patch".split())
"""opencode's tools that do not report a file's previous text in every version."""
_COPILOTS_WRITERS = frozenset(
    "powershell run_in_terminal create_and_run_task run_task runtests run_notebook_cell edit write create str_replace"
    " str_replace_editor create_file replace_string_in_file multi_replace_string_in_file insert_edit_into_file"
    " edit_notebook_file create_new_jupyter_notebook".split()
)
"""Copilot's tools that do not report a file's previous text: those of VS Code, and those of its CLI."""
_CURSORS_WRITERS = frozenset("write strreplace delete applypatch editnotebook".split())
"""Cursor's tools that report the new text only."""
_ALWAYS = {
    "beforeShellExecution": BEFORE,
    "afterShellExecution": AFTER,
    "afterFileEdit": AFTER,
    "afterTabFileEdit": AFTER,
}

NESTED = b"repository"
"""Stands for a repository inside the work tree, which snapshots skip."""
OVER_LIMIT = b"/"
"""The key (not a path) for a work tree with more files than the limit."""

FileStamps = dict[bytes, bytes]
"""For each path, its size, time and inode as one word."""


def choose_snapshot_phase(event: str, tool: str | None, agent: str = "") -> str | None:
    """Return whether this event comes before or after a call that only the disk shows; None for other events."""
    if event in _ALWAYS:
        return _ALWAYS[event]
    if event in _OPENCODES:
        return _OPENCODES[event] if tool in _OPENCODES_WRITERS else None
    name = (tool or "").lower()
    writes = name in _SHELL or (agent == "copilot" and name in _COPILOTS_WRITERS)
    writes = writes or (agent == "cursor" and name in _CURSORS_WRITERS)
    return _PHASES.get(event) if writes else None


def take_snapshot(
    around: dict[str, Any],
    phase: str,
    folder: str,
    home: str,
    changed: ChangedFiles | None = None,
    coming: list[str] | None = None,
) -> str | None:
    """Spool the changes since the last snapshot; nothing if there are none.

    The first snapshot stores what differs from git's index: that was there before anything was captured. If a call
    reports what it ``changed``, other changes are somebody else's. Files that are ``coming`` are always stored: a call
    is about to edit them without reporting their text.
    """
    place = find_owned_work_tree(folder)
    if place is None:
        return None
    root = os.fsencode(place[0])
    memory = os.path.join(home, "hook", "seen-" + sha256(root).hexdigest()[:32])
    paths = list_snapshot_files(root)
    if paths is None:
        record_capture_gap(
            home, f"{around['agent']}: no snapshot: git did not list the files in time", dict(os.environ)
        )
        return None
    before, stamps = read_last_snapshot(memory), stamp_snapshot_files(root, paths)
    for gap in _describe_snapshot_gaps(before or {}, stamps, len(paths)):
        record_capture_gap(home, f"{around['agent']}: {gap}", dict(os.environ))
    name = None
    if before is None:
        before = _select_index_clean_files(root, stamps)
        phase = phase if changed is not None and changed[1] is not None else BEFORE
    wanted = _select_work_tree_files(root, coming or [])
    files, missed = _diff_file_stamps(root, {path: word for path, word in before.items() if path not in wanted}, stamps)
    if missed:
        noun = "file" if missed == 1 else "files"
        record_capture_gap(home, f"{around['agent']}: a snapshot left out {missed} changed {noun}", dict(os.environ))
    if changed is not None and phase == AFTER:
        files, others = _split_snapshot_files(os.fsdecode(root), files, changed)
        if others:
            name = _spool_snapshot_event(_make_snapshot_event(around, BEFORE, f"{around['id']}:others", others), home)
            around = {**around, "at": format_hook_time()}
    if files or missed:
        name = _spool_snapshot_event(
            {**_make_snapshot_event(around, phase, f"{around['id']}:{phase}", files), "missed": missed}, home
        )
    # Last, so that the next snapshot sees a change again if this process is killed before it is durable.
    write_last_snapshot(memory, stamps)
    return name


def _select_work_tree_files(root: bytes, id_text: list[str]) -> set[bytes]:
    """Return the files of the work tree with these absolute names."""
    real = os.path.join(os.path.realpath(root), b"")
    names = (os.path.realpath(os.fsencode(name)) for name in id_text if os.path.isabs(name) and "\0" not in name)
    return {name[len(real) :] for name in names if name.startswith(real)}


def _make_snapshot_event(around: dict[str, Any], phase: str, name: str, files: list[dict[str, Any]]) -> dict[str, Any]:
    return {**around, "kind": "snapshot", "phase": phase, "id": name, "files": files}


def _split_snapshot_files(
    root: str, files: list[dict[str, Any]], changed: ChangedFiles
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the files that a call reports as changed, and the state of the others, or of those before it."""
    places = {os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)) for path in changed[0]}
    names = {os.path.relpath(place, os.path.realpath(root)) for place in places}
    own = [file for file in files if file["path"] in names]
    others = [file for file in files if file["path"] not in names]
    if changed[1] is None:
        return own, others
    changed_files = []
    for file in own:
        before = changed[1](file["text"]) if "text" in file else None
        if before is None:
            others.append(file)  # its text may not be the call's
            continue
        changed_files.append(file)
        if before:
            # An empty text before may also mean that the file was written again as a whole.
            others.append({"path": file["path"], "text": before})
    return changed_files, others


def _spool_snapshot_event(event: dict[str, Any], home: str) -> str:
    data = redact_event(event, home)
    if len(data) > EVENT_BYTES_MAX:
        data = drop_event(event, data, home, "a snapshot over the size limit")
    return spool_hook_event(home, data, dict(os.environ))


def stamp_snapshot_files(root: bytes, paths: list[bytes]) -> FileStamps:
    """Return the regular files among ``paths`` as they are now, and the repositories that are skipped."""
    stamps: FileStamps = {OVER_LIMIT: b"%d" % len(paths)} if len(paths) > LISTED_MAX else {}
    for path in paths[:LISTED_MAX]:
        try:
            status = os.lstat(os.path.join(root, path))
        except OSError:
            continue  # deleted since the listing
        if stat.S_ISDIR(status.st_mode) and os.path.lexists(os.path.join(root, path, b".git")):
            stamps[path] = NESTED
        elif stat.S_ISREG(status.st_mode):
            word = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_mode)
            stamps[path] = b"%d %d %d %d %o" % word
    return stamps


def _select_index_clean_files(root: bytes, now: FileStamps) -> FileStamps:
    """Return the files that match git's index by size and time; all of them if git does not answer."""
    out = _run_snapshot_git(root, [b"ls-files", b"-z", b"-c", b"--debug"])
    if out is None:
        return now
    same: FileStamps = {path: word for path, word in now.items() if word == NESTED or path == OVER_LIMIT}
    # Each entry is its name, NUL, then lines of facts before the next name.
    path, *rest = out.split(b"\0")
    for part in rest:
        facts, _, following = part.rpartition(b"\n")
        if path in now and now[path].split(b" ")[:2] == _parse_index_stamp(facts):
            same[path] = now[path]
        path = following
    return same


def _parse_index_stamp(facts: bytes) -> list[bytes]:
    """Return a file's size and time in nanoseconds in the index."""
    size = facts.partition(b"size: ")[2].split(b"\t")[0]
    seconds, _, fraction = facts.partition(b"mtime: ")[2].split(b"\n")[0].partition(b":")
    return [size, seconds + fraction.rjust(9, b"0")]


def list_snapshot_files(root: bytes) -> list[bytes] | None:
    """Return the tracked and the new files of a work tree; None if git does not answer in time."""
    out = _run_snapshot_git(root, [b"ls-files", b"-z", b"-c", b"-o", b"--exclude-standard", b"--deduplicate"])
    if out is None:
        return None
    return [path for path in out.split(b"\0") if path and not path.startswith(b".git/")]


def read_last_snapshot(memory: str) -> FileStamps | None:
    """Return the state of the last snapshot; None without one."""
    try:
        with open(memory, "rb") as file:
            parts = file.read().split(b"\0")
    except OSError:
        return None  # the first snapshot, or a state that could not be stored
    return dict(zip(parts[0::2], parts[1::2]))  # noqa: B905 - 'strict' is not there before Python 3.10


def write_last_snapshot(memory: str, stamps: FileStamps) -> None:
    """Store the state of this snapshot; without it, the next snapshot is a first one."""
    aside = f"{memory}.{os.getpid()}"
    try:
        handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(b"\0".join(part for item in stamps.items() for part in item))
        os.rename(aside, memory)
    except OSError:
        return  # nothing was acknowledged yet


def _describe_snapshot_gaps(before: FileStamps, now: FileStamps, count: int) -> list[str]:
    """Return what snapshots cannot see, once: repeating it in every snapshot would hide other gaps."""
    gaps = []
    nested = sum(1 for path, word in now.items() if word == NESTED and before.get(path) != NESTED)
    if nested:
        gaps.append(f"snapshots skip nested repositories and submodules; {nested} found")
    if OVER_LIMIT in now and OVER_LIMIT not in before:
        gaps.append(f"snapshots cover {LISTED_MAX} of {count} files")
    return gaps


def _select_file_stamps(stamps: FileStamps) -> FileStamps:
    return {path: word for path, word in stamps.items() if word != NESTED and path != OVER_LIMIT}


def _diff_file_stamps(root: bytes, before: FileStamps, now: FileStamps) -> tuple[list[dict[str, Any]], int]:
    """Return the changed files, with their contents within the limits, and the number of files left out."""
    before, now = _select_file_stamps(before), _select_file_stamps(now)
    changed = sorted(path for path, word in now.items() if before.get(path) != word)
    # A file that exists but is no longer listed (ignored, replaced by a link) is not deleted.
    gone = sorted(path for path in before.keys() - now.keys() if not os.path.lexists(os.path.join(root, path)))
    files: list[dict[str, Any]] = []
    left = BYTES_MAX
    missed = max(0, len(changed) - FILES_MAX) + max(0, len(gone) - FILES_MAX)
    for path in changed[:FILES_MAX]:
        data = _read_snapshot_file(os.path.join(root, path), left)
        if data is None:
            missed += 1
        else:
            left -= len(data)
            files.append({"path": _decode_snapshot_path(path), **_encode_snapshot_content(data)})
    files += [{"path": _decode_snapshot_path(path), "gone": True} for path in gone[:FILES_MAX]]
    return files, missed


def _read_snapshot_file(path: bytes, limit: int) -> bytes | None:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        data = file.read(limit + 1)
    return data if len(data) <= limit else None


def _encode_snapshot_content(data: bytes) -> dict[str, Any]:
    if b"\0" in data:
        return {"binary": {"digest": "sha256:" + sha256(data).hexdigest(), "bytes": len(data)}}
    return {"text": data.decode("utf-8", "surrogateescape")}


def _decode_snapshot_path(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")


def _run_snapshot_git(root: bytes, arguments: list[bytes]) -> bytes | None:
    """Return git's output within the time limit; importing subprocess would take longer than git itself."""
    program = _find_git_program()
    if program is None:
        return None
    environment = {k: v for k, v in os.environb.items() if not k.startswith(b"GIT_")}
    environment.update({b"GIT_OPTIONAL_LOCKS": b"0", b"GIT_TERMINAL_PROMPT": b"0", b"LC_ALL": b"C"})
    # The user's own ignore file in git's default place, never one that the repository's configuration names.
    base = os.environb.get(b"XDG_CONFIG_HOME") or os.path.join(os.path.expanduser(b"~"), b".config")
    ignore = b"core.excludesFile=" + os.path.join(base, b"git", b"ignore")
    settings = [b"-c", b"core.fsmonitor=false", b"-c", b"core.hooksPath=/dev/null", b"-c", ignore, b"-C", root]
    reading, writing = os.pipe()
    nowhere = os.open(os.devnull, os.O_RDWR)
    child = os.posix_spawn(
        program,
        [program, b"--no-pager", b"--literal-pathspecs", *settings, *arguments],
        environment,
        file_actions=[
            (os.POSIX_SPAWN_DUP2, nowhere, 0),
            (os.POSIX_SPAWN_DUP2, writing, 1),
            (os.POSIX_SPAWN_DUP2, nowhere, 2),
        ],
    )
    os.close(writing)
    os.close(nowhere)
    out = _read_pipe_until(reading, time.monotonic() + GIT_SECONDS_MAX)
    os.close(reading)
    if out is None:
        os.kill(child, SIGKILL)
    return out if os.waitpid(child, 0)[1] == 0 else None


def _read_pipe_until(pipe: int, deadline: float) -> bytes | None:
    """Return everything from ``pipe``; None if it has not ended by then."""
    import select  # slow to import on some machines, and most events need no listing

    pieces: list[bytes] = []
    while select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
        piece = os.read(pipe, 1 << 16)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
    return None


def _find_git_program() -> bytes | None:
    for folder in os.environb.get(b"PATH", os.defpath.encode()).split(b":"):
        candidate = os.path.join(folder, b"git")
        if os.path.isabs(folder) and os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    return None
