"""Search sessions: bring the index up to date, rank sessions, and show the best text of each."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from custody.core.errors import InputError, WorldError
from custody.core.ids import CommitSha, shorten_session_id
from custody.core.wire.time import format_timestamp
from custody.git import Ancestry, Object, Repository, parse_commit
from custody.search.model import (
    SHARED_KINDS,
    SearchTerm,
    SessionKey,
    TextKind,
    compute_matched_share,
    parse_search_terms,
    rank_sessions,
    split_search_words,
    weigh_terms,
    weigh_text,
)
from custody.search.queries import (
    SearchFilter,
    SearchItem,
    SearchTables,
    SearchText,
    TextMatch,
    split_search_batches,
)
from custody.search.wire import FoundCommit, FoundSession, SearchReport
from custody.store import Store, StoreUnwritable
from custody.workspace.workspace import Workspace, has_workspace_repository

COMPARED_MAX = 50
"""Sessions that are compared by their single texts, after the ranking by all of them."""
TELLING_SHARE = 0.15
"""The minimum weight, relative to the rarest term, of terms that single texts are compared by."""
COMMITS_SHOWN_MAX = 5
TEXT_CHARACTERS_MAX = 300
PLACES = 4


class SearchRequest(Struct, frozen=True, kw_only=True):
    """What to find: words, and filters. Without ``with_texts`` only file names and commits are searched."""

    words: str
    limit: int = 10
    agent: str | None = None
    since_ns: int | None = None
    path: str | None = None
    kinds: tuple[TextKind, ...] = tuple(TextKind)
    with_texts: bool = True


def search_sessions(workspace: Workspace, request: SearchRequest) -> SearchReport:
    """Return the sessions whose prompts, answers, commands, files and commits have the words, the best first."""
    terms = parse_search_terms(request.words)
    if not terms:
        raise InputError("cannot search for an empty text", hint="pass a word of a prompt, a command or a file name")
    with open_search_index(workspace) as store:
        return _search(SearchTables(store), terms, request, _find_repository(workspace))


@contextmanager
def open_search_index(workspace: Workspace) -> Iterator[Store]:
    """Open the store to read, with every record indexed; a store that cannot be written is indexed in a copy."""
    with workspace.reading() as store, ExitStack() as stack:
        indexed = store
        try:
            update_search_index(workspace, store)
        except StoreUnwritable:
            copy = workspace.private_copy(store)
            if copy is None:
                raise
            indexed = stack.enter_context(copy)
            update_search_index(workspace, indexed)
        stack.enter_context(indexed.reading())
        yield indexed


def find_sessions_by_prompt(store: Store, text: str) -> set[SessionKey]:
    """Return the sessions with the words of ``text`` in a row in a prompt; the last word may go on."""
    words = tuple(split_search_words(text))
    if not words:
        raise InputError("cannot search prompts for an empty text", hint="pass a word of the prompt")
    only = SearchFilter((TextKind.PROMPT,))
    return set(SearchTables(store).count_matches(SearchTerm(words, is_prefix=True), only))


def _find_repository(workspace: Workspace) -> Repository | None:
    return workspace.repository if has_workspace_repository(workspace) else None


def update_search_index(workspace: Workspace, store: Store) -> None:
    """Index the records that are not indexed; after an interruption, the next call continues."""
    tables = SearchTables(store)
    repository = _find_repository(workspace)
    unread = tables.list_unread()
    if not unread:
        return
    workspace.progress.start("indexing texts", sum(until - after for _, after, until in unread))
    for unread_chain in unread:
        for after, until in split_search_batches(unread_chain):
            texts = tables.read_texts(unread_chain[0], after, until)
            named = _add_commit_subjects(texts, repository)
            with store.writing():
                tables.put(unread_chain[0], named, after, until)
            workspace.progress.step(until - after)


def _add_commit_subjects(texts: Sequence[SearchText], repository: Repository | None) -> list[SearchText]:
    """Return the texts with the subjects of commits; commits that are not here have none."""
    commits = {CommitSha(text.name) for text in texts if text.kind is TextKind.COMMIT}
    subjects = _read_subjects(repository, commits)
    return [
        replace(text, text=subjects.get(CommitSha(text.name), "")) if text.kind is TextKind.COMMIT else text
        for text in texts
    ]


def _read_subjects(repository: Repository | None, commits: Iterable[CommitSha]) -> dict[CommitSha, str]:
    """Return the subject of each commit that is here; a damaged one has none."""
    subjects: dict[CommitSha, str] = {}
    if repository is None:
        return subjects
    with repository.objects() as objects:
        for commit in sorted(commits):
            found = objects.read(commit)
            if isinstance(found, Object) and found.info.kind == "commit":
                with suppress(WorldError):
                    subjects[commit] = parse_commit(commit, found.content).subject.decode(errors="replace")
    return subjects


def shorten_found_session_ids(workspace: Workspace, report: SearchReport) -> dict[str, str]:
    """Return the shortest start of each found id that names only this session."""
    with workspace.reading() as store, store.reading():
        recorded = SearchTables(store).list_session_ids()
    return {session.session: shorten_session_id(session.session, recorded) for session in report.sessions}


def _search(
    tables: SearchTables, terms: Sequence[SearchTerm], request: SearchRequest, repository: Repository | None
) -> SearchReport:
    only = _make_filter(request)
    corpus = tables.read_corpus()
    matches = [tables.count_matches(term, only) for term in terms]
    weights = weigh_terms(corpus, matches)
    ranked = rank_sessions(corpus, matches, weights)
    best = sorted(ranked, key=lambda session: (-ranked[session], session))[: max(COMPARED_MAX, request.limit)]
    telling = [number for number, weight in enumerate(weights) if weight >= TELLING_SHARE * max(weights)]
    items = _find_matching_texts(tables, {number: terms[number] for number in telling}, only, best)
    shown = _choose_sessions(ranked, items, weights, best)[: request.limit]
    commits = _report_commits(tables, repository, [session for session, _, _ in shown])
    located = tables.read_items([text.item for _, text, _ in shown])
    names = [" ".join(term.words) for term in terms]
    return SearchReport(
        words=names,
        missing=[name for name, found in zip(names, matches, strict=True) if not found],
        sessions=[
            FoundSession(
                agent=session[0],
                session=session[1],
                at=format_timestamp(text.at_ns),
                kind=text.kind.value,
                text=_read_excerpt(tables, located[text.item], repository),
                matched=sorted({kind.value for found in matches for kind in found.get(session, ())}),
                commits=commits.get(session, []),
                score=round(score, PLACES),
            )
            for session, text, score in shown
        ],
        total=len(ranked),
        searched=len(corpus.texts),
    )


def _make_filter(request: SearchRequest) -> SearchFilter:
    kinds = tuple(kind for kind in request.kinds if request.with_texts or kind in SHARED_KINDS)
    path = None if request.path is None else request.path.encode(errors="surrogateescape")
    return SearchFilter(kinds, request.agent, request.since_ns, path)


def _find_matching_texts(
    tables: SearchTables, terms: Mapping[int, SearchTerm], only: SearchFilter, sessions: Sequence[SessionKey]
) -> dict[SessionKey, dict[TextMatch, list[int]]]:
    """Return the texts of these sessions with any of the terms, and the numbers of the terms in each."""
    texts: dict[SessionKey, dict[TextMatch, list[int]]] = {session: {} for session in sessions}
    for number, term in terms.items():
        for text in tables.list_matches(term, only, sessions):
            if text.session in texts:
                texts[text.session].setdefault(text, []).append(number)
    return texts


def _choose_sessions(
    ranked: Mapping[SessionKey, float],
    texts: Mapping[SessionKey, Mapping[TextMatch, Sequence[int]]],
    weights: Sequence[float],
    sessions: Iterable[SessionKey],
) -> list[tuple[SessionKey, TextMatch, float]]:
    """Return the sessions with their best text and their score, the best first."""
    chosen: list[tuple[SessionKey, TextMatch, float]] = []
    for session in sessions:
        scored = {text: weigh_text(text.kind, terms, weights) for text, terms in texts[session].items()}
        if scored:
            best = max(scored, key=lambda text: (scored[text], text.at_ns, text.item))
            share = compute_matched_share(chain.from_iterable(texts[session].values()), weights)
            chosen.append((session, best, ranked[session] + share * scored[best]))
    return sorted(chosen, key=lambda found: (-found[2], -found[1].at_ns, found[0]))


def _read_excerpt(tables: SearchTables, item: SearchItem, repository: Repository | None) -> str | None:
    """Return the start of a text; None if it was erased, or if the commit is not here."""
    if item.kind is TextKind.COMMIT:
        text = _read_subjects(repository, [CommitSha(item.name)]).get(CommitSha(item.name))
    else:
        text = tables.read_text(item)
    return None if text is None else text[:TEXT_CHARACTERS_MAX]


def _report_commits(
    tables: SearchTables, repository: Repository | None, sessions: Sequence[SessionKey]
) -> dict[SessionKey, list[FoundCommit]]:
    """Return what became of each session: its last commits, and whether they are merged into HEAD."""
    if not sessions:
        return {}
    made = {session: found[-COMMITS_SHOWN_MAX:] for session, found in tables.list_session_commits(sessions).items()}
    every = sorted({commit for found in made.values() for commit in found})
    subjects = _read_subjects(repository, every)
    head = None if repository is None else repository.head().commit
    merged: frozenset[Ancestry] = frozenset()
    if repository is not None and head is not None:
        merged = repository.ancestries([Ancestry(commit, head) for commit in every])
    return {
        session: [
            FoundCommit(commit, subjects.get(commit), None if head is None else Ancestry(commit, head) in merged)
            for commit in found
        ]
        for session, found in made.items()
    }
