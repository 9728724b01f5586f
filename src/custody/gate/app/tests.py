"""Evidence about tests: whether the files that agents changed were tested after their last edits."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from custody.attribution.app.answers import LineAnswer
from custody.core.assurance import Assurance
from custody.core.ids import RecordRef
from custody.core.paths import RepoPath
from custody.core.wire.claims import ChainRatings
from custody.dupes.app.file_channel import is_source_path, name_file_channel
from custody.gate.app.change import ChangeUnderReview, Policy
from custody.gate.model import GateEvidence, TestedFile
from custody.gate.rules import GateRules
from custody.runs import CommandRun, FileUnderTest, TestEvidence
from custody.runs.app.evidence import RunHistory, get_review_rules, read_run_history
from custody.store import Store
from custody.workspace.change import NS

CODE_CHANNELS = frozenset(("production", "tests"))


class ChangeTests(Struct, frozen=True):
    """The recorded runs around a change, and for each file with attributed lines the question about its tests."""

    history: RunHistory
    files: Mapping[str, FileUnderTest]

    def judge_all(self) -> dict[str, TestEvidence]:
        """Return whether each file with lines of known sessions was tested, by all recorded runs."""
        return {name: self.history.judge(file) for name, file in self.files.items() if file.sessions}


def read_change_tests(
    store: Store, review: ChangeUnderReview, policy: Policy, answers: Mapping[RepoPath, Sequence[LineAnswer]]
) -> ChangeTests:
    """Read the runs and edits around the attributed files of a change."""
    files = {
        path.display: FileUnderTest(
            path, frozenset(answer.trace.session for answer in lines if answer.trace is not None)
        )
        for path, lines in answers.items()
    }
    period = review.change.period
    until_ns = None if review.is_work_tree or period is None else period.last_ns + NS - 1  # commits have whole seconds
    asked = list(files.values())
    return ChangeTests(read_run_history(store, get_review_rules(policy.rules), asked, until_ns=until_ns), files)


def rate_change_tests(
    tests: ChangeTests, evidence: GateEvidence, policy: Policy, store: Store, ratings: ChainRatings
) -> tuple[TestedFile, ...]:
    """Return whether each code file with lines of agents was tested; passing runs count if enough vouches for them."""
    rules = policy.rules.of(GateRules)
    found = []
    for file in evidence.files:
        asked = tests.files.get(file.path)
        lines = tuple(added.lines for path, added in evidence.ranges if path == file.path and added.whose.is_agent)
        if asked is None or not lines or not _is_code(policy, file.path):
            continue
        judged = tests.history.judge(asked, lambda run: rules.counts(rate_run(store, ratings, run)))
        rating = rate_run(store, ratings, judged.run)
        found.append(TestedFile(path=file.path, lines=lines, evidence=judged, assurance=rating))
    return tuple(found)


def _is_code(policy: Policy, path: str) -> bool:
    return is_source_path(path) and name_file_channel(policy.rules, path) in CODE_CHANNELS


def rate_run(store: Store, ratings: ChainRatings, run: CommandRun | None) -> Assurance:
    """Return how far a recorded run can be believed; without a record, not at all."""
    ref: RecordRef | None = None if run is None else run.record
    record = None if ref is None else store.tables.record(ref)
    return Assurance.SELF_REPORTED if record is None else ratings.rate_record(record)
