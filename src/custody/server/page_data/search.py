"""The search of the header: files, commits, sessions, prompts, changes and agents that match a few words."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct, field

from custody.core.errors import CustodyError, InputError
from custody.core.plural import count_noun
from custody.dupes.app.indexed_changes import list_change_page
from custody.ledger.queries import list_session_rows
from custody.ledger.sessions import ANY_NUMBER
from custody.search.app import SearchRequest, search_sessions
from custody.server.app.listing import is_storable_param
from custody.server.app.questions import Note
from custody.share.chain_exchange import list_chain_states
from custody.trust.app.decisions import list_agents_with_decisions, read_settled_decisions
from custody.workspace.workspace import Workspace, has_workspace_repository

HITS_MAX = 10
"""Matches of each kind that are shown."""
COMMIT_DIGITS_MIN = 4


class SearchHit(Struct, frozen=True, kw_only=True):
    """One match: its text, the page that shows it, and a few words about it."""

    page: str
    params: Mapping[str, str] = field(default_factory=dict)
    text: str
    about: str | None = None


_Hits = tuple[list[SearchHit], int]


class SearchGroup(Struct, frozen=True):
    """The matches of one kind, and how many there are; ``failed`` says why a kind could not be searched."""

    kind: str
    hits: Sequence[SearchHit]
    total: int
    failed: str | None = None


def search_for_page(workspace: Workspace, text: str, *, note: Note | None) -> list[SearchGroup]:
    """Return the matches of each kind that has any; prompts only with a ``note``.

    Every word must occur; upper and lower case are equal.
    """
    words = text.lower().split()
    if not words:
        return []
    if not is_storable_param(text):
        raise InputError("invalid character in the search")
    searches: tuple[tuple[str, Callable[[], _Hits]], ...] = (
        ("Files", lambda: _search_files(workspace, words)),
        ("Commits", lambda: _search_commits(workspace, text.strip())),
        ("Changes", lambda: _search_changes(workspace, text.strip())),
        ("Sessions", lambda: _search_sessions(workspace, text.strip())),
        ("Prompts, commands and edits", lambda: _search_recorded_texts(workspace, text.strip(), note)),
        ("Agents", lambda: _search_agents(workspace, words)),
    )
    groups = []
    for kind, search in searches:
        try:
            hits, total = search()
        except InputError as error:
            groups.append(SearchGroup(kind, (), 0, error.message))
            continue
        if hits:
            groups.append(SearchGroup(kind, hits, total))
    return groups


def _search_files(workspace: Workspace, words: Sequence[str]) -> _Hits:
    if not has_workspace_repository(workspace):
        return [], 0
    commit = workspace.repository.head().commit
    if commit is None:
        return [], 0
    with workspace.repository.tree(commit) as entries:
        paths = [entry.path.display for entry in entries]
    found = [path for path in paths if all(word in path.lower() for word in words)]
    # A match in the name of the file comes before one in its folders; then the shorter path.
    found.sort(key=lambda path: (words[-1] not in path.rpartition("/")[2].lower(), len(path), path))
    return [SearchHit(page="blame", params={"file": path}, text=path) for path in found[:HITS_MAX]], len(found)


def _search_commits(workspace: Workspace, text: str) -> _Hits:
    is_sha = len(text) >= COMMIT_DIGITS_MIN and all(digit in "0123456789abcdef" for digit in text.lower())
    if not is_sha or not has_workspace_repository(workspace):
        return [], 0
    try:
        commit = workspace.repository.resolve(text.lower())
    except CustodyError:
        return [], 0
    return [SearchHit(page="blame", params={"rev": commit}, text=commit, about="the files at this commit")], 1


def _search_changes(workspace: Workspace, text: str) -> _Hits:
    found = list_change_page(workspace, state="all", text=text, before=None, limit=HITS_MAX)
    hits = [
        SearchHit(
            page="change",
            params={"name": change.head},
            text=change.title or change.head,
            about=f"{change.name or change.head[:8]}, {'merged' if change.on_main else 'open'}",
        )
        for change in found.items
    ]
    return hits, found.matching


def _search_sessions(workspace: Workspace, text: str) -> _Hits:
    with workspace.reading() as store, store.reading():
        rows = list_session_rows(store, limit=ANY_NUMBER, starting=text.lower())
    hits = [
        SearchHit(page="session", params={"id": row.session, "agent": row.agent}, text=row.session, about=row.agent)
        for row in rows[:HITS_MAX]
    ]
    return hits, len(rows)


def _search_recorded_texts(workspace: Workspace, text: str, note: Note | None) -> _Hits:
    """Return the sessions whose prompts, commands, files or commits match; texts of conversations need a ``note``."""
    if not list_chain_states(workspace).chains:
        return [], 0  # nothing was stored yet, and nothing indexed
    report = search_sessions(workspace, SearchRequest(words=text, limit=HITS_MAX, with_texts=note is not None))
    hits = [
        SearchHit(
            page="session",
            params={"id": found.session, "agent": found.agent},
            text=found.text or found.session,
            about=f"{found.agent}, session {found.session[:8]}, {' and '.join(found.matched)}",
        )
        for found in report.sessions
    ]
    if hits and note is not None:
        names = ", ".join(sorted(found.session for found in report.sessions))
        note(f"texts of {count_noun(len(hits), 'session')} found by a search: {names}")
    return hits, report.total


def _search_agents(workspace: Workspace, words: Sequence[str]) -> _Hits:
    with workspace.reading() as store, read_settled_decisions(store):
        reviewed = {str(name) for name in list_agents_with_decisions(store)}
    with workspace.reading() as store, store.reading():
        recorded = {str(row.agent) for row in list_session_rows(store, limit=ANY_NUMBER)}
    found = sorted(name for name in reviewed | recorded if all(word in name.lower() for word in words))
    return list(_make_agent_hits(found[:HITS_MAX], reviewed)), len(found)


def _make_agent_hits(names: Sequence[str], reviewed: set[str]) -> Iterator[SearchHit]:
    for name in names:
        if name in reviewed:
            yield SearchHit(page="agent", params={"name": name}, text=name, about="its trust and reviews")
        else:
            yield SearchHit(page="sessions", params={"agent": name}, text=name, about="its sessions")
