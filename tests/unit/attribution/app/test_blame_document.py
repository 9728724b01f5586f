"""Document 000 from end to end: a real repository, real traces, the document's own steps."""

from pathlib import Path
from typing import Any

import pytest

from custody.attribution.app.blame import blame
from custody.attribution.app.blame_document import find_document_attributions
from custody.attribution.app.context import open_attribution
from custody.attribution.app.proposals import Proposals
from custody.attribution.engine import NONE_TOUCHED, NOT_ENOUGH, merge_findings
from custody.attribution.model import AttributionFinding, Grade, TraceAttribution
from custody.attribution.queries.traces import (
    find_candidate_edits_at_revision,
    find_candidate_edits_by_session,
    find_commit_session_links,
    find_longer_traced_files_in_window,
    find_traced_files,
    find_traced_files_at_revision,
    find_traced_files_in_window,
)
from custody.attribution.rules import AttributeRules
from custody.core.errors import InputError
from custody.core.ids import CommitSha, SessionId, content_hash_from_lines
from custody.core.paths import Lines, RepoPath
from custody.core.wire.time import format_timestamp
from custody.intake.import_traces import open_store_with_own_traces
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
"""Lines 2 to 4 are new; line 3 is the middle."""
ADDED_HASH = content_hash_from_lines([b"alpha", b"beta", b"gamma"])
FIRST_AT, SECOND_AT = NOON + 60, NOON + 120


def timestamp(seconds: int) -> str:
    return format_timestamp(seconds * NS)


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
            return find_document_attributions(evidence, commit, self.path, lines)

    def answers(self, commit: CommitSha | None = None, *lines: Lines) -> list[tuple[str, object]]:
        """Return lines with their trace and tier, or the reason for none."""
        return [(str(finding.segment.lines), _conclusion(finding)) for finding in self.findings(commit, *lines)]


def _conclusion(finding: AttributionFinding) -> object:
    return (finding.candidate.trace.id, finding.tier) if isinstance(finding, TraceAttribution) else finding.reason


def signals(finding: AttributionFinding) -> list[str]:
    assert isinstance(finding, TraceAttribution), finding
    return [signal.name for signal in finding.evidence.signals]


def trace_of(world: World, *ranges: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a trace of the second commit's lines, made on top of the first."""
    usual = {"vcs": {"type": "git", "revision": world.first}, "timestamp": timestamp(SECOND_AT - 30)}
    return a_trace(str(world.path), a_conversation(*ranges), **{**usual, **fields})


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "repository")


# Conformance: 000-022, 000-096, 000-100
def test_everything_together_is_tier_1(world: World) -> None:
    world.traces(trace_of(world, a_range(2, 4, content_hash=ADDED_HASH))).links(a_link(world.second, TRACE))
    before, added, after = world.findings(world.second)
    assert signals(added) == ["commit_link", "content_hash", "revision_parent", "range_match", "timestamp_match"]
    assert _conclusion(added) == (TRACE, 1)
    assert isinstance(added, TraceAttribution)
    assert added.candidate.grade is Grade.CLAIMED
    # The document's margin of 5 lines also attributes neighboring lines to the trace, so it is not the default.
    assert (_conclusion(before), _conclusion(after)) == ((TRACE, 6), (TRACE, 6))


def test_without_traces_nothing_is_attributed_and_every_line_has_its_finding(world: World) -> None:
    assert world.answers(world.second) == [("1", NONE_TOUCHED), ("2-4", NONE_TOUCHED), ("5-6", NONE_TOUCHED)]


# Conformance: 000-004, 000-005, 000-015, 000-016, 000-017, 000-020, 000-098
def test_a_segment_has_adjacent_lines_of_one_commit_with_its_parent_time_and_hash(world: World) -> None:
    first, second, third = (finding.segment for finding in world.findings(world.second))
    assert [segment.commit for segment in (first, second, third)] == [world.first, world.second, world.first]
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
def test_a_trace_may_abbreviate_its_revision(world: World) -> None:
    world.traces(trace_of(world, a_range(2, 4), vcs={"type": "git", "revision": world.first[:7]}))
    assert "revision_parent" in signals(world.findings(world.second)[1])


