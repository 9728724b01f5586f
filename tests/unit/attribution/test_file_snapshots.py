"""The snapshots of a file, each observation once."""

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from custody.attribution.lineage import (
    IMPORTED,
    FileSnapshot,
    apply_file_snapshot,
    attach_moved_lines,
    file_snapshot_from_view,
    merge_file_snapshots,
)
from custody.core.ids import AgentName, CallId, CommitSha, RecordRef, Seq, SessionId, StoreId, digest_from_bytes
from custody.core.paths import RepoPath
from custody.core.views import TRANSCRIPT, FileEdit, FileState, Text

ROBOT, SESSION, PATH = AgentName("robot"), SessionId("s1"), RepoPath(b"app.py")
HEAD = CommitSha("a" * 40)


def ref(seq: int = 1) -> RecordRef:
    return RecordRef(StoreId("5" * 32), Seq(seq))


def captured(text: str) -> Text:
    return Text(digest_from_bytes(text.encode()), text)


ERASED = Text(digest_from_bytes(b"a secret"), None)


def an_edit(**fields: Any) -> FileEdit:
    defaults: dict[str, Any] = {"id": "e1", "at_ns": 10, "before": captured("old\n"), "after": captured("new\n")}
    return FileEdit(**{"agent": ROBOT, "session": SESSION, "path": PATH, **defaults, **fields})


def a_state(**fields: Any) -> FileState:
    defaults: dict[str, Any] = {"phase": "after", "call": CallId("c1"), "at_ns": 10, "text": captured("new\n")}
    return FileState(**{"agent": ROBOT, "session": SESSION, "path": PATH, **defaults, **fields})


def a_snapshot(seq: int = 1, kind: str = "hook", **fields: Any) -> FileSnapshot:
    return file_snapshot_from_view(an_edit(**fields), ref(seq), 0, kind)


def test_an_edit_is_a_call_with_its_texts() -> None:
    snapshot = a_snapshot(revision=HEAD, proposed=captured("mine\n"), part=True)
    assert (snapshot.before, snapshot.after, snapshot.proposed) == ("old\n", "new\n", "mine\n")
    assert (snapshot.is_call, snapshot.part, snapshot.revision, snapshot.at_ns) == (True, True, HEAD, 10)


def test_an_erased_text_supports_nothing() -> None:
    assert a_snapshot(after=ERASED).after is None
    assert a_snapshot(after=None).after is None
    assert apply_file_snapshot(a_snapshot(after=ERASED), ["old"]) is None


def test_with_an_erased_text_before_nothing_is_replayed() -> None:
    assert apply_file_snapshot(a_snapshot(before=ERASED), None) is None
    assert apply_file_snapshot(a_snapshot(before=ERASED, part=True), ["old"]) is None
    assert apply_file_snapshot(a_snapshot(before=None), None) == (["new"], True), "a new file"


def test_a_file_observed_after_a_call_is_the_calls_and_other_observations_are_not() -> None:
    assert file_snapshot_from_view(a_state(), ref(), 0).is_call
    assert not file_snapshot_from_view(a_state(phase="before"), ref(), 0).is_call
    assert not file_snapshot_from_view(a_state(session=None, call=None), ref(), 0).is_call


def test_a_deleted_file_is_empty_and_a_binary_one_is_unknown() -> None:
    assert file_snapshot_from_view(a_state(text=None, gone=True), ref(), 0).after == ""
    assert file_snapshot_from_view(a_state(text=None), ref(), 0).after is None
    assert file_snapshot_from_view(a_state(text=ERASED), ref(), 0).after is None


def test_observations_at_two_times_are_two_and_snapshots_of_one_call_are_one() -> None:
    looks = [file_snapshot_from_view(a_state(phase="before", at_ns=at), ref(at), 0) for at in (1, 2)]
    assert len(merge_file_snapshots(looks)) == 2
    snapshots = [file_snapshot_from_view(a_state(at_ns=at), ref(at), 0) for at in (1, 2)]
    assert [snapshot.at_ns for snapshot in merge_file_snapshots(snapshots)] == [1]


