"""Former text of one file: from this store's live recordings, or from git objects here, and from nowhere else."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from custody.attribution.app.context import AttributionContext
from custody.attribution.app.session_edits import (
    CapturedEdit,
    SessionEdits,
    decode_lineage_text,
    has_lost_text,
    split_lineage_lines,
)
from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.git import FileAt, Object, Walk

NS = 1_000_000_000
DAY_SECONDS = 86_400
HORIZON_DAYS = 2
"""Days before the first edit from which on commits may have its former text; clocks differ by less."""
VERSIONS_MAX = 400
"""Maximum commits of a file that are searched for former text."""
TEXT_BYTES_MAX = 8_000


class FileVersionText(Struct, frozen=True):
    """A version of a file in git: its bytes, its lines, and its lines as captures have them."""

    content: bytes
    lines: Sequence[str]
    normal: Sequence[str]


class FormerTexts:
    """The versions of one file, under its names."""

    def __init__(
        self, evidence: AttributionContext, edits: SessionEdits, paths: Sequence[RepoPath], first_ns: int
    ) -> None:
        self._evidence = evidence
        self._edits = edits
        self._paths = paths
        self._since_seconds = max(0, first_ns // NS - HORIZON_DAYS * DAY_SECONDS)
        self._read: dict[FileAt, FileVersionText | None] = {}
        self._versions: list[FileVersionText] = []
        self._unread: Iterator[FileVersionText] | None = None

    def find(self, edit: CapturedEdit, lines: range) -> Sequence[str] | None:
        """Return the former text of lines before an edit; None if it is not to be had."""
        captured = edit.before[lines.start : lines.stop]
        if edit.is_live and not any(map(has_lost_text, captured)):
            return captured
        wanted = self._edits.normalize(captured)
        for version in self._iterate_versions():
            at = _find_run(version.normal, wanted)
            if at is not None:
                return version.lines[at : at + len(wanted)]
        return None

    def find_whole(self, wanted: Sequence[str], commits: Sequence[CommitSha | None]) -> bytes | None:
        """Return the file's bytes from the first of these commits in which it has exactly these lines."""
        for commit in commits:
            for path in self._paths:
                version = None if commit is None else self.read(FileAt(commit, path))
                if version is not None and list(version.lines) == list(wanted):
                    return version.content
        return None

    def exists_in(self, commits: Sequence[CommitSha | None]) -> bool:
        """Return whether any of these commits has the file."""
        names = [FileAt(commit, path) for commit in commits if commit is not None for path in self._paths]
        return any(isinstance(self._evidence.objects.read(name), Object) for name in names)

    def read(self, name: FileAt) -> FileVersionText | None:
        """Return a version of the file; None if the commit has none, or no text."""
        if name not in self._read:
            blob = self._evidence.objects.read(name)
            self._read[name] = None
            if isinstance(blob, Object) and blob.info.kind == "blob" and b"\0" not in blob.content[:TEXT_BYTES_MAX]:
                lines = split_lineage_lines(decode_lineage_text(blob.content))
                self._read[name] = FileVersionText(blob.content, lines, self._edits.normalize(lines))
        return self._read[name]

    def _iterate_versions(self) -> Iterator[FileVersionText]:
        """Yield the versions of the file, the oldest first, each read once."""
        yield from self._versions
        if self._unread is None:
            self._unread = self._read_versions()
        for version in self._unread:
            self._versions.append(version)
            yield version

    def _read_versions(self) -> Iterator[FileVersionText]:
        head = self._evidence.repository.head().commit
        if head is None:
            return
        walk = Walk(since_seconds=self._since_seconds, count_max=VERSIONS_MAX)
        with self._evidence.repository.log([head], self._paths, walk) as log:
            commits = list(log)[::-1]
        # Without a commit since the edit, the file is in HEAD as it was before.
        shas = [*(parent for commit in commits[:1] for parent in commit.parents), *(commit.id for commit in commits)]
        for sha in shas or [head]:
            for path in self._paths:
                version = self.read(FileAt(sha, path))
                if version is not None:
                    yield version


def _find_run(lines: Sequence[str], wanted: Sequence[str]) -> int | None:
    """Return where ``wanted`` is in ``lines`` in a row; None if nowhere."""
    if not wanted:
        return None
    first, count = wanted[0], len(wanted)
    for at in range(len(lines) - count + 1):
        if lines[at] == first and list(lines[at : at + count]) == list(wanted):
            return at
    return None
