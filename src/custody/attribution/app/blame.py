"""Who wrote each line of a file, as far as can be shown."""

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

from custody.attribution.app.answers import LineAnswer, ToolClaim
from custody.attribution.app.context import AttributionContext, open_attribution
from custody.attribution.app.findings import LineAttributor
from custody.attribution.model import Grade, LineOwner, NoAttribution, Trace, TraceAttribution
from custody.attribution.rules import Profile as Profile
from custody.attribution.text import is_informative, key_of, lines_of, split_line_words
from custody.attribution.wire import Attribution, BlameReport, CompetingClaim, SearchScope, SignalReport
from custody.capture.hook.event_home import gaps_in
from custody.core.errors import InputError
from custody.core.evidence import Signal
from custody.core.ids import CommitSha
from custody.core.paths import Lines, RepoPath
from custody.core.wire.body import digest_text
from custody.core.wire.time import text_from
from custody.git import Repository
from custody.ledger.queries import first_prompt
from custody.workspace.workspace import Workspace

SUMMARY_SIGNS_MAX = 200


@dataclass(frozen=True, slots=True)
class BlameResult:
    """The report on a file, and the file's own lines to show beside it."""

    report: BlameReport
    texts: Sequence[str]


def blame(
    workspace: Workspace,
    file: str,
    *,
    revision: str | None = None,
    stretches: Sequence[Lines] = (),
    profile: Profile | None = None,
) -> BlameResult:
    """Every line of a file (or of the stretches) in order, each with who wrote it and on what evidence."""
    repository = workspace.repository
    path = repository.path(file, workspace.folder)
    bare = repository.work_tree is None
    commit = _resolved(repository, revision or "HEAD") if revision is not None or bare else None
    with open_attribution(workspace, profile) as evidence:
        blamed = BlameReporter(evidence).blamed(path, commit, _in_order(stretches))
        evidence.save()
    return blamed


class BlameReporter:
    """Answers in the shape that leaves the program."""

    def __init__(self, evidence: AttributionContext) -> None:
        self._evidence = evidence
        self._summaries: dict[Trace, str | None] = {}
        self._records: dict[RepoPath, int] = {}

    def blamed(self, path: RepoPath, commit: CommitSha | None, stretches: Sequence[Lines]) -> BlameResult:
        """The report on one file."""
        texts, answers = LineAttributor(self._evidence).of_file(path, commit, stretches)
        report = BlameReport(
            path=path.display,
            revision=commit,
            profile=self._evidence.rules.profile,
            rules_digest=digest_text(self._evidence.digest),
            attributions=[self.attribution(answer) for answer in answers],
            notes=[*self._evidence.history.searched.limits, *self._missing()],
        )
        return BlameResult(report, texts)

    def _missing(self) -> Iterator[str]:
        """What the answers had to do without: things that could not be recorded, records that are gone."""
        gaps = sum(len(gaps_in(folder)) for folder in self._evidence.workspace.gap_folders)
        if gaps:
            yield f"{gaps:,} thing(s) could not be recorded here; 'custody doctor' says what"
        store = self._evidence.store
        heads = () if store.heads is None else (stored.head for stored in store.heads.all())
        if any(head is not None and head.seq > store.tables.head(head.store).seq for head in heads):
            yield "records are missing from the store; 'custody verify' names them"

    def attribution(self, answer: LineAnswer) -> Attribution:
        """One answer as it leaves the program."""
        finding, owner, trace = answer.finding, answer.owner, answer.trace
        return Attribution(
            start_line=answer.lines.first,
            end_line=answer.lines.last,
            kind=owner.value,
            share=_share(answer),
            tier=answer.tier,
            confidence=finding.confidence if isinstance(finding, TraceAttribution) else 0.0,
            score=finding.evidence.score if isinstance(finding, TraceAttribution) else 0.0,
            grade=None if answer.grade is None else answer.grade.value,
            trace_id=None if trace is None else trace.id,
            agent=None if trace is None else trace.agent,
            model_id=None if trace is None else answer.model,
            session_id=None if trace is None else trace.session,
            tool_call_id=None if trace is None else answer.call,
            conversation_url=answer.conversation,
            conversation_summary=None if trace is None else self._summary(trace),
            signals=[signal.name for signal in answer.signals],
            evidence=[_report_signal(signal) for signal in answer.signals],
            commits=[commit for commit in answer.trail if commit is not None],
            reason=finding.reason if isinstance(finding, NoAttribution) else None,
            searched=self._searched(finding.segment.path) if owner is LineOwner.NONE else None,
            claims=[_beside(claim) for claim in answer.others],
        )

    def _searched(self, path: RepoPath) -> SearchScope:
        if path not in self._records:
            self._records[path] = self._evidence.lineage.tables.count_of(path)
        history = self._evidence.history
        since = None if history.since_ns is None else text_from(history.since_ns)
        return SearchScope(since, self._records[path], history.searched.commits)

    def _summary(self, trace: Trace) -> str | None:
        """The first thing that was asked in a session, short."""
        if trace not in self._summaries:
            seen = first_prompt(self._evidence.store, trace.agent, trace.session)
            text = None if seen is None else seen.view.text.content
            self._summaries[trace] = None if text is None else " ".join(text.split())[:SUMMARY_SIGNS_MAX]
        return self._summaries[trace]


