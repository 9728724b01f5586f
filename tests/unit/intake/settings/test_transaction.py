"""Files are changed completely or not at all, all or none, and keep mode, owner and link."""

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from custody.core.errors import CustodyError, InputError, WorldError
from custody.intake.settings import (
    AGENTS,
    Edit,
    Manifest,
    ManifestEntry,
    apply_settings_edits,
    files,
    make_agent_settings_edit,
    make_settings_removal_edit,
    render_edit_diff,
)
from custody.intake.settings import edit as changing
from custody.intake.settings.files import FILE_BYTES_MAX, read_settings_file
from custody.intake.settings.manifest import ByteSwap, apply_byte_swaps, revert_byte_swaps, undo_exact_byte_swaps
from tests.builders.set_up import an_ask, set_up, take_out

BEFORE = b'{\n  "model": "opus"\n}\n'


def an_edit(path: Path, before: bytes | None, after: bytes | None, **more: object) -> Edit:
    return Edit(path=path, target=path, before=before, after=after, whose="x", what="x", **more)  # type: ignore[arg-type]


def test_a_link_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    dotfiles, home = tmp_path / "dotfiles", tmp_path / "home"
    dotfiles.mkdir()
    (home / ".claude").mkdir(parents=True)
    (dotfiles / "claude.json").write_bytes(BEFORE)
    link = home / ".claude" / "settings.json"
    link.symlink_to("../../dotfiles/claude.json")
    set_up(link, an_ask(), tmp_path / "notes")
    assert os.readlink(link) == "../../dotfiles/claude.json"
    assert b"record.py" in (dotfiles / "claude.json").read_bytes()
    assert [path.name for path in dotfiles.iterdir()] == ["claude.json"]
    take_out(link, "claude-code", tmp_path / "notes")
    assert (os.readlink(link), link.read_bytes()) == ("../../dotfiles/claude.json", BEFORE)


def test_a_link_to_nothing_gets_its_file_and_loses_it_again(tmp_path: Path) -> None:
    link = tmp_path / "settings.json"
    link.symlink_to("later/real.json")
    set_up(link, an_ask(), tmp_path / "notes")
    assert (tmp_path / "later" / "real.json").is_file()
    take_out(link, "claude-code", tmp_path / "notes")
    assert link.is_symlink() and not (tmp_path / "later").exists()


def test_links_in_a_circle_are_an_error_with_a_name(tmp_path: Path) -> None:
    link = tmp_path / "settings.json"
    link.symlink_to("settings.json")
    with pytest.raises(CustodyError, match="settings.json"):
        set_up(link, an_ask(), tmp_path / "notes")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755])
def test_mode_and_owner_stay(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(BEFORE)
    path.chmod(mode)
    if os.geteuid() == 0:
        os.chown(path, 1234, 4321)
    owner = (path.stat().st_uid, path.stat().st_gid)
    set_up(path, an_ask(), tmp_path)
    assert (stat.S_IMODE(path.stat().st_mode), path.stat().st_uid, path.stat().st_gid) == (mode, *owner)
    take_out(path, "claude-code", tmp_path)
    assert (stat.S_IMODE(path.stat().st_mode), path.stat().st_uid, path.stat().st_gid) == (mode, *owner)


def test_a_new_file_has_the_users_usual_mode(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        set_up(tmp_path / "a" / "settings.json", an_ask(), tmp_path / "notes")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "a" / "settings.json").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "notes" / "backup").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "notes" / "backup" / "manifest.json").stat().st_mode) == 0o600


def test_a_read_only_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(BEFORE)
    path.chmod(0o444)
    with pytest.raises(WorldError, match="is read-only"):
        set_up(path, an_ask(), tmp_path / "notes")
    assert path.read_bytes() == BEFORE and not (tmp_path / "notes").exists()


def test_a_folder_that_may_not_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "locked"
    folder.mkdir(0o500)
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) != folder)  # root may write everywhere
    with pytest.raises(WorldError, match="permission denied"):
        set_up(folder / "settings.json", an_ask(), tmp_path / "notes")


def test_a_folder_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / ".claude").write_text("a file")
    with pytest.raises(WorldError, match=r"'.*/\.claude' is not a folder"):
        set_up(tmp_path / ".claude" / "settings.json", an_ask(), tmp_path / "notes")


def test_only_a_regular_file_is_accepted(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "large").write_bytes(b"{" + b" " * FILE_BYTES_MAX + b"}")
    for name, why in (("pipe", "not a regular file"), ("folder", "not a regular file"), ("large", "is larger than")):
        with pytest.raises(InputError, match=why):
            make_agent_settings_edit(tmp_path / name, an_ask())


