"""git's hooks: both run, our failures have no effect, and theirs are restored to the byte."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from custody.capture.hook.install import install_hook
from custody.core.errors import InputError
from custody.intake.settings import (
    HOOKS,
    Edit,
    HookFolder,
    Manifest,
    apply_settings_edits,
    make_git_hook_edit,
    make_git_unhook_edit,
    make_shared_hook_line,
)
from custody.intake.settings.edit import ASIDE
from tests.builders.repo import Built, a_repository
from tests.settings.hooks import SHAPES, TELL, Shape


@pytest.fixture
def built(tmp_path: Path) -> Built:
    built = a_repository(tmp_path / "r")
    (built.path / ".git/hooks").mkdir(exist_ok=True)
    for sample in (built.path / ".git/hooks").iterdir():
        sample.unlink()
    return built


@pytest.fixture(autouse=True)
def _tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pre-commit and lefthook on PATH, which only record that they ran, and the files of both records."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, status in (("pre-commit", 5), ("lefthook", 0)):
        (tools / name).write_text(f'#!/bin/sh\n[ "$1" = -h ] || {TELL}\nexit {status}\n')
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("THEIRS", str(tmp_path / "theirs"))
    monkeypatch.setenv("OURS", str(tmp_path / "ours"))


def a_command(name: str = "post-commit") -> str:
    return f'{{ echo "ours {name}"; cat; }} >> "$OURS" # /custody/hook/record.py'.replace(" # ", "; : ")


def set_up(built: Built, name: str = "post-commit", command: str | None = None) -> Edit:
    manifest = Manifest.of(built.path / ".git/custody")
    folder = HookFolder(built.path / ".git/hooks")
    note = manifest.notes.get(str(folder.path / name))
    edit = make_git_hook_edit(folder, name, command or a_command(name), note)
    if edit.note is not None:
        manifest.with_notes([edit.note]).keep()
    apply_settings_edits([edit])
    return edit


def take_out(built: Built, name: str = "post-commit") -> Edit:
    manifest = Manifest.of(built.path / ".git/custody")
    path = built.path / ".git/hooks" / name
    edit = make_git_unhook_edit(path, manifest.notes.get(str(path)))
    apply_settings_edits([edit])
    manifest.drop_files([str(path)]).keep()
    return edit


def a_hook(built: Built, shape: Shape, name: str = "post-commit") -> Path:
    path = built.path / ".git/hooks" / name
    path.write_bytes(shape.data)
    path.chmod(shape.mode)
    return path


def commit(built: Built, *options: str) -> None:
    built.git("commit", "--quiet", "--allow-empty", "-m", "x", *options)


def run(hook: Path, *arguments: str) -> int:
    """Return the hook's exit status; a shell runs it, as git does without a shebang."""
    return subprocess.run(["sh", "-c", '"$@"', "sh", hook, *arguments], cwd=hook.parents[2], check=False).returncode


def lines(name: str) -> list[str]:
    path = Path(os.environ[name])
    return path.read_text().splitlines() if path.exists() else []


def all_of(built: Built) -> dict[str, tuple[bytes | str, int]]:
    """Return every hook file with its bytes (or the target of its link) and its mode."""
    return {
        path.name: (os.readlink(path) if path.is_symlink() else path.read_bytes(), stat.S_IMODE(path.lstat().st_mode))
        for path in (built.path / ".git/hooks").iterdir()
    }


def test_without_a_hook_ours_runs_and_goes(built: Built) -> None:
    before = all_of(built)
    assert set_up(built).done == "created"
    commit(built)
    assert lines("OURS") == ["ours post-commit"]
    assert not set_up(built).changes, "twice is once"
    assert take_out(built).done == "deleted"
    assert all_of(built) == before
    assert not take_out(built).changes


@pytest.mark.parametrize("name", SHAPES)
def test_a_real_commit_runs_both(built: Built, name: str) -> None:
    shape = SHAPES[name]
    a_hook(built, shape)
    edit = set_up(built)
    assert (edit.aside is not None) is (shape.how == "beside")
    commit(built)
    active = shape.mode & 0o100 and shape.data
    assert [line.split()[0] for line in lines("THEIRS")] == (["theirs"] if active else [])
    assert lines("OURS") == ["ours post-commit"]


