"""Lineage from end to end: real repositories, events as hooks record them, and the answer for each line."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from custody.attribution.app.answers import (
    BEFORE_CALLS,
    BEFORE_CAPTURE,
    CAME_BACK,
    LAID_OUT,
    NOT_THIS_CALL,
    NOTHING_SHOWS,
    SAYS_LITTLE,
)
from custody.attribution.app.blame import blame
from custody.attribution.app.findings import TOO_LITTLE
from custody.core.errors import InputError
from custody.core.ids import CommitSha, digest_from_bytes
from custody.core.paths import Lines
from custody.core.wire.report import encode_report
from custody.ledger.records import erase_record_bodies
from custody.store import StoreUnwritable
from custody.store.sqlite import SqliteDb
from custody.workspace.workspace import Workspace
from tests.builders.cli import spool_of
from tests.builders.events import an_event
from tests.builders.hooks import a_recorded_edit
from tests.builders.lines import SESSION, Scene, an_edit_event, moment, text
from tests.builders.processes import started_from_now
from tests.builders.repo import a_clone, a_repository, a_worktree
from tests.builders.traces import a_conversation, a_link, a_range, a_trace, written

OLD = text("import alpha_module", "price = read_price(source)", "print_the_price(price)")
ADDED = text("def discount(prices, percent):", "    return total(prices) * percent")
NEW = OLD + ADDED
"""Lines 4 and 5 are the agent's."""
SECOND = text("second_call_line = something_else(price)")
MARKED = "...AA"


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path / "repository")


def edited(scene: Scene, *, at: int = 10, **fields: Any) -> CommitSha:
    """Commit a person's file, and record an agent that then adds two lines to it."""
    base = scene.committed(at=-100, app__py=OLD)
    scene.edited("app.py", OLD, NEW, at=at, head=base, **fields)
    return base


def committed_edit(scene: Scene, **fields: Any) -> tuple[CommitSha, CommitSha]:
    """Record the same edit and commit it ten seconds later."""
    base = edited(scene, **fields)
    return base, scene.committed(base, at=20, app__py=NEW)


def recorded_edit(scene: Scene, *, at: int = 10) -> tuple[CommitSha, CommitSha]:
    """Record the same edit by an agent's hook, and commit it ten seconds later."""
    base = scene.committed(at=-100, app__py=OLD)
    fields: dict[str, Any] = {"session": SESSION, "head": base, "id": f"e{at}", "call": f"c{at}"}
    scene.saw(a_recorded_edit("app.py", OLD, NEW, root=scene.built.path, at=moment(at), **fields))
    return base, scene.committed(base, at=20, app__py=NEW)


def answers(scene: Scene) -> bytes:
    """Return the whole answer without the count of searched records."""
    report = json.loads(encode_report(scene.report()))
    for attribution in report["attributions"]:
        (attribution["searched"] or {}).pop("records", None)
    return json.dumps(report).encode()


# --- lines of commits and of the work tree --------------------------------------------------------------------------


def test_added_lines_are_the_agents_and_the_others_have_no_evidence(scene: Scene) -> None:
    recorded_edit(scene)
    assert scene.marks() == MARKED
    none, agent = scene.said()
    assert (none.start_line, none.end_line, none.reason) == (1, 3, BEFORE_CALLS)
    assert (agent.start_line, agent.end_line, agent.share, agent.session_id) == (4, 5, 1.0, "s1")
    assert agent.agent == "claude-code"
    assert agent.tool_call_id == "c10"
    assert agent.signals == ["content_hash", "revision_parent", "range_match", "timestamp_match"]
    assert (agent.tier, agent.confidence, agent.score, agent.grade) == (3, 0.95, 60.0, "recorded")


