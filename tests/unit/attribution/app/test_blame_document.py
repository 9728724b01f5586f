"""Document 000 from end to end: a real repository, real traces, the document's own steps."""

from pathlib import Path
from typing import Any

import pytest

from custody.attribution.app.blame_document import document_findings
from custody.attribution.app.context import open_attribution
from custody.attribution.app.proposals import Proposals
from custody.attribution.engine import NONE_TOUCHED, NOT_ENOUGH, merge_findings
from custody.attribution.model import AttributionFinding, Grade, TraceAttribution
from custody.attribution.queries.traces import (
    edits_of_file_at,
    edits_of_file_by,
    links_of_commit,
    traced_files,
    traced_files_at,
    traced_files_between,
)
from custody.attribution.rules import AttributeRules
from custody.core.errors import InputError
from custody.core.ids import CommitSha, SessionId, content_hash
from custody.core.paths import Lines, RepoPath
from custody.core.wire.time import text_from
from custody.intake.import_traces import reading_with_traces
from custody.store import Store
from custody.store.rows import TABLES
from custody.workspace.workspace import Workspace
from tests.builders.cli import spool_of
from tests.builders.events import an_event
from tests.builders.repo import NOON, Built, a_history, a_repository
from tests.builders.stores import a_sqlite_store
from tests.builders.traces import OTHER_TRACE, TRACE, a_conversation, a_link, a_range, a_trace, written

NS = 1_000_000_000
OLD = b"one\ntwo\nthree\n"
ADDED = b"alpha\nbeta\ngamma\n"
NEW = b"one\n" + ADDED + b"two\nthree\n"
"""Lines 2 to 4 are new; line 3 stands for them."""
ADDED_HASH = content_hash([b"alpha", b"beta", b"gamma"])
FIRST_AT, SECOND_AT = NOON + 60, NOON + 120


def moment(seconds: int) -> str:
    return text_from(seconds * NS)


class World:
    """A repository in which a second commit added three lines."""

    def __init__(self, folder: Path, path: bytes = b"src/app.py", **others: bytes) -> None:
        self.path = RepoPath(path)
        self.built: Built = a_repository(folder)
        more = {name.encode().replace(b"__", b"/"): content for name, content in others.items()}
        self.first, self.second = a_history(self.built, {path: OLD, **more}, {path: NEW, **more})
        self.built.checkout()
        self.workspace = Workspace(folder, now_ns=lambda: (SECOND_AT + 3600) * NS)

    def traces(self, *traces: dict[str, Any]) -> "World":
        written(self.built.path / ".agent-trace" / "traces.jsonl", *traces)
        return self

    def links(self, *links: dict[str, Any]) -> "World":
        written(self.built.path / ".agent-trace" / "commit-links.jsonl", *links)
        return self

    def findings(self, commit: CommitSha | None = None, *lines: Lines) -> list[AttributionFinding]:
        with open_attribution(self.workspace, "document") as evidence:
            return document_findings(evidence, commit, self.path, lines)

    def answers(self, commit: CommitSha | None = None, *lines: Lines) -> list[tuple[str, object]]:
        """Lines and what is said of them: trace and tier, or the reason."""
        return [(str(one.segment.lines), _said(one)) for one in self.findings(commit, *lines)]


def _said(finding: AttributionFinding) -> object:
    return (finding.candidate.trace.id, finding.tier) if isinstance(finding, TraceAttribution) else finding.reason


def signals(finding: AttributionFinding) -> list[str]:
    assert isinstance(finding, TraceAttribution), finding
    return [signal.name for signal in finding.evidence.signals]


def trace_of(world: World, *ranges: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A trace of the second commit's lines, made on top of the first."""
    usual = {"vcs": {"type": "git", "revision": world.first}, "timestamp": moment(SECOND_AT - 30)}
    return a_trace(str(world.path), a_conversation(*ranges), **{**usual, **fields})


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "repository")


# Conformance: 000-022, 000-096, 000-100
def test_everything_together_is_tier_1(world: World) -> None:
    world.traces(trace_of(world, a_range(2, 4, content_hash=ADDED_HASH))).links(a_link(world.second, TRACE))
    before, added, after = world.findings(world.second)
    assert signals(added) == ["commit_link", "content_hash", "revision_parent", "range_match", "timestamp_match"]
    assert _said(added) == (TRACE, 1)
    assert isinstance(added, TraceAttribution)
    assert added.candidate.grade is Grade.CLAIMED
    # The document's margin of 5 lines gives the lines around to the trace as well: this is why it is not the default.
    assert (_said(before), _said(after)) == ((TRACE, 6), (TRACE, 6))


