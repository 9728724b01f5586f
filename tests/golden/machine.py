"""A machine that behaves the same each time: a clock that tests set, countable random numbers, an empty home."""

import itertools
import os
import pwd
import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from custody.cli.main import main
from custody.demo.sandbox import InProcessCommand

START_NS = 1_769_864_400 * 1_000_000_000
"""2026-01-31T13:00:00Z: an hour after the sessions begin."""
MINUTE_NS = 60 * 1_000_000_000
PID = 4242
USER = "root"
_STORE_ID = re.compile(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")
_EVENT_ID = re.compile(r"\b\d{20}-\d+-[0-9a-f]{16}\b")
_DIGEST = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_SPAN_ID = re.compile(r"(?<![0-9a-f.])(?=[0-9]*[a-f])[0-9a-f]{16}(?![0-9a-f])")
_KEY = re.compile(r"AAAAC3NzaC1lZDI1NTE5[A-Za-z0-9+/=]+")
_SIGNATURE = re.compile(r"-----BEGIN SSH SIGNATURE-----.*?-----END SSH SIGNATURE-----(\\n)*")
_FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")
_OUTLINES = re.compile(r"(?<=\"outlines\":\")[A-Za-z0-9+/=]+")
_SIZE = re.compile(r"[0-9,]+ (bytes\)|MiB free)|(?<=\"bytes\":)\d+")


_KINDS = (
    ("SIGNATURE", _SIGNATURE),
    ("KEY", _KEY),
    ("FINGERPRINT", _FINGERPRINT),
    ("OUTLINES", _OUTLINES),
    ("EVENT", _EVENT_ID),
    ("DIGEST", _DIGEST),
    ("STORE", _STORE_ID),
    ("SPAN", _SPAN_ID),
)


@dataclass
class Masks:
    """Replaces what depends on the machine by numbered names, so that equal values stay equal."""

    folder: Path
    _names: dict[str, str] = field(default_factory=dict)

    def apply(self, text: str) -> str:
        """Return ``text`` with the folder, ids and digests under fixed names."""
        text = text.replace(str(self.folder), "FOLDER")
        for kind, pattern in _KINDS:
            text = pattern.sub(partial(self._name, kind), text)
        return _SIZE.sub(lambda match: f"N {match[1]}" if match[1] else "0", text)

    def _name(self, kind: str, match: re.Match[str]) -> str:
        count = sum(name.startswith(kind) for name in self._names.values())
        return self._names.setdefault(match[0], f"{kind}-{count + 1}")


@dataclass
class Terminal:
    """Runs commands in one folder and records their output."""

    folder: Path
    masks: Masks
    tick: Callable[[], None]
    lines: list[str] = field(default_factory=list)

    def run(self, *words: str, stdin: bytes = b"") -> str:
        """Run ``custody <words>``, note its answer, and return its standard output as printed."""
        self.tick()
        with chdir(self.folder):
            ran = InProcessCommand(main).run(words, stdin)
        self.lines.append(f"$ custody {self.masks.apply(' '.join(words))}")
        self.lines.append(f"[exit {ran.status}]")
        self.lines += [line.rstrip("\n") for line in self.masks.apply(ran.out).splitlines()]
        self.lines += [f"stderr: {line}" for line in self.masks.apply(ran.err).splitlines()]
        self.lines.append("")
        return ran.out

    def text(self) -> str:
        """Return all recorded output."""
        return "\n".join(self.lines)


@contextmanager
def a_terminal(folder: Path) -> Iterator[Terminal]:
    """Yield a terminal in a new repository below ``folder``, on a separate machine; a command takes a minute."""
    folder = folder.resolve()
    home, work = folder / "home", folder / "work"
    home.mkdir(parents=True)
    work.mkdir()
    now = itertools.count(START_NS + MINUTE_NS, MINUTE_NS)
    numbers = itertools.count(1)
    current = [START_NS]

    def tick() -> None:
        current[0] = next(now)

    def draw(count: int) -> bytes:
        return next(numbers).to_bytes(count, "big")

    user = pwd.struct_passwd((USER, "x", 0, 0, "", "/", "/bin/sh"))
    patched = (
        (pwd, "getpwuid", lambda _number: user),
        (time, "time_ns", lambda: current[0]),
        (time, "time", lambda: current[0] / 1e9),
        (os, "urandom", draw),
        (os, "getpid", lambda: PID),
        (secrets, "token_hex", lambda count=32: draw(count).hex()),
    )
    before_environment = dict(os.environ)
    before = [(module, name, getattr(module, name)) for module, name, _ in patched]
    try:
        os.environ.clear()
        os.environ.update(_environment(before_environment, home))
        for module, name, value in patched:
            setattr(module, name, value)
        yield Terminal(work, Masks(folder), tick)
    finally:
        for module, name, value in before:
            setattr(module, name, value)
        os.environ.clear()
        os.environ.update(before_environment)


def _environment(before: dict[str, str], home: Path) -> dict[str, str]:
    return {
        "PATH": before["PATH"],
        "HOME": str(home),
        "XDG_CONFIG_HOME": f"{home}/.config",
        "XDG_STATE_HOME": f"{home}/.local/state",
        "XDG_CACHE_HOME": f"{home}/.cache",
        "CUSTODY_AUDIT_KEY": "the same audit draws in every run",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_NAME": "Ana",
        "GIT_AUTHOR_EMAIL": "ana@example.org",
        "GIT_COMMITTER_NAME": "Ana",
        "GIT_COMMITTER_EMAIL": "ana@example.org",
        "LC_ALL": "C.UTF-8",
        "COLUMNS": "100",
        "TZ": "UTC",
    }
