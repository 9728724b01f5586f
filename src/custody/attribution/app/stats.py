"""How many lines of a file, a folder or the whole repository are whose, counted by class, model, agent and more."""

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from msgspec import structs

from custody.attribution.app.answers import LineAnswer
from custody.attribution.app.context import AttributionContext, open_attribution
from custody.attribution.app.findings import LineAttributor
from custody.attribution.model import LineOwner, TraceAttribution
from custody.attribution.text import is_informative, keys_of
from custody.attribution.wire import LineShare, StatsPeriod, StatsReport, UncountedFile
from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.core.views import FileEdit, FileState, TracedFile
from custody.core.wire.body import digest_text
from custody.core.wire.time import text_from
from custody.git import ChangeKind, Comparison, FileChange, Repository, Walk
from custody.intake.queries import agent_rows
from custody.ledger.queries import paths_in
from custody.workspace.workspace import Workspace

NS = 1_000_000_000
SECONDS_MAX = 253_402_300_799
"""The last second of the year 9999: a commit may claim any moment."""
REGULAR = frozenset((0o100644, 0o100755, 0o100664))
LEFT_OUT_NAMED_MAX = 1_000
CAPTURED = (FileEdit, FileState, TracedFile)
"""The views that tell of a file."""
UNKNOWN = "unknown"
BEFORE = "before"
"""Stands for the days before anything was captured."""
DAYS_MAX = 60
"""Where lines are of more days than this, they are told by month."""
MONTH_SIGNS, DAY_SIGNS = 7, 10
HERE = "."
"""Stands for the files that are in the folder itself."""


@dataclass(slots=True)
class LineTally:
    """Lines by class; ``agents`` is how many of them are agents', mixed ones by their share."""

    lines: dict[LineOwner, int] = field(default_factory=lambda: dict.fromkeys(LineOwner, 0))
    agents: float = 0.0

    def add(self, owner: LineOwner, count: int, share: float) -> None:
        """Count some lines of one class."""
        self.lines[owner] += count
        self.agents += count * share

    def take(self, other: "LineTally") -> None:
        """Count what another one has counted."""
        for owner, count in other.lines.items():
            self.lines[owner] += count
        self.agents += other.agents

    @property
    def total(self) -> int:
        """How many lines there are."""
        return sum(self.lines.values())


class LineStatistics:
    """Everything that is counted, file after file; with an ``agent`` only its lines have a share, model and tier."""

    def __init__(self, agent: str | None = None) -> None:
        self.agent = agent
        self.totals = LineTally()
        self.by: dict[str, defaultdict[str, LineTally]] = {
            name: defaultdict(LineTally) for name in ("class", "model", "agent", "tier", "folder", "month", "growth")
        }
        self.models: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
        self.files = 0
        self.left_out: list[UncountedFile] = []
        self.notes: dict[str, None] = {}

    def add(self, answer: LineAnswer, folder: str, day: str) -> None:
        """Count the lines of one answer wherever they belong."""
        owner, count = answer.owner, len(answer.lines)
        share = {LineOwner.AGENT: 1.0, LineOwner.MIXED: answer.share}.get(owner, 0.0)
        names = {"class": str(owner.value), "folder": folder, "growth": day}
        if isinstance(answer.finding, TraceAttribution):
            names["agent"] = answer.finding.candidate.trace.agent
            if self.agent in (None, names["agent"]):
                names["model"] = answer.model or UNKNOWN
                self.models[day][names["model"]] += count
                names["tier"] = str(answer.finding.tier)
                names["month"] = UNKNOWN if day == BEFORE else day[:MONTH_SIGNS]
            else:
                share = 0.0
        self._add(owner, count, share, names)

    def add_unknown(self, count: int, folder: str, day: str) -> None:
        """Count lines of which nothing can be known."""
        self._add(LineOwner.NONE, count, 0.0, {"class": LineOwner.NONE.value, "folder": folder, "growth": day})

    def _add(self, owner: LineOwner, count: int, share: float, names: dict[str, str]) -> None:
        if count:
            self.totals.add(owner, count, share)
            for by, name in names.items():
                self.by[by][name].add(owner, count, share)

    def shares(self, by: str) -> list[LineShare]:
        """One list of what was counted, the largest first; tiers, months and classes in their own order."""
        named = self.by[by]
        if by == "class":
            names: Iterable[str] = [owner.value for owner in LineOwner if owner.value in named]
        elif by in ("tier", "month"):
            names = sorted(named)
        else:
            names = sorted(named, key=lambda name: (-named[name].total, name))
        return [self.share(name, named[name]) for name in names]

    def growth(self) -> list[StatsPeriod]:
        """All lines by when they were committed: those from before the capture first, those of no known day last."""
        days = self.by["growth"]
        signs = DAY_SIGNS if len(days.keys() - {BEFORE, UNKNOWN}) <= DAYS_MAX else MONTH_SIGNS
        whole: defaultdict[str, LineTally] = defaultdict(LineTally)
        models: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
        for day, tally in days.items():
            name = day if day in (BEFORE, UNKNOWN) else day[:signs]
            whole[name].take(tally)
            for model, count in self.models[day].items():
                models[name][model] += count
        order = {BEFORE: -1, UNKNOWN: 1}
        return [
            StatsPeriod(**structs.asdict(self.share(name, whole[name])), models=dict(sorted(models[name].items())))
            for name in sorted(whole, key=lambda name: (order.get(name, 0), name))
        ]

    def share(self, name: str, tally: LineTally) -> LineShare:
        """A tally as it leaves the program."""
        return LineShare(
            name=name,
            lines=tally.total,
            agent=tally.lines[LineOwner.AGENT],
            mixed=tally.lines[LineOwner.MIXED],
            person=tally.lines[LineOwner.PERSON],
            none=tally.lines[LineOwner.NONE],
            share=_part(tally.agents, tally.total),
            part=_part(tally.total, self.totals.total),
        )


