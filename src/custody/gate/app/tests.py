"""Whether the files of a judged change were tested after their last edit."""

from collections.abc import Mapping

from msgspec import Struct

from custody.core.errors import StoreError
from custody.core.ids import SessionId
from custody.core.paths import RepoPath
from custody.core.wire.claims import is_claim_record
from custody.gate.app.change import ChangeUnderReview, Policy
from custody.gate.app.gather import GatheredEvidence
from custody.runs import CommandRun, FileUnderTest, TestEvidence, TestState
from custody.runs.app.evidence import read_change_run_history
from custody.store import Store
from custody.workspace.workspace import Workspace


class FileTests(Struct, frozen=True):
    """The test state of a file, and whether it holds by records that the rules accept as evidence."""

    evidence: TestEvidence = TestEvidence(TestState.UNKNOWN)
    is_believed: bool = False


def gather_file_tests(
    workspace: Workspace, review: ChangeUnderReview, policy: Policy, gathered: GatheredEvidence
) -> Mapping[str, FileTests]:
    """Return the test state of the files whose lines sessions wrote, by path; none if the store cannot be read."""
    files = [
        FileUnderTest(path, sessions)
        for path in _list_changed_paths(review)
        if (sessions := _find_file_sessions(gathered, path))
    ]
    if not files:
        return {}
    period = review.change.period
    until_ns = None if review.is_work_tree or period is None else period.last_ns
    try:
        with workspace.reading() as store:
            history = read_change_run_history(store, policy.rules, files, until_ns=until_ns)
            believes = _RunBelief(store, gathered).accepts
            return {
                file.path.display: FileTests(
                    history.judge(file), history.judge(file, believes).state is TestState.AFTER_EDIT
                )
                for file in files
            }
    except StoreError:
        return {}  # the integrity check reports a store that cannot be read


def _list_changed_paths(review: ChangeUnderReview) -> list[RepoPath]:
    return [file.change.path for file in review.change.files]


def _find_file_sessions(gathered: GatheredEvidence, path: RepoPath) -> frozenset[SessionId]:
    answers = gathered.edited.get(path.display, ())
    return frozenset(answer.trace.session for answer in answers if answer.trace is not None)


class _RunBelief:
    """Which runs count: those recorded live in a chain whose recordings the rules believe."""

    def __init__(self, store: Store, gathered: GatheredEvidence) -> None:
        self._store = store
        self._believed = gathered.believed

    def accepts(self, run: CommandRun) -> bool:
        """Return whether a run is more than a claim."""
        if run.record is None:
            return False
        record = self._store.tables.record(run.record)
        return record is not None and not is_claim_record(record, self._believed)
