"""What changed on disk around a shell call or an edit that does not say what was there before.

git only lists names here. It never compares contents for us (that would run the repository's filters): files are looked
at by ``lstat``, and those whose size, time or inode changed since the last look are read by ourselves, within limits.
"""

from __future__ import annotations

import os
import stat
import time

from .event_home import add_gap, write_event_file
from .fast_primitives import format_now, sha256
from .place import work_tree_of
from .secret_removal import drop_event, redact_event

TYPE_CHECKING = False  # the module for it takes longer to import than all of these
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    ChangedFiles = tuple[list[str], Callable[[str], str | None] | None]
    """The files that a call says it changed, and for one that was not seen to begin, how each of them was before."""

FILES_MAX = 200
BYTES_MAX = 8 * 1024 * 1024
EVENT_BYTES_MAX = 16 * 1024 * 1024
LISTED_MAX = 200_000
GIT_SECONDS_MAX = 2.0
"""An agent waits for its hook: a listing that takes longer is a counted gap."""

SIGKILL = 9  # the module that names it is slow to import

BEFORE, AFTER = "before", "after"

_SHELL = frozenset(
    "bash shell shell_command exec_command run_shell_command local_shell functions.shell functions.shell_command"
    " functions.exec_command apply_patch functions.apply_patch".split()
)
"""Shell tools, and Codex's patches: these say what they change, not what was there before."""
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
"""opencode's events; the last one is told of calls that failed."""
_OPENCODES_WRITERS = frozenset("bash shell edit write multiedit patch apply_patch".split())
"""opencode's tools of which it does not say, or not in every version, what was in a file before them."""
_COPILOTS_WRITERS = frozenset(
    "powershell run_in_terminal create_and_run_task run_task runtests run_notebook_cell edit write create str_replace"
    " str_replace_editor create_file replace_string_in_file multi_replace_string_in_file insert_edit_into_file"
    " edit_notebook_file create_new_jupyter_notebook".split()
)
"""Copilot's tools of which it does not say what was in a file before them: those of VS Code, and those of its CLI."""
_CURSORS_WRITERS = frozenset("write strreplace delete applypatch editnotebook".split())
"""Cursor's tools that say what they write, not what was there before."""
_ALWAYS = {
    "beforeShellExecution": BEFORE,
    "afterShellExecution": AFTER,
    "afterFileEdit": AFTER,
    "afterTabFileEdit": AFTER,
}

NESTED = b"repository"
"""Stands for a repository inside the work tree, into which a snapshot does not look."""
LEFT_OUT = b"/"
"""No path of a work tree: what is remembered under it is that there were more files than a snapshot looks at."""

FileStamps = dict[bytes, bytes]
"""For each path, its size, time and inode in one word."""


def phase_of(event: str, tool: str | None, agent: str = "") -> str | None:
    """Whether this event is the moment before or after something whose edits only the disk shows; None for others."""
    if event in _ALWAYS:
        return _ALWAYS[event]
    if event in _OPENCODES:
        return _OPENCODES[event] if tool in _OPENCODES_WRITERS else None
    named = (tool or "").lower()
    writes = named in _SHELL or (agent == "copilot" and named in _COPILOTS_WRITERS)
    writes = writes or (agent == "cursor" and named in _CURSORS_WRITERS)
    return _PHASES.get(event) if writes else None


def take(
    around: dict[str, Any],
    phase: str,
    folder: str,
    home: str,
    changed: ChangedFiles | None = None,
    coming: list[str] | None = None,
) -> str | None:
    """Spool what changed since the last look; nothing when nothing did.

    The first look keeps what is not as git's index has it: that was there before anything was captured. Where a call
    says what it ``changed``, the rest was changed by somebody else. Files that are ``coming`` are kept in any case: a
    call is about to edit them without saying what was there.
    """
    found = work_tree_of(folder)
    if found is None:
        return None
    root = os.fsencode(found[0])
    memory = os.path.join(home, "hook", "seen-" + sha256(root).hexdigest()[:32])
    paths = list_tracked_files(root)
    if paths is None:
        add_gap(home, f"{around['agent']}: no snapshot: git did not list the files", dict(os.environ))
        return None
    before, seen = read_last_snapshot(memory), look(root, paths)
    for words in _unseen(before or {}, seen, len(paths)):
        add_gap(home, f"{around['agent']}: {words}", dict(os.environ))
    name = None
    if before is None:
        before = _as_indexed(root, seen)
        phase = phase if changed is not None and changed[1] is not None else BEFORE
    wanted = _below(root, coming or [])
    files, missed = _changes(root, {path: word for path, word in before.items() if path not in wanted}, seen)
    if missed:
        add_gap(home, f"{around['agent']}: a snapshot left out {missed} changed file(s)", dict(os.environ))
    if changed is not None and phase == AFTER:
        files, others = _parted(os.fsdecode(root), files, changed)
        if others:
            name = _keep(_event(around, BEFORE, f"{around['id']}:others", others), home)
            around = {**around, "at": format_now()}
    if files or missed:
        name = _keep({**_event(around, phase, f"{around['id']}:{phase}", files), "missed": missed}, home)
    # Last, so that a change is seen again by the next look when this one was killed before it was durable.
    remember(memory, seen)
    return name