def stats(
    workspace: Workspace, where: str | None = None, *, revision: str | None = None, agent: str | None = None
) -> StatsReport:
    """Whose the lines of a file, a folder or the whole repository are, as of a commit; perhaps one agent's share."""
    repository = workspace.repository
    root = _root(workspace, where)
    commit = repository.resolve(revision or "HEAD")
    files = _files(repository, commit, root)
    # Only lineage tells lines apart: profile 'document' asks about stretches and git blame of every file.
    with open_attribution(workspace, "lineage") as evidence:
        since_ns = evidence.history.since_ns
        counting = _LineCounter(evidence, commit, root, agent)
        workspace.progress.start("counting", len(files))
        for path in files:
            counting.count(path)
            workspace.progress.step(1)
        digest = evidence.digest
        if agent is not None:
            from custody.intake.install.agent_status import check_agent  # only a named agent needs the table

            check_agent(agent, (*(row.agent for row in agent_rows(evidence.store)), *counting.counted.by["agent"]))
    return _report(counting.counted, root, commit, digest_text(digest), since_ns)


def _report(
    count: LineStatistics, root: RepoPath | None, commit: CommitSha, rules_digest: str, since_ns: int | None
) -> StatsReport:
    return StatsReport(
        path=None if root is None else root.display,
        agent=count.agent,
        revision=commit,
        rules_digest=rules_digest,
        since=None if since_ns is None else text_from(since_ns),
        files=count.files,
        totals=count.share("all", count.totals),
        classes=count.shares("class"),
        models=count.shares("model"),
        agents=count.shares("agent"),
        tiers=count.shares("tier"),
        folders=count.shares("folder"),
        months=count.shares("month"),
        growth=count.growth(),
        left_out=count.left_out[:LEFT_OUT_NAMED_MAX],
        left_out_count=len(count.left_out),
        notes=list(count.notes),
    )


@dataclass(frozen=True, slots=True)
class _CaptureReach:
    """The files that commits since the first capture changed, and those of which something may have been captured.

    A file that a commit brought while it took a captured one away may be that one under another name.
    """

    changed: frozenset[RepoPath]
    captured: frozenset[RepoPath]


