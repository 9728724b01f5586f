"""What records know of a report: whose its lines are and since when, what was read by then, what the repository holds.

Nothing is claimed without records, and what was not looked at is named with the reason: nothing found is never the same
as nobody looked.
"""

import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property

from custody.attribution import Grade
from custody.attribution.app.context import AttributionContext, open_attribution
from custody.attribution.app.findings import LineAttributor
from custody.cite.app.registry_stores import RecordRegistryStore
from custody.cite.app.report_file import STDIN
from custody.cite.audit import READING_CODES, RecordFindings, nothing_recorded
from custody.cite.codes import CitationCode
from custody.cite.document import ListEntry
from custody.cite.missing_names import (
    RepositoryContent,
    Tracker,
    no_file,
    no_issue,
    no_package,
    no_symbol,
    speaks_of_another_time,
)
from custody.cite.opened_check import CHECKS, PageReading, Readings, WritingTimes
from custody.cite.queries.registry import (
    RegistryTables,
    has_calls,
    newest_pull_requests,
    pages_read_by,
    readings_of_url,
)
from custody.cite.registry import readings_of
from custody.cite.rules import CiteRules
from custody.cite.shelf import Shelf
from custody.cite.subject import AuditSubject, CheckFinding
from custody.cite.support import unsupported
from custody.cite.urls import url_key
from custody.cite.works import work_key
from custody.core.errors import InputError
from custody.core.ids import CommitSha, SessionId, StoreId
from custody.core.paths import RepoPath
from custody.core.views import Reading, View
from custody.git import Comparison, FileAt, Object, ObjectReader, Repository, WorkFile
from custody.ledger.queries import locators_read_by, prompts_of_sessions
from custody.ledger.records import is_claim
from custody.ledger.sessions import session_named
from custody.store import ObservedView
from custody.workspace.workspace import Workspace

# What a repository holds, as the audit of a report asks: files, their texts, paths of the past, manifests.


COMMITS_MAX = 20_000
"""So many commits that touched a path are looked at."""
TEXT_BYTES_MAX = 4 * 1024 * 1024
MANIFESTS_MAX = 200
_MANIFEST = re.compile(
    r"(?:^|/)(?:pyproject\.toml|setup\.(?:py|cfg)|[\w.-]*requirements[\w.-]*\.(?:txt|in|lock)|Pipfile(?:\.lock)?"
    r"|(?:poetry|uv|pdm|Cargo|composer|mix|pubspec|Gemfile|Podfile|flake)\.lock|environment\.ya?ml|package(?:-lock)?\.json"
    r"|yarn\.lock|pnpm-(?:lock|workspace)\.yaml|bun\.lockb?|deno\.jsonc?|Cargo\.toml|go\.(?:mod|sum)|Gemfile|[\w.-]+\.gemspec"
    r"|pom\.xml|(?:build|settings)\.gradle(?:\.kts)?|libs\.versions\.toml|composer\.json|mix\.exs|pubspec\.yaml|Package\.swift"
    r"|[\w.-]+\.(?:csproj|fsproj|cabal|podspec)|CMakeLists\.txt|conanfile\.(?:txt|py)|vcpkg\.json|requirements/[\w.-]+)$"
)


def holding_of(repository: Repository, commit: CommitSha, objects: ObjectReader[Object]) -> RepositoryContent:
    """What ``commit`` and the work tree on top of it hold, and what was before."""
    with repository.tree(commit) as entries:
        paths = [str(entry.path) for entry in entries if entry.kind != "tree"]

    @cache
    def text_of(path: str) -> str | None:
        work = repository.work_file(RepoPath.of(path), TEXT_BYTES_MAX)
        if isinstance(work, WorkFile):
            return work.content.decode("utf-8", "replace")
        found = objects.read(FileAt(commit, RepoPath.of(path)))
        kept = isinstance(found, Object) and found.info.kind == "blob" and len(found.content) <= TEXT_BYTES_MAX
        return found.content.decode("utf-8", "replace") if kept and isinstance(found, Object) else None

    named = [path for path in paths if _MANIFEST.search(path)][:MANIFESTS_MAX]
    return RepositoryContent(
        paths=paths,
        text_of=text_of,
        ever=lambda wanted: set(_on_disk(repository, wanted)) | set(_in_history(repository, commit, wanted)),
        manifests=[text for path in named if (text := text_of(path)) is not None],
        builtin=sys.stdlib_module_names,
    )


