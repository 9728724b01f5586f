"""Putting the hook beside the store: launcher, compiled library, marks of what was set up, the command agents run.

The only file of this room that is not copied itself.
"""

import os
import py_compile
import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from custody.capture.hook.event_home import agents_of, id_of, name_of, state_folder

LAUNCHER = "record.py"
LIBRARY = (
    "fast_primitives.py",
    "durable.py",
    "event_home.py",
    "place.py",
    "secret_removal.py",
    "secret_scan.py",
    "patterns.py",
    "redact.py",
    "snapshot.py",
    "call_name.py",
    "call_match.py",
    "event_recorder.py",
    "commit_event.py",
)
FLAGS = ("-I", "-S")
AGENTS = ("claude-code", "cursor", "codex", "gemini", "opencode", "copilot")
"""The agents whose settings custody init knows."""

CURSOR = "cursor"
SHELL_GO_ON = """echo '{"permission":"allow","continue":true}'"""

_HERE = Path(__file__).parent
_INIT = b'"""custody\'s hook, copied here by custody init; removed by custody uninstall."""\n'


def install_hook(home: Path) -> bool:
    """Copy launcher and library below ``home`` and compile them; True when anything changed."""
    folder, wanted = home / "hook", _list_hook_files(home)
    changed = [path for path, data in wanted.items() if not path.is_file() or path.read_bytes() != data]
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / "lib").mkdir(mode=0o700, parents=True, exist_ok=True)
    if changed:
        # What another Python compiled is not looked at again by itself.
        shutil.rmtree(folder / "lib" / "__pycache__", ignore_errors=True)
    for path in changed:
        _replace(path, wanted[path])
    for path in wanted:
        if path.parent.name == "lib":
            # Unchecked: a start does not look at the source's time, which a restored backup may have changed.
            mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
            py_compile.compile(str(path), doraise=True, invalidation_mode=mode)
    return bool(changed)


def is_installed(home: Path) -> bool:
    """Whether the hook stands beside the store, with all that it needs."""
    return all((home / "hook" / name).is_file() for name in (LAUNCHER, *(f"lib/{name}" for name in LIBRARY)))


def is_current(home: Path) -> bool:
    """Whether the hook beside the store, which must be installed, is the one that this version would put there."""
    return all(path.read_bytes() == data for path, data in _list_hook_files(home).items() if path.is_file())


def _list_hook_files(home: Path) -> dict[Path, bytes]:
    folder = home / "hook"
    wanted = {folder / LAUNCHER: (_HERE / LAUNCHER).read_bytes(), folder / "lib" / "__init__.py": _INIT}
    return wanted | {folder / "lib" / name: (_HERE / name).read_bytes() for name in LIBRARY}


def remove_hook(home: Path) -> bool:
    """Take launcher and library away; what snapshots remember goes with them. True when there was anything."""
    folder = home / "hook"
    there = folder.is_dir()
    shutil.rmtree(folder, ignore_errors=True)
    return there


def set_up_for(home: Path, agents: Iterable[str]) -> None:
    """Note that the repository was set up for these agents too, which hooks at the user's level ask."""
    known = agents_of(str(home))
    wanted = sorted({*known, *agents})
    if wanted != known:
        _replace(home / "hook" / "agents", "".join(f"{agent}\n" for agent in wanted).encode())


def give_id(home: Path, environment: Mapping[str, str]) -> None:
    """Give the repository a name of its own that it keeps wherever it is moved; a copy gets another."""
    kept = id_of(str(home))
    last = _last_home(home)
    if kept is None or (last != home and id_of(str(last)) == kept):
        kept = os.urandom(16).hex()
    if last != home or id_of(str(home)) != kept:
        _replace(home / "id", f"{kept}\n".encode() + os.fsencode(home) + b"\n")
    # What waits there under the name that its place gave it is found under the new one from now on.
    folder = Path(state_folder(dict(environment))) / "fallback"
    if (folder / name_of(str(home))).is_dir() and not (folder / kept).exists():
        (folder / name_of(str(home))).rename(folder / kept)


def forget_id(home: Path, environment: Mapping[str, str]) -> None:
    """Take the name away again, unless events wait under it."""
    kept = id_of(str(home))
    if kept is not None and not (Path(state_folder(dict(environment))) / "fallback" / kept).exists():
        (home / "id").unlink(missing_ok=True)


def hook_argv(home: Path, agent: str, *more: str) -> list[str]:
    """The program and words that record an event of ``agent``: the interpreter by its real path, never a shim's."""
    interpreter = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
    return [interpreter, *FLAGS, str(home / "hook" / LAUNCHER), "--agent", agent, *more]


def hook_shell(home: Path, agent: str, *more: str) -> str:
    """The same as one shell command: any python3 if that interpreter is gone, else a counted gap; always exits 0."""
    first = hook_argv(home, agent, *more)
    other = ["python3", *first[1:]]
    gap = f"echo {shlex.quote(f'{agent}: the recorder could not be run')} >> {shlex.quote(str(home / 'gaps'))}"
    guard = f"[ -f {shlex.quote(first[len(FLAGS) + 1])} ]"
    run = f"if [ -x {shlex.quote(first[0])} ]; then {shlex.join(first)}; else {shlex.join(other)}; fi"
    if agent == CURSOR:
        # It takes silence for a refusal: a hook that is gone must not stop it.
        return f"{guard} || {{ {SHELL_GO_ON}; exit 0; }}; {run} || {{ {SHELL_GO_ON}; {gap} 2>/dev/null; }} || :"
    return f"{guard} || exit 0; {run} || {gap} 2>/dev/null || :"


def _last_home(home: Path) -> Path:
    """Where the repository was when it got its name, or was last set up."""
    try:
        lines = (home / "id").read_bytes().split(b"\n")
    except OSError:
        return home
    return Path(os.fsdecode(lines[1])) if len(lines) > 1 and lines[1] else home


def _replace(path: Path, data: bytes) -> None:
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    aside.write_bytes(data)
    aside.chmod(0o600)
    aside.replace(path)