@pytest.mark.parametrize("name", SHAPES)
def test_the_hook_ends_as_it_would_have_without_us(built: Built, name: str) -> None:
    path = a_hook(built, SHAPES[name])
    set_up(built)
    assert run(path, "a", "b c") == SHAPES[name].status


@pytest.mark.parametrize(
    "broken", ["(exit 3)", "kill -9 $$", "/nowhere/at/all", "false", "set -e; false", "echo x >&2"]
)
@pytest.mark.parametrize("name", ["a shell script", "strict", "ends in exit", "pre-commit's"])
def test_whatever_ours_does_the_commit_is_made_and_the_status_kept(built: Built, name: str, broken: str) -> None:
    path = a_hook(built, SHAPES[name])
    set_up(built, command=broken)
    commit(built)
    assert built.head()
    if "kill" not in broken:  # $$ is the hook itself, even in parentheses
        assert run(path) == SHAPES[name].status


@pytest.mark.parametrize("name", SHAPES)
def test_uninstall_brings_every_byte_and_mode_back(built: Built, name: str) -> None:
    a_hook(built, SHAPES[name])
    before = all_of(built)
    set_up(built)
    once = all_of(built)
    assert not set_up(built).changes
    assert all_of(built) == once
    take_out(built)
    assert all_of(built) == before
    assert not take_out(built).changes


@pytest.mark.parametrize("name", SHAPES)
def test_without_notes_ours_goes_and_theirs_stays(built: Built, name: str) -> None:
    path = a_hook(built, SHAPES[name])
    set_up(built)
    Manifest.of(built.path / ".git/custody").drop_files([str(path)]).keep()
    take_out(built)
    assert b"custody" not in path.read_bytes()
    assert path.read_bytes().rstrip(b"\n") == SHAPES[name].data.rstrip(b"\n")


@pytest.mark.parametrize("name", SHAPES)
def test_another_command_takes_the_place_of_the_old_one(built: Built, name: str) -> None:
    a_hook(built, SHAPES[name])
    before = all_of(built)
    set_up(built, command="echo old >> $OURS")
    assert set_up(built).changes
    commit(built)
    assert lines("OURS") == ["ours post-commit"]
    take_out(built)
    assert all_of(built) == before


def test_a_hook_of_nothing_but_a_first_line_comes_back(built: Built) -> None:
    path = a_hook(built, Shape(b"#!/bin/sh\n", "behind"))
    set_up(built)
    take_out(built)
    assert path.read_bytes() == b"#!/bin/sh\n"


def test_a_link_to_a_tracked_script_is_kept_as_a_link(built: Built) -> None:
    script = built.path / "scripts" / "post-commit"
    script.parent.mkdir()
    script.write_text(f"#!/bin/sh\n{TELL}\n")
    script.chmod(0o755)
    link = built.path / ".git/hooks/post-commit"
    link.symlink_to("../../scripts/post-commit")
    before, said = all_of(built), script.read_bytes()
    set_up(built)
    commit(built)
    assert (len(lines("THEIRS")), lines("OURS")) == (1, ["ours post-commit"])
    assert script.read_bytes() == said, "the tracked file is as it was"
    take_out(built)
    assert all_of(built) == before


def test_amend_and_rebase_tell_both_what_was_rewritten(built: Built, tmp_path: Path) -> None:
    theirs = Shape(
        b'#!/bin/sh\n{ echo "theirs $*"; while read -r line; do echo "$line"; done; } >> "$THEIRS"\n', "beside"
    )
    a_hook(built, theirs, "post-rewrite")
    before = all_of(built)
    commit(built)
    set_up(built, "post-rewrite")
    old = built.head()
    commit(built, "--amend")
    assert lines("THEIRS") == ["theirs amend", f"{old} {built.head()}"]
    assert lines("OURS") == ["ours post-rewrite", f"{old} {built.head()}"]
    take_out(built, "post-rewrite")
    assert all_of(built) == before


