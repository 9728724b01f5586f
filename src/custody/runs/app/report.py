"""The report of ``custody runs``, and one run as reports show it."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from custody.core.ids import SessionId
from custody.core.paths import RepoPath
from custody.core.wire.time import format_timestamp
from custody.ledger.queries import list_session_paths, list_session_rows
from custody.ledger.sessions import find_session_by_name
from custody.runs.app.evidence import list_edited_after, list_runs
from custody.runs.model import CommandKind, CommandRun, RunResult, TestEvidence
from custody.runs.queries import EditTime, find_session_family, list_edit_times
from custody.runs.rules import ReviewRules
from custody.runs.wire import RunCountsReport, RunReport, RunsReport, TestsReport
from custody.store import Store
from custody.workspace.change import resolve_change_range
from custody.workspace.rules_in_force import load_workspace_rules
from custody.workspace.workspace import Workspace

NS_PER_SECOND = 1_000_000_000
SHOWN_KINDS = frozenset((CommandKind.TEST, CommandKind.BUILD, CommandKind.LINT, CommandKind.TYPES, CommandKind.FORMAT))
"""The kinds that say something about a change; the others are listed on request."""


def report_runs(workspace: Workspace, named: str | None, *, everything: bool, limit: int) -> RunsReport:
    """Return the runs of a session, of the sessions that worked on ``BASE..HEAD``, or of the last session."""
    rules = load_workspace_rules(workspace)[0].of(ReviewRules)
    with workspace.reading() as store, store.reading():
        if named is not None and ".." in named:
            sessions, edits = _find_change_sessions(workspace, store, named)
        else:
            sessions, edits = _find_one_session(store, named)
        runs = [run for run in list_runs(store, rules, sessions) if everything or run.kind in SHOWN_KINDS]
    shown = runs[max(0, len(runs) - limit) :]
    return RunsReport(
        sessions=sorted(sessions),
        runs=[report_run(run, edits) for run in shown],
        more=len(runs) - len(shown),
    )


def _find_one_session(
    store: Store, named: str | None
) -> tuple[frozenset[SessionId], Mapping[RepoPath, Sequence[EditTime]]]:
    """Return a session with those that it started, and the edits of the files that they edited."""
    rows = list_session_rows(store, limit=1) if named is None else [find_session_by_name(store, named)]
    sessions = find_session_family(store, [row.session for row in rows])
    paths = {path for session in sessions for path in list_session_paths(store, session)}
    edits = list_edit_times(store, paths)
    own = {path: [edit for edit in times if edit.session in sessions] for path, times in edits.items()}
    return sessions, own


def _find_change_sessions(
    workspace: Workspace, store: Store, named: str
) -> tuple[frozenset[SessionId], Mapping[RepoPath, Sequence[EditTime]]]:
    """Return the sessions that edited a file of the change before its last commit, and these edits."""
    change = resolve_change_range(workspace.repository, named)
    paths = {side.path for file in change.files for side in (file.change.old, file.change.new) if side is not None}
    until = None if change.period is None else change.period.last_ns
    since = None if change.period is None else change.period.base_ns
    edits = {
        path: [
            edit for edit in times if (until is None or edit.at_ns <= until) and (since is None or edit.at_ns > since)
        ]
        for path, times in list_edit_times(store, paths).items()
    }
    sessions = {SessionId(edit.session) for times in edits.values() for edit in times if edit.session is not None}
    return find_session_family(store, sessions), edits


def report_run(run: CommandRun, edits: Mapping[RepoPath, Iterable[EditTime]] = {}) -> RunReport:
    """Return a run as reports show it, with the files that were edited after it."""
    counts = run.counts
    known = run.result is not RunResult.UNKNOWN
    return RunReport(
        agent=run.agent,
        session=run.session,
        call=run.call,
        command=run.command,
        kind=run.kind.value,
        runner=run.runner,
        result=run.result.value,
        source="output" if run.from_output else "status" if known else "none",
        ended=format_timestamp(run.ended_ns),
        started=None if run.started_ns is None else format_timestamp(run.started_ns),
        seconds=None if run.duration_ns is None else round(run.duration_ns / NS_PER_SECOND, 3),
        exit_code=run.exit_code,
        counts=None if counts is None else RunCountsReport(counts.passed, counts.failed, counts.skipped),
        scope=run.coverage.scope.value,
        folder=run.coverage.folder,
        names=list(run.coverage.names),
        edited_after=list_edited_after(run, edits),
        record=None if run.record is None else str(run.record),
    )


def report_tests(evidence: TestEvidence) -> TestsReport:
    """Return whether a file was tested, as reports show it."""
    return TestsReport(
        state=evidence.state.value,
        edited=None if evidence.edited_ns is None else format_timestamp(evidence.edited_ns),
        run=None if evidence.run is None else report_run(evidence.run),
    )


def shorten_run_sessions(workspace: Workspace, sessions: Collection[str]) -> dict[str, str]:
    """Return short ids of sessions."""
    from custody.ledger.sessions import shorten_session_ids

    return shorten_session_ids(workspace, sessions)
