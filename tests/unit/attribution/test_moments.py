"""What was captured of a file, each observed thing once."""

from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.attribution.lineage import IMPORTED, FileSnapshot, apply_moment, merge_moments, moment_of, with_taken
from custody.core.ids import AgentName, CallId, CommitSha, RecordRef, Seq, SessionId, StoreId, digest_of
from custody.core.paths import RepoPath
from custody.core.views import TRANSCRIPT, FileEdit, FileState, Text

ROBOT, SESSION, PATH = AgentName("robot"), SessionId("s1"), RepoPath(b"app.py")
HEAD = CommitSha("a" * 40)


def ref(seq: int = 1) -> RecordRef:
    return RecordRef(StoreId("5" * 32), Seq(seq))


def captured(text: str) -> Text:
    return Text(digest_of(text.encode()), text)


ERASED = Text(digest_of(b"a secret"), None)


def an_edit(**fields: Any) -> FileEdit:
    usual: dict[str, Any] = {"id": "e1", "at_ns": 10, "before": captured("old\n"), "after": captured("new\n")}
    return FileEdit(**{"agent": ROBOT, "session": SESSION, "path": PATH, **usual, **fields})


def a_state(**fields: Any) -> FileState:
    usual: dict[str, Any] = {"phase": "after", "call": CallId("c1"), "at_ns": 10, "text": captured("new\n")}
    return FileState(**{"agent": ROBOT, "session": SESSION, "path": PATH, **usual, **fields})


def a_moment(seq: int = 1, kind: str = "hook", **fields: Any) -> FileSnapshot:
    return moment_of(an_edit(**fields), ref(seq), 0, kind)


def test_an_edit_is_a_call_with_its_texts() -> None:
    moment = a_moment(revision=HEAD, proposed=captured("mine\n"), part=True)
    assert (moment.before, moment.after, moment.proposed) == ("old\n", "new\n", "mine\n")
    assert (moment.is_call, moment.part, moment.revision, moment.at_ns) == (True, True, HEAD, 10)


def test_an_erased_text_supports_nothing() -> None:
    assert a_moment(after=ERASED).after is None
    assert a_moment(after=None).after is None
    assert apply_moment(a_moment(after=ERASED), ["old"]) is None


def test_without_the_erased_text_before_nothing_after_is_the_calls() -> None:
    assert apply_moment(a_moment(before=ERASED), None) is None
    assert apply_moment(a_moment(before=ERASED, part=True), ["old"]) is None
    assert apply_moment(a_moment(before=None), None) == (["new"], True), "a file that was not there"


def test_a_file_seen_after_a_call_is_the_calls_and_any_other_look_is_nobodys() -> None:
    assert moment_of(a_state(), ref(), 0).is_call
    assert not moment_of(a_state(phase="before"), ref(), 0).is_call
    assert not moment_of(a_state(session=None, call=None), ref(), 0).is_call


def test_a_file_that_is_gone_is_empty_and_a_binary_one_is_unknown() -> None:
    assert moment_of(a_state(text=None, gone=True), ref(), 0).after == ""
    assert moment_of(a_state(text=None), ref(), 0).after is None
    assert moment_of(a_state(text=ERASED), ref(), 0).after is None


def test_looks_at_two_moments_are_two_and_snapshots_of_one_call_are_one() -> None:
    looks = [moment_of(a_state(phase="before", at_ns=at), ref(at), 0) for at in (1, 2)]
    assert len(merge_moments(looks)) == 2
    snapshots = [moment_of(a_state(at_ns=at), ref(at), 0) for at in (1, 2)]
    assert [moment.at_ns for moment in merge_moments(snapshots)] == [1]


@pytest.mark.parametrize("kind", [TRANSCRIPT, IMPORTED])
def test_two_observations_of_one_call_count_once_and_a_claim_does_not_displace_what_the_hook_saw(kind: str) -> None:
    hook = a_moment(1, after=captured("from the hook\n"), at_ns=20, revision=None)
    claim = a_moment(2, kind, after=captured("from elsewhere\n"), at_ns=10, revision="a" * 40)
    for order in permutations((hook, claim)):
        (moment,) = merge_moments(order)
        assert (moment.after, moment.kind) == ("from the hook\n", "hook")
        assert (moment.at_ns, moment.revision) == (20, None)


@pytest.mark.parametrize(
    ("worse", "better"),
    [
        ({"after": ERASED}, {"after": captured("new\n"), "part": True}),
        ({"part": True, "before": captured("x\n")}, {"before": None}),
        ({"before": None}, {"before": captured("x\n")}),
    ],
)
def test_a_text_outdoes_none_a_whole_file_outdoes_a_piece_and_both_texts_outdo_one(
    worse: dict[str, Any], better: dict[str, Any]
) -> None:
    bad, good = a_moment(9, TRANSCRIPT, **worse), a_moment(1, **better)
    for order in permutations((bad, good)):
        (moment,) = merge_moments(order)
        assert (moment.ref, moment.part, moment.after) == (good.ref, good.part, good.after)


def test_what_the_better_one_does_not_know_the_other_tells() -> None:
    better = a_moment(2, after=captured("new\n"))
    worse = a_moment(1, after=captured("new\n"), before=None, revision=HEAD, proposed=captured("mine\n"))
    (moment,) = merge_moments((better, worse))
    assert (moment.ref, moment.revision, moment.proposed) == (better.ref, HEAD, "mine\n")


