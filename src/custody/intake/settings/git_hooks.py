"""git's own hooks: our lines added to existing hooks, and removed again. They only add links and never stop a commit.

An existing hook that runs to its end gets our lines after its own. Any other hook (another language, one that leaves
by ``exec`` or ``exit``, a symbolic link, one that reads its input) is saved next to it, byte for byte. A few lines in
its place run it first, with the same arguments and input, and end with its exit status.
"""

import re
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from msgspec import Struct

from custody.core.errors import CustodyError, InputError
from custody.core.patterns import lazy_pattern
from custody.intake.settings.agent_table import MARK
from custody.intake.settings.edit import ASIDE, Edit, make_settings_file_edit
from custody.intake.settings.files import (
    SettingsFile,
    check_settings_replaceable,
    list_missing_settings_folders,
    read_settings_file,
)
from custody.intake.settings.manifest import (
    ByteSwap,
    ManifestEntry,
    apply_byte_swaps,
    digest_settings_bytes,
    revert_byte_swaps,
    undo_exact_byte_swaps,
)

HOOKS = ("post-commit", "post-rewrite", "post-merge")
"""The hooks after which commits need a link: committed, amended or rebased, merged."""

_READS_INPUT = "post-rewrite"
_SCRIPT_MARK = "/hook/commit.sh"

BEGIN = b"# >>> custody: added by 'custody init', taken out by 'custody uninstall' >>>\n"
END = b"# <<< custody <<<\n"

_BLOCK = lazy_pattern(re.escape(BEGIN) + rb".*?" + re.escape(END), re.DOTALL)
_SHELL = lazy_pattern(rb"#![ \t]*(?:\S*/)?(?:env[ \t]+)?(?:ba|da|k|z)?sh\b")
# Words after which our lines might not run, or would be part of another text.
_LEAVES = lazy_pattern(rb"\b(?:exec|exit|return|source)\b|^[ \t]*\.[ \t]|<<|\\\s*\Z", re.MULTILINE)
_ASKS_ITS_NAME = lazy_pattern(rb"basename[^\n]*\$\{?0|\$\{0##|\$PROGRAM_NAME|File\.basename\(\$0|sys\.argv\[0\]")

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


class HookFolder(Struct, frozen=True):
    """Where git finds hooks; ``refused`` is why we must not change it, ``advised`` where lines go instead."""

    path: Path
    refused: str | None = None
    advised: Path | None = None

    @classmethod
    def of(
        cls, common_dir: Path, work_tree: Path | None, configured: Path | None, is_tracked: Callable[[Path], bool]
    ) -> "HookFolder":
        """Return the folder of ``core.hooksPath``, else git's own; ``is_tracked`` tells whether git tracks it."""
        folder = common_dir / "hooks" if configured is None else (work_tree or common_dir) / configured
        if folder.name == "_" and ((folder / "h").exists() or (folder / "husky.sh").exists()):
            return cls(folder, "husky manages this folder", folder.parent)
        real = folder.resolve()
        if real.is_relative_to(common_dir.resolve()):
            return cls(folder)
        if work_tree is None or not real.is_relative_to(work_tree.resolve()) or not real.is_dir():
            return cls(folder, "git's hooks folder is outside this repository", folder)
        return cls(folder, "git tracks this folder", folder) if is_tracked(real) else cls(folder)


def make_shared_hook_line(name: str) -> str:
    """Return the line for a shared hook file: it does nothing where custody is not set up."""
    feed = "" if name == _READS_INPUT else " </dev/null"
    script = f'"$custody_dir{_SCRIPT_MARK}"'
    return (
        f'custody_event={name}; custody_dir="$(git rev-parse --git-common-dir)/custody"; '
        f"if [ -f {script} ]; then ( . {script} ){feed} >/dev/null 2>&1; fi || :"
    )