def test_without_traces_nothing_is_attributed_and_every_line_has_its_finding(world: World) -> None:
    assert world.answers(world.second) == [("1", NONE_TOUCHED), ("2-4", NONE_TOUCHED), ("5-6", NONE_TOUCHED)]


# Conformance: 000-004, 000-005, 000-015, 000-016, 000-017, 000-020, 000-098
def test_a_segment_is_neighbouring_lines_of_one_commit_with_its_parent_time_and_hash(world: World) -> None:
    first, second, third = (finding.segment for finding in world.findings(world.second))
    assert [one.commit for one in (first, second, third)] == [world.first, world.second, world.first]
    assert (second.parent, second.at_ns, second.hash) == (world.first, SECOND_AT * NS, ADDED_HASH)
    assert (first.parent, first.at_ns) == (None, FIRST_AT * NS)


# Conformance: 000-006, 000-025
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ["revision_parent", "range_match", "timestamp_match"]),
        ({"vcs": None}, ["range_match", "timestamp_match"]),
    ],
)
def test_parent_revision_and_time_window_propose_without_a_link(
    world: World, fields: dict[str, Any], expected: list[str]
) -> None:
    world.traces(trace_of(world, a_range(2, 4), **fields))
    assert signals(world.findings(world.second)[1]) == expected


# Conformance: 000-046
def test_a_trace_may_write_its_revision_with_few_digits(world: World) -> None:
    world.traces(trace_of(world, a_range(2, 4), vcs={"type": "git", "revision": world.first[:7]}))
    assert "revision_parent" in signals(world.findings(world.second)[1])


# Conformance: 000-023
def test_outside_the_time_window_only_link_and_revision_propose(world: World) -> None:
    long_before = moment(SECOND_AT - 25 * 3600)
    world.traces(trace_of(world, a_range(2, 4), vcs=None, timestamp=long_before))
    assert world.answers(world.second)[1] == ("2-4", NONE_TOUCHED)
    world.links(a_link(world.second, TRACE))
    assert signals(world.findings(world.second)[1]) == ["commit_link", "range_match"]


# Conformance: 000-039
def test_an_ancestor_of_the_commit_counts_and_the_commit_itself_does_not(tmp_path: Path) -> None:
    world = World(tmp_path / "repository")
    third = world.built.commit({b"src/app.py": NEW + b"delta\n"}, world.second)
    for revision, seen in ((world.first, True), (world.first[:9], True), (third, False), ("f" * 40, False)):
        world.traces(trace_of(world, a_range(7, 7), vcs={"revision": revision}, id=f"trace-{revision}"))
        finding = world.findings(third, Lines(7, 7))[0]
        assert ("revision_ancestor" in signals(finding)) == seen, revision


# Conformance: 000-007, 000-024
def test_a_link_to_a_trace_of_another_file_attributes_nothing(world: World) -> None:
    trace = a_trace(".gitignore", vcs={"type": "git", "revision": world.first}, timestamp=moment(SECOND_AT))
    world.traces(trace).links(a_link(world.second, TRACE))
    assert world.answers(world.second)[1] == ("2-4", NONE_TOUCHED)


# Conformance: 000-033
@pytest.mark.parametrize("traced", ["vite.config.js", "project/frontend/vite.config.js"])
def test_a_path_that_can_mean_no_other_file_is_that_file(tmp_path: Path, traced: str) -> None:
    world = World(tmp_path / "repository", b"frontend/vite.config.js")
    trace = a_trace(traced, a_conversation(a_range(2, 4)), vcs={"revision": world.first}, timestamp=moment(SECOND_AT))
    assert _said(world.traces(trace).findings(world.second)[1]) == (TRACE, 5)