@pytest.mark.parametrize("kind", [TRANSCRIPT, IMPORTED])
def test_two_observations_of_one_call_count_once_and_the_hook_wins_over_a_claim(kind: str) -> None:
    hook = a_snapshot(1, after=captured("from the hook\n"), at_ns=20, revision=None)
    claim = a_snapshot(2, kind, after=captured("from elsewhere\n"), at_ns=10, revision="a" * 40)
    for order in permutations((hook, claim)):
        (snapshot,) = merge_file_snapshots(order)
        assert (snapshot.after, snapshot.kind) == ("from the hook\n", "hook")
        assert (snapshot.at_ns, snapshot.revision) == (20, None)


@pytest.mark.parametrize(
    ("worse", "better"),
    [
        ({"after": ERASED}, {"after": captured("new\n"), "part": True}),
        ({"part": True, "before": captured("x\n")}, {"before": None}),
        ({"before": None}, {"before": captured("x\n")}),
    ],
)
def test_the_more_detailed_observation_wins(worse: dict[str, Any], better: dict[str, Any]) -> None:
    bad, good = a_snapshot(9, TRANSCRIPT, **worse), a_snapshot(1, **better)
    for order in permutations((bad, good)):
        (snapshot,) = merge_file_snapshots(order)
        assert (snapshot.ref, snapshot.part, snapshot.after) == (good.ref, good.part, good.after)


def test_missing_fields_come_from_the_other_observation() -> None:
    better = a_snapshot(2, after=captured("new\n"))
    worse = a_snapshot(1, after=captured("new\n"), before=None, revision=HEAD, proposed=captured("mine\n"))
    (snapshot,) = merge_file_snapshots((better, worse))
    assert (snapshot.ref, snapshot.revision, snapshot.proposed) == (better.ref, HEAD, "mine\n")


def test_a_claim_adds_only_the_proposed_text_to_a_recorded_observation() -> None:
    better = a_snapshot(1)
    worse = a_snapshot(2, TRANSCRIPT, revision=HEAD, proposed=captured("mine\n"))
    (snapshot,) = merge_file_snapshots((better, worse))
    assert (snapshot.ref, snapshot.revision, snapshot.proposed) == (better.ref, None, "mine\n")


def test_the_text_before_a_piece_is_not_used_for_a_whole_file() -> None:
    (snapshot,) = merge_file_snapshots(
        (a_snapshot(1, before=None), a_snapshot(2, part=True, before=captured("piece\n")))
    )
    assert (snapshot.part, snapshot.before) == (False, None)


OBSERVATIONS = st.lists(
    st.builds(
        lambda kind, **fields: a_snapshot(1, kind, **fields),
        st.sampled_from(("hook", TRANSCRIPT)),
        id=st.sampled_from(("e1", "e2", "c1:shell:0")),
        at_ns=st.integers(1, 3),
        before=st.sampled_from((None, ERASED, captured("x\n"), captured("y\n"))),
        after=st.sampled_from((None, ERASED, captured("x\n"), captured("y\n"))),
        proposed=st.sampled_from((None, captured("x\n"), captured("y\n"))),
        part=st.booleans(),
        revision=st.sampled_from((None, HEAD)),
    ),
    max_size=5,
)


def _without_refs(snapshots: list[FileSnapshot]) -> list[FileSnapshot]:
    return [replace(snapshot, ref=ref(0)) for snapshot in merge_file_snapshots(snapshots)]


@given(OBSERVATIONS, st.randoms(use_true_random=False))
def test_the_order_in_which_observations_arrived_never_matters(observed: list[FileSnapshot], chance: Any) -> None:
    # Lines of one transcript have an order, so only what hooks recorded at one time may change places.
    transcribed = {snapshot.observed for snapshot in observed if snapshot.kind == TRANSCRIPT}
    again = [snapshot for snapshot in observed if snapshot.observed not in transcribed]
    chance.shuffle(again)
    again += [snapshot for snapshot in observed if snapshot.observed in transcribed]
    first = [replace(snapshot, ref=ref(seq)) for seq, snapshot in enumerate(observed)]
    second = [replace(snapshot, ref=ref(seq)) for seq, snapshot in enumerate(again)]
    assert _without_refs(first) == _without_refs(second)


def test_calls_of_one_time_keep_the_order_of_their_transcript() -> None:
    calls = [a_snapshot(seq, TRANSCRIPT, id=name) for seq, name in enumerate(("c9", "c2", "c5"), start=1)]
    for order in permutations(calls):
        assert [snapshot.ref.seq for snapshot in merge_file_snapshots(order)] == [1, 2, 3]
    by_name = [replace(call, kind="hook") for call in calls]
    assert [snapshot.ref.seq for snapshot in merge_file_snapshots(by_name)] == [2, 3, 1]