def runs_other_hook_copy(path: Path, home: Path) -> bool:
    """Return whether our lines in the hook at ``path`` run another copy than ``home``'s; False if it is unreadable."""
    try:
        block = _BLOCK.search(read_settings_file(path).data or b"")
    except CustodyError:
        return False
    # Lines of older versions run the recorder itself.
    copies = (shlex.quote(f"{home}{mark.removeprefix('/custody')}") for mark in (MARK, _SCRIPT_MARK))
    return block is not None and not any(copy.encode("utf-8", "surrogateescape") in block[0] for copy in copies)


def make_git_hook_edit(folder: HookFolder, name: str, command: str, note: ManifestEntry | None = None) -> Edit:
    """Return the edit that makes the hook ``name`` run ``command`` once."""
    path = folder.path / name
    if folder.refused is not None:
        return _advise_git_hook_edit(path, (folder.advised or folder.path) / name, folder.refused)
    file = read_settings_file(path)
    if file.data is None and not file.is_link:
        return _write_git_hook_edit(file, _SHEBANG + _render_hook_block(name, command), "new hook", note)
    if file.data is not None and (block := _BLOCK.search(file.data)):
        return _renew_git_hook_block(file, block, command, note)
    return _chain_existing_git_hook(file, name, command, note)


def make_git_unhook_edit(path: Path, note: ManifestEntry | None = None) -> Edit:
    """Return the edit that removes our lines from the hook at ``path``, and restores a saved hook."""
    file, saved = read_settings_file(path), read_settings_file(_saved_hook_path(path))
    if file.data is None or not _BLOCK.search(file.data):
        return _remove_leftover_git_hook(file, saved, note)
    check_settings_replaceable(file)
    rest = _remove_git_hook_block(file.data, note)
    if rest == _render_hook_prelude(path.name):
        what = "previous hook restored" if _has_git_hook_file(saved) else "our hook removed"
        return _make_hook_file_edit(file, saved.data, what, back=saved.path if _has_git_hook_file(saved) else None)
    if rest == _SHEBANG and (note is None or note.created):
        return _make_hook_file_edit(
            file, None, "our hook removed", folders=() if note is None else tuple(map(Path, note.folders))
        )
    return _make_hook_file_edit(file, rest, "our lines removed")


def _make_hook_file_edit(file: SettingsFile, after: bytes | None, what: str, **more: Any) -> Edit:
    target = file.path if file.is_link else file.target
    return Edit(path=file.path, target=target, before=file.data, after=after, whose="git", what=what, **more)


def _advise_git_hook_edit(path: Path, advised: Path, why: str) -> Edit:
    """Return an edit that changes nothing; unless the line exists already, the user has to add it."""
    data = read_settings_file(advised).data
    if data is not None and (MARK.encode() in data or _SCRIPT_MARK.encode() in data):
        return Edit(path=advised, target=advised, before=data, after=data, whose="git", what="unchanged")
    line = make_shared_hook_line(path.name)
    return Edit(path=advised, target=advised, before=data, after=data, whose="git", what=why, by_hand=line)


def _write_git_hook_edit(
    file: SettingsFile, after: bytes, what: str, note: ManifestEntry | None, swap: ByteSwap | None = None
) -> Edit:
    if after != file.data:
        check_settings_replaceable(file)
    new = ManifestEntry(
        path=str(file.path),
        whose="git",
        created=_is_own_git_hook(file, after, swap) if note is None else note.created,
        after=digest_settings_bytes(after),
        swaps=() if swap is None else (swap,),
        folders=tuple(map(str, list_missing_settings_folders(file.path))) if note is None else note.folders,
        aside=None if note is None else note.aside,
    )
    return _make_hook_file_edit(
        file, after, what, note=new, program=True, folders=list_missing_settings_folders(file.path)
    )


def _is_own_git_hook(file: SettingsFile, after: bytes, swap: ByteSwap | None) -> bool:
    """Return whether the whole file is ours: it did not exist, or it looks so and no note says otherwise."""
    return file.data is None or (swap is None and after.startswith(_SHEBANG + BEGIN))