def test_amend_tells_us_alone_too(built: Built) -> None:
    commit(built)
    set_up(built, "post-rewrite")
    old = built.head()
    commit(built, "--amend")
    assert lines("OURS") == ["ours post-rewrite", f"{old} {built.head()}"]


def test_a_merge_is_reported(built: Built) -> None:
    a_hook(built, SHAPES["ends in exec"], "post-merge")
    commit(built)
    built.git("checkout", "--quiet", "-b", "other")
    commit(built)
    built.git("checkout", "--quiet", "main")
    set_up(built, "post-merge")
    built.git("merge", "--quiet", "other")
    assert (len(lines("THEIRS")), lines("OURS")) == (1, ["ours post-merge"])


def test_lines_that_others_added_to_our_hook_are_kept(built: Built) -> None:
    set_up(built)
    path = built.path / ".git/hooks/post-commit"
    path.write_text(path.read_text().replace("#!/bin/sh\n", "#!/bin/sh\necho mine\n"))
    take_out(built)
    assert path.read_text() == "#!/bin/sh\necho mine\n"
    a_hook(built, SHAPES["ends in exec"])
    set_up(built)
    path.write_text(path.read_text() + "# mine\n")
    take_out(built)
    assert "# mine\n" in path.read_text() and "custody init" not in path.read_text()
    commit(built)
    assert len(lines("THEIRS")) == 1, "the hook beside it still runs"


def test_a_tool_that_rewrites_its_hook_is_chained_again(built: Built) -> None:
    path = a_hook(built, SHAPES["pre-commit's"])
    set_up(built)
    newer = SHAPES["pre-commit's"].data.replace(b"138fd", b"ffffff")
    path.write_bytes(newer)
    set_up(built)
    assert path.with_name(path.name + ASIDE).read_bytes() == newer
    commit(built)
    assert (len(lines("THEIRS")), lines("OURS")) == (1, ["ours post-commit"])
    take_out(built)
    assert path.read_bytes() == newer
    assert not path.with_name(path.name + ASIDE).exists()


def test_what_a_tool_left_of_ours_is_cleared_away(built: Built) -> None:
    path = a_hook(built, SHAPES["pre-commit's"])
    set_up(built)
    path.write_bytes(b"#!/bin/sh\necho new\n")
    take_out(built)
    assert path.read_bytes() == b"#!/bin/sh\necho new\n"
    assert not path.with_name(path.name + ASIDE).exists()


def test_a_deleted_wrapper_gives_the_hook_back(built: Built) -> None:
    path = a_hook(built, SHAPES["python"])
    before = all_of(built)
    set_up(built)
    path.unlink()
    take_out(built)
    assert all_of(built) == before


def test_a_file_of_that_name_is_never_overwritten(built: Built) -> None:
    path = a_hook(built, SHAPES["python"])
    path.with_name(path.name + ASIDE).write_text("precious")
    before = all_of(built)
    with pytest.raises(InputError, match="already exists"):
        set_up(built)
    assert all_of(built) == before


def test_pre_commits_own_way_of_chaining_us_does_not_go_round_in_circles(built: Built) -> None:
    """'pre-commit install' renames our wrapper to 'post-commit.legacy' and runs it from its own hook."""
    path = a_hook(built, SHAPES["pre-commit's"])
    set_up(built)
    path.rename(path.with_name("post-commit.legacy"))
    status = run(path.with_name("post-commit.legacy"))
    assert (status, lines("THEIRS"), lines("OURS")) == (0, [], ["ours post-commit"])


def test_a_hook_that_asks_for_its_own_name_keeps_it(built: Built) -> None:
    path = a_hook(built, Shape(b'#!/bin/sh\nexec overcommit-hook "$(basename "$0")"\n', "by hand"))
    before = all_of(built)
    edit = set_up(built)
    assert edit.by_hand == make_shared_hook_line("post-commit") and edit.path == path
    assert all_of(built) == before


# Folders that we must not change.