# Conformance: 000-023
def test_outside_the_time_window_only_link_and_revision_propose(world: World) -> None:
    long_before = timestamp(SECOND_AT - 25 * 3600)
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
    trace = a_trace(".gitignore", vcs={"type": "git", "revision": world.first}, timestamp=timestamp(SECOND_AT))
    world.traces(trace).links(a_link(world.second, TRACE))
    assert world.answers(world.second)[1] == ("2-4", NONE_TOUCHED)


# Conformance: 000-033
@pytest.mark.parametrize("traced", ["vite.config.js", "project/frontend/vite.config.js"])
def test_a_path_that_fits_one_file_names_it(tmp_path: Path, traced: str) -> None:
    world = World(tmp_path / "repository", b"frontend/vite.config.js")
    trace = a_trace(
        traced, a_conversation(a_range(2, 4)), vcs={"revision": world.first}, timestamp=timestamp(SECOND_AT)
    )
    assert _conclusion(world.traces(trace).findings(world.second)[1]) == (TRACE, 5)


# Conformance: 000-031
@pytest.mark.parametrize(
    ("traced", "others"),
    [("log.js", {}), ("blog.js", {"other__blog.js": b"x\n"}), ("src/x/blog.js", {"x__blog.js": b"x\n"})],
)
def test_a_path_that_fits_two_files_names_neither(tmp_path: Path, traced: str, others: dict[str, bytes]) -> None:
    world = World(tmp_path / "repository", b"src/blog.js", **others)
    trace = a_trace(
        traced, a_conversation(a_range(2, 4)), vcs={"revision": world.first}, timestamp=timestamp(SECOND_AT)
    )
    assert world.traces(trace).answers(world.second)[1] == ("2-4", NONE_TOUCHED)


# Conformance: 000-026
def test_the_time_window_proposes_only_while_there_are_fewer_than_5(world: World) -> None:
    # Five linked traces without a range lack evidence, but keep the window from being searched.
    linked = [trace_of(world, vcs=None, timestamp=timestamp(SECOND_AT - 10**6), id=f"linked-{n}") for n in range(5)]
    window = trace_of(world, a_range(2, 4), vcs=None)
    world.links(a_link(world.second, *(f"linked-{n}" for n in range(5))))
    world.traces(*linked[:4], window)
    assert _conclusion(world.findings(world.second)[1]) == (TRACE, 6)
    world.traces(*linked, window)
    assert world.answers(world.second)[1] == ("2-4", NOT_ENOUGH)


def test_lines_of_a_person_are_not_attributed_to_an_agent(world: World) -> None:
    trace = trace_of(world, a_range(2, 4, content_hash=ADDED_HASH, contributor={"type": "human"}))
    world.traces(trace).links(a_link(world.second, TRACE))
    assert world.answers(world.second)[1] == ("2-4", NONE_TOUCHED)


# Conformance: 000-019
def test_only_the_requested_lines_are_answered(world: World) -> None:
    assert [lines for lines, _ in world.answers(world.second, Lines(3, 5), Lines(1, 1))] == ["1", "3-4", "5"]


# Conformance: 000-101
def test_adjacent_segments_with_one_trace_and_tier_are_merged(world: World) -> None:
    world.traces(trace_of(world, a_range(1, 6), vcs=None, timestamp=timestamp(FIRST_AT)))
    findings = world.findings(world.second)
    assert len(findings) == 3
    assert [(str(run.lines), len(run.findings)) for run in merge_findings(findings)] == [("1-6", 3)]


# Conformance: 000-030
def test_a_trace_that_is_proposed_three_times_is_one_candidate(world: World) -> None:
    world.traces(trace_of(world, a_range(2, 4))).links(a_link(world.second, TRACE))
    segment = world.findings(world.second)[1].segment
    with open_store_with_own_traces(world.workspace) as store:
        (proposal,) = Proposals(
            store, AttributeRules(profile="document"), frozenset(store.tables.list_owned_chains())
        ).of(segment)
    assert proposal.links and proposal.revision == world.first


