"""The manifest of our changes to files, so that they can be undone exactly: ``backup/manifest.json`` and copies.

The notes only help: without them, or after a file was edited, our entries are found by what they run. A manifest that
cannot be read counts as empty.
"""

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from custody.core.patterns import lazy_pattern
from custody.intake.settings.files import (
    delete_empty_settings_folder,
    make_settings_folder,
    read_optional_settings,
    translate_settings_os_errors,
    write_settings_atomically,
)


class ByteSwap(Struct, frozen=True):
    """A reversible change: at ``at`` of the old bytes, ``was`` becomes ``now``. An insertion has an empty ``was``.

    If a comment is between a comma and the next entry, ``was`` is that comment.
    """

    at: int
    was: bytes
    now: bytes


def apply_byte_swaps(data: bytes, swaps: Iterable[ByteSwap]) -> bytes:
    """Return ``data`` with every swap applied; they may not overlap."""
    pieces, done = list[bytes](), 0
    for swap in sorted(swaps, key=lambda swap: swap.at):
        if swap.at < done or data[swap.at : swap.at + len(swap.was)] != swap.was:
            raise ValueError("the swaps are not of these bytes")
        pieces += (data[done : swap.at], swap.now)
        done = swap.at + len(swap.was)
    return b"".join((*pieces, data[done:]))


def revert_byte_swaps(data: bytes, swaps: Sequence[ByteSwap]) -> bytes | None:
    """Return ``data`` without the bytes that the swaps added; None if one of them does not occur exactly once."""
    for swap in swaps:
        if data.count(swap.now) != 1:
            return None
        data = data.replace(swap.now, swap.was)
    return data


def undo_exact_byte_swaps(data: bytes, swaps: Iterable[ByteSwap]) -> bytes:
    """Return the bytes that became exactly ``data`` by these swaps."""
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
_COPY = lazy_pattern(r"(\d+)-.*", re.DOTALL)


class ManifestEntry(Struct, frozen=True, kw_only=True):
    """Our change of the file ``path``: ``after`` and ``aside`` are digests of what we wrote.

    ``created``: the file is new. ``members``: the keys that we added, with dots between levels. ``folders``: the
    folders that we created for it. ``users``: the homes of the repositories that need it.
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


def digest_settings_bytes(data: bytes) -> str:
    """Return the digest of these bytes."""
    return sha256(data).hexdigest()


class Manifest(Struct, frozen=True):
    """The notes of one home (a repository's, or the user's), by path."""

    home: Path
    notes: Mapping[str, ManifestEntry]

    @classmethod
    def of(cls, home: Path) -> "Manifest":
        """Return the notes stored in ``home``."""
        raw = read_optional_settings(home / FOLDER / _NAME)
        try:
            stored = json.loads(raw or b"{}")
            notes = [
                _rebase_manifest_entry(_manifest_entry_from_json(each), Path(stored["home"]), home)
                for each in stored.get("files", [])
            ]
        except (ValueError, TypeError, KeyError, AttributeError):
            notes = []  # damaged: counts as empty
        return cls(home, {note.path: note for note in notes})

    def with_notes(self, notes: Iterable[ManifestEntry]) -> "Manifest":
        """Return a manifest with these notes added."""
        return replace(self, notes={**self.notes, **{note.path: note for note in notes}})

    def drop_files(self, paths: Iterable[str]) -> "Manifest":
        """Return a manifest without the notes on ``paths``."""
        gone = set(paths)
        return replace(self, notes={path: note for path, note in self.notes.items() if path not in gone})

    def keep(self) -> None:
        """Write the notes to disk; without any notes, remove the folder."""
        folder = self.home / FOLDER
        if not self.notes:
            self._clear(folder)
            return
        make_settings_folder(folder, 0o700)
        files = [_manifest_entry_to_json(note) for _, note in sorted(self.notes.items())]
        text = json.dumps({"version": 1, "home": str(self.home), "files": files}, indent=1, sort_keys=True)
        write_settings_atomically(folder / _NAME, text.encode("utf-8", "surrogatepass") + b"\n", mode=0o600)

    def back_up(self, path: Path, data: bytes) -> None:
        """Store a copy of the bytes of ``path`` under the next number; equal bytes are stored once."""
        folder = self.home / FOLDER
        make_settings_folder(folder, 0o700)
        with translate_settings_os_errors("read", folder):
            copies = [name for name in os.listdir(folder) if _COPY.fullmatch(name)]
        if any(read_optional_settings(folder / name) == data for name in copies if name.endswith(f"-{path.name}")):
            return
        number = max((int(name.partition("-")[0]) for name in copies), default=0) + 1
        write_settings_atomically(folder / f"{number}-{path.name}", data, mode=0o600)

    def _clear(self, folder: Path) -> None:
        if not folder.is_dir() or folder.is_symlink():
            return
        with translate_settings_os_errors("clear", folder):
            for name in os.listdir(folder):
                if name == _NAME or _COPY.fullmatch(name):
                    (folder / name).unlink()
        delete_empty_settings_folder(folder)


def _rebase_manifest_entry(note: ManifestEntry, old: Path, new: Path) -> ManifestEntry:
    """Return the note with new paths after its repository was moved or copied."""
    if old == new:
        return note
    path, *folders = (
        _rebase_manifest_path(each, old.parent.parent, new.parent.parent) for each in (note.path, *note.folders)
    )
    return replace(note, path=path, folders=tuple(folders))


def _rebase_manifest_path(path: str, old: Path, new: Path) -> str:
    return str(new / Path(path).relative_to(old)) if Path(path).is_relative_to(old) else path


def _manifest_entry_to_json(note: ManifestEntry) -> dict[str, Any]:
    swaps = [
        {"at": swap.at, "was": _decode_swap_bytes(swap.was), "now": _decode_swap_bytes(swap.now)} for swap in note.swaps
    ]
    return asdict(replace(note, swaps=())) | {"swaps": swaps}


def _manifest_entry_from_json(plain: dict[str, Any]) -> ManifestEntry:
    swaps = tuple(
        ByteSwap(int(each["at"]), _encode_swap_text(each["was"]), _encode_swap_text(each["now"]))
        for each in plain["swaps"]
    )
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


def _decode_swap_bytes(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _encode_swap_text(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