def folder_of(built: Built, configured: str | None, *tracked: str) -> HookFolder:
    def is_tracked(folder: Path) -> bool:
        return any((built.path / name).is_relative_to(folder) for name in tracked)

    path = None if configured is None else Path(configured)
    return HookFolder.of(built.path / ".git", built.path, path, is_tracked)


# 'husky' and index.js of husky 9, shortened.
_HUSKY_H = """\
#!/usr/bin/env sh
n=$(basename "$0")
s=$(dirname "$(dirname "$0")")/$n

[ ! -f "$s" ] && exit 0
sh -e "$s" "$@"
exit $?
"""


def a_husky(built: Built) -> Path:
    folder = built.path / ".husky/_"
    folder.mkdir(parents=True)
    (folder / "h").write_text(_HUSKY_H)
    for name in HOOKS:
        (folder / name).write_text('#!/usr/bin/env sh\n. "$(dirname "$0")/h"')
        (folder / name).chmod(0o755)
    built.git("config", "core.hooksPath", ".husky/_")
    return folder


def test_husky_is_asked_for_and_the_line_works(built: Built) -> None:
    folder = a_husky(built)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    where = folder_of(built, ".husky/_")
    edit = make_git_hook_edit(where, "post-commit", a_command())
    assert (edit.done, edit.path, edit.what) == (
        "by hand",
        built.path / ".husky/post-commit",
        "husky manages this folder",
    )
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    (built.path / ".husky/post-commit").write_text(f"{TELL}\n{edit.by_hand}\n")
    commit(built)
    assert lines("OURS") == [], "custody is not set up: the line does nothing, and the commit is made"
    install_hook(built.path / ".git/custody")
    spool = built.path / ".git/custody/spool"
    commit(built)
    assert len(list(spool.iterdir())) == 1, "the recorder made the spool"
    commit(built)
    assert len(list(spool.glob(f"post-commit-{built.head()}-*"))) == 1, "from then on no interpreter starts"
    assert len(lines("THEIRS")) == 3
    assert not make_git_hook_edit(where, "post-commit", a_command()).by_hand, "once added, it is not asked for again"


@pytest.mark.parametrize("configured", [".husky", ".githooks", "tools/hooks"])
def test_a_tracked_folder_is_never_changed(built: Built, configured: str) -> None:
    hook = built.path / configured / "post-commit"
    hook.parent.mkdir(parents=True)
    hook.write_text("#!/bin/sh\n")
    edit = make_git_hook_edit(folder_of(built, configured, f"{configured}/pre-commit"), "post-commit", a_command())
    assert (edit.done, edit.changes, edit.what) == ("by hand", False, "git tracks this folder")


def test_folders_elsewhere_are_never_changed(built: Built, tmp_path: Path) -> None:
    for configured in (str(tmp_path / "mine"), "../outside", "not-there"):
        edit = make_git_hook_edit(folder_of(built, configured), "post-commit", a_command())
        assert edit.done == "by hand"
    link = built.path / "inside"
    link.symlink_to(tmp_path)
    assert make_git_hook_edit(folder_of(built, "inside"), "post-commit", a_command()).done == "by hand"


def test_git_s_own_folder_behind_a_link_counts_where_it_is(built: Built, tmp_path: Path) -> None:
    (built.path / ".git/hooks").rmdir()
    (built.path / ".git/hooks").symlink_to("../githooks")
    (built.path / "githooks").mkdir()
    assert folder_of(built, None, "githooks/pre-commit").refused == "git tracks this folder"
    assert folder_of(built, None).refused is None
    (built.path / ".git/hooks").unlink()
    (built.path / ".git/hooks").symlink_to(tmp_path)
    assert folder_of(built, None).refused == "git's hooks folder is outside this repository"


def test_an_untracked_folder_in_the_work_tree_is_used(built: Built) -> None:
    (built.path / ".myhooks").mkdir()
    built.git("config", "core.hooksPath", ".myhooks")
    edit = make_git_hook_edit(folder_of(built, ".myhooks"), "post-commit", a_command())
    apply_settings_edits([edit])
    commit(built)
    assert lines("OURS") == ["ours post-commit"]
