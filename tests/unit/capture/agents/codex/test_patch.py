"""Codex's patches: changes in their text and in events, and none for any other text."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.capture.patch import PatchHunk, PatchKind, parse_event_changes, parse_patch_text
from custody.core.paths import Lines
from tests.builders.codex import added, deleted, patch_text, unified, updated
from tests.builders.drawn import json_values

BEFORE = "".join(f"line {n}\n" for n in range(1, 31))
AFTER = BEFORE.replace("line 3\n", "third\n").replace("line 20\n", "line 20\nmore\n")


def pieced(text: str, pieces: tuple[PatchHunk, ...]) -> str:
    """Return ``text`` with each piece replaced, one after the other."""
    for piece in pieces:
        assert piece.before in text
        text = text.replace(piece.before, piece.after, 1) if piece.before else text + piece.after
    return text


def test_files_that_are_added_deleted_changed_and_moved() -> None:
    patch = patch_text(
        added("new.py", "one\n\ntwo\n"), deleted("old.py"), updated("a.py", BEFORE, AFTER, moved="b/a.py")
    )
    new, old, changed = parse_patch_text(patch)
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
def test_chunks_in_every_shape_that_codex_accepts(inside: str, pieces: tuple[tuple[str, str], ...]) -> None:
    (change,) = parse_patch_text(patch_text(inside))
    assert tuple((piece.before, piece.after) for piece in change.pieces) == pieces


@pytest.mark.parametrize(
    "text",
    [
        *("", "*** Begin Patch", "*** End Patch\n*** Begin Patch", "just words"),
        patch_text("*** Update File: a\n@@\nno mark before it"),
        patch_text("*** Add File: a\nno mark before it"),
        patch_text("*** Delete File: a\n-x"),
        patch_text("words before any file"),
    ],
)
def test_other_texts_give_no_changes(text: str) -> None:
    assert parse_patch_text(text) == ()


@pytest.mark.parametrize("outside", [False, True])
def test_changes_in_events(outside: bool) -> None:
    said: dict[str, Any] = {
        "/w/c.py": {"update": {"unified_diff": unified(BEFORE, AFTER), "move_path": "/w/d.py"}},
        "/w/a.py": {"add": {"content": "one\n"}},
        "/w/b.py": {"delete": {"content": "gone\n"}},
    }
    if not outside:
        said = {path: {"type": kind, **inner} for path, told in said.items() for kind, inner in told.items()}
    new, old, changed = parse_event_changes(said)
    assert (new.path, new.after and new.after.content) == ("/w/a.py", "one\n")
    assert (old.path, old.before and old.before.content) == ("/w/b.py", "gone\n")
    assert (changed.names, [piece.lines for piece in changed.pieces]) == (
        ("/w/c.py", "/w/d.py"),
        [Lines(2, 4), Lines(20, 22)],
    )
    assert pieced(BEFORE, changed.pieces) == AFTER


def test_an_erased_diff_is_reported_as_erased() -> None:
    (change,) = parse_event_changes({"a.py": {"type": "update", "unified_diff": {"$erased": "sha256:" + "0" * 64}}})
    assert change.erased is not None and change.erased.content is None


LINES = st.lists(st.sampled_from(["a", "b", "c", "--- x", "+++ y", "@@", " ", "", "*** End Patch"]), max_size=12)


@given(LINES, LINES)
def test_a_diff_round_trips(old: list[str], new: list[str]) -> None:
    before, after = ("".join(f"{n} {line}\n" for n, line in enumerate(lines)) for lines in (old, new))
    (change,) = parse_event_changes({"a": {"type": "update", "unified_diff": unified(before, after)}})
    assert pieced(before, change.pieces) == after
    for told in parse_patch_text(patch_text(updated("a", before, after))):
        assert pieced(before, told.pieces) == after


@given(st.text(), json_values)
def test_anything_is_read_without_an_error(text: str, said: Any) -> None:
    assert isinstance(parse_patch_text(patch_text(text)), tuple)
    assert isinstance(parse_event_changes(said), tuple)
    assert isinstance(parse_event_changes({"a": said, "b": {"type": "update", "unified_diff": text}}), tuple)
