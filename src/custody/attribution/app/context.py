"""The store, git, replayed states and history behind one question about a file's lines, open at once."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from custody.attribution.app.commit_texts import RemovedLines
from custody.attribution.app.history import History, KnownTouches
from custody.attribution.app.replay import Lineage
from custody.attribution.carry import UnmatchedRange, align_carried_items, find_carried_blocks, find_gaps_between_blocks
from custody.attribution.origin_search import (
    AddingCommit,
    VersionLine,
    removed_run_from_hunk,
    splice_commit_hunks,
)
from custody.attribution.rules import AttributeRules, Profile
from custody.attribution.text import decode_lineage_text, line_ranges_from_numbers, split_lineage_lines
from custody.config import EffectiveRules, TeamPolicy
from custody.core.errors import InputError
from custody.core.ids import CommitSha, Digest
from custody.core.paths import Hunk, Lines, RepoPath
from custody.core.wire.canonical import digest_rule_tables
from custody.core.wire.claims import ChainRatings
from custody.git import Commit as GitCommit
from custody.git import FileAt, NoObject, Object, ObjectReader, Repository, WorkFile, parse_commit
from custody.ledger.assurance import rate_workspace_chains
from custody.store import Store, StoreUnwritable
from custody.workspace.rules_in_force import load_workspace_rules
from custody.workspace.workspace import Workspace

TRACES = ".agent-trace"
BLAME_RANGES_MAX = 500
"""Maximum ranges in one question to git blame; more are asked as one range, since a command line is limited."""


class FileVersion(Struct, frozen=True):
    """A file's text with the origin of each line; ``commit`` is None for the work tree on top of ``base``."""

    path: RepoPath
    commit: CommitSha | None
    base: CommitSha | None
    texts: Sequence[str]
    lines: Sequence[VersionLine]


class AttributionContext:
    """One workspace's evidence about lines, for any number of files."""

    def __init__(
        self,
        workspace: Workspace,
        store: Store,
        objects: ObjectReader[Object],
        rules: AttributeRules,
        ratings: ChainRatings,
    ) -> None:
        self.workspace = workspace
        self.store = store
        self.rules = rules
        self.objects = objects
        self.ratings = ratings
        self.known_touches = KnownTouches()
        self._commits: dict[CommitSha, GitCommit | None] = {}
        self._introduced: dict[tuple[CommitSha, RepoPath], dict[int, CommitSha]] = {}

    @property
    def repository(self) -> Repository:
        """The repository of the workspace."""
        return self.workspace.repository

    @cached_property
    def digest(self) -> Digest:
        """The digest of the rules, which evidence names them by."""
        return digest_rule_tables({"attribute": self.rules})

    @cached_property
    def lineage(self) -> Lineage:
        """The captured states, replayed up to now."""
        lineage = Lineage(self.store, self.objects, self.rules)
        lineage.catch_up(self.workspace.progress.start, self.workspace.progress.step)
        return lineage

    @cached_property
    def history(self) -> History:
        """The versions of files along commits."""
        return History(self.repository, self.objects, self.lineage, self.gone, self.known_touches)

    @cached_property
    def gone(self) -> RemovedLines:
        """The lines that commits removed."""
        return RemovedLines(self.repository)

    def version(self, path: RepoPath, commit: CommitSha | None) -> FileVersion:
        """Return a file with its origins, as of a commit or (None) as it is on disk."""
        if commit is not None:
            blob = self._read_blob(path, commit)
            lines = _decode_attributable_lines(path, blob.content)
            self.history.hold(commit, path, lines, blob.info.id)
            return FileVersion(path, commit, commit, lines, self.history.version(commit, path, keyed=False))
        texts = self.texts(path, None)
        head = self.repository.head().commit
        committed = [] if head is None else self.history.texts(head, path)
        if head is not None and committed == texts:
            return FileVersion(path, None, head, texts, self.history.version(head, path, keyed=False))
        old = [] if head is None else self.history.version(head, path)
        return FileVersion(path, None, head, texts, self._explain_uncommitted_lines(path, old, committed, texts))

    def use_buffers(self, buffers: tuple[WorkFile, ...]) -> None:
        """Answer from now on about these texts of an editor, instead of those on disk."""
        self.workspace = replace(self.workspace, buffers=buffers)
        if "history" in self.__dict__:
            self.history.use_repository(self.repository)

    def find_line_in_base(self, version: FileVersion, line: int) -> int:
        """Return the line's number in the commit below ``version``; the same number if the line is new."""
        if version.commit is not None or version.base is None:
            return line
        committed = self.history.texts(version.base, version.path)
        places = {new + 1: old + 1 for old, new in align_carried_items(committed, version.texts)}
        return places.get(line, line)

    def find_introducing_commits(
        self, path: RepoPath, commit: CommitSha | None, texts: Sequence[str], line_ranges: Iterable[Lines]
    ) -> dict[int, CommitSha]:
        """Return the commit that git blame names for each of these committed lines; none where git cannot tell.

        ``texts`` are the lines of the file as of ``commit`` or (None) on disk.
        """
        base = commit or self.repository.head().commit
        if base is None:
            return {}
        committed = texts if commit is not None else self.history.texts(base, path)
        places = {new + 1: old + 1 for old, new in align_carried_items(committed, texts)}
        numbers = {number for lines in line_ranges for number in range(lines.first, lines.last + 1)} & places.keys()
        known = self._introduced.setdefault((base, path), {})
        unread = sorted(places[number] for number in numbers if places[number] not in known)
        ranges = list(line_ranges_from_numbers(unread))
        if len(ranges) > BLAME_RANGES_MAX:
            ranges = [Lines(ranges[0].first, ranges[-1].last)]
        if ranges:
            for source in self.repository.line_sources(base, path, ranges):
                known.update(dict.fromkeys(range(source.blamed.first, source.blamed.last + 1), source.commit))
        return {number: known[places[number]] for number in numbers if places[number] in known}

    def texts(self, path: RepoPath, commit: CommitSha | None) -> list[str]:
        """Return a file's lines as of a commit or (None) on disk; raise an ``InputError`` if it has no text."""
        return self._read_work_tree_texts(path) if commit is None else self._read_committed_texts(path, commit)

    def commit(self, sha: CommitSha) -> GitCommit | None:
        """Return a commit; None if the repository does not have it."""
        self.read_commits([sha])
        return self._commits[sha]

    def read_commits(self, shas: Iterable[CommitSha | None]) -> None:
        """Read these commits at once, so that ``commit`` needs no further read."""
        unread = [sha for sha in shas if sha is not None and sha not in self._commits]
        for sha, git_object in zip(unread, self.objects.read_all(unread), strict=True):
            if isinstance(git_object, Object) and git_object.info.kind == "commit":
                self._commits[sha] = parse_commit(sha, git_object.content)
            else:
                self._commits[sha] = None

    def save(self) -> None:
        """Store computed versions for reuse, if the store can be written; answers do not depend on it."""
        if self.history.is_saved:
            return
        try:
            with self.store.writing():
                self.history.save()
        except StoreUnwritable:
            return  # the next question computes them again

    def _read_committed_texts(self, path: RepoPath, commit: CommitSha) -> list[str]:
        return _decode_attributable_lines(path, self._read_blob(path, commit).content)

    def _read_blob(self, path: RepoPath, commit: CommitSha) -> Object:
        blob = self.objects.read(FileAt(commit, path))
        if isinstance(blob, NoObject):
            raise InputError(
                f"cannot find '{path.display}' in {commit[:12]}: it is {blob.reason}",
                hint="paths are relative to the current folder; 'git ls-tree' lists the files of a revision",
            )
        if blob.info.kind != "blob":
            raise InputError(f"'{path.display}' is not a file in {commit[:12]}", hint="pass the path of a file")
        return blob

    def _read_work_tree_texts(self, path: RepoPath) -> list[str]:
        file = self.repository.work_file(path)
        if isinstance(file, WorkFile):
            return _decode_attributable_lines(path, file.content)
        raise InputError(
            f"cannot read '{path.display}': it {file.reason}",
            hint="pass a file of the work tree, or a revision that has it",
        )

    def _explain_uncommitted_lines(
        self, path: RepoPath, old: Sequence[VersionLine], committed: Sequence[str], texts: Sequence[str]
    ) -> list[VersionLine]:
        """Return the work tree's lines, explained as one more commit; git would run the repository's filters."""
        hunks = [
            self.history.mask_hunk(_uncommitted_hunk_from_gap(committed, texts, gap))
            for gap in find_gaps_between_blocks(
                find_carried_blocks(committed, texts), UnmatchedRange(0, len(committed), 0, len(texts))
            )
        ]
        if not hunks:
            return list(old)
        replaced = [(hunk, removed_run_from_hunk(hunk, old)) for hunk in hunks]
        return self.history.explain_lines(
            splice_commit_hunks(old, hunks), AddingCommit(None, self.workspace.now_ns()), path, replaced
        )


