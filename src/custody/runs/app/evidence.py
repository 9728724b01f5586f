"""The runs of sessions, and whether the files of a change were tested after their last edits."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from custody.config import EffectiveRules
from custody.core.ids import RecordRef, SessionId
from custody.core.paths import RepoPath
from custody.core.views import CommandRecord
from custody.runs.evidence import judge_tests, merge_runs
from custody.runs.model import CommandRun, FileUnderTest, RunResult, TestEvidence
from custody.runs.queries import (
    EditTime,
    find_editing_sessions,
    find_neighbor_sessions,
    find_session_family,
    find_work_tree_roots,
    list_edit_times,
    list_session_commands,
)
from custody.runs.rules import ReviewRules
from custody.store import Store
from custody.workspace.rules_in_force import load_workspace_rules
from custody.workspace.workspace import Workspace

RunFilter = Callable[[CommandRun], bool]


class RunHistory(Struct, frozen=True):
    """The recorded runs and edits around a change, read once: asks about its files then read nothing.

    ``runs`` are by session; ``families`` has for each session those that started it and that it started.
    """

    runs: Mapping[SessionId, Sequence[CommandRun]]
    families: Mapping[SessionId, frozenset[SessionId]]
    edits: Mapping[RepoPath, Sequence[EditTime]]
    editors: Mapping[RepoPath, frozenset[SessionId]]
    until_ns: int | None = None

    def runs_of(self, file: FileUnderTest) -> list[CommandRun]:
        """Return the runs of the sessions that wrote a file's lines, oldest first."""
        sessions = file.sessions or self.editors.get(file.path, frozenset())
        return self.runs_of_sessions(sessions)

    def runs_of_sessions(self, sessions: Collection[SessionId]) -> list[CommandRun]:
        """Return the runs of sessions, of those that started them and of those that they started, oldest first."""
        members = {member for session in sessions for member in self.families.get(session, frozenset((session,)))}
        return merge_runs(run for session in members for run in self.runs.get(session, ()))

    def judge(self, file: FileUnderTest, counts: RunFilter | None = None) -> TestEvidence:
        """Return whether a file was tested after its last edit; a passing run counts if ``counts`` accepts it."""
        runs = self.runs_of(file)
        if counts is not None:
            runs = [run if run.result is not RunResult.PASSED or counts(run) else _doubt(run) for run in runs]
            runs = [run for run in runs if run.result is not RunResult.UNKNOWN or counts(run)]
        return judge_tests(file.path, [edit.at_ns for edit in self.edits.get(file.path, ())], runs, self.until_ns)


def _doubt(run: CommandRun) -> CommandRun:
    return replace(run, result=RunResult.UNKNOWN)


def get_review_rules(effective: EffectiveRules) -> ReviewRules:
    """Return which commands of a project count, from the rules in force."""
    return effective.of(ReviewRules)


def read_run_history(
    store: Store, rules: ReviewRules, files: Sequence[FileUnderTest], *, until_ns: int | None = None
) -> RunHistory:
    """Return the runs and edits around these files; ``until_ns`` is when their change was committed, if it was."""
    paths = {file.path for file in files}
    editors = find_editing_sessions(store, {file.path for file in files if not file.sessions})
    sessions = {session for file in files for session in file.sessions}
    sessions |= {session for found in editors.values() for session in found}
    families = {session: find_session_family(store, (session,)) for session in sorted(sessions)}
    everyone = {member for family in families.values() for member in family}
    return RunHistory(_group_runs(store, rules, everyone), families, list_edit_times(store, paths), editors, until_ns)


def _group_runs(
    store: Store, rules: ReviewRules, sessions: Collection[SessionId]
) -> dict[SessionId, Sequence[CommandRun]]:
    runs: dict[SessionId, list[CommandRun]] = {}
    commands = list_session_commands(store, sessions)
    if not commands:
        return {}
    from custody.runs.status import read_command_runs  # it knows every runner, and many sessions ran nothing

    unrooted = {each.command.session for each in commands if each.command.root is None}
    roots = find_work_tree_roots(store, unrooted)
    for stored in commands:
        record = _add_root(stored.command, roots.get(stored.command.session, ()))
        for run in read_command_runs(record, rules, stored.started_ns):
            runs.setdefault(run.session, []).append(_with_record(run, stored.ref))
    return {session: merge_runs(found) for session, found in runs.items()}


def _add_root(record: CommandRecord, roots: Sequence[str]) -> CommandRecord:
    """Return the command with the root of its work tree, if it names none and its folder is in one."""
    if record.root is not None or record.folder is None:
        return record
    folder = record.folder.rstrip("/") + "/"
    return replace(record, root=next((root for root in roots if folder.startswith(f"{root}/")), None))


def _with_record(run: CommandRun, ref: RecordRef) -> CommandRun:
    return replace(run, record=ref)


def find_test_evidence(
    workspace: Workspace, files: Sequence[FileUnderTest], *, until_ns: int | None = None
) -> dict[RepoPath, TestEvidence]:
    """Return whether each file was tested after its last edit, under the rules in force.

    Files with several questions, one per group of sessions, need ``read_run_history`` and ``RunHistory.judge``.
    """
    rules = load_workspace_rules(workspace)[0].of(ReviewRules)
    with workspace.reading() as store:
        history = read_run_history(store, rules, files, until_ns=until_ns)
    return {file.path: history.judge(file) for file in files}


def list_session_runs(workspace: Workspace, store: Store, session: SessionId) -> list[CommandRun]:
    """Return the runs of one session under the rules in force, oldest first."""
    return list_runs(store, load_workspace_rules(workspace)[0].of(ReviewRules), [session])


def list_runs(store: Store, rules: ReviewRules, sessions: Collection[SessionId]) -> list[CommandRun]:
    """Return the runs of sessions, oldest first."""
    return merge_runs(run for runs in _group_runs(store, rules, sessions).values() for run in runs)


def list_neighbor_runs(
    store: Store, rules: ReviewRules, sessions: Collection[SessionId], since_ns: int, until_ns: int
) -> list[CommandRun]:
    """Return the runs of all sessions that worked in the work trees of these sessions in a period, oldest first."""
    return list_runs(store, rules, find_neighbor_sessions(store, sessions, since_ns, until_ns))


def list_edited_after(run: CommandRun, edits: Mapping[RepoPath, Iterable[EditTime]]) -> list[str]:
    """Return the files that were edited after a run ended, by name."""
    return sorted(path.display for path, times in edits.items() if any(edit.at_ns > run.ended_ns for edit in times))
