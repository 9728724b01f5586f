"""Everything that one question about a file's lines needs, open at once: store, git, replayed states, history."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

from custody.attribution.app.commit_texts import RemovedLines
from custody.attribution.app.history import History
from custody.attribution.app.replay import Lineage
from custody.attribution.carry import UnmatchedRange, align, equal_blocks, gaps_of
from custody.attribution.origin_search import AddingCommit, CommitHunk, VersionLine, removed_by, spliced
from custody.attribution.rules import AttributeRules, Profile
from custody.attribution.text import forget_lines, lines_of, text_of
from custody.config import EffectiveRules
from custody.core.errors import InputError
from custody.core.ids import CommitSha, Digest
from custody.core.paths import RepoPath
from custody.core.wire.canonical import rules_digest
from custody.git import Commit as GitCommit
from custody.git import FileAt, NoObject, Object, ObjectReader, Repository, WorkFile, parse_commit
from custody.store import Store, StoreUnwritable
from custody.workspace.rules_in_force import load_rules
from custody.workspace.workspace import Workspace

TRACES = ".agent-trace"


@dataclass(frozen=True, slots=True)
class FileVersion:
    """A file's text and where each line comes from; ``commit`` is None for the work tree, which stands on ``base``."""

    path: RepoPath
    commit: CommitSha | None
    base: CommitSha | None
    texts: Sequence[str]
    lines: Sequence[VersionLine]


class AttributionContext:
    """One workspace's evidence about lines, for as many files as one likes."""

    def __init__(
        self, workspace: Workspace, store: Store, objects: ObjectReader[Object], rules: AttributeRules
    ) -> None:
        self.workspace = workspace
        self.store = store
        self.rules = rules
        self.objects = objects
        self._commits: dict[CommitSha, GitCommit | None] = {}

    @property
    def repository(self) -> Repository:
        """The repository that is asked about."""
        return self.workspace.repository

    @cached_property
    def digest(self) -> Digest:
        """The name under which evidence keeps the rules."""
        return rules_digest({"attribute": self.rules})

    @cached_property
    def lineage(self) -> Lineage:
        """What was captured, replayed up to now."""
        lineage = Lineage(self.store, self.objects, self.rules)
        lineage.catch_up(self.workspace.progress.start, self.workspace.progress.step)
        return lineage

    @cached_property
    def history(self) -> History:
        """Versions of files along commits."""
        return History(self.repository, self.objects, self.lineage, self.gone)

    @cached_property
    def gone(self) -> RemovedLines:
        """What commits took out of files."""
        return RemovedLines(self.repository)

    def version(self, path: RepoPath, commit: CommitSha | None) -> FileVersion:
        """A file with its origins, as of a commit or (None) as it is on disk."""
        texts = self.texts(path, commit)
        if commit is not None:
            self.history.hold(commit, path, texts)
            return FileVersion(path, commit, commit, texts, self.history.version(commit, path, keyed=False))
        head = self.repository.head().commit
        committed = [] if head is None else self.history.texts(head, path)
        if head is not None and committed == texts:
            return FileVersion(path, None, head, texts, self.history.version(head, path, keyed=False))
        old = [] if head is None else self.history.version(head, path)
        return FileVersion(path, None, head, texts, self._uncommitted(path, old, committed, texts))

    def find_line_in_base(self, version: FileVersion, line: int) -> int:
        """Return where a line of ``version`` stands in the commit below it; the same number where it is new there."""
        if version.commit is not None or version.base is None:
            return line
        committed = self.history.texts(version.base, version.path)
        places = {new + 1: old + 1 for old, new in align(committed, version.texts)}
        return places.get(line, line)

    def texts(self, path: RepoPath, commit: CommitSha | None) -> list[str]:
        """A file's lines as of a commit or (None) as they are on disk; an ``InputError`` says why there are none."""
        return self._on_disk(path) if commit is None else self._committed(path, commit)

    def commit(self, sha: CommitSha) -> GitCommit | None:
        """What a commit says of itself; None when it is not here."""
        self.read_commits([sha])
        return self._commits[sha]

    def read_commits(self, shas: Iterable[CommitSha | None]) -> None:
        """Read what these commits say of themselves, all at once."""
        wanted = [sha for sha in shas if sha is not None and sha not in self._commits]
        for sha, found in zip(wanted, self.objects.read_all(wanted), strict=True):
            if isinstance(found, Object) and found.info.kind == "commit":
                self._commits[sha] = parse_commit(sha, found.content)
            else:
                self._commits[sha] = None

    def save(self) -> None:
        """Keep what was worked out, where the store can be written; an answer does not depend on it."""
        try:
            with self.store.writing():
                self.history.save()
        except StoreUnwritable:
            return  # the next question works it out again

    def _committed(self, path: RepoPath, commit: CommitSha) -> list[str]:
        found = self.objects.read(FileAt(commit, path))
        if isinstance(found, NoObject):
            raise InputError(
                f"cannot find '{path.display}' in {commit[:12]}: it is {found.reason}",
                hint="paths are relative to the folder that you are in; 'git ls-tree' lists what a revision holds",
            )
        if found.info.kind != "blob":
            raise InputError(f"'{path.display}' is not a file in {commit[:12]}", hint="name a file")
        return _text_lines(path, found.content)

    def _on_disk(self, path: RepoPath) -> list[str]:
        file = self.repository.work_file(path)
        if isinstance(file, WorkFile):
            return _text_lines(path, file.content)
        raise InputError(
            f"cannot read '{path.display}': it {file.reason}",
            hint="name a file of the work tree, or a revision that has it",
        )

    def _uncommitted(
        self, path: RepoPath, old: Sequence[VersionLine], committed: Sequence[str], texts: Sequence[str]
    ) -> list[VersionLine]:
        """The work tree is one more commit, which only we compare: git would run the repository's filters."""
        hunks = [
            self.history.as_captured(_hunk(committed, texts, gap))
            for gap in gaps_of(equal_blocks(committed, texts), UnmatchedRange(0, len(committed), 0, len(texts)))
        ]
        if not hunks:
            return list(old)
        replaced = [(hunk, removed_by(hunk, old)) for hunk in hunks]
        return self.history.explained(spliced(old, hunks), AddingCommit(None, self.workspace.now_ns()), path, replaced)