class _LineCounter:
    """Files of one commit are asked about one after the other."""

    def __init__(
        self, evidence: AttributionContext, commit: CommitSha, root: RepoPath | None, agent: str | None = None
    ) -> None:
        self.counted = LineStatistics(agent)
        self._evidence = evidence
        self._answers = LineAttributor(evidence)
        self._commit = commit
        self._root = root
        self._reach = _reach(evidence, commit, root)

    def count(self, path: RepoPath) -> None:
        """Count the lines of a file."""
        folder = _folder(path, self._root)
        try:
            texts = self._evidence.texts(path, self._commit)
            if self._may_be_known(path, texts):
                for answer in self._answers.of(self._evidence.version(path, self._commit)):
                    self.counted.add(answer, folder, self._day(answer))
                self._keep()
            else:
                # A file that changed since, of which nothing was captured: only git's own blame could say when.
                self.counted.add_unknown(len(texts), folder, UNKNOWN if path in self._reach.changed else BEFORE)
        except InputError as error:
            self.counted.left_out.append(UncountedFile(path.display, error.message))
            return
        self.counted.files += 1

    def _may_be_known(self, path: RepoPath, texts: Sequence[str]) -> bool:
        """Whether a file's history can tell anything: asking every file for it would cost some processes of git each.

        It cannot where no commit changed the file since the first capture. Nor where nothing was captured of it under
        any of its names, and none of its lines is one that an agent once brought somewhere.
        """
        if path not in self._reach.changed or path in self._reach.captured:
            return path in self._reach.changed
        telling = list(dict.fromkeys(keys_of(line for line in texts if is_informative(line))))
        return self._evidence.lineage.tables.has_newer(telling, 0)

    def _keep(self) -> None:
        """Save what was worked out and begin afresh: a file's history shares nothing with the next one's.

        The limits of one question hold for each file, and memory for the largest.
        """
        self.counted.notes.update(dict.fromkeys(self._evidence.history.searched.limits))
        self._evidence.save()
        del self._evidence.history

    def _day(self, answer: LineAnswer) -> str:
        """The day on which lines were first committed, as their author's clock said in UTC, if since the capture."""
        if not answer.trail:
            return BEFORE
        first = answer.trail[0]
        commit = None if first is None else self._evidence.commit(first)
        at = None if commit is None else commit.author.at
        return UNKNOWN if at is None or not 0 <= at.seconds <= SECONDS_MAX else text_from(at.seconds * NS)[:DAY_SIGNS]


def _root(workspace: Workspace, where: str | None) -> RepoPath | None:
    """The file or folder that is meant; None for the whole repository."""
    work_tree = workspace.repository.work_tree
    if where is None:
        return None
    if work_tree is not None and os.path.realpath(workspace.folder / where) == os.path.realpath(work_tree):
        return None
    return workspace.repository.path(where, workspace.folder)


def _files(repository: Repository, commit: CommitSha, root: RepoPath | None) -> Sequence[RepoPath]:
    """The regular files of a commit at or below a path."""
    with repository.tree(commit, [] if root is None else [root]) as entries:
        found = [entry.path for entry in entries if entry.kind == "blob" and entry.mode in REGULAR]
    if not found and root is not None:
        raise InputError(
            f"no file is at or below '{root.display}' in {commit[:12]}",
            hint="paths are relative to the folder that you are in; only committed files are counted",
        )
    return found


def _reach(evidence: AttributionContext, commit: CommitSha, root: RepoPath | None) -> _CaptureReach:
    """Which files any commit changed since the first capture, and which of them may have been captured."""
    since_ns = evidence.history.since_ns
    if since_ns is None:
        return _CaptureReach(frozenset(), frozenset())
    # Of the whole repository also for one folder: a file may have come into it from another.
    captured = paths_in(evidence.store, CAPTURED)
    changed: set[RepoPath] = set()
    for files in reversed(_changes(evidence.repository, commit, since_ns)):
        changed.update(file.path for file in files)
        if any(file.kind is ChangeKind.DELETED and file.path in captured for file in files):
            captured.update(file.path for file in files if file.kind is ChangeKind.ADDED)
    return _CaptureReach(frozenset(changed), frozenset(captured))


def _changes(repository: Repository, commit: CommitSha, since_ns: int) -> list[tuple[FileChange, ...]]:
    """What each commit since a moment changed, newest first."""
    with repository.log([commit], walk=Walk(since_seconds=max(0, since_ns // NS))) as commits:
        questions = [
            Comparison(changing_commit.id, parent)
            for changing_commit in commits
            for parent in (changing_commit.parents or (None,))
        ]
    if not questions:
        return []
    with repository.changes(questions, renames=False) as answers:
        return [tuple(answer.files) for answer in answers]


def _folder(path: RepoPath, root: RepoPath | None) -> str:
    """The first folder below the root that a file is in."""
    below = path.raw if root is None else path.raw.removeprefix(root.raw).lstrip(b"/")
    first, slash, _ = below.partition(b"/")
    return RepoPath(first).display + "/" if slash else HERE


def _part(some: float, whole: int) -> float:
    return round(some / whole, 4) if whole else 0.0