# --- what custody captured itself -------------------------------------------------------------------------------------


def an_edit(world: World, **fields: Any) -> bytes:
    usual = {"before": OLD.decode(), "after": NEW.decode(), "path": str(world.path), "head": world.first}
    return an_event(id="e1", call="c1", at=timestamp(SECOND_AT - 30), **{**usual, **fields})


def test_a_captured_edit_is_a_trace_too(world: World) -> None:
    spool = spool_of(world.built.path)
    spool.put(an_edit(world))
    spool.put(an_event("link", commit=world.second))
    finding = world.findings(world.second)[1]
    assert signals(finding) == ["commit_link", "content_hash", "revision_parent", "range_match", "timestamp_match"]
    assert isinstance(finding, TraceAttribution)
    assert (finding.candidate.trace.id, finding.candidate.call, finding.candidate.supports) == ("s1", "c1", 3)


def test_the_lines_of_an_edit_without_text_still_count(world: World) -> None:
    spool_of(world.built.path).put(an_edit(world, before=None, after=None, lines=[{"first": 2, "last": 4}]))
    assert signals(world.findings(world.second)[1]) == ["revision_parent", "range_match", "timestamp_match"]


def test_a_link_derived_from_content_is_not_a_commit_link(world: World) -> None:
    spool = spool_of(world.built.path)
    spool.put(an_edit(world))
    spool.put(an_event("link", commit=world.second, origin="content"))
    assert "commit_link" not in signals(world.findings(world.second)[1])


def test_a_link_of_another_agents_session_with_the_same_name_does_not_count(world: World) -> None:
    spool = spool_of(world.built.path)
    spool.put(an_edit(world))
    spool.put(an_event("link", commit=world.second, agent="other"))
    assert "commit_link" not in signals(world.findings(world.second)[1])


# --- the work tree ----------------------------------------------------------------------------------------------------


def test_uncommitted_lines_have_head_as_their_parent(world: World) -> None:
    (world.built.path / "src/app.py").write_bytes(b"one\n" + ADDED + b"two\nlocal\nthree\n")
    trace = trace_of(
        world, a_range(6, 6), vcs={"revision": world.second}, timestamp=timestamp(SECOND_AT + 60), id=OTHER_TRACE
    )
    world.traces(trace)
    findings = world.findings()
    assert [str(finding.segment.lines) for finding in findings] == ["1", "2-4", "5", "6", "7"]
    local = findings[3]
    assert (local.segment.commit, local.segment.parent) == (None, world.second)
    assert (signals(local), _conclusion(local)) == (
        ["revision_parent", "range_match", "timestamp_match"],
        (OTHER_TRACE, 5),
    )
    assert findings[4].segment.commit == world.first


def test_a_clean_work_tree_answers_as_head_does(world: World) -> None:
    world.traces(trace_of(world, a_range(2, 4)))
    assert world.answers() == world.answers(world.second)


def test_line_ends_that_git_converts_do_not_make_lines_uncommitted(world: World) -> None:
    (world.built.path / "src/app.py").write_bytes(NEW.replace(b"\n", b"\r\n"))
    assert all(finding.segment.commit is not None for finding in world.findings())


def test_every_line_of_an_untracked_file_is_uncommitted(world: World) -> None:
    (world.built.path / "new.py").write_bytes(b"a\nb\n")
    world.path = RepoPath(b"new.py")
    (finding,) = world.findings()
    assert (str(finding.segment.lines), finding.segment.commit, finding.segment.parent) == ("1-2", None, world.second)


def test_before_the_first_commit_everything_is_uncommitted(tmp_path: Path) -> None:
    built = a_repository(tmp_path / "repository")
    (built.path / "a.py").write_bytes(b"a\n")
    workspace = Workspace(built.path)
    with open_attribution(workspace, "document") as evidence:
        (finding,) = find_document_attributions(evidence, None, RepoPath(b"a.py"))
    assert (finding.segment.commit, finding.segment.parent) == (None, None)


