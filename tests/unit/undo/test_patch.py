"""Patches: ``git apply`` makes the second file out of the first, whatever the bytes are."""

import subprocess
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from custody.attribution.carry import align_carried_items
from custody.core.paths import RepoPath
from custody.undo.patch import FilePatch, FileSide, render_patch, split_raw_lines

CONTENTS = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\r\n", b"\xff\xfe\n", b"\n", b"d", b" \n"]), max_size=20).map(
    b"".join
)
NAMES = st.sampled_from(
    [b"plain.py", b"with blank.py", b'q"uote', b"t\tab", b"\xc3\xa9", b"\xff", b"folder/deep/x", b"-dash"]
)


def _applied(folder: Path, patch: bytes) -> None:
    done = subprocess.run(["git", "apply", "-"], cwd=folder, input=patch, capture_output=True, check=False)
    assert done.returncode == 0, (done.stderr, patch)


@settings(max_examples=25, deadline=None)
@given(CONTENTS, CONTENTS, NAMES, NAMES)
def test_git_apply_makes_the_second_file(
    tmp_path_factory: object, old: bytes, new: bytes, name: bytes, other: bytes
) -> None:
    folder = tmp_path_factory.mktemp("patch")  # type: ignore[attr-defined]
    pairs = align_carried_items(split_raw_lines(old), split_raw_lines(new))
    sides = FileSide(RepoPath(name), old), FileSide(RepoPath(other), new, 0o100755)
    for before, after in ((sides[0], sides[1]), (sides[0], None), (None, sides[1])):
        for side in (before, after):
            if side is not None:
                path = Path(f"{folder}/{side.path}")
                path.unlink(missing_ok=True)
                path.parent.mkdir(parents=True, exist_ok=True)
        if before is not None:
            Path(f"{folder}/{before.path}").write_bytes(before.content)
        patch = render_patch([FilePatch(before, after, pairs if before and after else ())])
        _applied(folder, patch)
        if after is not None:
            assert Path(f"{folder}/{after.path}").read_bytes() == new
        if before is not None and (after is None or after.path != before.path):
            assert not Path(f"{folder}/{before.path}").exists()


def test_a_patch_of_an_unchanged_file_is_empty() -> None:
    side = FileSide(RepoPath(b"a"), b"x\n")
    assert render_patch([FilePatch(side, side, [(0, 0)])]) == b""