def _renew_git_hook_block(file: SettingsFile, block: re.Match[bytes], command: str, note: ManifestEntry | None) -> Edit:
    name, data = file.path.name, file.data or b""
    rest = _remove_git_hook_block(data, note)
    if rest in (_render_hook_prelude(name), _SHEBANG):
        after = rest + _render_hook_block(name, command, saved=rest == _render_hook_prelude(name))
        return _write_git_hook_edit(file, after, "unchanged" if after == data else "updated", note)
    if _render_hook_block(name, command) == block[0]:
        return _make_hook_file_edit(file, data, "unchanged", note=note)
    return _write_git_hook_edit(file, *_append_git_hook_block(rest, name, command, "updated", note))


def _chain_existing_git_hook(file: SettingsFile, name: str, command: str, note: ManifestEntry | None) -> Edit:
    data = file.data or b""
    if _ASKS_ITS_NAME.search(data):
        return _advise_git_hook_edit(file.path, file.path, "the existing hook must keep its name")
    if not file.is_link and file.is_program and file.is_writable and _can_append_hook_block(data, name):
        return _write_git_hook_edit(
            file, *_append_git_hook_block(data, name, command, _describe_hook_append(data), None)
        )
    saved = read_settings_file(_saved_hook_path(file.path))
    if _has_git_hook_file(saved) and (
        note is None or saved.data is None or digest_settings_bytes(saved.data) != note.aside
    ):
        raise InputError(f"'{saved.path}' already exists", hint="check it and move it away; nothing was changed")
    # Only its name changes, so it need not be writable, and the target of a link is not touched.
    check_settings_replaceable(SettingsFile(file.path, file.path, None))
    after = _render_hook_prelude(name) + _render_hook_block(name, command, saved=True)
    new = ManifestEntry(
        path=str(file.path),
        whose="git",
        created=False,
        after=digest_settings_bytes(after),
        aside=digest_settings_bytes(data),
    )
    what = f"the existing hook is saved as '{saved.path.name}' and runs first"
    return _make_hook_file_edit(file, after, what, note=new, program=True, aside=saved.path)


def _remove_leftover_git_hook(file: SettingsFile, saved: SettingsFile, note: ManifestEntry | None) -> Edit:
    """Return the edit for a hook without our lines: something else wrote or removed it meanwhile."""
    if file.data is None and not file.is_link and _has_git_hook_file(saved):
        return _make_hook_file_edit(file, saved.data, "previous hook restored", back=saved.path)
    if note is not None and saved.data is not None and digest_settings_bytes(saved.data) == note.aside:
        return _make_hook_file_edit(saved, None, "our copy of an older hook removed")
    return _make_hook_file_edit(file, file.data, "nothing to remove")


def _remove_git_hook_block(data: bytes, note: ManifestEntry | None) -> bytes:
    """Return the hook without our lines; byte for byte the old one if it was not edited since."""
    swaps = () if note is None else note.swaps
    if swaps and note is not None and digest_settings_bytes(data) == note.after:
        return undo_exact_byte_swaps(data, swaps)
    back = revert_byte_swaps(data, swaps) if swaps else None
    return _BLOCK.sub(b"", data) if back is None else back


def _append_git_hook_block(
    data: bytes, name: str, command: str, what: str, note: ManifestEntry | None
) -> tuple[bytes, str, ManifestEntry | None, ByteSwap]:
    lead = b"" if data.endswith(b"\n") else b"\n"
    swap = ByteSwap(len(data), b"", lead + _render_hook_block(name, command))
    return apply_byte_swaps(data, [swap]), what, note, swap


def _can_append_hook_block(data: bytes, name: str) -> bool:
    """Return whether lines after these run, and still get the hook's input."""
    if name == _READS_INPUT:
        return False
    lines = data.split()
    if data.startswith(b"#!") and not _SHELL.match(data):
        return False
    return bool(lines) and (_is_lefthook_script(data) or not _LEAVES.search(data.partition(b"\n")[2]))


def _describe_hook_append(data: bytes) -> str:
    again = "; run 'custody init' again after 'lefthook install'" if _is_lefthook_script(data) else ""
    return f"after the existing hook{again}"