def test_a_claim_tells_of_a_persons_part_and_of_nothing_else() -> None:
    better = a_moment(1)
    worse = a_moment(2, TRANSCRIPT, revision=HEAD, proposed=captured("mine\n"))
    (moment,) = merge_moments((better, worse))
    assert (moment.ref, moment.revision, moment.proposed) == (better.ref, None, "mine\n")


def test_the_text_before_a_piece_is_not_that_of_a_whole_file() -> None:
    (moment,) = merge_moments((a_moment(1, before=None), a_moment(2, part=True, before=captured("piece\n"))))
    assert (moment.part, moment.before) == (False, None)


OBSERVATIONS = st.lists(
    st.builds(
        lambda kind, **fields: a_moment(1, kind, **fields),
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


def _told(moments: list[FileSnapshot]) -> list[FileSnapshot]:
    return [replace(moment, ref=ref(0)) for moment in merge_moments(moments)]


@given(OBSERVATIONS, st.randoms(use_true_random=False))
def test_the_order_in_which_observations_arrived_never_matters(observed: list[FileSnapshot], chance: Any) -> None:
    again = list(observed)
    chance.shuffle(again)
    first = [replace(moment, ref=ref(seq)) for seq, moment in enumerate(observed)]
    second = [replace(moment, ref=ref(seq)) for seq, moment in enumerate(again)]
    assert _told(first) == _told(second)


def test_moments_stand_in_the_order_of_time_calls_before_looks() -> None:
    look = moment_of(a_state(phase="before", at_ns=10), ref(3), 0)
    later, call = a_moment(2, id="e2", at_ns=11), a_moment(1, id="e1", at_ns=10)
    assert [moment.ref.seq for moment in merge_moments((later, look, call))] == [1, 3, 2]


def test_an_edit_read_out_of_a_command_is_outdone_by_what_was_seen_on_disk() -> None:
    shell = a_moment(1, id="c1:shell:0")
    snapshot = moment_of(a_state(call=CallId("c1")), ref(2), 0)
    other = moment_of(a_state(call=CallId("c2")), ref(3), 0)
    assert [moment.ref.seq for moment in merge_moments((shell, snapshot))] == [2]
    assert [moment.ref.seq for moment in merge_moments((shell, other))] == [1, 3]


def test_a_piece_is_put_into_the_file_at_its_first_place() -> None:
    piece = a_moment(part=True, before=captured("b\n"), after=captured("x\ny\n"))
    assert apply_moment(piece, ["a", "b", "c", "b"]) == (["a", "x", "y", "c", "b"], True)
    windows = a_moment(part=True, before=captured("b\r\nc\r\n"), after=captured("x\r\n"))
    assert apply_moment(windows, ["a", "b", "c"]) == (["a", "x"], True)


def test_a_piece_without_its_place_is_only_itself() -> None:
    piece = a_moment(part=True, before=captured("b\n"), after=captured("x\n"))
    assert apply_moment(piece, ["a", "c"]) == (["x"], False)
    assert apply_moment(piece, None) == (["x"], False)


def test_a_piece_that_replaces_nothing_is_put_at_the_end() -> None:
    piece = a_moment(part=True, before=None, after=captured("x\n"))
    assert apply_moment(piece, ["a"]) == (["a", "x"], True)
    assert apply_moment(piece, []) == (["x"], True)


def a_piece(n: int, before: str, after: str, seq: int = 1, call: str = "c1") -> FileSnapshot:
    view = an_edit(id=f"e{n}", call=CallId(call), part=True, before=captured(before), after=captured(after))
    return moment_of(view, ref(seq), n)


def test_a_piece_is_told_of_the_lines_that_other_pieces_of_its_call_took_out() -> None:
    taking, putting = a_piece(0, "a\nmoved\nb\n", "a\nb\n"), a_piece(1, "x\n", "x\n moved\nnew\n")
    assert [lines for _, lines in with_taken([taking, putting])] == [(), ("moved",)]
    assert [lines for _, lines in with_taken([putting, taking])] == [("moved",), ()]


@pytest.mark.parametrize(
    "other",
    [
        a_piece(1, "x\n", "moved\n", seq=2),
        a_piece(1, "x\n", "moved\n", call="c2"),
        a_moment(part=False, before=None, after=captured("moved\n"), call=CallId("c1")),
    ],
    ids=["of another record", "of another call", "no piece"],
)
def test_nothing_is_told_of_another_calls_pieces_nor_to_a_whole_file(other: FileSnapshot) -> None:
    assert [lines for _, lines in with_taken([a_piece(0, "moved\n", ""), other])] == [(), ()]


@given(st.lists(st.tuples(st.text("abc\n", max_size=12), st.text("abc\n", max_size=12)), max_size=6))
def test_every_piece_is_told_only_of_its_new_lines_and_never_of_what_it_took_out_itself(texts: list[Any]) -> None:
    pieces = [a_piece(n, before, after) for n, (before, after) in enumerate(texts)]
    told = list(with_taken(pieces))
    assert [moment for moment, _ in told] == pieces
    for moment, lines in told:
        others = "\n".join(one.before or "" for one in pieces if one is not moment).split("\n")
        assert set(lines) <= set(others) & set((moment.after or "").split("\n"))
