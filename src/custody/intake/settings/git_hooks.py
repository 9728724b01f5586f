"""git's own hooks: ours beside whatever is there, and out again. Only links are added by them, never a commit stopped.

A hook that is there and simply runs to its end gets our lines behind its own. Any other (another language, one that
leaves by ``exec`` or ``exit``, a symbolic link, one that reads its input) is kept beside, byte for byte, and a few
lines in its place run it first, with the same arguments and input, and end with its exit status.
"""

import re
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from custody.core.errors import CustodyError, InputError
from custody.intake.settings.agent_table import MARK
from custody.intake.settings.edit import ASIDE, Edit, edit_of
from custody.intake.settings.files import SettingsFile, check_may_replace, list_missing_folders, look
from custody.intake.settings.manifest import ByteSwap, ManifestEntry, apply_swaps, digest, revert_swaps, unswapped

HOOKS = ("post-commit", "post-rewrite", "post-merge")
"""Those after which commits need a link: made, amended or rebased, merged."""

_READS_INPUT = "post-rewrite"

BEGIN = b"# >>> custody: added by 'custody init', taken out by 'custody uninstall' >>>\n"
END = b"# <<< custody <<<\n"

_BLOCK = re.compile(re.escape(BEGIN) + rb".*?" + re.escape(END), re.DOTALL)
_SHELL = re.compile(rb"#![ \t]*(?:\S*/)?(?:env[ \t]+)?(?:ba|da|k|z)?sh\b")
# Words after which our lines might never be reached, or would be text of something else.
_LEAVES = re.compile(rb"\b(?:exec|exit|return|source)\b|^[ \t]*\.[ \t]|<<|\\\s*\Z", re.MULTILINE)
_ASKS_ITS_NAME = re.compile(rb"basename[^\n]*\$\{?0|\$\{0##|\$PROGRAM_NAME|File\.basename\(\$0|sys\.argv\[0\]")

_PRELUDE = """\
#!/bin/sh
# The hook that was here before is beside this file; it runs first, and its exit status counts.
if [ -x "$0{aside}" ]; then "$0{aside}" "$@"; fi
"""
_PRELUDE_WITH_INPUT = """\
#!/bin/sh
# The hook that was here before is beside this file; it runs first, with the same input, and its exit status counts.
custody_input=$(cat)
custody_feed() {{ if [ -n "$custody_input" ]; then printf '%s\\n' "$custody_input"; fi; }}
if [ -x "$0{aside}" ]; then custody_feed | "$0{aside}" "$@"; fi
"""
_SHEBANG = b"#!/bin/sh\n"


@dataclass(frozen=True, slots=True)
class HookFolder:
    """Where git looks for hooks; ``refused`` says why it is not ours to change, ``advised`` where lines go then."""

    path: Path
    refused: str | None = None
    advised: Path | None = None

    @classmethod
    def of(
        cls, common_dir: Path, work_tree: Path | None, configured: Path | None, is_tracked: Callable[[Path], bool]
    ) -> "HookFolder":
        """The folder that ``core.hooksPath`` names, else git's own; ``is_tracked``: are there tracked files in it."""
        folder = common_dir / "hooks" if configured is None else (work_tree or common_dir) / configured
        if folder.name == "_" and ((folder / "h").exists() or (folder / "husky.sh").exists()):
            return cls(folder, "husky keeps this folder", folder.parent)
        real = folder.resolve()
        if real.is_relative_to(common_dir.resolve()):
            return cls(folder)
        if work_tree is None or not real.is_relative_to(work_tree.resolve()) or not real.is_dir():
            return cls(folder, "git's folder of hooks is not in this repository", folder)
        return cls(folder, "git tracks this folder", folder) if is_tracked(real) else cls(folder)


def line_to_add(name: str) -> str:
    """The line for a hook file that others share: it does nothing where custody is not set up."""
    feed = "" if name == _READS_INPUT else " </dev/null"
    return (
        'custody="$(git rev-parse --git-common-dir)/custody/hook/record.py"; '
        f'if [ -f "$custody" ]; then python3 -I -S "$custody" --agent git --event {name}{feed} >/dev/null; fi || :'
    )


def runs_another(path: Path, hook: Path) -> bool:
    """Whether our lines in the hook at ``path`` run another copy than ``hook``; False where nothing can be read."""
    try:
        block = _BLOCK.search(look(path).data or b"")
    except CustodyError:
        return False
    return block is not None and shlex.quote(str(hook)).encode("utf-8", "surrogateescape") not in block[0]