def test_snapshots_are_ordered_by_time_calls_before_observations() -> None:
    look = file_snapshot_from_view(a_state(phase="before", at_ns=10), ref(3), 0)
    later, call = a_snapshot(2, id="e2", at_ns=11), a_snapshot(1, id="e1", at_ns=10)
    assert [snapshot.ref.seq for snapshot in merge_file_snapshots((later, look, call))] == [1, 3, 2]


def test_a_snapshot_replaces_an_edit_parsed_from_a_command() -> None:
    shell = a_snapshot(1, id="c1:shell:0")
    snapshot = file_snapshot_from_view(a_state(call=CallId("c1")), ref(2), 0)
    other = file_snapshot_from_view(a_state(call=CallId("c2")), ref(3), 0)
    assert [snapshot.ref.seq for snapshot in merge_file_snapshots((shell, snapshot))] == [2]
    assert [snapshot.ref.seq for snapshot in merge_file_snapshots((shell, other))] == [1, 3]


def test_a_piece_is_applied_at_its_first_match() -> None:
    piece = a_snapshot(part=True, before=captured("b\n"), after=captured("x\ny\n"))
    assert apply_file_snapshot(piece, ["a", "b", "c", "b"]) == (["a", "x", "y", "c", "b"], True)
    windows = a_snapshot(part=True, before=captured("b\r\nc\r\n"), after=captured("x\r\n"))
    assert apply_file_snapshot(windows, ["a", "b", "c"]) == (["a", "x"], True)


def test_a_piece_without_a_match_is_only_itself() -> None:
    piece = a_snapshot(part=True, before=captured("b\n"), after=captured("x\n"))
    assert apply_file_snapshot(piece, ["a", "c"]) == (["x"], False)
    assert apply_file_snapshot(piece, None) == (["x"], False)


def test_a_piece_that_replaces_nothing_is_appended() -> None:
    piece = a_snapshot(part=True, before=None, after=captured("x\n"))
    assert apply_file_snapshot(piece, ["a"]) == (["a", "x"], True)
    assert apply_file_snapshot(piece, []) == (["x"], True)


def a_piece(n: int, before: str, after: str, seq: int = 1, call: str = "c1") -> FileSnapshot:
    view = an_edit(id=f"e{n}", call=CallId(call), part=True, before=captured(before), after=captured(after))
    return file_snapshot_from_view(view, ref(seq), n)


def test_a_piece_gets_the_lines_that_other_pieces_of_its_call_removed() -> None:
    taking, putting = a_piece(0, "a\nmoved\nb\n", "a\nb\n"), a_piece(1, "x\n", "x\n moved\nnew\n")
    assert [lines for _, lines in attach_moved_lines([taking, putting])] == [(), ("moved",)]
    assert [lines for _, lines in attach_moved_lines([putting, taking])] == [("moved",), ()]


@pytest.mark.parametrize(
    "other",
    [
        a_piece(1, "x\n", "moved\n", seq=2),
        a_piece(1, "x\n", "moved\n", call="c2"),
        a_snapshot(part=False, before=None, after=captured("moved\n"), call=CallId("c1")),
    ],
    ids=["of another record", "of another call", "no piece"],
)
def test_pieces_of_other_calls_and_whole_files_are_ignored(other: FileSnapshot) -> None:
    assert [lines for _, lines in attach_moved_lines([a_piece(0, "moved\n", ""), other])] == [(), ()]


@given(st.lists(st.tuples(st.text("abc\n", max_size=12), st.text("abc\n", max_size=12)), max_size=6))
def test_every_piece_gets_only_its_new_lines_that_another_piece_removed(texts: list[Any]) -> None:
    pieces = [a_piece(n, before, after) for n, (before, after) in enumerate(texts)]
    told = list(attach_moved_lines(pieces))
    assert [snapshot for snapshot, _ in told] == pieces
    for snapshot, lines in told:
        others = "\n".join(piece.before or "" for piece in pieces if piece is not snapshot).split("\n")
        assert set(lines) <= set(others) & set((snapshot.after or "").split("\n"))
