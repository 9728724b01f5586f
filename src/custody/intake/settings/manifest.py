"""What we did to which file, so that exactly that can be taken back: ``backup/manifest.json`` and copies beside it.

The notes are a help, not the truth: without them, or after others have edited a file, our entries are found by what
they run. A manifest that cannot be read is treated as one that says nothing.
"""

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from custody.intake.settings.files import (
    delete_if_empty,
    make_folder,
    read_optional_file,
    translate_os_errors,
    write_atomically,
)

# Changing a few bytes of a file and taking exactly that change back, also after others have edited the file. Pure.


@dataclass(frozen=True, slots=True)
class ByteSwap:
    """At ``at`` of the old bytes, ``was`` becomes ``now``. An insertion has an empty ``was``.

    Where a comma and what it announces stand on two sides of somebody's comment, ``was`` is that comment.
    """

    at: int
    was: bytes
    now: bytes


def apply_swaps(data: bytes, swaps: Iterable[ByteSwap]) -> bytes:
    """``data`` with every swap made; they may not overlap."""
    pieces, done = list[bytes](), 0
    for swap in sorted(swaps, key=lambda swap: swap.at):
        if swap.at < done or data[swap.at : swap.at + len(swap.was)] != swap.was:
            raise ValueError("the swaps are not of these bytes")
        pieces += (data[done : swap.at], swap.now)
        done = swap.at + len(swap.was)
    return b"".join((*pieces, data[done:]))


def revert_swaps(data: bytes, swaps: Sequence[ByteSwap]) -> bytes | None:
    """``data`` without what the swaps put in, found by its bytes; None when one of them is not there exactly once."""
    for swap in swaps:
        if data.count(swap.now) != 1:
            return None
        data = data.replace(swap.now, swap.was)
    return data


def unswapped(data: bytes, swaps: Iterable[ByteSwap]) -> bytes:
    """The bytes that became exactly ``data`` by these swaps."""
    pieces, done, grown = list[bytes](), 0, 0
    for swap in sorted(swaps, key=lambda swap: swap.at):
        at = swap.at + grown
        if data[at : at + len(swap.now)] != swap.now:
            raise ValueError("the swaps did not make these bytes")
        pieces += (data[done:at], swap.was)
        done = at + len(swap.now)
        grown += len(swap.now) - len(swap.was)
    return b"".join((*pieces, data[done:]))


FOLDER = "backup"
_NAME = "manifest.json"
_COPY = re.compile(r"(\d+)-.*", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestEntry:
    """What we did to the file ``path``: ``after`` and ``aside`` are digests of what we left there.

    ``created``: it was not there before. ``members``: the keys that we added, with dots between levels. ``folders``:
    the folders that were made for it. ``users``: the homes of the repositories for which it was done.
    """

    path: str
    whose: str
    created: bool
    after: str
    swaps: tuple[ByteSwap, ...] = ()
    members: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    aside: str | None = None


def digest(data: bytes) -> str:
    """A name for exactly these bytes."""
    return sha256(data).hexdigest()


@dataclass(frozen=True, slots=True)
class Manifest:
    """The notes of one home (a repository's, or the user's), by path."""

    home: Path
    notes: Mapping[str, ManifestEntry]

    @classmethod
    def of(cls, home: Path) -> "Manifest":
        """The notes kept in ``home``."""
        raw = read_optional_file(home / FOLDER / _NAME)
        try:
            kept = json.loads(raw or b"{}")
            notes = [_moved(_note(each), Path(kept["home"]), home) for each in kept.get("files", [])]
        except (ValueError, TypeError, KeyError, AttributeError):
            notes = []  # as the file's first lines say: it is only a help
        return cls(home, {note.path: note for note in notes})

    def with_notes(self, notes: Iterable[ManifestEntry]) -> "Manifest":
        """The same and these."""
        return replace(self, notes={**self.notes, **{note.path: note for note in notes}})

    def without(self, paths: Iterable[str]) -> "Manifest":
        """The same without the notes on ``paths``."""
        gone = set(paths)
        return replace(self, notes={path: note for path, note in self.notes.items() if path not in gone})

    def keep(self) -> None:
        """Write the notes down; the last one gone takes the folder with it."""
        folder = self.home / FOLDER
        if not self.notes:
            self._clear(folder)
            return
        make_folder(folder, 0o700)
        files = [_plain(note) for _, note in sorted(self.notes.items())]
        text = json.dumps({"version": 1, "home": str(self.home), "files": files}, indent=1, sort_keys=True)
        write_atomically(folder / _NAME, text.encode("utf-8", "surrogatepass") + b"\n", mode=0o600)

    def back_up(self, path: Path, data: bytes) -> None:
        """Keep the bytes of ``path`` as they are now, under the next number; the same bytes are kept once."""
        folder = self.home / FOLDER
        make_folder(folder, 0o700)
        with translate_os_errors("read", folder):
            copies = [name for name in os.listdir(folder) if _COPY.fullmatch(name)]
        if any(read_optional_file(folder / name) == data for name in copies if name.endswith(f"-{path.name}")):
            return
        number = max((int(name.partition("-")[0]) for name in copies), default=0) + 1
        write_atomically(folder / f"{number}-{path.name}", data, mode=0o600)

    def _clear(self, folder: Path) -> None:
        if not folder.is_dir() or folder.is_symlink():
            return
        with translate_os_errors("clear", folder):
            for name in os.listdir(folder):
                if name == _NAME or _COPY.fullmatch(name):
                    (folder / name).unlink()
        delete_if_empty(folder)


def _moved(note: ManifestEntry, old: Path, new: Path) -> ManifestEntry:
    """The note after its repository was moved, or in a copy of it: what was inside is still inside."""
    if old == new:
        return note
    path, *folders = (_rebased(each, old.parent.parent, new.parent.parent) for each in (note.path, *note.folders))
    return replace(note, path=path, folders=tuple(folders))


def _rebased(path: str, old: Path, new: Path) -> str:
    return str(new / Path(path).relative_to(old)) if Path(path).is_relative_to(old) else path


def _plain(note: ManifestEntry) -> dict[str, Any]:
    swaps = [{"at": swap.at, "was": _text(swap.was), "now": _text(swap.now)} for swap in note.swaps]
    return asdict(replace(note, swaps=())) | {"swaps": swaps}


def _note(plain: dict[str, Any]) -> ManifestEntry:
    swaps = tuple(ByteSwap(int(each["at"]), _bytes(each["was"]), _bytes(each["now"])) for each in plain["swaps"])
    lists = {name: tuple(map(str, plain[name])) for name in ("members", "folders", "users")}
    return ManifestEntry(
        path=str(plain["path"]),
        whose=str(plain["whose"]),
        created=bool(plain["created"]),
        after=str(plain["after"]),
        aside=plain["aside"] and str(plain["aside"]),
        swaps=swaps,
        **lists,
    )


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