def test_many_captured_edits_take_no_more_processes_than_few(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    base = scene.committed(at=-100, app__py=OLD)
    taken = []
    for many in (2, 20):
        for n in range(many):
            scene.edited("app.py", None, f"{OLD}written = over({many}, {n})\n", at=many * 100 + n, head=base)
        started = started_from_now(monkeypatch)
        scene.report()
        taken.append(len(started))
    assert taken[1] <= taken[0]


def test_uncommitted_lines_count_on_top_of_head(scene: Scene) -> None:
    base = edited(scene)
    scene.wrote("app.py", NEW + "typed_by_somebody = 1\n")
    assert scene.marks() == MARKED + "."
    agent = scene.said()[1]
    assert (agent.commits, agent.signals) == (
        [],
        ["content_hash", "revision_parent", "range_match", "timestamp_match"],
    )
    assert scene.said("app.py", base)[0].commits == [base]


def test_any_revision_is_answered_as_of_that_commit(scene: Scene) -> None:
    base, _ = committed_edit(scene)
    assert scene.marks("app.py", base) == "..."
    assert scene.marks("app.py", "HEAD") == scene.marks("app.py", "main") == MARKED
    assert scene.marks("app.py", "HEAD~1") == "..."


def test_only_the_requested_line_ranges_are_answered_in_order_and_each_line_once(scene: Scene) -> None:
    committed_edit(scene)
    found = scene.said("app.py", None, Lines(4, 5), Lines(3, 4), Lines(1, 1))
    assert [(line.start_line, line.end_line, line.kind) for line in found] == [
        (1, 1, "none"),
        (3, 3, "none"),
        (4, 5, "agent"),
    ]


def test_in_a_repository_without_a_commit_the_work_tree_is_answered(scene: Scene) -> None:
    scene.edited("app.py", OLD, NEW).wrote("app.py", NEW)
    assert scene.marks() == MARKED


def test_a_commit_older_than_the_first_capture_is_not_read(scene: Scene) -> None:
    old = scene.committed(at=-3 * 86_400, app__py=OLD)
    scene.edited("app.py", OLD, NEW, at=0, head=old)
    scene.committed(old, at=10, app__py=NEW)
    none, agent = scene.said()
    assert (none.reason, none.commits, none.searched is not None and none.searched.commits) == (BEFORE_CAPTURE, [], 1)
    assert agent.kind == "agent"


def test_before_anything_was_captured_every_line_is_none(scene: Scene) -> None:
    scene.committed(app__py=OLD)
    (none,) = scene.said()
    assert (none.kind, none.tier, none.confidence, none.trace_id) == ("none", None, 0.0, None)
    assert none.searched is not None
    assert (none.searched.since, none.searched.records, none.searched.commits) == (None, 0, 0)


# --- who wrote it ----------------------------------------------------------------------------------------------------


def test_text_typed_between_two_calls_is_none_even_inside_the_agents_text(scene: Scene) -> None:
    base = edited(scene)
    inside = NEW.replace("    return", "    person_between = check_the(percent)\n    return")
    scene.edited("app.py", inside, inside + SECOND, at=20, head=base)
    scene.committed(base, at=30, app__py=inside + SECOND)
    assert scene.marks() == "...A.AA"
    assert scene.said()[2].reason == NOT_THIS_CALL


def test_rewriting_a_file_leaves_unchanged_lines_none(scene: Scene) -> None:
    scene.committed(at=-100, other__py="x\n")
    scene.edited("app.py", OLD, text("written_by_the_agent = 1") + OLD, at=10)
    scene.wrote("app.py", text("written_by_the_agent = 1") + OLD)
    assert scene.marks() == "A..."


def test_lines_that_a_record_names_a_person_for_are_the_persons(scene: Scene) -> None:
    base = scene.committed(at=-100, app__py=OLD)
    applied = OLD + text("agent_wrote_this = 1", "person_wrote_that_instead = 2")
    scene.edited("app.py", OLD, applied, at=10, head=base, proposed=OLD + text("agent_wrote_this = 1", "other = 3"))
    scene.committed(base, at=20, app__py=applied)
    assert scene.marks() == "...AP"
    person = scene.said()[2]
    assert (person.tier, person.confidence, person.share, person.session_id) == (None, 0.0, 0.0, SESSION)
    assert (person.tool_call_id, person.searched) == ("c10", None)


def test_an_edited_line_is_mixed_with_its_share_and_below_half_none(scene: Scene) -> None:
    base = scene.committed(at=-100, app__py=OLD)
    line = "total = price * count * rate"
    scene.edited("app.py", OLD, OLD + text(line), at=10, head=base)
    second = scene.committed(base, at=20, app__py=OLD + text(line))
    scene.committed(second, at=30, app__py=OLD + text(f"{line} + tax"))
    assert scene.marks() == "...m"
    mixed = scene.said()[1]
    assert (mixed.share, mixed.commits) == (0.8, [second, scene.built.head()])
    assert "content_hash" not in mixed.signals
    third = scene.committed(scene.built.head(), at=40, app__py=OLD + text(f"{line} + tax + fee"))
    fourth = scene.committed(third, at=50, app__py=OLD + text(f"{line} + tax + fee + cost + duty"))
    scene.committed(fourth, at=60, app__py=OLD + text(f"{line} + tax + fee + cost + duty + toll"))
    assert (scene.marks(), scene.said()[1].reason) == ("....", TOO_LITTLE)


def test_a_formatter_leaves_lines_the_agents(scene: Scene) -> None:
    base = scene.committed(at=-100, app__py=OLD)
    scene.edited("app.py", OLD, OLD + text("send_it('alpha', 'beta', gamma)"), at=10, head=base)
    formatted = text("send_it(", '    "alpha",', '    "beta",', "    gamma,", ")")
    scene.committed(base, at=20, app__py=OLD + formatted)
    assert scene.marks() == "...AAAAA"


def test_a_commit_never_takes_lines_from_a_call_that_came_after_it(scene: Scene) -> None:
    base = scene.committed(at=0, app__py=OLD)
    later = OLD.replace("read_price(source)", "read_price(source, currency)")
    scene.edited("app.py", OLD, later, at=60, head=base)
    assert scene.marks("app.py", base) == scene.marks() == "..."
    scene.committed(base, at=70, app__py=later)
    assert (scene.marks("app.py", base), scene.marks()) == ("...", ".A.")


def test_a_call_in_the_same_second_as_the_commit_came_before_it(scene: Scene) -> None:
    base = scene.committed(at=-100, app__py=OLD)
    line = "total = price * count * rate"
    half = moment(20).replace("Z", ".5Z")
    scene.saw(an_event("edit", path="app.py", before=OLD, after=OLD + text(line), at=half, session=SESSION, head=base))
    scene.committed(base, at=20, app__py=OLD + text(f"{line} * tax"))
    assert scene.marks() == "...m"


def test_lines_committed_long_before_a_call_are_not_the_calls(scene: Scene) -> None:
    base = scene.committed(at=0, app__py=OLD)
    scene.edited("app.py", None, OLD, at=7200)
    assert scene.marks("app.py", base) == "..."


@pytest.mark.parametrize("kept", [True, False], ids=["committed", "never committed"])
def test_a_line_that_a_person_restored_is_not_the_agents(scene: Scene, kept: bool) -> None:
    base = scene.committed(at=-100, app__py=OLD)
    changed = OLD.replace("read_price(source)", "read_price(source, currency)")
    scene.edited("app.py", OLD, changed, at=10, head=base)
    if kept:
        base = scene.committed(base, at=20, app__py=changed)
    scene.committed(base, at=30, app__py=OLD)
    assert scene.marks() == "..."


def test_the_same_boilerplate_that_a_person_types_elsewhere_stays_none(scene: Scene) -> None:
    base = scene.committed(at=-100, app__py=OLD)
    with_call = OLD + text("log_the_result(price, currency)")
    scene.edited("app.py", OLD, with_call, at=10, head=base)
    second = scene.committed(base, at=20, app__py=with_call)
    scene.committed(second, at=30, app__py=text("log_the_result(price, currency)") + with_call)
    assert scene.marks() == "....A"


def test_lines_follow_a_rename_and_a_move_to_another_file(scene: Scene) -> None:
    _, second = committed_edit(scene)
    third = scene.committed(second, at=30, other__py=NEW)
    assert scene.marks("other.py") == MARKED
    scene.committed(third, at=40, other__py=OLD, third__py=text("start_of_it = 1") + ADDED)
    assert (scene.marks("other.py"), scene.marks("third.py")) == ("...", ".AA")
    moved = scene.said("third.py")[1]
    assert (moved.commits, moved.signals[1]) == ([second, scene.built.head()], "revision_parent")


@pytest.mark.parametrize(("count", "mark"), [(3, "A"), (2, ".")])
def test_a_block_that_another_branch_brought_back_keeps_its_call(scene: Scene, count: int, mark: str) -> None:
    block = [f"distinctive_line_{n} = computed_by({n}, 'the agent')" for n in range(count)]
    base = scene.committed(at=-100, app__py=OLD)
    scene.edited("app.py", OLD, OLD + text(*block), at=10, head=base)
    scene.edited("app.py", OLD, "on_another_branch = 1\n" + OLD, at=20, head=base)
    both = "on_another_branch = 1\n" + OLD + text(*block)
    scene.edited("app.py", both, both + SECOND, at=30, head=base)
    scene.committed(base, at=40, app__py=both + SECOND)
    assert scene.marks() == "A..." + count * mark + "A"


IDIOM = ("    ctx, cancel = a_context.with_timeout(background)", "    defer_until_the_end(cancel)")


@pytest.mark.parametrize(("path", "mark"), [("other.py", "."), ("app.py", "A")])
def test_an_idiom_repeated_after_the_agents_edit_was_discarded_needs_a_session_that_wrote_both(
    scene: Scene, path: str, mark: str
) -> None:
    base = scene.committed(at=-100, app__py=OLD, third__py=OLD)
    scene.edited("third.py", OLD, OLD + text(*IDIOM), at=10, head=base)  # never committed
    scene.edited(path, OLD, OLD + "an_edit_of_the_session = 1\n", at=12, head=base)
    scene.committed(base, at=20, third__py=OLD, app__py=OLD + text(*IDIOM))
    assert scene.marks() == "..." + 2 * mark
    scene.committed(base, at=25, third__py=OLD, app__py=OLD + text(IDIOM[0]))
    assert scene.marks() == "....", "one line is never carried from another file"


def test_a_block_of_distinctive_lines_moves_and_its_signals_name_the_recorded_place(scene: Scene) -> None:
    base = scene.committed(at=-100, third__py=OLD)
    block = text(
        "def discount(prices, percent):", "    net = total(prices) - rebate(prices)", "    return net * percent"
    )
    scene.edited("third.py", OLD, OLD + block, at=10, head=base)
    scene.committed(base, at=20, third__py=OLD, app__py=block)
    (moved,) = scene.said()
    assert {signal.name: signal.why for signal in moved.evidence if signal.points in (10, 30)} == {
        "content_hash": "the trace has exactly this text in 'third.py', lines 4-6",
        "range_match": "the trace recorded an edit of 'third.py', lines 4-6, which moved to 'app.py', lines 1-3",
    }


def test_signals_name_the_lines_as_recorded_when_they_have_other_numbers_now(scene: Scene) -> None:
    base, agents = committed_edit(scene)
    scene.committed(agents, at=30, app__py="a_line = on_top\n" + NEW)
    assert base
    whys = [signal.why for signal in scene.said()[-1].evidence]
    assert "the trace recorded an edit of 'app.py', lines 4-5, now lines 5-6" in whys


def test_the_reason_for_an_unknown_line_says_what_captured_texts_show(scene: Scene) -> None:
    base = scene.committed(at=-100, other__py=OLD)
    scene.edited("app.py", OLD + "}\n", OLD + "}\n" + ADDED, at=10, head=base)
    scene.committed(base, at=20, app__py="never_seen_line = 1\n" + OLD + "}\nnever_seen_either = 2\n" + ADDED)
    reasons = [(one.start_line, one.end_line, one.reason) for one in scene.said() if one.kind == "none"]
    assert reasons == [(1, 1, NOTHING_SHOWS), (2, 4, BEFORE_CALLS), (5, 5, SAYS_LITTLE), (6, 6, NOTHING_SHOWS)]


def test_a_line_whose_layout_alone_a_call_changed_says_so(scene: Scene) -> None:
    base = scene.committed(at=-100, app__py=OLD)
    laid_out = OLD.replace("read_price(source)", "read_price(source,)") + ADDED
    scene.edited("app.py", OLD, laid_out, at=10, head=base)
    scene.committed(base, at=20, app__py=laid_out)
    reasons = [(one.start_line, one.reason) for one in scene.said() if one.kind == "none"]
    assert reasons == [(1, BEFORE_CALLS), (2, LAID_OUT), (3, BEFORE_CALLS)]


def test_a_line_between_two_calls_that_a_call_had_written_before_says_that_it_was_gone(scene: Scene) -> None:
    base = scene.committed(at=-100, app__py=OLD)
    scene.edited("app.py", OLD, OLD + SECOND, at=10, head=base).edited("app.py", OLD + SECOND, OLD, at=20, head=base)
    typed = OLD + "typed_by_a_person = again(price)\n" + SECOND
    scene.edited("app.py", typed, typed + ADDED, at=30, head=base)
    scene.committed(base, at=40, app__py=typed + ADDED)
    reasons = [(one.start_line, one.end_line, one.reason) for one in scene.said() if one.kind == "none"]
    assert reasons == [(1, 3, BEFORE_CALLS), (4, 4, NOT_THIS_CALL), (5, 5, CAME_BACK)]


def test_a_copy_of_an_agents_line_between_two_calls_was_never_gone(scene: Scene) -> None:
    base = scene.committed(at=-100, app__py=OLD)
    scene.edited("app.py", OLD, SECOND + OLD, at=10, head=base)
    copied = SECOND + OLD + SECOND
    scene.edited("app.py", copied, copied + ADDED, at=30, head=base)
    scene.committed(base, at=40, app__py=copied + ADDED)
    reasons = [(one.start_line, one.end_line, one.reason) for one in scene.said() if one.kind == "none"]
    assert reasons == [(2, 4, BEFORE_CALLS), (5, 5, NOT_THIS_CALL)]


def test_text_that_another_file_lost_before_the_commits_parent_did_not_move(scene: Scene) -> None:
    block = text(
        "def discount(prices, percent):", "    net = prices.total() - rebate(prices)", "    return net * percent"
    )
    base = scene.committed(at=-100, third__py=OLD)
    scene.edited("third.py", OLD, OLD + block, at=10, head=base)
    parent = scene.committed(base, at=20, third__py=OLD)
    scene.committed(parent, at=30, third__py=OLD, app__py=block)
    assert scene.marks() == "...", "the commit at 20 had the text nowhere"


def test_a_discarded_line_that_a_person_types_elsewhere_in_the_file_is_not_the_agents(scene: Scene) -> None:
    base = scene.committed(at=-100, app__py=OLD)
    scene.edited("app.py", OLD, SECOND + OLD, at=10, head=base)
    moved = scene.committed(base, at=20, app__py=OLD + SECOND)
    assert scene.marks() == "...A", "moved before any commit lacked it"
    without = scene.committed(moved, at=30, app__py=OLD)
    scene.edited("app.py", OLD, ADDED + OLD, at=40, head=without)
    discarded = scene.committed(without, at=50, app__py=OLD)
    scene.committed(discarded, at=60, app__py=OLD + ADDED.splitlines(keepends=True)[0])
    assert scene.marks() == "...."


def test_lines_copied_by_a_person_while_the_agents_stay_where_they_were_are_none(scene: Scene) -> None:
    _, second = committed_edit(scene)
    scene.committed(second, at=30, app__py=NEW, other__py=text("start_of_it = 1") + ADDED)
    assert scene.marks("other.py") == "..."


def test_a_file_that_was_renamed_by_hand_goes_on_under_its_new_name(scene: Scene) -> None:
    scene.edited("zapp.py", None, NEW, at=10).edited("app.py", NEW, NEW + SECOND, at=20).wrote("app.py", NEW + SECOND)
    assert [line.tool_call_id for line in scene.said()] == ["c10", "c20"]
    scene.edited("zapp.py", None, text("an_earlier_line = of_this_file()"), at=5)
    assert [line.tool_call_id for line in scene.said()] == ["c10", "c20"], "evidence for the old name may come late"


def test_both_sides_of_a_merge_keep_their_writers(scene: Scene) -> None:
    middle = text(*(f"unchanged_line_{n} = {n}" for n in range(6)))
    base = scene.committed(at=-100, app__py=middle)
    ours, theirs = text("ours_at_the_top = 1") + middle, middle + text("theirs_at_the_end = 2")
    scene.edited("app.py", middle, ours, at=10, head=base, id="a", call="ours")
    left = scene.committed(base, at=20, app__py=ours)
    scene.edited("app.py", middle, theirs, at=30, head=base, id="b", call="theirs")
    right = scene.committed(base, at=40, app__py=theirs)
    both = text("ours_at_the_top = 1") + middle + text("theirs_at_the_end = 2")
    scene.committed(left, right, at=50, app__py=both)
    assert scene.marks() == "A......A"
    assert [line.tool_call_id for line in scene.said() if line.tool_call_id] == ["ours", "theirs"]


@pytest.mark.parametrize("way", ["amended", "squashed", "days later", "partly staged"])
def test_however_it_was_committed_the_lines_are_the_agents(scene: Scene, way: str) -> None:
    base, second = committed_edit(scene)
    if way == "amended":
        scene.committed(base, at=60, app__py=NEW)
    elif way == "squashed":
        scene.committed(base, at=60, app__py=NEW, other__py="x\n")
    elif way == "days later":
        scene.committed(base, at=5 * 86_400, app__py=NEW)
    else:
        half = scene.committed(base, at=60, app__py=OLD + ADDED.splitlines(keepends=True)[0])
        scene.committed(half, at=70, app__py=NEW)
    assert scene.built.head() != second
    assert scene.marks() == MARKED


def test_a_snapshot_replaces_an_edit_parsed_from_a_command(scene: Scene) -> None:
    base = scene.committed(at=-100, app__py=OLD)
    scene.edited("app.py", OLD, OLD + "guessed_from_the_command = 1\n", at=10, head=base, id="c9:shell:0", call="c9")
    seen = {"custody": 1, "kind": "snapshot", "id": "n1", "at": moment(11), "agent": "robot", "session": SESSION}
    files = [{"path": "app.py", "text": NEW}]
    scene.saw(json.dumps({**seen, "call": "c9", "phase": "after", "head": base, "files": files}).encode())
    scene.committed(base, at=20, app__py=NEW)
    assert (scene.marks(), scene.said()[1].tool_call_id) == (MARKED, "c9")


def test_a_piece_of_a_file_is_applied_at_its_place(scene: Scene) -> None:
    base = scene.committed(at=-100, app__py=OLD)
    changed = OLD.replace("price = read_price(source)\n", "cost = compute_cost_of(everything)\n")
    scene.edited(
        "app.py",
        "price = read_price(source)\n",
        "cost = compute_cost_of(everything)\n",
        at=10,
        head=base,
        lines=[{"first": 2, "last": 2}],
    )
    scene.committed(base, at=20, app__py=changed)
    assert scene.marks() == ".A."


def test_model_and_summary_come_from_the_call_and_the_first_prompt(scene: Scene) -> None:
    committed_edit(scene)
    scene.saw(
        an_event("session", at=moment(0), session=SESSION, model="m-old"),
        an_event("prompt", at=moment(2), session=SESSION, text="add\n a   discount", id="p1"),
        an_event("prompt", at=moment(3), session=SESSION, text="and more", id="p2"),
    )
    agent = scene.said()[1]
    assert (agent.model_id, agent.conversation_summary) == ("m-old", "add a discount")
    scene.saw(an_event("call", id="c10", at=moment(9), session=SESSION, model="m-new"))
    assert scene.said()[1].model_id == "m-new"


def test_a_prompt_of_another_agents_session_with_the_same_id_is_not_the_summary(scene: Scene) -> None:
    committed_edit(scene)
    scene.saw(an_event("prompt", at=moment(1), session=SESSION, text="not asked of the robot", agent="another"))
    assert scene.said()[1].conversation_summary is None
    scene.saw(an_event("prompt", at=moment(2), session=SESSION, text="add a discount", id="p1"))
    assert scene.said()[1].conversation_summary == "add a discount"


# --- links -----------------------------------------------------------------------------------------------------------


def a_git_event(event: str, head: CommitSha, at: int, unparsed: str = "", **fields: str) -> bytes:
    """Return an event of git's own hook."""
    said = {"custody": 1, "kind": "hook", "agent": "git", "event": event, "id": f"g{at}", "at": moment(at)}
    return json.dumps({**said, "head": head, "unparsed": unparsed, **fields}).encode()


def tier(scene: Scene) -> tuple[int | None, bool]:
    """Return the tier of the agent's lines, and whether a link is among the signals."""
    agent = next(line for line in scene.said() if line.kind == "agent")
    return agent.tier, "commit_link" in agent.signals


def test_a_generic_edit_is_a_claim_and_never_tier_1(scene: Scene) -> None:
    _, second = committed_edit(scene)
    scene.saw(a_git_event("post-commit", second, 21))
    assert tier(scene) == (2, True)
    agent = scene.said()[1]
    assert (agent.grade, agent.certainty) == ("claimed", "likely")


def test_a_commit_that_gits_hook_reported_is_tier_1(scene: Scene) -> None:
    _, second = recorded_edit(scene)
    assert tier(scene) == (3, False)
    scene.saw(a_git_event("post-commit", second, 21))
    assert tier(scene) == (1, True)
    agent = scene.said()[1]
    assert (agent.confidence, agent.grade, agent.score) == (1.0, "recorded", 100.0)
    link = agent.evidence[0]
    assert (link.name, link.points, len(link.records)) == ("commit_link", 40, 1)
    assert link.records != agent.evidence[1].records


def test_a_commit_made_before_the_call_is_not_linked_with_it(scene: Scene) -> None:
    base = scene.committed(at=-100, app__py=OLD)
    scene.edited("app.py", OLD, NEW, at=200_000, head=base)
    second = scene.committed(base, at=200_010, app__py=NEW)
    scene.saw(a_git_event("post-commit", second, 20))
    assert tier(scene) == (3, False)


def test_an_amended_commit_inherits_the_link(scene: Scene) -> None:
    base, second = recorded_edit(scene)
    scene.saw(a_git_event("post-commit", second, 21))
    assert tier(scene) == (1, True)
    amended = scene.committed(base, at=200_000, app__py=NEW, message="better words")
    assert tier(scene) == (4, False), "days later the time does not match either"
    scene.saw(a_git_event("post-rewrite", amended, 200_000, f"{second} {amended}\n"))
    assert tier(scene) == (1, True)


@pytest.mark.parametrize("seen_as", ["a link", "git's hook"])
def test_a_commit_rebased_days_later_inherits_the_links_of_the_old_one(scene: Scene, seen_as: str) -> None:
    base, second = committed_edit(scene)
    first_sight = {
        "a link": an_event("link", session=SESSION, commit=second, origin="git_operation", at=moment(21)),
        "git's hook": a_git_event("post-commit", second, 21),
    }
    scene.saw(first_sight[seen_as])
    upstream = scene.committed(base, at=150_000, app__py=OLD, other__py="x\n")
    rebased = scene.committed(upstream, at=200_000, app__py=NEW, other__py="x\n")
    assert tier(scene) == (4, False)
    scene.saw(a_git_event("post-rewrite", rebased, 200_001, f"{'e' * 40} {rebased}\n"))
    assert tier(scene) == (4, False), "the replaced commit has no link"
    scene.saw(a_git_event("post-rewrite", CommitSha("e" * 40), 190_000, f"{second} {'e' * 40}\n"))
    assert tier(scene)[1], "rewritten twice"


@pytest.mark.parametrize(("tree", "fires"), [("/here", True), ("/elsewhere", False)])
def test_an_active_session_in_the_work_tree_is_linked(scene: Scene, tree: str, fires: bool) -> None:
    scene.edited("app.py", OLD, NEW, at=-200)
    scene.saw(an_event("session", session=SESSION, at=moment(-300), worktree="/here"))
    base = scene.committed(at=-100, app__py=OLD)
    second = scene.committed(base, at=20, app__py=NEW)
    scene.saw(a_git_event("post-commit", second, 21, worktree=tree))
    assert tier(scene)[1] is fires


def test_commits_that_replace_each_other_do_not_loop(scene: Scene) -> None:
    base = scene.committed(at=-100, app__py=OLD)
    second = scene.committed(base, at=20, app__py=NEW)
    scene.edited("app.py", OLD, NEW, at=-200)
    others = [CommitSha(f"{n:040x}") for n in range(1, 12)]
    for at, commit in enumerate((second, *others)):
        lines = "".join(f"{other} {commit}\n" for other in (second, *others) if other != commit)
        scene.saw(a_git_event("post-rewrite", commit, 300_000 + at, lines))
    assert tier(scene) == (4, False)


@pytest.mark.parametrize(
    ("origin", "fires"),
    [("hook", True), ("git_operation", True), ("pull_request", True), ("imported", True), ("content", False)],
)
def test_a_link_counts_unless_it_was_derived_from_content(scene: Scene, origin: str, fires: bool) -> None:
    _, second = committed_edit(scene)
    scene.saw(an_event("link", session=SESSION, commit=second, origin=origin, at=moment(21)))
    assert tier(scene) == ((2, True) if fires else (3, False))


def test_a_generic_link_does_not_link_what_a_hook_recorded(scene: Scene) -> None:
    _, second = recorded_edit(scene)
    scene.saw(an_event("link", session=SESSION, agent="claude-code", commit=second, origin="hook", at=moment(21)))
    assert tier(scene) == (3, False)


def test_a_link_of_another_session_agent_or_commit_does_not_count(scene: Scene) -> None:
    base, second = committed_edit(scene)
    scene.saw(
        an_event("link", session="another", commit=second, origin="hook", at=moment(21), id="1"),
        an_event("link", session=SESSION, commit=base, origin="hook", at=moment(21), id="2"),
        an_event("link", session=SESSION, commit=second, origin="hook", at=moment(21), id="3", agent="another"),
    )
    assert tier(scene) == (3, False)


def test_a_pull_request_that_the_session_opened_links_the_commit_that_names_it(scene: Scene) -> None:
    base, _ = recorded_edit(scene)
    scene.committed(base, at=200_000, app__py=NEW, message="Add a discount (#12)")
    said = {
        "custody": 1,
        "kind": "hook",
        "agent": "claude-code",
        "event": "PostToolUse",
        "id": "h1",
        "at": moment(30),
        "session": SESSION,
        "call": "t1",
        "payload": {
            "session_id": SESSION,
            "hook_event_name": "PostToolUse",
            "tool_name": "Bash",
            "tool_use_id": "t1",
            "tool_input": {"command": "gh pr create"},
            "tool_response": {"stdout": "", "gitOperation": {"pr": {"number": 12, "action": "created"}}},
        },
    }
    scene.saw(json.dumps(said).encode())
    assert tier(scene) == (1, True)


def test_an_imported_trace_and_its_link_are_claims_and_never_tier_1(scene: Scene) -> None:
    base, second = scene.committed(at=-100, app__py=OLD), CommitSha("")
    second = scene.committed(base, at=20, app__py=NEW)
    folder = scene.built.path / ".agent-trace"
    conversation = a_conversation(a_range(4, 5), url="https://example.org/talk")
    trace = a_trace("app.py", conversation, timestamp=moment(10), vcs={"type": "git", "revision": base})
    written(folder / "traces.jsonl", trace)
    written(folder / "commit-links.jsonl", a_link(second, trace["id"]))
    assert scene.marks() == MARKED
    agent = next(line for line in scene.said() if line.kind == "agent")
    assert agent.tier is not None
    assert agent.tier > 1
    assert (agent.grade, agent.trace_id) == ("claimed", trace["id"])
    assert (agent.conversation_url, agent.model_id) == ("https://example.org/talk", "maker/model-1")


# --- what is kept ----------------------------------------------------------------------------------------------------


def test_repeated_answers_are_the_same_to_the_byte(scene: Scene) -> None:
    _, second = committed_edit(scene)
    third = scene.committed(second, at=30, other__py=NEW)
    scene.committed(third, at=40, app__py=text("start_of_it = 1") + ADDED, other__py=OLD)
    for path in ("app.py", "other.py"):
        first = encode_report(scene.report(path))
        assert encode_report(scene.report(path)) == first
        assert encode_report(Scene(scene.built.path, scene.built).report(path)) == first


def test_unrelated_evidence_changes_only_the_search_counts(scene: Scene) -> None:
    committed_edit(scene)
    before = answers(scene)
    scene.edited("other.py", None, text("something_entirely = different()"), at=15)
    assert answers(scene) == before
    with scene.workspace.writing() as store:
        store.db.run("DELETE FROM lineage_version")
    assert answers(scene) == before


def test_evidence_that_arrives_later_is_used_for_an_old_commit(scene: Scene) -> None:
    base = scene.committed(at=-100, app__py=OLD)
    scene.committed(base, at=20, app__py=NEW)
    scene.edited("other.py", None, text("something_entirely = different()"), at=30)
    assert scene.marks() == "....."
    scene.edited("app.py", OLD, NEW, at=10, head=base)
    assert scene.marks() == MARKED


def test_late_evidence_is_used_where_only_words_agree_and_beyond_the_old_horizon(scene: Scene) -> None:
    base = scene.committed(at=-864_000, app__py=OLD)
    scene.edited("other.py", None, text("something_entirely = different()"), at=0)
    assert scene.said("app.py", base)[0].reason == BEFORE_CAPTURE
    other_words = OLD.replace("source", "origin").replace("_module", "_package").replace("(price)", "[price]")
    scene.edited("app.py", None, other_words, at=-864_010)
    kept = scene.marks("app.py", base)
    with scene.workspace.writing() as store:
        store.db.run("DELETE FROM lineage_version")
    assert kept == scene.marks("app.py", base) != "..."


def test_late_evidence_with_the_same_line_replaces_a_share(scene: Scene) -> None:
    base = scene.committed(at=-100, app__py=OLD)
    scene.edited("app.py", OLD, OLD + text("total = price * count * rate"), at=10, head=base)
    line = OLD + text("total = price * count * rate * tax")
    second = scene.committed(base, at=20, app__py=line)
    assert scene.marks() == "...m"
    scene.edited("app.py", OLD, line, at=21, head=base, session="s2")
    assert (scene.marks("app.py", second), scene.said("app.py", second)[1].session_id) == ("...A", "s2")


def test_a_late_call_explains_text_that_seemed_to_be_between_two_others(scene: Scene) -> None:
    base = edited(scene, at=5)
    third = NEW + SECOND + text("third_call_line = of_the_agent(price)")
    scene.edited("app.py", NEW + SECOND, third, at=20, head=base)
    scene.committed(base, at=30, app__py=third)
    assert scene.marks() == "...AA.A"
    scene.edited("app.py", NEW, NEW + SECOND, at=10, head=base)
    assert scene.marks() == "...AAAA"


def test_files_that_exchanged_lines_answer_the_same_replayed_together_or_separately(tmp_path: Path) -> None:
    found = []
    for name, apart in (("together", False), ("apart", True)):
        scene = Scene(tmp_path / name).wrote("app.py", NEW + SECOND).wrote("zapp.py", NEW)
        scene.edited("zapp.py", None, NEW, at=10)
        if apart:
            scene.marks()
        scene.edited("app.py", NEW, NEW + SECOND, at=20)
        found.append(scene.marks())
    assert found[0] == found[1]


def test_two_observations_of_one_call_count_once_in_any_order(tmp_path: Path) -> None:
    hook = an_edit_event("app.py", None, NEW, at=10, id="one")
    better = an_edit_event("app.py", OLD, NEW, at=10, id="one")
    for name, events in (("a", (hook, better)), ("b", (better, hook))):
        scene = Scene(tmp_path / name).wrote("app.py", NEW)
        for event in events:
            scene.saw(event)
            scene.marks()
        assert scene.marks() == MARKED


def test_without_its_store_every_answer_is_none_and_nothing_breaks(scene: Scene) -> None:
    committed_edit(scene)
    assert scene.marks() == MARKED
    shutil.rmtree(scene.built.path / ".git" / "custody")
    assert scene.marks() == "....."


def unwritable(path: Path) -> SqliteDb:
    raise StoreUnwritable(f"cannot write '{path}'")


@pytest.mark.parametrize("lived", ["nothing drained", "drained", "replayed"])
def test_a_store_that_cannot_be_written_answers_the_same(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, lived: str
) -> None:
    committed_edit(scene)
    if lived == "drained":
        with scene.workspace.writing():
            pass
    elif lived == "replayed":
        scene.marks()
    monkeypatch.setattr("custody.workspace.workspace.open_sqlite", unwritable)
    waiting = spool_of(scene.built.path).names()
    without = scene.report()
    assert spool_of(scene.built.path).names() == waiting, "nothing on disk was changed"
    monkeypatch.undo()
    with_it = scene.report()
    if lived == "nothing drained":
        assert [(line.start_line, line.kind) for line in without.attributions] == [(1, "none"), (4, "agent")]
    else:
        assert encode_report(without) == encode_report(with_it)


def test_a_limit_that_was_reached_is_said_every_time(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("custody.attribution.app.history.HUNK_LINES_MAX", 1)
    base = scene.committed(at=-100, app__py=OLD)
    scene.edited("app.py", OLD, NEW, at=10, head=base)
    typed = NEW + text("typed_by_somebody = 1", "typed_by_them_too = 2")
    scene.commit_of({b"app.py": typed.encode()}, base, at=20)
    for _ in range(2):
        report = scene.report()
        assert len(report.notes) == 1
        assert "compared line by line only" in report.notes[0]


# --- erasing ---------------------------------------------------------------------------------------------------------


def test_what_was_erased_supports_nothing_and_nothing_takes_its_place(scene: Scene) -> None:
    long = text(*(f"a_persons_line_{n} = something_of_theirs({n})" for n in range(200)))
    base = scene.committed(at=-100, app__py="x\n")
    scene.edited("app.py", long, long + ADDED, at=10, head=base)
    scene.edited("app.py", long + ADDED, long + ADDED + SECOND, at=20, head=base)
    scene.committed(base, at=30, app__py=long + ADDED + SECOND)
    assert scene.marks() == "." * 200 + "AAA"
    erase_record_bodies(scene.workspace, [digest_from_bytes((long + ADDED).encode()).hex()], who="ana", why="a secret")
    assert scene.marks() == "." * 203


def test_an_erased_record_supports_nothing(scene: Scene) -> None:
    committed_edit(scene)
    assert scene.marks() == MARKED
    erase_record_bodies(scene.workspace, ["1"], who="ana", why="a secret")
    assert scene.marks() == "....."
    (none,) = scene.said()
    assert (none.kind, none.tier, none.trace_id) == ("none", None, None)


def test_erasing_one_file_leaves_the_answer_about_another(scene: Scene) -> None:
    committed_edit(scene)
    scene.edited("other.py", None, text("something_entirely = different()"), at=15, id="other")
    assert scene.marks() == MARKED
    erase_record_bodies(scene.workspace, ["2"], who="ana", why="a secret")
    assert scene.marks() == MARKED


# --- surroundings ----------------------------------------------------------------------------------------------------


def test_line_ends_of_windows_make_no_difference(scene: Scene) -> None:
    windows = NEW.replace("\n", "\r\n")
    base = scene.committed(at=-100, app__py=OLD.replace("\n", "\r\n"))
    scene.edited("app.py", OLD, NEW, at=10, head=base)
    scene.wrote("app.py", windows)
    assert scene.marks() == MARKED
    scene.committed(base, at=20, app__py=windows)
    scene.wrote("app.py", NEW)
    assert scene.marks() == MARKED


def test_a_file_with_a_name_that_is_not_text(scene: Scene) -> None:
    name = "caf\udce9.py"
    base = scene.commit_of({b"caf\xe9.py": OLD.encode()}, at=-100)
    scene.edited(name, OLD, NEW, at=10, head=base)
    scene.commit_of({b"caf\xe9.py": NEW.encode()}, base, at=20)
    assert scene.marks(name) == MARKED
    assert scene.report(name).path.isprintable()


def test_bytes_that_are_not_text_are_lines_too(scene: Scene) -> None:
    odd = "name_of_it = 'caf\udce9'\n"
    base = scene.committed(at=-100, app__py=OLD)
    scene.edited("app.py", OLD, OLD + odd, at=10, head=base)
    scene.committed(base, at=20, app__py=OLD + odd)
    assert scene.marks() == "...A"


def test_a_shallow_clone_answers_from_its_commits(scene: Scene, tmp_path: Path) -> None:
    _, second = committed_edit(scene)
    scene.committed(second, at=30, app__py=NEW + "typed_by_somebody = 1\n")
    clone = a_clone(scene.built, tmp_path / "clone", "--depth=2")
    shutil.copytree(scene.built.path / ".git" / "custody", clone.path / ".git" / "custody")
    assert Scene(clone.path, clone).marks() == MARKED + "."


def test_a_bare_repository_answers_about_head(scene: Scene, tmp_path: Path) -> None:
    committed_edit(scene)
    bare = a_clone(scene.built, tmp_path / "bare", "--bare")
    shutil.copytree(scene.built.path / ".git" / "custody", bare.path / "custody")
    shown = Scene(bare.path, bare)
    assert (shown.marks(), shown.report().revision) == (MARKED, bare.head())


def test_a_further_work_tree_has_the_same_evidence(scene: Scene, tmp_path: Path) -> None:
    committed_edit(scene)
    other = a_worktree(scene.built, tmp_path / "other")
    shown = Scene(other.path, other)
    shown.wrote("app.py", text("typed_in_the_other_tree = 1") + NEW)
    assert (shown.marks(), scene.marks()) == (f".{MARKED}", MARKED)


def test_a_repository_of_sha_256(tmp_path: Path) -> None:
    scene = Scene(tmp_path, a_repository(tmp_path / "repository", object_format="sha256"))
    committed_edit(scene)
    assert scene.marks() == MARKED


def test_a_folder_inside_the_repository_names_files_from_there(scene: Scene) -> None:
    base = scene.commit_of({b"src/app.py": OLD.encode()}, at=-100)
    scene.edited("src/app.py", OLD, NEW, at=10, head=base)
    scene.commit_of({b"src/app.py": NEW.encode()}, base, at=20)
    report = blame(Workspace(scene.built.path / "src", now_ns=scene.workspace.now_ns), "app.py").report
    assert (report.path, [line.kind for line in report.attributions]) == ("src/app.py", ["none", "agent"])


# --- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "revision", "words"),
    [
        ("nothing.py", None, "cannot read 'nothing.py'"),
        ("nothing.py", "HEAD", "cannot find 'nothing.py'"),
        ("app.py", "no-such-branch", "unknown revision 'no-such-branch'"),
        ("../outside.py", None, "outside"),
        ("binary.bin", None, "'binary.bin' is a binary file"),
        ("binary.bin", "HEAD", "'binary.bin' is a binary file"),
        ("src", None, "cannot read 'src'"),
        ("src", "HEAD", "'src' is not a file"),
    ],
)
def test_errors_have_a_reason_and_a_hint(scene: Scene, path: str, revision: str | None, words: str) -> None:
    scene.commit_of({b"app.py": OLD.encode(), b"binary.bin": b"a\0b", b"src/a.py": b"x\n"})
    with pytest.raises(InputError, match=words) as caught:
        scene.report(path, revision)
    assert caught.value.hint


def test_lines_beyond_the_end_are_rejected(scene: Scene) -> None:
    scene.committed(app__py=OLD, empty__py="")
    with pytest.raises(InputError, match="'app.py' has only 3 lines"):
        scene.report("app.py", None, Lines(1, 2), Lines(3, 4))
    with pytest.raises(InputError, match="has only 0 lines"):
        scene.report("empty.py", None, Lines(1, 1))
    assert scene.report("empty.py").attributions == []


def test_a_line_with_a_secret_is_recognized_although_it_was_redacted(scene: Scene) -> None:
    secret = "ghp_" + "Zq8Lw3Rt6Yb1Nv5Mx0Kd" + "9Hs2Fp7Jc4Ug8Qe"
    base = scene.committed(at=-100, app__py=OLD)
    new = f'{OLD}connect(token="{secret}")\n'
    scene.edited("app.py", OLD, new, at=10, head=base)
    scene.committed(base, at=20, app__py=new)
    (*_, last) = scene.said()
    assert (last.kind, last.start_line) == ("agent", last.end_line)
    assert secret.encode() not in (scene.built.path / ".git" / "custody" / "custody.db").read_bytes()


def test_notes_report_unrecorded_events_and_missing_records(scene: Scene) -> None:
    committed_edit(scene)
    home = scene.built.path / ".git" / "custody"
    assert scene.report().notes == []
    (home / "gaps").write_text("1 robot: cannot write\n2 robot: cannot write\n")
    assert scene.report().notes == ["2 events could not be recorded here; 'custody doctor' lists them"]
    (home / "gaps").unlink()
    (home / "custody.db").write_bytes(b"")
    assert scene.report().notes == ["records are missing from the store; 'custody verify' lists them"]


def test_without_captures_a_huge_file_reaches_no_limit(scene: Scene) -> None:
    scene.committed(at=-100, app__py=OLD)
    (scene.built.path / "app.py").write_text("".join(f"value_{n} = compute({n})\n" for n in range(6_000)))
    report = scene.report()
    assert (report.notes, {line.kind for line in report.attributions}) == ([], {"none"})
