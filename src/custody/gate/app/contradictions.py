"""Whether what answers about lines rest on is contradicted by other records, or is not what its records say.

Origins of lines are kept beside the records, where somebody may change them; and what was recorded once can be told
again otherwise. An answer is believed as far as its own records bear it out.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property

from custody.attribution.app.context import AttributionContext
from custody.attribution.app.recorded_lines import compute_word_share, find_agents_by_line
from custody.attribution.wire.blame import Attribution
from custody.core.ids import CommitSha, NaturalKey, RecordRef, Seq, SessionId, StoreId
from custody.core.paths import RepoPath
from custody.core.views import FileEdit, FileState, TracedFile
from custody.gate.model import MissingEvidence, RecordState
from custody.gate.queries.edits import edits_recorded_twice
from custody.ledger.claim import is_claim, list_trusted_chains
from custody.ledger.queries.edits import edits_of_session
from custody.store import ObservedView

WORDS_SHARE_MIN = 0.5
"""A line is an agent's, or partly so, if at least this share of its words is; so much must stand in its record."""
MARKER = "[redacted:"

Call = tuple[str, SessionId, str | None]
"""An agent's call in a session; None where its events name no call."""


_TextView = FileEdit | FileState | TracedFile


class ContradictionCheck:
    """One set of answers, held against the records behind them."""

    def __init__(self, evidence: AttributionContext, commit: CommitSha | None) -> None:
        self._evidence = evidence
        self._store = evidence.store
        self._commit = commit
        self._told_twice: dict[SessionId, frozenset[Call]] = {}
        self._unfounded: list[str] = []

    def recorded(self, recorded: RecordState | MissingEvidence | None) -> RecordState | MissingEvidence | None:
        """The state of the store, with what was found here."""
        if not self._unfounded or isinstance(recorded, MissingEvidence):
            return recorded
        found = tuple(
            f"what is kept of where lines of '{path}' come from is not what the records say"
            for path in dict.fromkeys(self._unfounded)
        )
        known = recorded or RecordState()
        return RecordState(known.gaps, (*known.damage, *found))

    def of(self, path: RepoPath, attributions: Sequence[Attribution]) -> frozenset[int]:
        """The answers about one file that other records contradict, by their first line."""
        answers = [
            attribution
            for attribution in attributions
            if attribution.kind != "none" and attribution.session_id is not None
        ]
        if not answers or self._evidence.rules.profile != "lineage":
            return frozenset()
        texts = self._evidence.texts(path, self._commit)
        lines = {answer.start_line: texts[answer.start_line - 1 : answer.end_line] for answer in answers}
        for answer in answers:
            if not self._is_founded(answer, lines[answer.start_line]):
                self._unfounded.append(path.display)
        claims = find_agents_by_line(self._evidence, path, texts, [line for block in lines.values() for line in block])
        return frozenset(
            answer.start_line
            for answer in answers
            if self._is_told_twice(answer)
            or self._is_a_claim(answer)
            or any(_is_claimed(answer, claims.get(line)) for line in lines[answer.start_line])
        )

    # --- told twice -----------------------------------------------------------------------------------------------

    def _is_told_twice(self, attribution: Attribution) -> bool:
        """Whether the call behind an answer was recorded a second time, and otherwise."""
        assert attribution.agent is not None and attribution.session_id is not None, (
            "an answer with an author names a session"
        )
        session = SessionId(attribution.session_id)
        if session not in self._told_twice:
            self._told_twice[session] = frozenset(self._calls_told_twice(session))
        return (attribution.agent, session, attribution.tool_call_id) in self._told_twice[session]

    def _calls_told_twice(self, session: SessionId) -> Iterator[Call]:
        told: dict[NaturalKey, dict[RecordRef, list[FileEdit]]] = {}
        for seen in edits_recorded_twice(self._store, session):
            records = told.setdefault(seen.record.entry.key, {})
            records.setdefault(seen.record.ref, []).append(seen.view)
        for records in told.values():
            if len({frozenset(map(_content, edits)) for edits in records.values()}) > 1:
                for edits in records.values():
                    yield from ((edit.agent, edit.session, edit.call) for edit in edits)

    def _is_a_claim(self, attribution: Attribution) -> bool:
        """Whether only an import says that a person wrote what a call brought."""
        return attribution.kind == "person" and all(
            is_claim(seen.record, self._owned) for seen in self._records_of(attribution)
        )

    @cached_property
    def _owned(self) -> set[StoreId]:
        return list_trusted_chains(self._store)

    # --- founded --------------------------------------------------------------------------------------------------

    def _is_founded(self, attribution: Attribution, lines: Sequence[str]) -> bool:
        """Whether a record of the very session holds most of the words of these lines."""
        readable = [line for line in lines if MARKER not in line]
        texts = (_text_in(seen) for seen in self._records_of(attribution))
        return any(text is None or compute_word_share(readable, text) >= WORDS_SHARE_MIN for text in texts)

    def _records_of(self, attribution: Attribution) -> Iterator[ObservedView[_TextView]]:
        """What the records that an answer rests on say, as far as it is of its agent and session."""
        refs = {ref for signal in attribution.evidence for ref in signal.records}
        if attribution.kind == "person":
            assert attribution.session_id is not None, "an answer with an author names a session"
            edits = edits_of_session(self._store, SessionId(attribution.session_id))
            yield from (seen for seen in edits if _is_persons(seen, attribution))
            return
        for ref in sorted(refs):
            store, _, seq = ref.rpartition(":")
            record = self._store.tables.record(RecordRef(StoreId(store), Seq(int(seq))))
            for n, view in enumerate(() if record is None else self._store.views.of(record)):
                if not isinstance(view, _TextView):
                    continue
                if (view.agent, view.session) == (attribution.agent, attribution.session_id):
                    assert record is not None, "a view is one of a record"
                    yield ObservedView(record, view, n)


def _is_claimed(attribution: Attribution, agents: frozenset[str] | None) -> bool:
    """Whether somebody else is recorded to have brought a line: another agent, or any where it is a person's."""
    return bool(agents) and (attribution.kind == "person" or any(agent != attribution.agent for agent in agents or ()))


def _is_persons(seen: ObservedView[FileEdit], attribution: Attribution) -> bool:
    view = seen.view
    return view.proposed is not None and view.agent == attribution.agent and view.call == attribution.tool_call_id


def _content(edit: FileEdit) -> tuple[object, ...]:
    """What an edit says apart from when."""
    return edit.id, edit.path, edit.before, edit.after, edit.proposed, edit.part


def _text_in(seen: ObservedView[_TextView]) -> str | None:
    """The text that a record brought; None where there is no text any more."""
    view = seen.view
    text = view.after if isinstance(view, FileEdit) else view.text if isinstance(view, FileState) else None
    return None if text is None else text.content
