"""What a session, or some of its calls, changed: the texts around each edit, and which lines of a file are its own.

A caller that reverses edits needs both. Lines are its own exactly where ``blame`` says so.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from custody.attribution.app.answers import LineAnswer
from custody.attribution.app.commit_texts import mask_hunk_secrets
from custody.attribution.app.context import AttributionContext, FileVersion
from custody.attribution.app.findings import LineAttributor
from custody.attribution.app.history import compute_adding_commit_ns
from custody.attribution.app.replay import MARKER
from custody.attribution.carry import align_carried_items as align_carried_items
from custody.attribution.lineage import LOOK, SNAPSHOT, LineOrigin
from custody.attribution.model import UNKNOWN, LineOwner
from custody.attribution.model import format_certainty as _format_certainty
from custody.attribution.packing import unpack_line_origins
from custody.attribution.queries.lineage import StateRow
from custody.attribution.text import decode_lineage_text as decode_lineage_text
from custody.attribution.text import is_informative_lineage_line as is_informative_lineage_line
from custody.attribution.text import split_lineage_lines as split_lineage_lines
from custody.attribution.text import split_lineage_words as split_lineage_words
from custody.core.ids import AgentName, CommitSha, SessionId
from custody.core.paths import RepoPath
from custody.core.views import FileEdit, FileState, View
from custody.core.wire.claims import is_claim_record

LOST = "\ufffd"
"""What an agent reports for a byte that is not UTF-8."""


class EditSelection(Struct, frozen=True):
    """The edits to reverse: those of a session, or of some of its calls."""

    agent: AgentName
    session: SessionId
    calls: frozenset[str] | None = None


class CapturedEdit(Struct, frozen=True):
    """One captured edit of a file, or adjacent ones without a change between them: its lines before and after.

    ``own`` are the lines before that an earlier edit of the selection wrote. ``is_live``: this store recorded the text
    before itself. ``is_recorded``: it was recorded live. ``creates``: nothing shows that the file existed before.
    ``raw_before`` is the whole text before, as recorded live.
    """

    path: RepoPath
    at_ns: int
    states: frozenset[int]
    records: frozenset[str]
    before: Sequence[str]
    after: Sequence[str]
    own: Sequence[bool]
    is_live: bool
    is_recorded: bool
    is_piece: bool
    creates: bool
    deletes: bool
    revision: CommitSha | None
    raw_before: str | None


class OwnedLine(Struct, frozen=True):
    """The author of one line of the work tree, as ``blame`` shows it.

    ``is_selected``: an edit of the selection wrote it, wholly or partly. ``is_older``: a commit before that edit has it
    already, so that clocks differ or the record is wrong. ``commit`` is the last commit that changed it;
    None is the work tree, and a line older than all commits that were searched has none.
    """

    is_selected: bool
    is_whole: bool
    certainty: str
    author: str | None
    is_contested: bool
    is_older: bool
    commit: CommitSha | None
    first_commit: CommitSha | None
    state: int


UNKNOWN_LINE = OwnedLine(
    is_selected=False,
    is_whole=False,
    certainty=UNKNOWN,
    author=None,
    is_contested=False,
    is_older=False,
    commit=None,
    first_commit=None,
    state=0,
)


class SessionEdits:
    """The edits of one selection."""

    def __init__(self, evidence: AttributionContext, selection: EditSelection) -> None:
        self._evidence = evidence
        self._lineage = evidence.lineage
        self._selection = selection
        self._attributor = LineAttributor(evidence, is_brief=True)
        self._is_redacted = False
        """Whether an edit that was listed has a text without its secrets."""
        self._live_chains = evidence.store.tables.list_owned_chains()
        tables = self._lineage.tables
        authors = tables.list_states_of_session(selection.agent, selection.session)
        chosen = [(state, path) for state, path, call in authors if selection.calls is None or call in selection.calls]
        self.states = frozenset(state for state, _ in chosen)
        self.paths = sorted({path for _, path in chosen})
        """The files of the selection's edits, under their names of that time."""

    def list_edits(self, *paths: RepoPath) -> list[CapturedEdit]:
        """Return the edits of a file under all its names, oldest first."""
        by_path = (self._lineage.tables.list_states(path) for path in paths)
        rows = sorted((row for rows in by_path for row in rows), key=lambda row: row.at_ns)
        edits: list[CapturedEdit] = []
        previous: StateRow | None = None
        is_adjacent = False
        for row in rows:
            if row.id not in self.states or LOOK in row.author.observed or self._is_withheld(row):
                # A snapshot of an unchanged file separates nothing.
                is_adjacent = is_adjacent and previous is not None and previous.keys == row.keys
                previous = row
                continue
            edit = self._read_edit(row, previous)
            if is_adjacent and edits and _can_join(edits[-1], edit):
                edits[-1] = _join_edits(edits[-1], edit)
            else:
                edits.append(edit)
            previous, is_adjacent = row, True
        return edits

    def count_withheld(self, path: RepoPath) -> int:
        """Return how many edits of a file came without their texts from another store."""
        rows = self._lineage.tables.list_states(path)
        return sum(row.id in self.states and self._is_withheld(row) for row in rows)

    def list_lines(self, path: RepoPath, former: RepoPath | None = None) -> list[OwnedLine]:
        """Return the author of each line of a file in the work tree; ``InputError`` if it has no text.

        ``former`` is its path in HEAD if a rename is not committed: equal lines have the authors that they have there.
        """
        head = self._evidence.repository.head().commit
        if former is None or head is None:
            return self._list_version_lines(self._evidence.version(path, None))
        version = self._evidence.version(former, head)
        known = self._list_version_lines(version)
        lines = [UNKNOWN_LINE] * len(self._evidence.texts(path, None))
        for i, j in align_carried_items(version.texts, self._evidence.texts(path, None)):
            lines[j] = known[i]
        return lines

    def _list_version_lines(self, version: FileVersion) -> list[OwnedLine]:
        lines: list[OwnedLine] = []
        for answer in self._attributor.of(version):
            lines.extend([self._describe(answer)] * len(answer.lines))
        return lines

    def find_added_keys(self) -> frozenset[int]:
        """Return the keys of the distinctive lines that the selection added."""
        return self._lineage.tables.find_keys_added_by(self.states)

    def make_keys(self, lines: Iterable[str]) -> list[int]:
        """Return the keys of lines, which ignore white space."""
        return self._lineage.make_keys(lines)

    def normalize(self, lines: Sequence[str]) -> Sequence[str]:
        """Return lines as the listed edits have them: without secrets, and with a mark for bytes that are not UTF-8."""
        if any(not line.isascii() for line in lines):
            lines = [
                line if line.isascii() else line.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
                for line in lines
            ]
        return mask_hunk_secrets(lines) if self._is_redacted else lines

    def prepare(self, paths: Collection[RepoPath]) -> None:
        """Read the history of these files at once."""
        head = self._evidence.repository.head().commit
        if head is not None:
            self._evidence.history.prepare(head, paths)

    def save_and_reset(self) -> None:
        """Store the computed versions, and drop them from memory."""
        self._evidence.save()
        del self._evidence.history

    def _is_withheld(self, row: StateRow) -> bool:
        return self._lineage.withheld(row, None) is not None

    def _describe(self, answer: LineAnswer) -> OwnedLine:
        is_selected = answer.origin.state in self.states and answer.owner.is_agent
        certainty = _format_certainty(answer.tier, answer.grade, is_person=answer.owner is LineOwner.PERSON)
        trace = answer.trace
        is_agents = answer.owner.is_agent and trace is not None
        statement = answer.statements[0].person if answer.statements else None
        return OwnedLine(
            is_selected=is_selected,
            is_whole=answer.owner is LineOwner.AGENT,
            certainty=certainty if is_agents else UNKNOWN,
            author=f"{trace.agent} {trace.session}" if is_agents and trace is not None else statement,
            is_contested=bool(answer.statements),
            is_older=is_selected and self._is_older(answer),
            commit=answer.trail[-1] if answer.trail else None,
            first_commit=answer.trail[0] if answer.trail else None,
            state=answer.origin.state,
        )

    def _is_older(self, answer: LineAnswer) -> bool:
        """Return whether a commit before the edit has its line; a command may commit what it wrote before it ends."""
        commit = self._evidence.commit(answer.trail[0]) if answer.trail and answer.trail[0] is not None else None
        author = None if commit is None else self._lineage.tables.read_state_author(answer.origin.state)
        if commit is None or author is None or SNAPSHOT in author.observed:
            return False
        return compute_adding_commit_ns(commit) < author.at_ns

    def _read_edit(self, row: StateRow, previous: StateRow | None) -> CapturedEdit:
        record = self._evidence.store.tables.record(row.ref)
        views = () if record is None else self._evidence.store.views.read_views(record)
        view = views[row.n] if row.n < len(views) else None
        before, after = self._lineage.find_text_before(row), self._lineage.text_of_state(row)
        self._is_redacted = self._is_redacted or any(MARKER in line for line in (*before, *after))
        is_recorded = record is not None and not is_claim_record(record, self._evidence.ratings.believed)
        raw = view.before.content if isinstance(view, FileEdit) and view.before is not None and not view.part else None
        story = self._attributor.story(row.id)
        return CapturedEdit(
            path=row.path,
            at_ns=row.at_ns,
            states=frozenset((row.id,)),
            records=frozenset((str(row.ref), *(() if story is None or story.call is None else (story.call,)))),
            before=before,
            after=after,
            own=self._find_own_lines(before, previous),
            is_live=self._is_live(row) and self._has_live_text_before(view, previous),
            is_recorded=is_recorded and self._attributor.is_intact(row.ref.store),
            is_piece=_is_piece(view, row),
            creates=_creates_file(view, previous) and not before,
            deletes=not after and (not isinstance(view, FileState) or view.gone),
            revision=row.author.revision,
            raw_before=raw if self._is_live(row) else None,
        )

    def _is_live(self, row: StateRow) -> bool:
        """Return whether this store recorded a state itself, as it happened."""
        record = self._evidence.store.tables.record(row.ref)
        return record is not None and not is_claim_record(record, self._live_chains)

    def _has_live_text_before(self, view: View | None, previous: StateRow | None) -> bool:
        if isinstance(view, FileEdit):
            return not view.overwrites and (view.before is not None or previous is None)
        return previous is None or self._is_live(previous)

    def _find_own_lines(self, before: Sequence[str], previous: StateRow | None) -> list[bool]:
        """Return which lines before an edit an earlier edit of the selection wrote."""
        own = [False] * len(before)
        if previous is not None and not self._is_withheld(previous):
            origins: Sequence[LineOrigin] = unpack_line_origins(previous.origins)
            for i, j in align_carried_items(previous.keys, self._lineage.make_keys(before)):
                own[j] = origins[i].state in self.states and origins[i].share >= 1.0
        return own