def hook_edit(folder: HookFolder, name: str, command: str, note: ManifestEntry | None = None) -> Edit:
    """The hook ``name`` with ``command`` run in it, once."""
    path = folder.path / name
    if folder.refused is not None:
        return _advised(path, (folder.advised or folder.path) / name, folder.refused)
    seen = look(path)
    if seen.data is None and not seen.is_link:
        return _written(seen, _SHEBANG + _block(name, command), "made", note)
    if seen.data is not None and (block := _BLOCK.search(seen.data)):
        return _renewed(seen, block, command, note)
    return _chained(seen, name, command, note)


def unhook_edit(path: Path, note: ManifestEntry | None = None) -> Edit:
    """The hook at ``path`` without our lines; one that was kept beside gets its place back."""
    seen, kept = look(path), look(_aside(path))
    if seen.data is None or not _BLOCK.search(seen.data):
        return _left_over(seen, kept, note)
    check_may_replace(seen)
    rest = _rest(seen.data, note)
    if rest == _prelude(path.name):
        what = "the hook that was there is back" if _is_there(kept) else "our hook removed"
        return _edit(seen, kept.data, what, back=kept.path if _is_there(kept) else None)
    if rest == _SHEBANG and (note is None or note.created):
        return _edit(seen, None, "our hook removed", folders=() if note is None else tuple(map(Path, note.folders)))
    return _edit(seen, rest, "our lines taken out")


def _edit(seen: SettingsFile, after: bytes | None, what: str, **more: Any) -> Edit:
    target = seen.path if seen.is_link else seen.target
    return Edit(path=seen.path, target=target, before=seen.data, after=after, whose="git", what=what, **more)


def _advised(path: Path, advised: Path, why: str) -> Edit:
    """Nothing is changed; unless the line is there already, the user is asked to add it."""
    data = look(advised).data
    if data is not None and MARK.encode() in data:
        return Edit(path=advised, target=advised, before=data, after=data, whose="git", what="as before")
    line = line_to_add(path.name)
    return Edit(path=advised, target=advised, before=data, after=data, whose="git", what=why, by_hand=line)


def _written(
    seen: SettingsFile, after: bytes, what: str, note: ManifestEntry | None, swap: ByteSwap | None = None
) -> Edit:
    if after != seen.data:
        check_may_replace(seen)
    new = ManifestEntry(
        path=str(seen.path),
        whose="git",
        created=_is_new(seen, after, swap) if note is None else note.created,
        after=digest(after),
        swaps=() if swap is None else (swap,),
        folders=tuple(map(str, list_missing_folders(seen.path))) if note is None else note.folders,
        aside=None if note is None else note.aside,
    )
    return _edit(seen, after, what, note=new, program=True, folders=list_missing_folders(seen.path))


def _is_new(seen: SettingsFile, after: bytes, swap: ByteSwap | None) -> bool:
    """Whether the file is ours altogether: it was not there, or it looks so and no note says otherwise."""
    return seen.data is None or (swap is None and after.startswith(_SHEBANG + BEGIN))


def _renewed(seen: SettingsFile, block: re.Match[bytes], command: str, note: ManifestEntry | None) -> Edit:
    name, data = seen.path.name, seen.data or b""
    rest = _rest(data, note)
    if rest in (_prelude(name), _SHEBANG):
        after = rest + _block(name, command, saved=rest == _prelude(name))
        return _written(seen, after, "as before" if after == data else "renewed", note)
    if _block(name, command) == block[0]:
        return _edit(seen, data, "as before", note=note)
    return _written(seen, *_behind(rest, name, command, "renewed", note))


def _chained(seen: SettingsFile, name: str, command: str, note: ManifestEntry | None) -> Edit:
    data = seen.data or b""
    if _ASKS_ITS_NAME.search(data):
        return _advised(seen.path, seen.path, "the hook that is there must keep its name")
    if not seen.is_link and seen.is_program and seen.is_writable and _runs_to_its_end(data, name):
        return _written(seen, *_behind(data, name, command, _behind_what(data), None))
    kept = look(_aside(seen.path))
    if _is_there(kept) and (note is None or kept.data is None or digest(kept.data) != note.aside):
        raise InputError(f"'{kept.path}' is in the way", hint="look at it and move it away; nothing was changed")
    # Only its name changes: whether it may be written does not matter, and of a link we do not touch the target.
    check_may_replace(SettingsFile(seen.path, seen.path, None))
    after = _prelude(name) + _block(name, command, saved=True)
    new = ManifestEntry(path=str(seen.path), whose="git", created=False, after=digest(after), aside=digest(data))
    what = f"the hook that is there is kept as '{kept.path.name}' and runs first"
    return _edit(seen, after, what, note=new, program=True, aside=kept.path)


