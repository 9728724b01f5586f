"""Count the lines of a file, a folder or the whole repository by class, model, agent and more."""

import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from types import MappingProxyType

from msgspec import Struct, field, structs

from custody.attribution.app.answers import EVIDENCE_SOURCES, NAMED_BY_COMMIT, LineAnswer
from custody.attribution.app.author_claims import list_claimed_paths
from custody.attribution.app.commit_messages import is_named_by_commit
from custody.attribution.app.commit_texts import list_last_touches, read_file_changes
from custody.attribution.app.context import AttributionContext, open_attribution
from custody.attribution.app.findings import LineAttributor
from custody.attribution.model import CERTAINTIES, Grade, LineOwner, TraceAttribution, format_certainty
from custody.attribution.text import is_informative_lineage_line, make_lineage_keys
from custody.attribution.wire import AgentModelShare, LineShare, StatsPeriod, StatsReport, UncountedFile, UnknownFile
from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.core.views import FileEdit, FileState, TracedFile
from custody.core.wire.body import format_digest
from custody.core.wire.time import format_timestamp
from custody.git import ChangeKind, Repository
from custody.intake.queries import list_captured_agents
from custody.ledger.queries import list_recorded_paths
from custody.workspace.change import Addition, ChangeRange, resolve_change_range
from custody.workspace.workspace import Workspace

NS = 1_000_000_000
SECONDS_MAX = 253_402_300_799
"""The last second of the year 9999: a commit may claim any time."""
REGULAR = frozenset((0o100644, 0o100755, 0o100664))
LEFT_OUT_NAMED_MAX = 1_000
CAPTURED = (FileEdit, FileState, TracedFile)
"""The views of files."""
UNKNOWN = "unknown"
BEFORE = "before"
"""The period before the first capture."""
DAYS_MAX = 60
"""Maximum days that are counted separately; more are counted by month."""
MONTH_CHARACTERS, DAY_CHARACTERS = 7, 10
ORDERED_NAMES = MappingProxyType({"certainty": CERTAINTIES, "evidence": EVIDENCE_SOURCES})
"""The rows of tables with a fixed order."""
HERE = "."
"""The name of the folder itself."""


class LineTally(Struct):
    """Lines by class; ``agents`` counts the agents' lines, mixed ones by their share."""

    lines: dict[LineOwner, int] = field(default_factory=lambda: dict.fromkeys(LineOwner, 0))
    agents: float = 0.0

    def add(self, owner: LineOwner, count: int, share: float) -> None:
        """Count lines of one class."""
        self.lines[owner] += count
        self.agents += count * share

    def take(self, other: "LineTally") -> None:
        """Add another tally."""
        for owner, count in other.lines.items():
            self.lines[owner] += count
        self.agents += other.agents

    @property
    def total(self) -> int:
        """The count of all lines."""
        return sum(self.lines.values())