@contextmanager
def open_attribution(
    workspace: Workspace, profile: Profile | None = None, effective: EffectiveRules | None = None
) -> Iterator[AttributionContext]:
    """Open everything that attribution needs, under the rules in force or others, perhaps with another profile."""
    rules = (effective or load_rules(workspace)[0]).of(AttributeRules)
    if profile is not None:
        rules = replace(rules, profile=profile)
    with open_store_with_traces(workspace) as store, workspace.repository.objects() as objects, ExitStack() as stack:
        stack.callback(forget_lines)
        evidence = AttributionContext(workspace, store, objects, rules)
        try:
            _ = evidence.lineage  # replays what is new, which a store that cannot be written refuses
        except StoreUnwritable:
            copy = workspace.private_copy(store)
            if copy is None:
                raise
            evidence = AttributionContext(workspace, stack.enter_context(copy), objects, rules)
        yield evidence


def open_store_with_traces(workspace: Workspace) -> AbstractContextManager[Store]:
    """The workspace's store, with what other tools' traces in the work tree say where there are any.

    What the work tree holds now was not known at a past moment.
    """
    work_tree = workspace.repository.work_tree
    if workspace.until_ns is not None or work_tree is None or not (work_tree / TRACES).is_dir():
        return workspace.reading()
    from custody.intake.import_traces import reading_with_traces  # few repositories have any, and it loads much

    return reading_with_traces(workspace)


def _hunk(committed: Sequence[str], texts: Sequence[str], gap: UnmatchedRange) -> CommitHunk:
    removed, added = committed[gap.old_first : gap.old_end], texts[gap.new_first : gap.new_end]
    return CommitHunk(gap.old_first, tuple(removed), gap.new_first, tuple(added))


def _text_lines(path: RepoPath, content: bytes) -> list[str]:
    if b"\0" in content[:8000]:
        raise InputError(f"'{path.display}' is a binary file", hint="only lines of text can be attributed")
    return lines_of(text_of(content))