def _left_over(seen: SettingsFile, kept: SettingsFile, note: ManifestEntry | None) -> Edit:
    """Our lines are gone: somebody else wrote or removed the hook meanwhile."""
    if seen.data is None and not seen.is_link and _is_there(kept):
        return _edit(seen, kept.data, "the hook that was there is back", back=kept.path)
    if note is not None and kept.data is not None and digest(kept.data) == note.aside:
        return _edit(kept, None, "our copy of an older hook removed")
    return _edit(seen, seen.data, "nothing of ours is there")


def _rest(data: bytes, note: ManifestEntry | None) -> bytes:
    """The hook without our lines, exactly as it was if nobody has touched it since."""
    swaps = () if note is None else note.swaps
    if swaps and note is not None and digest(data) == note.after:
        return unswapped(data, swaps)
    back = revert_swaps(data, swaps) if swaps else None
    return _BLOCK.sub(b"", data) if back is None else back


def _behind(
    data: bytes, name: str, command: str, what: str, note: ManifestEntry | None
) -> tuple[bytes, str, ManifestEntry | None, ByteSwap]:
    lead = b"" if data.endswith(b"\n") else b"\n"
    swap = ByteSwap(len(data), b"", lead + _block(name, command))
    return apply_swaps(data, [swap]), what, note, swap


def _runs_to_its_end(data: bytes, name: str) -> bool:
    """Whether lines behind these are reached, and still find the hook's input."""
    if name == _READS_INPUT:
        return False
    lines = data.split()
    if data.startswith(b"#!") and not _SHELL.match(data):
        return False
    return bool(lines) and (_is_lefthook(data) or not _LEAVES.search(data.partition(b"\n")[2]))


def _behind_what(data: bytes) -> str:
    again = "; 'lefthook install' writes it anew: run 'custody init' again then" if _is_lefthook(data) else ""
    return f"behind the hook that is there{again}"


def _is_lefthook(data: bytes) -> bool:
    """Whether lefthook made it: it leaves only where it was told not to run, and its last line runs to its end."""
    return data.rstrip().rpartition(b"\n")[2].startswith(b"call_lefthook run ")


def _prelude(name: str) -> bytes:
    return (_PRELUDE_WITH_INPUT if name == _READS_INPUT else _PRELUDE).format(aside=ASIDE).encode()


def _block(name: str, command: str, *, saved: bool = False) -> bytes:
    """Our lines: whatever happens in them, the hook ends as it would have without them."""
    assert "\n" not in command, "it is one line"
    if name != _READS_INPUT:
        run = f"( {command} ) </dev/null >/dev/null || :"
    else:
        run = f"{'custody_feed | ' if saved else ''}( {command} ) >/dev/null || :"
    return BEGIN + f'custody_status=$?\n{run}\nexit "$custody_status"\n'.encode("utf-8", "surrogateescape") + END


def _aside(path: Path) -> Path:
    return path.with_name(path.name + ASIDE)


def _is_there(seen: SettingsFile) -> bool:
    return seen.data is not None or seen.is_link


# The settings files that we make, kept out of ``git status``: lines in ``info/exclude``, and out again.
# They hold paths of one machine, so nobody should commit them by accident. It is a courtesy: a file that is a link or
# may not be written is left as it is.


_EXCLUDE_BLOCK = re.compile(re.escape(BEGIN) + rb"(.*?)" + re.escape(END), re.DOTALL)


def exclude_edit(path: Path, names: Iterable[str], note: ManifestEntry | None = None) -> Edit | None:
    """The file at ``path`` with a line for each of ``names``; None when there is nothing to add."""
    try:
        seen = look(path)
        check_may_replace(seen)
    except CustodyError:
        return None  # as the file's first lines say: a courtesy must not stop anything
    data = seen.data or b""
    block = _EXCLUDE_BLOCK.search(data)
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
    if seen.data is None or not _EXCLUDE_BLOCK.search(seen.data):
        return edit_of(seen, "git", seen.data, "nothing of ours is there", None, list_missing_folders(seen.target))
    rest = _without(seen.data, note)
    gone = not rest and note is not None and note.created
    folders = () if note is None else tuple(map(Path, note.folders))
    return edit_of(seen, "git", None if gone else rest, "our lines taken out", None, folders)


def _without(data: bytes, note: ManifestEntry | None) -> bytes:
    """Exactly as it was if nobody has touched it since; else every line of others."""
    if note is not None and note.swaps and digest(data) == note.after:
        return unswapped(data, note.swaps)
    return _EXCLUDE_BLOCK.sub(b"", data)