def _on_disk(repository: Repository, wanted: Collection[str]) -> Iterator[str]:
    if repository.work_tree is not None:
        yield from (path for path in wanted if os.path.lexists(repository.work_tree / path))


def _in_history(repository: Repository, commit: CommitSha, wanted: Collection[str]) -> Iterator[str]:
    """Those paths that some commit before ``commit`` touched: one walk for all of them."""
    paths = [path for name in sorted(wanted) if (path := _path(name)) is not None]
    left = {str(path) for path in paths}
    if not paths:
        return
    with repository.log([commit], paths) as commits:
        asked = (Comparison(past_commit.id) for n, past_commit in enumerate(commits) if n < COMMITS_MAX)
        with repository.changes(asked, paths, renames=False) as changes:
            for change in changes:
                touched = {str(file.path) for file in change.files} & left
                yield from sorted(touched)
                left -= touched
                if not left:
                    return


def _path(path: str) -> RepoPath | None:
    try:
        return RepoPath.of(path)
    except InputError:
        return None  # no path of a repository: nobody can have committed it


FACTS_MAX = 500
CREATED = "created"
GONE = frozenset((404, 410))
NOBODYS = "no line of it is shown to be an agent's"
SILENT = "the recorder of the session that wrote it tells of no source"
_ADDRESS = re.compile(r"https?://[^\s<>\"'`)\]]+")
_ISSUE = re.compile(r"https?://[^/\s]+/([^/\s]+/[^/\s]+)/(?:issues|pull)/(\d{1,9})\b")


@contextmanager
def open_report_evidence(workspace: Workspace, session: str | None = None) -> Iterator["ReportEvidence"]:
    """A look at reports through the records of this repository, or of one session; something must be recorded here."""
    # Sources that were read and have no number yet get one now, so that any session's readings can be asked for.
    RecordRegistryStore(workspace).look(lambda _shelf: None)
    with open_attribution(workspace, "lineage") as evidence:
        yield ReportEvidence(evidence, session)
        evidence.save()


@dataclass(frozen=True, slots=True)
class _Lines:
    """The lines of a report that are judged: when each was written, and those of sessions that tell of sources."""

    judged: Mapping[int, int | None]
    reading: Mapping[int, int | None]
    sessions: frozenset[SessionId]