# Conformance: 000-031
@pytest.mark.parametrize(
    ("traced", "others"),
    [("log.js", {}), ("blog.js", {"other__blog.js": b"x\n"}), ("src/x/blog.js", {"x__blog.js": b"x\n"})],
)
def test_a_path_that_may_mean_another_file_is_not_this_one(
    tmp_path: Path, traced: str, others: dict[str, bytes]
) -> None:
    world = World(tmp_path / "repository", b"src/blog.js", **others)
    trace = a_trace(traced, a_conversation(a_range(2, 4)), vcs={"revision": world.first}, timestamp=moment(SECOND_AT))
    assert world.traces(trace).answers(world.second)[1] == ("2-4", NONE_TOUCHED)


# Conformance: 000-026
def test_the_time_window_proposes_only_while_there_are_fewer_than_5(world: World) -> None:
    # Five linked traces without any range have not enough evidence, and stand before what the window would propose.
    linked = [trace_of(world, vcs=None, timestamp=moment(SECOND_AT - 10**6), id=f"linked-{n}") for n in range(5)]
    window = trace_of(world, a_range(2, 4), vcs=None)
    world.links(a_link(world.second, *(f"linked-{n}" for n in range(5))))
    world.traces(*linked[:4], window)
    assert _said(world.findings(world.second)[1]) == (TRACE, 6)
    world.traces(*linked, window)
    assert world.answers(world.second)[1] == ("2-4", NOT_ENOUGH)


def test_what_a_person_wrote_is_not_given_to_an_agent(world: World) -> None:
    trace = trace_of(world, a_range(2, 4, content_hash=ADDED_HASH, contributor={"type": "human"}))
    world.traces(trace).links(a_link(world.second, TRACE))
    assert world.answers(world.second)[1] == ("2-4", NONE_TOUCHED)


# Conformance: 000-019
def test_only_the_lines_that_were_asked_for_are_answered(world: World) -> None:
    assert [lines for lines, _ in world.answers(world.second, Lines(3, 5), Lines(1, 1))] == ["1", "3-4", "5"]


# Conformance: 000-101
def test_neighbours_with_one_trace_and_tier_are_merged(world: World) -> None:
    world.traces(trace_of(world, a_range(1, 6), vcs=None, timestamp=moment(FIRST_AT)))
    findings = world.findings(world.second)
    assert len(findings) == 3
    assert [(str(one.lines), len(one.findings)) for one in merge_findings(findings)] == [("1-6", 3)]


# Conformance: 000-030
def test_a_trace_that_is_proposed_three_times_is_one_candidate(world: World) -> None:
    world.traces(trace_of(world, a_range(2, 4))).links(a_link(world.second, TRACE))
    segment = world.findings(world.second)[1].segment
    with reading_with_traces(world.workspace) as store:
        (proposal,) = Proposals(store, AttributeRules(profile="document")).of(segment)
    assert proposal.links and proposal.revision == world.first


# --- what custody captured itself -------------------------------------------------------------------------------------


def an_edit(world: World, **fields: Any) -> bytes:
    usual = {"before": OLD.decode(), "after": NEW.decode(), "path": str(world.path), "head": world.first}
    return an_event(id="e1", call="c1", at=moment(SECOND_AT - 30), **{**usual, **fields})


def test_a_captured_edit_is_a_trace_too(world: World) -> None:
    spool = spool_of(world.built.path)
    spool.put(an_edit(world))
    spool.put(an_event("link", commit=world.second))
    finding = world.findings(world.second)[1]
    assert signals(finding) == ["commit_link", "content_hash", "revision_parent", "range_match", "timestamp_match"]
    assert isinstance(finding, TraceAttribution)
    assert (finding.candidate.trace.id, finding.candidate.call, finding.candidate.supports) == ("s1", "c1", 3)


def test_of_an_edit_without_text_its_lines_still_count(world: World) -> None:
    spool_of(world.built.path).put(an_edit(world, before=None, after=None, lines=[{"first": 2, "last": 4}]))
    assert signals(world.findings(world.second)[1]) == ["revision_parent", "range_match", "timestamp_match"]


def test_a_link_derived_from_content_is_no_commit_link(world: World) -> None:
    spool = spool_of(world.built.path)
    spool.put(an_edit(world))
    spool.put(an_event("link", commit=world.second, origin="content"))
    assert "commit_link" not in signals(world.findings(world.second)[1])


def test_a_link_of_another_agents_session_of_the_same_name_is_no_link(world: World) -> None:
    spool = spool_of(world.built.path)
    spool.put(an_edit(world))
    spool.put(an_event("link", commit=world.second, agent="other"))
    assert "commit_link" not in signals(world.findings(world.second)[1])


