"""The settings files that we make, kept out of ``git status``: lines in ``info/exclude``, and out again.

They hold paths of one machine, so nobody should commit them by accident. It is a courtesy: a file that is a link or
may not be written is left as it is.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from custody.core.errors import CustodyError
from custody.intake.settings.byte_swap import ByteSwap, apply_swaps, unswapped
from custody.intake.settings.edit import Edit, edit_of
from custody.intake.settings.files import check_may_replace, list_missing_folders, look
from custody.intake.settings.git_hooks import BEGIN, END
from custody.intake.settings.manifest import ManifestEntry, digest

_BLOCK = re.compile(re.escape(BEGIN) + rb"(.*?)" + re.escape(END), re.DOTALL)


def exclude_edit(path: Path, names: Iterable[str], note: ManifestEntry | None = None) -> Edit | None:
    """The file at ``path`` with a line for each of ``names``; None when there is nothing to add."""
    try:
        seen = look(path)
        check_may_replace(seen)
    except CustodyError:
        return None  # as the file's first lines say: a courtesy must not stop anything
    data = seen.data or b""
    block = _BLOCK.search(data)
    there = set(block[1].decode().split()) if block else set[str]()
    wanted = sorted(there | {f"/{name}" for name in names})
    if not wanted or seen.is_link:
        return None
    if wanted == sorted(there):
        return edit_of(seen, "git", seen.data, "as before", note, list_missing_folders(seen.target))
    base = _without(data, note)
    lead = b"\n" if base and not base.endswith(b"\n") else b""
    swap = ByteSwap(len(base), b"", lead + BEGIN + "".join(f"{name}\n" for name in wanted).encode() + END)
    after = apply_swaps(base, [swap])
    new = ManifestEntry(
        path=str(path),
        whose="git",
        created=seen.data is None if note is None else note.created,
        after=digest(after),
        swaps=(swap,),
        folders=tuple(map(str, list_missing_folders(path))) if note is None else note.folders,
    )
    what = "keeps the settings that we make out of 'git status'"
    return edit_of(seen, "git", after, what, new, list_missing_folders(seen.target))


def unexclude_edit(path: Path, note: ManifestEntry | None = None) -> Edit:
    """The file at ``path`` without our lines; one that was made for them goes."""
    seen = look(path)
    if seen.data is None or not _BLOCK.search(seen.data):
        return edit_of(seen, "git", seen.data, "nothing of ours is there", None, list_missing_folders(seen.target))
    rest = _without(seen.data, note)
    gone = not rest and note is not None and note.created
    folders = () if note is None else tuple(map(Path, note.folders))
    return edit_of(seen, "git", None if gone else rest, "our lines taken out", None, folders)


def _without(data: bytes, note: ManifestEntry | None) -> bytes:
    """Exactly as it was if nobody has touched it since; else every line of others."""
    if note is not None and note.swaps and digest(data) == note.after:
        return unswapped(data, note.swaps)
    return _BLOCK.sub(b"", data)