class LineStatistics:
    """The counts of all files; with an ``agent`` only its lines have a share, model and tier."""

    def __init__(self, agent: str | None = None) -> None:
        self.agent = agent
        self.totals = LineTally()
        self.by: dict[str, defaultdict[str, LineTally]] = {
            name: defaultdict(LineTally)
            for name in ("class", "model", "agent", "tier", "certainty", "folder", "month", "growth", "evidence")
        }
        self.models: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
        self.by_agent_model: defaultdict[tuple[str, str], LineTally] = defaultdict(LineTally)
        self.self_reported = 0
        """Lines of people whom only self-reported records name."""
        self.named_by_commit = 0
        """Lines of agents that only their commits name."""
        self.files = 0
        self.unknown_files: list[UnknownFile] = []
        self.left_out: list[UncountedFile] = []
        self.notes: dict[str, None] = {}

    def add(self, answer: LineAnswer, folder: str, day: str) -> None:
        """Count the lines of one answer in every table."""
        owner, count = answer.owner, len(answer.lines)
        share = {LineOwner.AGENT: 1.0, LineOwner.MIXED: answer.share}.get(owner, 0.0)
        if owner is LineOwner.PERSON and answer.grade is Grade.CLAIMED:
            self.self_reported += count
        names = {"class": str(owner.value), "folder": folder, "growth": day}
        if isinstance(answer.finding, TraceAttribution):
            names["agent"] = answer.finding.candidate.trace.agent
            if self.agent in (None, names["agent"]):
                names["model"] = answer.model or UNKNOWN
                self.models[day][names["model"]] += count
                if count:
                    self.by_agent_model[names["agent"], names["model"]].add(owner, count, share)
                names["tier"] = str(answer.finding.tier)
                names["certainty"] = format_certainty(answer.tier, answer.grade)
                names["evidence"] = answer.source or UNKNOWN
                self.named_by_commit += count if is_named_by_commit(answer) else 0
                names["month"] = UNKNOWN if day == BEFORE else day[:MONTH_CHARACTERS]
            else:
                share = 0.0
        self._add(owner, count, share, names)

    def add_unknown(self, count: int, folder: str, day: str) -> None:
        """Count lines without possible evidence."""
        self._add(LineOwner.NONE, count, 0.0, {"class": LineOwner.NONE.value, "folder": folder, "growth": day})

    def _add(self, owner: LineOwner, count: int, share: float, names: dict[str, str]) -> None:
        if count:
            self.totals.add(owner, count, share)
            for by, name in names.items():
                self.by[by][name].add(owner, count, share)

    def shares(self, by: str) -> list[LineShare]:
        """Return the rows of one table, the largest first; tiers, certainties, months and classes in order."""
        tallies = self.by[by]
        if by == "class":
            names: Iterable[str] = [owner.value for owner in LineOwner if owner.value in tallies]
        elif by in ORDERED_NAMES:
            names = [word for word in ORDERED_NAMES[by] if word in tallies]
        elif by in ("tier", "month"):
            names = sorted(tallies)
        else:
            names = sorted(tallies, key=lambda name: (-tallies[name].total, name))
        return [self.share(name, tallies[name]) for name in names]

    def agent_models(self) -> list[AgentModelShare]:
        """Return the models of each agent: the agent with the most lines first, and its models likewise."""
        agents, tallies = self.by["agent"], self.by_agent_model
        pairs = sorted(tallies, key=lambda pair: (-agents[pair[0]].total, pair[0], -tallies[pair].total, pair[1]))
        return [
            AgentModelShare(**structs.asdict(self.share(agent, tallies[agent, model])), model=model)
            for agent, model in pairs
        ]

    def growth(self) -> list[StatsPeriod]:
        """Return all lines by date of commit: those before the capture first, those without a known date last."""
        days = self.by["growth"]
        characters = DAY_CHARACTERS if len(days.keys() - {BEFORE, UNKNOWN}) <= DAYS_MAX else MONTH_CHARACTERS
        periods: defaultdict[str, LineTally] = defaultdict(LineTally)
        models: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
        for day, tally in days.items():
            name = day if day in (BEFORE, UNKNOWN) else day[:characters]
            periods[name].take(tally)
            for model, count in self.models[day].items():
                models[name][model] += count
        order = {BEFORE: -1, UNKNOWN: 1}
        return [
            StatsPeriod(**structs.asdict(self.share(name, periods[name])), models=dict(sorted(models[name].items())))
            for name in sorted(periods, key=lambda name: (order.get(name, 0), name))
        ]

    @property
    def at_least(self) -> float:
        """The share of agents without the lines that only their commits name."""
        named = self.by["evidence"].get(NAMED_BY_COMMIT)
        return _compute_line_fraction(self.totals.agents - (0.0 if named is None else named.agents), self.totals.total)

    @property
    def coverage(self) -> float:
        """The part of lines with evidence about their author."""
        return _compute_line_fraction(self.totals.total - self.totals.lines[LineOwner.NONE], self.totals.total)

    def share(self, name: str, tally: LineTally) -> LineShare:
        """Return a tally as a row of the report."""
        return LineShare(
            name=name,
            lines=tally.total,
            agent=tally.lines[LineOwner.AGENT],
            mixed=tally.lines[LineOwner.MIXED],
            person=tally.lines[LineOwner.PERSON],
            none=tally.lines[LineOwner.NONE],
            share=_compute_line_fraction(tally.agents, tally.total),
            part=_compute_line_fraction(tally.total, self.totals.total),
        )