# --- the work tree ----------------------------------------------------------------------------------------------------


def test_lines_that_are_not_committed_have_head_as_their_parent(world: World) -> None:
    (world.built.path / "src/app.py").write_bytes(b"one\n" + ADDED + b"two\nlocal\nthree\n")
    trace = trace_of(
        world, a_range(6, 6), vcs={"revision": world.second}, timestamp=moment(SECOND_AT + 60), id=OTHER_TRACE
    )
    world.traces(trace)
    findings = world.findings()
    assert [str(one.segment.lines) for one in findings] == ["1", "2-4", "5", "6", "7"]
    local = findings[3]
    assert (local.segment.commit, local.segment.parent) == (None, world.second)
    assert (signals(local), _said(local)) == (["revision_parent", "range_match", "timestamp_match"], (OTHER_TRACE, 5))
    assert findings[4].segment.commit == world.first


def test_a_clean_work_tree_answers_as_head_does(world: World) -> None:
    world.traces(trace_of(world, a_range(2, 4)))
    assert world.answers() == world.answers(world.second)


def test_line_ends_that_git_converts_do_not_make_lines_uncommitted(world: World) -> None:
    (world.built.path / "src/app.py").write_bytes(NEW.replace(b"\n", b"\r\n"))
    assert all(finding.segment.commit is not None for finding in world.findings())


def test_a_file_that_git_does_not_know_is_uncommitted_as_a_whole(world: World) -> None:
    (world.built.path / "new.py").write_bytes(b"a\nb\n")
    world.path = RepoPath(b"new.py")
    (finding,) = world.findings()
    assert (str(finding.segment.lines), finding.segment.commit, finding.segment.parent) == ("1-2", None, world.second)


def test_before_the_first_commit_everything_is_uncommitted(tmp_path: Path) -> None:
    built = a_repository(tmp_path / "repository")
    (built.path / "a.py").write_bytes(b"a\n")
    workspace = Workspace(built.path)
    with open_attribution(workspace, "document") as evidence:
        (finding,) = document_findings(evidence, None, RepoPath(b"a.py"))
    assert (finding.segment.commit, finding.segment.parent) == (None, None)


def test_an_empty_file_has_no_findings(world: World) -> None:
    (world.built.path / "empty.py").write_bytes(b"")
    world.path = RepoPath(b"empty.py")
    assert world.findings() == []


# --- bad input --------------------------------------------------------------------------------------------------------


def test_bad_input_is_named(world: World) -> None:
    (world.built.path / "picture").write_bytes(b"\x89PNG\0\0\n")
    for path, lines, problem in (
        (b"picture", (), "is a binary file"),
        (b"nothing", (), "does not exist"),
        (b"src/app.py", (Lines(9, 9),), "has only 6 line"),
    ):
        world.path = RepoPath(path)
        with pytest.raises(InputError, match=problem):
            world.findings(None, *lines)


# --- look-ups ---------------------------------------------------------------------------------------------------------


# Conformance: 000-087, 000-088, 000-103
def test_every_look_up_uses_an_index(tmp_path: Path) -> None:
    with a_sqlite_store(tmp_path) as store:
        asked = _asked(store)
        assert len(asked) == 6
        for sql, values in asked:
            plan = " ".join(str(row[3]) for row in store.db.rows(f"EXPLAIN QUERY PLAN {sql}", values))
            assert "USING INDEX" in plan or "USING COVERING INDEX" in plan, (sql, plan)
            assert "SCAN" not in plan, (sql, plan)


def _asked(store: Store) -> list[tuple[str, Any]]:
    """The questions that proposals ask of the database."""
    asked: list[tuple[str, Any]] = []

    def listen(kind: type[object], where: str, values: Any) -> list[Any]:
        asked.append((f"SELECT store_id, seq, n FROM {TABLES[kind].name} WHERE {where}", values))
        return []

    path, sha = RepoPath(b"a/b.py"), CommitSha("a" * 40)
    store.views.look_up = listen  # type: ignore[assignment, method-assign]
    traced_files_at(store, sha, 7)
    traced_files(store, SessionId("t"))
    traced_files_between(store, [path, path], since_ns=0, until_ns=1)
    edits_of_file_at(store, path, sha)
    edits_of_file_by(store, SessionId("s"), path)
    links_of_commit(store, sha)
    return asked