def test_a_full_disk_changes_nothing_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(BEFORE)
    edit = make_agent_settings_edit(path, an_ask())

    def full(handle: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(WorldError, match="cannot write '.*': No space left on device"):
        apply_settings_edits([edit])
    monkeypatch.undo()
    assert path.read_bytes() == BEFORE
    assert [each.name for each in tmp_path.iterdir()] == ["settings.json"]


@pytest.mark.parametrize("failing", [0, 1, 2, 3])
def test_when_one_fails_those_before_it_are_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    changed, deleted, new, hook = (tmp_path / name for name in ("changed", "deleted", "new/deep/file", "hook"))
    changed.write_bytes(b"old")
    deleted.write_bytes(b"gone")
    hook.write_bytes(b"#!/bin/sh\n")
    hook.chmod(0o750)
    edits = [
        an_edit(changed, b"old", b"new"),
        an_edit(deleted, b"gone", None),
        an_edit(new, None, b"x", folders=(tmp_path / "new", tmp_path / "new/deep")),
        an_edit(hook, b"#!/bin/sh\n", b"wrapper", aside=tmp_path / "hook.aside", program=True),
    ]
    real, calls = changing._apply_settings_edit, list[Edit]()

    def change(edit: Edit) -> None:
        calls.append(edit)
        if len(calls) == failing + 1:
            raise WorldError("no more")
        real(edit)

    before = _tree(tmp_path)
    monkeypatch.setattr(changing, "_apply_settings_edit", change)
    with pytest.raises(WorldError, match="no more"):
        apply_settings_edits(edits)
    assert _tree(tmp_path) == before


def _tree(folder: Path) -> dict[str, tuple[bytes | None, int]]:
    return {
        str(path.relative_to(folder)): (path.read_bytes() if path.is_file() else None, path.stat().st_mode)
        for path in sorted(folder.rglob("*"))
    }


def test_a_file_that_changed_meanwhile_stops_all(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_bytes(b"1")
    two.write_bytes(b"2")
    edits = [an_edit(one, b"1", b"x"), an_edit(two, b"before", b"y")]
    with pytest.raises(WorldError, match="changed by another program"):
        apply_settings_edits(edits)
    assert (one.read_bytes(), two.read_bytes()) == (b"1", b"2")


def test_every_byte_is_synced_before_the_name_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(BEFORE)
    seen = list[str]()

    def told(name: str) -> Callable[..., object]:
        real = getattr(os, name)

        def tell(*arguments: object) -> object:
            seen.append(name)
            return real(*arguments)

        return tell

    for name in ("fsync", "rename"):
        monkeypatch.setattr(os, name, told(name))
    apply_settings_edits([make_agent_settings_edit(path, an_ask())])
    assert seen == ["fsync", "rename", "fsync"]


def test_a_diff_reads_as_one(tmp_path: Path) -> None:
    edit = an_edit(Path("/x"), b"a\nb", b"a\nc\xff\n")
    assert render_edit_diff(edit) == "--- /x\n+++ /x\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\\xff\n"
    assert render_edit_diff(an_edit(Path("/x"), None, b"a\n")).startswith("--- /dev/null\n+++ /x\n")
    assert render_edit_diff(an_edit(Path("/x"), b"a\n", None)).startswith("--- /x\n+++ /dev/null\n")


def test_swaps_by_hand() -> None:
    swaps = [ByteSwap(1, b"", b"1"), ByteSwap(1, b"", b"2"), ByteSwap(3, b"c", b", c x")]
    assert apply_byte_swaps(b"a/bcd", swaps) == b"a12/b, c xd"
    assert undo_exact_byte_swaps(b"a12/b, c xd", swaps) == b"a/bcd"
    assert revert_byte_swaps(b"zz a12/b, c xd", [ByteSwap(0, b"c", b", c x")]) == b"zz a12/bcd"
    assert revert_byte_swaps(b"xx", [ByteSwap(0, b"", b"x")]) is None
    for wrong in ([ByteSwap(0, b"z", b"")], [ByteSwap(0, b"a/", b""), ByteSwap(1, b"/", b"")]):
        with pytest.raises(ValueError):
            apply_byte_swaps(b"a/bcd", wrong)
    with pytest.raises(ValueError):
        undo_exact_byte_swaps(b"other", swaps)


# Notes.


def test_notes_come_back_as_they_were_kept(tmp_path: Path) -> None:
    note = ManifestEntry(
        path="/a/\udcff", whose="cursor", created=True, after="0" * 64, swaps=(ByteSwap(1, b"\xff", b"\n\xfe"),),
        members=("hooks",), folders=("/a",), users=("/r/.git/custody",), aside="1" * 64,
    )  # fmt: skip
    Manifest.of(tmp_path).with_notes([note]).keep()
    assert Manifest.of(tmp_path).notes == {note.path: note}
    Manifest.of(tmp_path).drop_files([note.path]).keep()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("rubbish", [b"", b"{", b"[]", b'{"files": 1}', b'{"files": [{}]}', b'{"files": [1]}', b"\xff"])
def test_unreadable_notes_are_ignored(tmp_path: Path, rubbish: bytes) -> None:
    (tmp_path / "backup").mkdir()
    (tmp_path / "backup" / "manifest.json").write_bytes(rubbish)
    assert Manifest.of(tmp_path).notes == {}


def test_copies_are_numbered_and_kept_once(tmp_path: Path) -> None:
    manifest = Manifest.of(tmp_path)
    for data in (b"one", b"two", b"one"):
        manifest.back_up(Path("/x/settings.json"), data)
    copies = {path.name: path.read_bytes() for path in (tmp_path / "backup").iterdir()}
    assert copies == {"1-settings.json": b"one", "2-settings.json": b"two"}
    assert json.dumps(sorted(copies))


def test_uninstall_of_an_unreadable_file_says_what_to_remove(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b"{ not json")
    with pytest.raises(InputError, match="line 1, column 3") as refused:
        make_settings_removal_edit(path, AGENTS["claude-code"])
    assert "by hand" in str(refused.value.hint)


def test_looking_never_waits_for_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError):
        read_settings_file(tmp_path / "pipe")
    assert files.FILE_BYTES_MAX == FILE_BYTES_MAX