def _share(answer: LineAnswer) -> float:
    if answer.owner is LineOwner.MIXED:
        return round(answer.share, 4)
    return 1.0 if answer.owner is LineOwner.AGENT else 0.0


def _report_signal(signal: Signal) -> SignalReport:
    return SignalReport(signal.name, signal.points, signal.why, [str(ref) for ref in signal.records])


def _beside(claim: ToolClaim) -> CompetingClaim:
    trace = claim.trace
    return CompetingClaim(
        claim.producer, trace.agent, claim.model, trace.session, Grade.CLAIMED.value, str(claim.record)
    )


def _resolved(repository: Repository, revision: str) -> CommitSha:
    try:
        return repository.resolve(revision)
    except InputError as error:
        hint = "name a commit, branch or tag that is here, such as 'HEAD~1'"
        raise InputError(f"cannot find the revision {revision!a}", hint=hint) from error


def _in_order(stretches: Sequence[Lines]) -> list[Lines]:
    """The stretches from the first line to the last, each line once."""
    found: list[Lines] = []
    for stretch in sorted(stretches):
        if found and stretch.first <= found[-1].last:
            found[-1] = Lines(found[-1].first, max(found[-1].last, stretch.last))
        else:
            found.append(stretch)
    return found


# What records say of single lines: which agents brought them, and how many of their words a text holds.


def find_agents_by_line(
    evidence: AttributionContext, path: RepoPath, texts: Sequence[str], lines: Sequence[str]
) -> Mapping[str, frozenset[str]]:
    """Return the agents recorded to have brought each of ``lines`` into a file that holds ``texts``.

    Lines that say little or that occur more than once in the file are left out: anybody may have brought them.
    """
    counts = Counter(map(key_of, texts))
    single = {key_of(line): line for line in lines if is_informative(line) and counts[key_of(line)] == 1}
    agents_by_key = evidence.lineage.tables.brought_by(path, list(single))
    return {single[key]: agents for key, agents in agents_by_key.items()}


def words_in(text: str) -> frozenset[str]:
    """Return the words that occur in a text."""
    return frozenset(word for line in lines_of(text) for word in split_line_words(line))


def compute_word_share(lines: Sequence[str], words: Container[str]) -> float:
    """Return the share of the words of ``lines`` that are among ``words``; 1 for lines without words.

    >>> compute_word_share(["total = price", "}"], words_in("price = 3")), compute_word_share(["}"], ())
    (0.5, 1.0)
    """
    wanted = [word for line in lines for word in split_line_words(line)]
    return sum(word in words for word in wanted) / len(wanted) if wanted else 1.0