@contextmanager
def open_attribution(
    workspace: Workspace,
    profile: Profile | None = None,
    effective: EffectiveRules | None = None,
    policy: TeamPolicy | None = None,
) -> Iterator[AttributionContext]:
    """Open everything that attribution needs, under the rules in force or ``effective``, perhaps in ``profile``.

    Chains are believed as far as ``policy`` says, or the team's policy in HEAD.
    """
    rules = (effective or load_workspace_rules(workspace)[0]).of(AttributeRules)
    if profile is not None:
        rules = replace(rules, profile=profile)
    with open_attribution_store(workspace) as store, workspace.repository.objects() as objects, ExitStack() as stack:
        ratings = rate_workspace_chains(workspace, store, policy)
        evidence = AttributionContext(workspace, store, objects, rules, ratings)
        try:
            _ = evidence.lineage  # replays new records, which writes to the store
        except StoreUnwritable:
            copy = workspace.private_copy(store)
            if copy is None:
                raise
            evidence = AttributionContext(workspace, stack.enter_context(copy), objects, rules, ratings)
        yield evidence


def replay_captured_edits(workspace: Workspace) -> None:
    """Replay the edits of new records, so that the first question about lines does not have to."""
    if not workspace.exists():
        return
    try:
        with open_attribution(workspace):
            pass
    except InputError:
        return  # the rules or the repository cannot be read, which the first question reports


def open_attribution_store(workspace: Workspace) -> AbstractContextManager[Store]:
    """Return the workspace's store, with the traces of other tools in the work tree.

    A question about the past leaves them out: they were not known then.
    """
    work_tree = workspace.repository.work_tree
    if workspace.until_ns is not None or work_tree is None or not (work_tree / TRACES).is_dir():
        return workspace.reading()
    from custody.intake.import_traces import open_store_with_own_traces  # slow to import, and few repositories need it

    return open_store_with_own_traces(workspace)


def _uncommitted_hunk_from_gap(committed: Sequence[str], texts: Sequence[str], gap: UnmatchedRange) -> Hunk[str]:
    removed, added = committed[gap.old_first : gap.old_end], texts[gap.new_first : gap.new_end]
    return Hunk.at_index(gap.old_first, gap.new_first, tuple(removed), tuple(added))


def _decode_attributable_lines(path: RepoPath, content: bytes) -> list[str]:
    if b"\0" in content[:8000]:
        raise InputError(f"'{path.display}' is a binary file", hint="only text files have lines")
    return split_lineage_lines(decode_lineage_text(content))