def test_an_empty_file_has_no_findings(world: World) -> None:
    (world.built.path / "empty.py").write_bytes(b"")
    world.path = RepoPath(b"empty.py")
    assert world.findings() == []


# --- bad input --------------------------------------------------------------------------------------------------------


def test_invalid_input_is_reported(world: World) -> None:
    (world.built.path / "picture").write_bytes(b"\x89PNG\0\0\n")
    for path, lines, problem in (
        (b"picture", (), "is a binary file"),
        (b"nothing", (), "does not exist"),
        (b"src/app.py", (Lines(9, 9),), "has only 6 lines"),
    ):
        world.path = RepoPath(path)
        with pytest.raises(InputError, match=problem):
            world.findings(None, *lines)


def test_blame_merges_neighbors_of_one_trace_and_tier_and_keeps_their_commits(world: World) -> None:
    world.traces(trace_of(world, a_range(1, 6), vcs=None)).links(
        a_link(world.first, TRACE), a_link(world.second, TRACE)
    )
    assert [str(finding.segment.lines) for finding in world.findings(world.second)] == ["1", "2-4", "5-6"]
    result = blame(world.workspace, "src/app.py", revision="HEAD", profile="document", with_commits=True)
    (merged,) = result.report.attributions
    assert (merged.start_line, merged.end_line, merged.trace_id) == (1, 6, TRACE)
    assert merged.commits == [world.first, world.second]
    assert [(block.start_line, block.commits) for block in result.blocks] == [
        (1, [world.first]),
        (2, [world.second]),
        (5, [world.first]),
    ]


def test_a_longer_absolute_path_matches_in_the_time_window_(world: World) -> None:
    longer = {"vcs": None, "timestamp": timestamp(SECOND_AT - 30)}
    world.traces(a_trace("/home/ana/checkout/src/app.py", a_conversation(a_range(2, 4)), **longer))
    assert signals(world.findings(world.second)[1]) == ["range_match", "timestamp_match"]


def test_a_longer_path_of_another_file_with_the_same_end_of_its_name_does_not_match(world: World) -> None:
    longer = {"vcs": None, "timestamp": timestamp(SECOND_AT - 30)}
    world.traces(a_trace("/home/ana/checkout/other-src/app.py", a_conversation(a_range(2, 4)), **longer))
    assert world.answers(world.second)[1] == ("2-4", NONE_TOUCHED)


# --- look-ups ---------------------------------------------------------------------------------------------------------


# Conformance: 000-087, 000-088, 000-103
def test_every_look_up_uses_an_index(tmp_path: Path) -> None:
    with a_sqlite_store(tmp_path) as store:
        asked = _record_queries(store)
        assert len(asked) == 7
        for sql, values in asked:
            plan = " ".join(str(row[3]) for row in store.db.rows(f"EXPLAIN QUERY PLAN {sql}", values))
            assert "USING INDEX" in plan or "USING COVERING INDEX" in plan, (sql, plan)
            assert "SCAN" not in plan, (sql, plan)


def _record_queries(store: Store) -> list[tuple[str, Any]]:
    """Return the queries that proposals send to the database."""
    asked: list[tuple[str, Any]] = []

    def listen(kind: type[object], where: str, values: Any) -> list[Any]:
        asked.append((f"SELECT store_id, seq, n FROM {TABLES[kind].name} WHERE {where}", values))
        return []

    path, sha = RepoPath(b"a/b.py"), CommitSha("a" * 40)
    store.views.look_up = listen  # type: ignore[method-assign]
    find_traced_files_at_revision(store, sha, 7)
    find_traced_files(store, SessionId("t"))
    find_traced_files_in_window(store, [path, path], since_ns=0, until_ns=1)
    find_longer_traced_files_in_window(store, path, since_ns=0, until_ns=1)
    find_candidate_edits_at_revision(store, path, sha)
    find_candidate_edits_by_session(store, SessionId("s"), path)
    find_commit_session_links(store, sha)
    return asked