def has_lost_text(line: str) -> bool:
    """Return whether a captured line is not the file's: without a secret, or with bytes that are not UTF-8.

    >>> has_lost_text("token = [redacted:random]"), has_lost_text("a")
    (True, False)
    """
    return MARKER in line or LOST in line


def _is_piece(view: View | None, row: StateRow) -> bool:
    if not isinstance(view, FileEdit) or not view.part or view.after is None or row.text is None:
        return False
    return split_lineage_lines(view.after.content or "") == split_lineage_lines(row.text)


def _creates_file(view: View | None, previous: StateRow | None) -> bool:
    if isinstance(view, FileEdit):
        return not view.overwrites and view.before is None and not view.part and (previous is None or not previous.keys)
    return previous is None or not previous.keys


def _can_join(first: CapturedEdit, second: CapturedEdit) -> bool:
    is_whole = not first.is_piece and not second.is_piece
    return is_whole and first.is_recorded == second.is_recorded and list(first.after) == list(second.before)


def _join_edits(first: CapturedEdit, second: CapturedEdit) -> CapturedEdit:
    return replace(
        first,
        states=first.states | second.states,
        records=first.records | second.records,
        after=second.after,
        deletes=second.deletes,
    )


def iterate_line_keys(edits: SessionEdits, content: bytes) -> Iterator[int]:
    """Yield the key of every line of a file."""
    yield from edits.make_keys(split_lineage_lines(decode_lineage_text(content)))
