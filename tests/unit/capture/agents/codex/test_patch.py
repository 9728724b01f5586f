"""Codex's patches: what their text and what its events say, and nothing for what is no patch."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.capture.patch import PatchHunk, PatchKind, changes_in, read_event_changes
from custody.core.paths import Lines
from tests.builders.codex import added, deleted, patch_text, unified, updated
from tests.builders.drawn import json_values

BEFORE = "".join(f"line {n}\n" for n in range(1, 31))
AFTER = BEFORE.replace("line 3\n", "third\n").replace("line 20\n", "line 20\nmore\n")


def pieced(text: str, pieces: tuple[PatchHunk, ...]) -> str:
    """``text`` with each piece put in, one after the other."""
    for piece in pieces:
        assert piece.before in text
        text = text.replace(piece.before, piece.after, 1) if piece.before else text + piece.after
    return text


def test_files_that_are_added_deleted_changed_and_moved() -> None:
    patch = patch_text(
        added("new.py", "one\n\ntwo\n"), deleted("old.py"), updated("a.py", BEFORE, AFTER, moved="b/a.py")
    )
    new, old, changed = changes_in(patch)
    assert (new.kind, new.path, new.after and new.after.content) == (PatchKind.ADD, "new.py", "one\n\ntwo\n")
    assert (old.kind, old.names, old.after) == (PatchKind.DELETE, ("old.py",), None)
    assert (changed.kind, changed.names, len(changed.pieces)) == (PatchKind.UPDATE, ("a.py", "b/a.py"), 2)
    assert pieced(BEFORE, changed.pieces) == AFTER


@pytest.mark.parametrize(
    ("inside", "pieces"),
    [
        ("*** Update File: a\n@@ def f():\n-old\n+new", (("old\n", "new\n"),)),
        ("*** Update File: a\n-old\n+new", (("old\n", "new\n"),)),
        ("*** Update File: a\n@@\n same\n\n-old", (("same\n\nold\n", "same\n\n"),)),
        ("*** Update File: a\n@@\n+at the end\n*** End of File", (("", "at the end\n"),)),
        ("*** Update File: a\n@@\n-x\n+y\r\n@@\n-z\n+w", (("x\n", "y\n"), ("z\n", "w\n"))),
        ("*** Environment ID: e1\n  *** Update File: a  \n@@\n-x\n+y", (("x\n", "y\n"),)),
        ("*** Update File: a\n*** Move to: b", ()),
        ("*** Update File: a\n@@\n same", ()),
    ],
)
def test_chunks_in_every_shape_that_codex_takes(inside: str, pieces: tuple[tuple[str, str], ...]) -> None:
    (change,) = changes_in(patch_text(inside))
    assert tuple((piece.before, piece.after) for piece in change.pieces) == pieces


@pytest.mark.parametrize(
    "text",
    [
        *("", "*** Begin Patch", "*** End Patch\n*** Begin Patch", "just words"),
        patch_text("*** Update File: a\n@@\nno sign before it"),
        patch_text("*** Add File: a\nno sign before it"),
        patch_text("*** Delete File: a\n-x"),
        patch_text("words before any file"),
    ],
)
def test_what_is_no_patch_gives_nothing(text: str) -> None:
    assert changes_in(text) == ()


@pytest.mark.parametrize("outside", [False, True])
def test_changes_as_events_tell_them(outside: bool) -> None:
    said: dict[str, Any] = {
        "/w/c.py": {"update": {"unified_diff": unified(BEFORE, AFTER), "move_path": "/w/d.py"}},
        "/w/a.py": {"add": {"content": "one\n"}},
        "/w/b.py": {"delete": {"content": "gone\n"}},
    }
    if not outside:
        said = {path: {"type": kind, **inner} for path, told in said.items() for kind, inner in told.items()}
    new, old, changed = read_event_changes(said)
    assert (new.path, new.after and new.after.content) == ("/w/a.py", "one\n")
    assert (old.path, old.before and old.before.content) == ("/w/b.py", "gone\n")
    assert (changed.names, [piece.lines for piece in changed.pieces]) == (
        ("/w/c.py", "/w/d.py"),
        [Lines(2, 4), Lines(20, 22)],
    )
    assert pieced(BEFORE, changed.pieces) == AFTER


def test_an_erased_diff_is_known_to_have_been_there() -> None:
    (change,) = read_event_changes({"a.py": {"type": "update", "unified_diff": {"$erased": "sha256:" + "0" * 64}}})
    assert change.untold is not None and change.untold.content is None


LINES = st.lists(st.sampled_from(["a", "b", "c", "--- x", "+++ y", "@@", " ", "", "*** End Patch"]), max_size=12)


@given(LINES, LINES)
def test_a_diff_gives_back_what_it_was_made_of(old: list[str], new: list[str]) -> None:
    before, after = ("".join(f"{n} {line}\n" for n, line in enumerate(lines)) for lines in (old, new))
    (change,) = read_event_changes({"a": {"type": "update", "unified_diff": unified(before, after)}})
    assert pieced(before, change.pieces) == after
    for told in changes_in(patch_text(updated("a", before, after))):
        assert pieced(before, told.pieces) == after


@given(st.text(), json_values)
def test_anything_is_read_without_an_error(text: str, said: Any) -> None:
    assert isinstance(changes_in(patch_text(text)), tuple)
    assert isinstance(read_event_changes(said), tuple)
    assert isinstance(read_event_changes({"a": said, "b": {"type": "update", "unified_diff": text}}), tuple)
