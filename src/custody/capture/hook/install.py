"""Installing the hook beside the store: launcher, compiled library, list of agents, and the command that agents run.

The only file of this package that is not copied itself.
"""

import os
import py_compile
import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from custody.capture.hook.event_home import (
    find_user_state_folder,
    list_hooked_agents,
    read_repository_id,
    repository_name_from_home,
)

LAUNCHER = "record.py"
LIBRARY = (
    "fast_primitives.py",
    "durable.py",
    "event_home.py",
    "place.py",
    "secret_removal.py",
    "secret_scan.py",
    "secret_phrases.py",
    "patterns.py",
    "redact.py",
    "snapshot.py",
    "call_name.py",
    "call_match.py",
    "event_recorder.py",
    "commit_event.py",
)
COMMIT_SCRIPT = "commit.sh"
"""The part that git's hooks run: most commits start no interpreter."""
FLAGS = ("-I", "-S")
AGENTS = ("claude-code", "cursor", "codex", "gemini", "opencode", "copilot")
"""The agents that ``custody init`` can set up."""

CURSOR = "cursor"
SHELL_ALLOW = """echo '{"permission":"allow","continue":true}'"""

_HERE = Path(__file__).parent
_INIT = b'"""custody\'s hook, copied here by custody init; removed by custody uninstall."""\n'


def install_hook(home: Path) -> bool:
    """Copy launcher and library below ``home`` and compile them; return whether anything changed."""
    folder, wanted = home / "hook", _list_hook_files(home)
    changed = [path for path, data in wanted.items() if not path.is_file() or path.read_bytes() != data]
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / "lib").mkdir(mode=0o700, parents=True, exist_ok=True)
    if changed:
        # Files compiled by another Python are not checked by themselves.
        shutil.rmtree(folder / "lib" / "__pycache__", ignore_errors=True)
    for path in changed:
        _replace_hook_file(path, wanted[path])
    for path in wanted:
        if path.parent.name == "lib":
            # Unchecked: a start ignores the source's time, which a restored backup may have changed.
            mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
            py_compile.compile(str(path), doraise=True, invalidation_mode=mode)
    return bool(changed)


def is_hook_installed(home: Path) -> bool:
    """Return whether the hook is installed beside the store, with all its files."""
    return all((home / "hook" / name).is_file() for name in (LAUNCHER, *(f"lib/{name}" for name in LIBRARY)))


def is_hook_current(home: Path) -> bool:
    """Return whether the installed hook is the one that this version would install."""
    files = _list_hook_files(home).items()
    return all(path.is_file() and path.read_bytes() == data for path, data in files)


def _list_hook_files(home: Path) -> dict[Path, bytes]:
    folder = home / "hook"
    wanted = {folder / name: (_HERE / name).read_bytes() for name in (LAUNCHER, COMMIT_SCRIPT)}
    library = {folder / "lib" / name: (_HERE / name).read_bytes() for name in LIBRARY}
    return {**wanted, folder / "lib" / "__init__.py": _INIT, **library}


def remove_hook(home: Path) -> bool:
    """Remove launcher and library, with the snapshots' state; return whether there was anything."""
    folder = home / "hook"
    there = folder.is_dir()
    shutil.rmtree(folder, ignore_errors=True)
    return there


def add_hooked_agents(home: Path, agents: Iterable[str]) -> None:
    """Record that the repository is set up for these agents too, which hooks in the user's settings check."""
    known = list_hooked_agents(str(home))
    wanted = sorted({*known, *agents})
    if wanted != known:
        _replace_hook_file(home / "hook" / "agents", "".join(f"{agent}\n" for agent in wanted).encode())


def assign_repository_id(home: Path, environment: Mapping[str, str]) -> None:
    """Give the repository an id that survives a move; a copy gets another."""
    known = read_repository_id(str(home))
    last = _read_previous_home(home)
    if known is None or (last != home and read_repository_id(str(last)) == known):
        known = os.urandom(16).hex()
    if last != home or read_repository_id(str(home)) != known:
        _replace_hook_file(home / "id", f"{known}\n".encode() + os.fsencode(home) + b"\n")
    # Events that wait under the path's name are found under the new id from now on.
    folder = Path(find_user_state_folder(dict(environment))) / "fallback"
    if (folder / repository_name_from_home(str(home))).is_dir() and not (folder / known).exists():
        (folder / repository_name_from_home(str(home))).rename(folder / known)


def remove_repository_id(home: Path, environment: Mapping[str, str]) -> None:
    """Remove the id again, unless events wait under it."""
    known = read_repository_id(str(home))
    if known is not None and not (Path(find_user_state_folder(dict(environment))) / "fallback" / known).exists():
        (home / "id").unlink(missing_ok=True)


def hook_argv(home: Path, agent: str, *more: str) -> list[str]:
    """Return the command that records an event of ``agent``."""
    return [_find_interpreter(), *FLAGS, str(home / "hook" / LAUNCHER), "--agent", agent, *more]


def _find_interpreter() -> str:
    """Return the interpreter's real path, never a shim's."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def hook_shell_command(home: Path, agent: str, *more: str) -> str:
    """Return the same as one shell command: with any python3 if that interpreter is gone, else a gap; it exits 0."""
    first = hook_argv(home, agent, *more)
    other = ["python3", *first[1:]]
    gap = f"echo {shlex.quote(f'{agent}: the recorder could not be run')} >> {shlex.quote(str(home / 'gaps'))}"
    guard = f"[ -f {shlex.quote(first[len(FLAGS) + 1])} ]"
    run = f"if [ -x {shlex.quote(first[0])} ]; then {shlex.join(first)}; else {shlex.join(other)}; fi"
    if agent == CURSOR:
        # Cursor treats silence as a refusal: a missing hook must not stop it.
        return f"{guard} || {{ {SHELL_ALLOW}; exit 0; }}; {run} || {{ {SHELL_ALLOW}; {gap} 2>/dev/null; }} || :"
    return f"{guard} || exit 0; {run} || {gap} 2>/dev/null || :"


def git_hook_shell_command(home: Path, name: str) -> str:
    """Return what the git hook ``name`` runs, as one shell command that sources a file, so that no process starts."""
    script = shlex.quote(str(home / "hook" / COMMIT_SCRIPT))
    names = {"event": name, "dir": str(home), "python": _find_interpreter()}
    variables = "; ".join(f"custody_{key}={shlex.quote(value)}" for key, value in names.items())
    return f"{variables}; [ ! -f {script} ] || . {script}"


def _read_previous_home(home: Path) -> Path:
    """Return the repository's path when it got its id, or was last set up."""
    try:
        lines = (home / "id").read_bytes().split(b"\n")
    except OSError:
        return home
    return Path(os.fsdecode(lines[1])) if len(lines) > 1 and lines[1] else home


def _replace_hook_file(path: Path, data: bytes) -> None:
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    aside.write_bytes(data)
    aside.chmod(0o600)
    aside.replace(path)