class ReportEvidence:
    """One set of evidence, asked about as many reports as one likes."""

    def __init__(
        self,
        evidence: AttributionContext,
        session: str | None = None,
        head: CommitSha | None = None,
        *,
        believes_claims: bool = True,
    ) -> None:
        self._evidence = evidence
        self._store = evidence.store
        self._answers = LineAttributor(evidence)
        self._asked = None if session is None else session_named(self._store, session)
        self._telling: dict[tuple[str, str], bool] = {}
        self._head = head
        """The commit whose version of reports and files is looked at; None for what is on disk, beside HEAD."""
        self._doubted: set[SessionId] = set()
        """Sessions that were recorded here, of which imports may not tell what else they read."""
        self._believes_claims = believes_claims

    def look_at(self, path: RepoPath, subject: AuditSubject, rules: CiteRules) -> RecordFindings:
        """What records say of a report of the commit that is looked at."""
        lines = self._lines(path, subject)
        return self._judged(path, lines, subject, rules) if lines.judged else nothing_recorded(NOBODYS)

    def look(self, name: str, subject: AuditSubject, rules: CiteRules) -> RecordFindings:
        """What records say of a report."""
        try:
            path = None if name == STDIN else self._evidence.repository.path(name, self._evidence.workspace.folder)
            lines = self._lines(path, subject)
        except InputError as error:
            if self._asked is None:
                return nothing_recorded(error.message)
            path, lines = None, self._all(subject, {})
        if path is None and self._asked is None:
            return nothing_recorded("what is piped in has no author: name a session with --session")
        return self._judged(path, lines, subject, rules) if lines.judged else nothing_recorded(NOBODYS)

    def _judged(self, path: RepoPath | None, lines: _Lines, subject: AuditSubject, rules: CiteRules) -> RecordFindings:
        not_looked: dict[CitationCode, str] = {}
        found = [*self._readings(subject, lines, rules, not_looked)]
        found += self._names(subject, lines, path, not_looked)
        found += self._issues(subject, lines, not_looked)
        return RecordFindings(tuple(found), tuple(sorted(lines.sessions)), len(lines.judged), not_looked)

    def _lines(self, path: RepoPath | None, subject: AuditSubject) -> _Lines:
        written: dict[int, tuple[str, SessionId, int]] = {}
        if path is not None:
            for answer in self._answers.of(self._evidence.version(path, self._head)):
                if answer.story is not None and answer.owner.is_agent:
                    trace = answer.story.trace
                    if not self._believes_claims and answer.story.grade is not Grade.CLAIMED:
                        self._doubted.add(trace.session)
                    for line in range(answer.lines.first, answer.lines.last + 1):
                        written[line] = (trace.agent, trace.session, answer.story.at_ns)
        if self._asked is not None:
            own = {n: at for n, (_, session, at) in written.items() if session == self._asked.session}
            return self._all(subject, own)
        return _Lines(
            {line: at for line, (_, _, at) in written.items()},
            {line: at for line, (agent, session, at) in written.items() if self._tells(agent, session)},
            frozenset(session for _, session, _ in written.values()),
        )

    def _all(self, subject: AuditSubject, own: Mapping[int, int]) -> _Lines:
        """Every line, as if the session asked for had written all of them."""
        assert self._asked is not None, "only a session that was named stands for lines that nobody shows"
        judged = {line: own.get(line) for line in range(1, subject.layout.data.count(b"\n") + 2)}
        tells = self._tells(self._asked.agent, self._asked.session)
        return _Lines(judged, judged if tells else {}, frozenset((self._asked.session,)))

    def _tells(self, agent: str, session: SessionId) -> bool:
        """Whether what a session read was captured: our readers of agents tell, other recorders if they did once."""
        from custody.capture import TRANSCRIPT_READERS  # readers are large, and few questions need them

        key = (agent, session)
        if key not in self._telling:
            told = locators_read_by(self._store, [session], _EVER_NS, 1).total > 0
            self._telling[key] = told or (agent in TRANSCRIPT_READERS and has_calls(self._store, session))
        return self._telling[key]

    def _readings(
        self, subject: AuditSubject, lines: _Lines, rules: CiteRules, not_looked: dict[CitationCode, str]
    ) -> Iterator[CheckFinding]:
        if not lines.reading:
            not_looked.update(dict.fromkeys((*READING_CODES, CitationCode.SUPPORT), SILENT))
            return
        if all(at is None for at in lines.reading.values()):
            not_looked[CitationCode.LATE] = "nobody knows when its lines were written"
        openings = [*self._openings(lines.sessions), *self._asked_about(lines.sessions), *self._registered(subject)]
        written = WritingTimes(lines.reading, Readings(openings))
        for check in CHECKS.values():
            yield from check(subject, written, rules)
        yield from self._unsupported(subject, lines, openings, rules, not_looked)

    def _unsupported(
        self,
        subject: AuditSubject,
        lines: _Lines,
        openings: Iterable[PageReading],
        rules: CiteRules,
        not_looked: dict[CitationCode, str],
    ) -> Iterator[CheckFinding]:
        """Statements of which nothing that was read of the cited page speaks, as far as what was read is kept."""
        texts: dict[str, list[str]] = {}
        for opening in openings:
            if opening.is_opened and opening.text and (key := url_key(opening.locator)) is not None:
                texts.setdefault(key, []).append(opening.text)
        keys = {id(entry): entry.url and url_key(entry.url) for entry in subject.listing.entries}
        if not any(key in texts for key in keys.values()):
            not_looked[CitationCode.SUPPORT] = "no text of a page that it lists was kept"
            return

        def text_of(entry: ListEntry) -> str | None:
            key = keys.get(id(entry))
            return None if not key or key not in texts else "\n".join(texts[key])

        for found in unsupported(subject, text_of, rules):
            if subject.line(found.at) in lines.reading:
                yield found

    def _openings(self, sessions: frozenset[SessionId]) -> Iterator[PageReading]:
        """The pages that these sessions opened, listed or tried to open."""
        for seen in pages_read_by(self._store, sessions):
            read = seen.view
            if not self._is_doubted(seen, read.session):
                text = None if read.text is None else read.text.content
                yield PageReading(read.locator, read.reading, read.at_ns, read.failed, read.code, text)

    def _asked_about(self, sessions: frozenset[SessionId]) -> Iterator[PageReading]:
        """The addresses in what persons asked: somebody who gives one may have given the text with it."""
        for seen in prompts_of_sessions(self._store, sessions):
            asked = seen.view
            if not self._is_doubted(seen, asked.session):
                for url in _ADDRESS.findall(asked.text.content or ""):
                    yield PageReading(url.rstrip(".,;:!?"), Reading.ATTEMPTED, asked.at_ns)

    def _registered(self, subject: AuditSubject) -> Iterator[PageReading]:
        """How the pages that a report names were read in any session, as the registry has it."""
        shelf: Shelf = RegistryTables(self._store).shelf(self._store.own())
        urls = [entry.url for entry in subject.listing.entries if entry.url] + [url for _, _, url in subject.links]
        for url in dict.fromkeys(urls):
            if self._doubted and self._is_claimed(url):
                continue
            work = work_key(url)
            keys = (f"url:{url_key(url)}", "" if work is None else ":".join(work))
            numbers = {number for key in keys if (number := shelf.number_at(key)) is not None}
            for number in sorted(numbers):
                for reading in readings_of(shelf, f"S{number}"):
                    failed = reading.reading is Reading.ATTEMPTED
                    yield PageReading(url, reading.reading, reading.stamp.at_ns, failed)

    def _is_doubted(self, seen: ObservedView[View], session: SessionId) -> bool:
        """Whether only an import tells of something that a session did which was recorded here."""
        return session in self._doubted and is_claim(seen.record, self._owned)

    def _is_claimed(self, url: str) -> bool:
        """Whether an import tells that a page was read; the registry does not say who told it."""
        return any(is_claim(seen.record, self._owned) for seen in readings_of_url(self._store, url))

    @cached_property
    def _owned(self) -> set[StoreId]:
        return self._store.tables.owned()

    def _names(
        self, subject: AuditSubject, lines: _Lines, path: RepoPath | None, not_looked: dict[CitationCode, str]
    ) -> Iterator[CheckFinding]:
        if self._holding is None:
            not_looked.update(
                dict.fromkeys(
                    (CitationCode.NOFILE, CitationCode.NOSYMBOL, CitationCode.NOPACKAGE), "there is no commit yet"
                )
            )
            return
        report = "" if path is None else str(path)
        if speaks_of_another_time(report):
            not_looked.update(
                dict.fromkeys(
                    (CitationCode.NOFILE, CitationCode.NOSYMBOL), "a plan or a history of changes tells of other times"
                )
            )
        files = no_file(subject, lines.judged, self._holding, report)
        if files.elsewhere:
            not_looked[CitationCode.NOFILE] = "most files that it names are not here: it speaks of another place"
        if not self._holding.manifests:
            not_looked[CitationCode.NOPACKAGE] = "the repository has no manifest"
        yield from files.found
        yield from no_symbol(subject, lines.judged, self._holding, report)
        yield from no_package(subject, lines.judged, self._holding)

    def _issues(
        self, subject: AuditSubject, lines: _Lines, not_looked: dict[CitationCode, str]
    ) -> Iterator[CheckFinding]:
        tracker = self._tracker(lines.sessions)
        if isinstance(tracker, str):
            not_looked[CitationCode.NOISSUE] = tracker
            return
        yield from no_issue(subject, lines.judged, tracker)

    @cached_property
    def _holding(self) -> RepositoryContent | None:
        head = self._head or self._evidence.repository.head().commit
        return None if head is None else holding_of(self._evidence.repository, head, self._evidence.objects)

    def _tracker(self, sessions: frozenset[SessionId]) -> Tracker | str:
        """What is known of the issue tracker, or why nothing is."""
        reported = newest_pull_requests(self._store, FACTS_MAX)
        facts = [seen.view for seen in reported if seen.view.repository is not None]
        names = {fact.repository for fact in facts}
        if not facts:
            return "no record tells of the issue tracker"
        if len(names) > 1:
            return "records tell of several issue trackers"
        absent = {
            int(found[2])
            for opening in self._openings(sessions)
            if opening.code in GONE and (found := _ISSUE.match(opening.locator)) is not None and found[1] in names
        }
        return Tracker(absent, [(fact.number, fact.at_ns) for fact in facts if fact.action == CREATED])


_EVER_NS = 2**63 - 1