def _below(root: bytes, named: list[str]) -> set[bytes]:
    """The files of the work tree that these absolute names stand for."""
    real = os.path.join(os.path.realpath(root), b"")
    names = (os.path.realpath(os.fsencode(name)) for name in named if os.path.isabs(name) and "\0" not in name)
    return {name[len(real) :] for name in names if name.startswith(real)}


def _event(around: dict[str, Any], phase: str, name: str, files: list[dict[str, Any]]) -> dict[str, Any]:
    return {**around, "kind": "snapshot", "phase": phase, "id": name, "files": files}


def _parted(
    root: str, files: list[dict[str, Any]], changed: ChangedFiles
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The files that a call says it changed, and how the others are, or how those were before it."""
    places = {os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)) for path in changed[0]}
    named = {os.path.relpath(place, os.path.realpath(root)) for place in places}
    own = [file for file in files if file["path"] in named]
    others = [file for file in files if file["path"] not in named]
    if changed[1] is None:
        return own, others
    told = []
    for file in own:
        before = changed[1](file["text"]) if "text" in file else None
        if before is None:
            others.append(file)  # what is in it now need not be the call's
            continue
        told.append(file)
        if before:
            # Nothing before may also mean that all of it was written anew.
            others.append({"path": file["path"], "text": before})
    return told, others


def _keep(event: dict[str, Any], home: str) -> str:
    data = redact_event(event, home)
    if len(data) > EVENT_BYTES_MAX:
        data = drop_event(event, data, home, "a snapshot over the size limit")
    return write_event_file(home, data, dict(os.environ))


def look(root: bytes, paths: list[bytes]) -> FileStamps:
    """The regular files among ``paths`` as they are now, and the repositories that are not looked into."""
    seen: FileStamps = {LEFT_OUT: b"%d" % len(paths)} if len(paths) > LISTED_MAX else {}
    for path in paths[:LISTED_MAX]:
        try:
            found = os.lstat(os.path.join(root, path))
        except OSError:
            continue  # gone since it was listed
        if stat.S_ISDIR(found.st_mode) and os.path.lexists(os.path.join(root, path, b".git")):
            seen[path] = NESTED
        elif stat.S_ISREG(found.st_mode):
            word = (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_mode)
            seen[path] = b"%d %d %d %d %o" % word
    return seen


def _as_indexed(root: bytes, now: FileStamps) -> FileStamps:
    """Of the files seen now, those that are as git's index has them, by size and time; all when git does not tell."""
    out = _git(root, [b"ls-files", b"-z", b"-c", b"--debug"])
    if out is None:
        return now
    same: FileStamps = {path: word for path, word in now.items() if word == NESTED or path == LEFT_OUT}
    # Each entry is its name, NUL, then lines of facts before the next name.
    path, *rest = out.split(b"\0")
    for part in rest:
        facts, _, following = part.rpartition(b"\n")
        if path in now and now[path].split(b" ")[:2] == _size_and_time(facts):
            same[path] = now[path]
        path = following
    return same


def _size_and_time(facts: bytes) -> list[bytes]:
    """The size and the time in nanoseconds that the index remembers of a file."""
    size = facts.partition(b"size: ")[2].split(b"\t")[0]
    seconds, _, fraction = facts.partition(b"mtime: ")[2].split(b"\n")[0].partition(b":")
    return [size, seconds + fraction.rjust(9, b"0")]


def list_tracked_files(root: bytes) -> list[bytes] | None:
    """The tracked and the new files of a work tree, as git lists them; None when git does not answer in time."""
    out = _git(root, [b"ls-files", b"-z", b"-c", b"-o", b"--exclude-standard", b"--deduplicate"])
    if out is None:
        return None
    return [path for path in out.split(b"\0") if path and not path.startswith(b".git/")]


def read_last_snapshot(memory: str) -> FileStamps | None:
    """What the last look saw; None when there was none."""
    try:
        with open(memory, "rb") as file:
            parts = file.read().split(b"\0")
    except OSError:
        return None  # the first look, or one that could not be kept
    return dict(zip(parts[0::2], parts[1::2]))  # noqa: B905 - 'strict' is not there before Python 3.10


def remember(memory: str, seen: FileStamps) -> None:
    """Keep what this look saw; a loss only makes the next look a first one."""
    aside = f"{memory}.{os.getpid()}"
    try:
        handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(b"\0".join(part for item in seen.items() for part in item))
        os.rename(aside, memory)
    except OSError:
        return  # nothing was promised yet


def _unseen(before: FileStamps, now: FileStamps, count: int) -> list[str]:
    """What snapshots cannot see, said when it is new: every snapshot saying it again would drown all other gaps."""
    words = []
    nested = sum(1 for path, word in now.items() if word == NESTED and before.get(path) != NESTED)
    if nested:
        words.append(f"snapshots do not look into nested repositories and submodules; {nested} found")
    if LEFT_OUT in now and LEFT_OUT not in before:
        words.append(f"snapshots look at {LISTED_MAX} of {count} files")
    return words


def _files(seen: FileStamps) -> FileStamps:
    return {path: word for path, word in seen.items() if word != NESTED and path != LEFT_OUT}


def _changes(root: bytes, before: FileStamps, now: FileStamps) -> tuple[list[dict[str, Any]], int]:
    """The files that are not as they were, with their contents while the limits last, and how many were left out."""
    before, now = _files(before), _files(now)
    changed = sorted(path for path, word in now.items() if before.get(path) != word)
    # A file that is there but no longer listed (ignored, replaced by a link) is not gone.
    gone = sorted(path for path in before.keys() - now.keys() if not os.path.lexists(os.path.join(root, path)))
    files: list[dict[str, Any]] = []
    left = BYTES_MAX
    missed = max(0, len(changed) - FILES_MAX) + max(0, len(gone) - FILES_MAX)
    for path in changed[:FILES_MAX]:
        data = _content(os.path.join(root, path), left)
        if data is None:
            missed += 1
        else:
            left -= len(data)
            files.append({"path": _name(path), **_text(data)})
    files += [{"path": _name(path), "gone": True} for path in gone[:FILES_MAX]]
    return files, missed


def _content(path: bytes, limit: int) -> bytes | None:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        data = file.read(limit + 1)
    return data if len(data) <= limit else None


def _text(data: bytes) -> dict[str, Any]:
    if b"\0" in data:
        return {"binary": {"digest": "sha256:" + sha256(data).hexdigest(), "bytes": len(data)}}
    return {"text": data.decode("utf-8", "surrogateescape")}


def _name(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")


def _git(root: bytes, words: list[bytes]) -> bytes | None:
    """What git says within the time; started by hand because the module for it would cost more than git itself."""
    program = _program()
    if program is None:
        return None
    environment = {k: v for k, v in os.environb.items() if not k.startswith(b"GIT_")}
    environment.update({b"GIT_OPTIONAL_LOCKS": b"0", b"GIT_TERMINAL_PROMPT": b"0", b"LC_ALL": b"C"})
    # The user's own ignore file where git looks by itself, never one that the repository's configuration names.
    base = os.environb.get(b"XDG_CONFIG_HOME") or os.path.join(os.path.expanduser(b"~"), b".config")
    ignore = b"core.excludesFile=" + os.path.join(base, b"git", b"ignore")
    settings = [b"-c", b"core.fsmonitor=false", b"-c", b"core.hooksPath=/dev/null", b"-c", ignore, b"-C", root]
    reading, writing = os.pipe()
    nowhere = os.open(os.devnull, os.O_RDWR)
    child = os.posix_spawn(
        program,
        [program, b"--no-pager", b"--literal-pathspecs", *settings, *words],
        environment,
        file_actions=[
            (os.POSIX_SPAWN_DUP2, nowhere, 0),
            (os.POSIX_SPAWN_DUP2, writing, 1),
            (os.POSIX_SPAWN_DUP2, nowhere, 2),
        ],
    )
    os.close(writing)
    os.close(nowhere)
    out = _read_until(reading, time.monotonic() + GIT_SECONDS_MAX)
    os.close(reading)
    if out is None:
        os.kill(child, SIGKILL)
    return out if os.waitpid(child, 0)[1] == 0 else None


def _read_until(pipe: int, deadline: float) -> bytes | None:
    """Everything that comes out of ``pipe``; None when it has not ended by then."""
    import select  # slow to import on some machines, and most events need no listing

    pieces: list[bytes] = []
    while select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
        piece = os.read(pipe, 1 << 16)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
    return None


def _program() -> bytes | None:
    for folder in os.environb.get(b"PATH", os.defpath.encode()).split(b":"):
        candidate = os.path.join(folder, b"git")
        if os.path.isabs(folder) and os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    return None