def compute_line_stats(
    workspace: Workspace,
    where: str | None = None,
    *,
    revision: str | None = None,
    agent: str | None = None,
    with_unknown: bool = False,
) -> StatsReport:
    """Count the lines of a file, a folder or the whole repository as of a commit, by author or for one agent.

    With a ``revision`` such as ``BASE..HEAD`` only the lines that this change adds are counted. The files with unknown
    lines are only listed ``with_unknown``.
    """
    repository = workspace.repository
    root = _resolve_stats_root(workspace, where)
    change = resolve_change_range(repository, revision) if revision is not None and ".." in revision else None
    commit = repository.resolve(revision or "HEAD") if change is None else change.head
    files = _list_counted_files(repository, commit, root) if change is None else _list_changed_files(change, root)
    # Profile 'document' would need git blame of every file.
    with open_attribution(workspace, "lineage") as evidence:
        since_ns = evidence.history.since_ns
        counter = _LineCounter(evidence, commit, root, files, agent)
        workspace.progress.start("counting", len(files))
        additions = {} if change is None else {addition.path: addition for addition in change.additions}
        for path in files:
            counter.count(path, additions.get(path))
            workspace.progress.step(1)
        digest = evidence.digest
        if agent is not None:
            from custody.intake.install.agent_status import check_agent_name  # only a named agent needs the table

            check_agent_name(
                agent, (*(row.agent for row in list_captured_agents(evidence.store)), *counter.statistics.by["agent"])
            )
    report = _report_line_statistics(counter.statistics, root, commit, format_digest(digest), since_ns)
    report = structs.replace(report, base=None if change is None else change.base)
    if not with_unknown:
        return report
    unknown = sorted(counter.statistics.unknown_files, key=lambda file: (-file.lines, file.path))
    return structs.replace(report, unknown_files=unknown)


def _report_line_statistics(
    statistics: LineStatistics, root: RepoPath | None, commit: CommitSha, rules_digest: str, since_ns: int | None
) -> StatsReport:
    return StatsReport(
        path=None if root is None else root.display,
        agent=statistics.agent,
        revision=commit,
        rules_digest=rules_digest,
        since=None if since_ns is None else format_timestamp(since_ns),
        files=statistics.files,
        self_reported=statistics.self_reported,
        named_by_commit=statistics.named_by_commit,
        totals=statistics.share("all", statistics.totals),
        classes=statistics.shares("class"),
        models=statistics.shares("model"),
        agents=statistics.shares("agent"),
        tiers=statistics.shares("tier"),
        folders=statistics.shares("folder"),
        months=statistics.shares("month"),
        growth=statistics.growth(),
        left_out=statistics.left_out[:LEFT_OUT_NAMED_MAX],
        left_out_count=len(statistics.left_out),
        notes=list(statistics.notes),
        agent_models=statistics.agent_models(),
        certainties=statistics.shares("certainty"),
        evidence=statistics.shares("evidence"),
        at_least=statistics.at_least,
        coverage=statistics.coverage,
    )


class _CaptureReach(Struct, frozen=True):
    """The files that commits changed since the first capture, and the files that may have been captured.

    A file that a commit added while it deleted a captured one may be that one under another name.
    """

    changed: frozenset[RepoPath]
    captured: frozenset[RepoPath]


class _LineCounter:
    """Counts the lines of one commit, file by file."""

    def __init__(
        self,
        evidence: AttributionContext,
        commit: CommitSha,
        root: RepoPath | None,
        files: Collection[RepoPath],
        agent: str | None = None,
    ) -> None:
        self.statistics = LineStatistics(agent)
        self._evidence = evidence
        self._answers = LineAttributor(evidence, is_brief=True)
        self._commit = commit
        self._root = root
        self._reach = _compute_capture_reach(evidence, commit, root)
        self._named = self._answers.prepare(commit, files) | list_claimed_paths(evidence)

    def count(self, path: RepoPath, added: Addition | None = None) -> None:
        """Count the lines of a file, or those that a change ``added``."""
        if added is not None and added.unread is not None:
            self.statistics.left_out.append(UncountedFile(path.display, f"'{path.display}' {added.unread}"))
            return
        folder = _name_stats_folder(path, self._root)
        totals = self.statistics.totals
        lines, unknown = totals.total, totals.lines[LineOwner.NONE]
        try:
            texts = self._evidence.texts(path, self._commit)
            if path in self._named or self._may_be_known(path, texts):
                version = self._evidence.version(path, self._commit)
                for answer in self._answers.of(version, () if added is None else added.lines):
                    self.statistics.add(answer, folder, self._day(answer))
                self._save_and_reset()
            else:
                # For a file that changed since without captures, only git blame could tell the date.
                count = len(texts) if added is None else sum(map(len, added.lines))
                self.statistics.add_unknown(count, folder, UNKNOWN if path in self._reach.changed else BEFORE)
        except InputError as error:
            self.statistics.left_out.append(UncountedFile(path.display, error.message))
            return
        self.statistics.files += 1
        if more := totals.lines[LineOwner.NONE] - unknown:
            share = _compute_line_fraction(more, totals.total - lines)
            self.statistics.unknown_files.append(UnknownFile(path.display, more, share))

    def _may_be_known(self, path: RepoPath, texts: Sequence[str]) -> bool:
        """Return whether a file's history can have evidence; reading it costs several git processes.

        It has none if no commit changed the file since the first capture. It has none either if nothing was captured
        under any of its names and no agent ever added one of its lines anywhere.
        """
        if path not in self._reach.changed or path in self._reach.captured:
            return path in self._reach.changed
        informative = (line for line in texts if is_informative_lineage_line(line))
        return self._evidence.lineage.tables.has_newer(list(dict.fromkeys(make_lineage_keys(informative))), 0)

    def _save_and_reset(self) -> None:
        """Store the computed versions and drop the history, so that limits and memory apply to each file alone."""
        self.statistics.notes.update(dict.fromkeys(self._evidence.history.searched.limits))
        self._evidence.save()
        del self._evidence.history

    def _day(self, answer: LineAnswer) -> str:
        """Return the author's date in UTC of the lines' first commit, or ``BEFORE`` or ``UNKNOWN``."""
        if not answer.trail:
            return BEFORE
        first = answer.trail[0]
        commit = None if first is None else self._evidence.commit(first)
        at = None if commit is None else commit.author.at
        return (
            UNKNOWN
            if at is None or not 0 <= at.seconds <= SECONDS_MAX
            else format_timestamp(at.seconds * NS)[:DAY_CHARACTERS]
        )