def _is_lefthook_script(data: bytes) -> bool:
    """Return whether lefthook wrote it: it leaves early only if it is disabled, and its last line runs to its end."""
    return data.rstrip().rpartition(b"\n")[2].startswith(b"call_lefthook run ")


def _render_hook_prelude(name: str) -> bytes:
    return (_PRELUDE_WITH_INPUT if name == _READS_INPUT else _PRELUDE).format(aside=ASIDE).encode()


def _render_hook_block(name: str, command: str, *, saved: bool = False) -> bytes:
    """Return our lines: they start no process, print nothing, and the hook keeps its exit status."""
    assert "\n" not in command, "it is one line"
    if name != _READS_INPUT:
        run = f"{{ {command}; }} </dev/null >/dev/null 2>&1 || :"
    else:
        run = f"{'custody_feed | ' if saved else ''}{{ {command}; }} >/dev/null 2>&1 || :"
    return BEGIN + f'custody_status=$?\n{run}\nexit "$custody_status"\n'.encode("utf-8", "surrogateescape") + END


def _saved_hook_path(path: Path) -> Path:
    return path.with_name(path.name + ASIDE)


def _has_git_hook_file(file: SettingsFile) -> bool:
    return file.data is not None or file.is_link


# Lines in ``info/exclude`` hide the settings files that we create from ``git status``: they have paths of one machine
# and should not be committed by accident. They are optional: a link or a read-only file is not changed.


_EXCLUDE_BLOCK = lazy_pattern(re.escape(BEGIN) + rb"(.*?)" + re.escape(END), re.DOTALL)


def make_git_exclude_edit(path: Path, names: Iterable[str], note: ManifestEntry | None = None) -> Edit | None:
    """Return the edit that adds a line for each of ``names`` to ``path``; None if there is nothing to add."""
    try:
        file = read_settings_file(path)
        check_settings_replaceable(file)
    except CustodyError:
        return None  # optional, so it must not stop the installation
    data = file.data or b""
    block = _EXCLUDE_BLOCK.search(data)
    present = set(block[1].decode().split()) if block else set[str]()
    lines = sorted(present | {f"/{name}" for name in names})
    if not lines or file.is_link:
        return None
    if lines == sorted(present):
        return make_settings_file_edit(
            file, "git", file.data, "unchanged", note, list_missing_settings_folders(file.target)
        )
    base = _remove_git_exclude_block(data, note)
    lead = b"\n" if base and not base.endswith(b"\n") else b""
    swap = ByteSwap(len(base), b"", lead + BEGIN + "".join(f"{name}\n" for name in lines).encode() + END)
    after = apply_byte_swaps(base, [swap])
    new = ManifestEntry(
        path=str(path),
        whose="git",
        created=file.data is None if note is None else note.created,
        after=digest_settings_bytes(after),
        swaps=(swap,),
        folders=tuple(map(str, list_missing_settings_folders(path))) if note is None else note.folders,
    )
    what = "hides our settings files from 'git status'"
    return make_settings_file_edit(file, "git", after, what, new, list_missing_settings_folders(file.target))


def make_git_unexclude_edit(path: Path, note: ManifestEntry | None = None) -> Edit:
    """Return the edit that removes our lines from ``path``; a file that was created for them is deleted."""
    file = read_settings_file(path)
    if file.data is None or not _EXCLUDE_BLOCK.search(file.data):
        return make_settings_file_edit(
            file, "git", file.data, "nothing to remove", None, list_missing_settings_folders(file.target)
        )
    rest = _remove_git_exclude_block(file.data, note)
    gone = not rest and note is not None and note.created
    folders = () if note is None else tuple(map(Path, note.folders))
    return make_settings_file_edit(file, "git", None if gone else rest, "our lines removed", None, folders)


def _remove_git_exclude_block(data: bytes, note: ManifestEntry | None) -> bytes:
    """Return the file without our lines; byte for byte the old one if it was not edited since."""
    if note is not None and note.swaps and digest_settings_bytes(data) == note.after:
        return undo_exact_byte_swaps(data, note.swaps)
    return _EXCLUDE_BLOCK.sub(b"", data)