def _resolve_stats_root(workspace: Workspace, where: str | None) -> RepoPath | None:
    """Return the file or folder to count; None for the whole repository."""
    work_tree = workspace.repository.work_tree
    if where is None:
        return None
    if work_tree is not None and os.path.realpath(workspace.folder / where) == os.path.realpath(work_tree):
        return None
    return workspace.repository.path(where, workspace.folder)


def _list_counted_files(repository: Repository, commit: CommitSha, root: RepoPath | None) -> Sequence[RepoPath]:
    """Return the regular files of a commit at or below a path."""
    with repository.tree(commit, [] if root is None else [root]) as entries:
        files = [entry.path for entry in entries if entry.kind == "blob" and entry.mode in REGULAR]
    if not files and root is not None:
        raise InputError(
            f"cannot find '{root.display}' in {commit[:12]}",
            hint="paths are relative to the current folder; only committed files are counted",
        )
    return files


def _list_changed_files(change: ChangeRange, root: RepoPath | None) -> Sequence[RepoPath]:
    """Return the regular files at or below a path that a change adds lines to."""
    sides = {file.change.new.path: file.change.new for file in change.files if file.change.new is not None}
    below = b"" if root is None else root.raw + b"/"
    return [
        addition.path
        for addition in change.additions
        if sides[addition.path].mode in REGULAR and (addition.path == root or addition.path.raw.startswith(below))
    ]


def _compute_capture_reach(evidence: AttributionContext, commit: CommitSha, root: RepoPath | None) -> _CaptureReach:
    """Return the files that commits changed since the first capture, and those that may have been captured."""
    since_ns = evidence.history.since_ns
    if since_ns is None:
        return _CaptureReach(frozenset(), frozenset())
    # Reads the whole repository even for one folder: a file may have moved into it.
    captured = list_recorded_paths(evidence.store, CAPTURED)
    changed: set[RepoPath] = set()
    changes = read_file_changes(evidence.repository, commit, max(0, since_ns // NS))
    for commit_changes in reversed(changes):
        for files in commit_changes.by_parent.values():
            changed.update(file.path for file in files)
            if any(file.kind is ChangeKind.DELETED and file.path in captured for file in files):
                captured.update(file.path for file in files if file.kind is ChangeKind.ADDED)
    evidence.known_touches.add_all(commit, list_last_touches(commit, changes))
    return _CaptureReach(frozenset(changed), frozenset(captured))


def _name_stats_folder(path: RepoPath, root: RepoPath | None) -> str:
    """Return the file's first folder below the root."""
    below = path.raw if root is None else path.raw.removeprefix(root.raw).lstrip(b"/")
    first, slash, _ = below.partition(b"/")
    return RepoPath(first).display + "/" if slash else HERE


def _compute_line_fraction(part: float, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0
