"""Check a report against records: who wrote its lines and when, what was read by then, what the repository contains.

Nothing is reported without records. Every skipped check is listed with the reason.
"""

import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, cached_property

from msgspec import Struct

from custody.attribution import Grade
from custody.attribution.app.context import AttributionContext, open_attribution
from custody.attribution.app.findings import LineAttributor
from custody.cite.app.registry_stores import RecordRegistryStore
from custody.cite.app.report_file import STDIN
from custody.cite.audit import READING_CODES, RecordFindings, skip_citation_record_checks
from custody.cite.catalog import Catalog
from custody.cite.codes import CitationCode
from custody.cite.document import ListEntry
from custody.cite.missing_names import (
    RepositoryContent,
    Tracker,
    find_missing_files,
    find_missing_issues,
    find_missing_packages,
    find_missing_symbols,
    is_plan_or_history_report,
)
from custody.cite.opened_check import CHECKS, PageReading, Readings, WritingTimes
from custody.cite.queries.registry import (
    RegistryTables,
    find_newest_pull_requests,
    find_source_readings,
    find_source_url_readings,
    has_session_tool_calls,
)
from custody.cite.registry import collect_source_readings
from custody.cite.rules import CiteRules
from custody.cite.subject import AuditSubject, CheckFinding
from custody.cite.support import find_unsupported_citations
from custody.cite.urls import compute_source_url_key
from custody.cite.works import parse_cited_work
from custody.core.errors import InputError
from custody.core.ids import CommitSha, SessionId, StoreId
from custody.core.paths import RepoPath
from custody.core.patterns import lazy_pattern
from custody.core.views import Reading, View
from custody.core.wire.claims import is_claim_record
from custody.git import Comparison, FileAt, Object, ObjectReader, Repository, WorkFile
from custody.ledger.queries import list_prompts_of_sessions, list_session_source_locators
from custody.ledger.sessions import find_session_by_name
from custody.store import ObservedView
from custody.workspace.workspace import Workspace

# The content of a repository that reports refer to: files, texts, former paths, manifests.


COMMITS_MAX = 20_000
"""Maximum commits searched for a path."""
TEXT_BYTES_MAX = 4 * 1024 * 1024
MANIFESTS_MAX = 200
_MANIFEST = lazy_pattern(
    r"(?:^|/)(?:pyproject\.toml|setup\.(?:py|cfg)|[\w.-]*requirements[\w.-]*\.(?:txt|in|lock)|Pipfile(?:\.lock)?"
    r"|(?:poetry|uv|pdm|Cargo|composer|mix|pubspec|Gemfile|Podfile|flake)\.lock|environment\.ya?ml|package(?:-lock)?\.json"
    r"|yarn\.lock|pnpm-(?:lock|workspace)\.yaml|bun\.lockb?|deno\.jsonc?|Cargo\.toml|go\.(?:mod|sum)|Gemfile|[\w.-]+\.gemspec"
    r"|pom\.xml|(?:build|settings)\.gradle(?:\.kts)?|libs\.versions\.toml|composer\.json|mix\.exs|pubspec\.yaml|Package\.swift"
    r"|[\w.-]+\.(?:csproj|fsproj|cabal|podspec)|CMakeLists\.txt|conanfile\.(?:txt|py)|vcpkg\.json|requirements/[\w.-]+)$"
)


def read_cited_repository_content(
    repository: Repository, commit: CommitSha, objects: ObjectReader[Object]
) -> RepositoryContent:
    """Return the content of the work tree, of ``commit`` and of its history."""
    with repository.tree(commit) as entries:
        paths = [str(entry.path) for entry in entries if entry.kind != "tree"]

    @cache
    def text_of(path: str) -> str | None:
        work = repository.work_file(RepoPath.of(path), TEXT_BYTES_MAX)
        if isinstance(work, WorkFile):
            return work.content.decode("utf-8", "replace")
        blob = objects.read(FileAt(commit, RepoPath.of(path)))
        if not isinstance(blob, Object) or blob.info.kind != "blob" or len(blob.content) > TEXT_BYTES_MAX:
            return None
        return blob.content.decode("utf-8", "replace")

    manifests = [path for path in paths if _MANIFEST.search(path)][:MANIFESTS_MAX]
    return RepositoryContent(
        paths=paths,
        text_of=text_of,
        ever=lambda cited: (
            set(_cited_paths_on_disk(repository, cited)) | set(_cited_paths_in_history(repository, commit, cited))
        ),
        manifests=[text for path in manifests if (text := text_of(path)) is not None],
        builtin=sys.stdlib_module_names,
    )


def _cited_paths_on_disk(repository: Repository, cited: Collection[str]) -> Iterator[str]:
    if repository.work_tree is not None:
        yield from (path for path in cited if os.path.lexists(repository.work_tree / path))


def _cited_paths_in_history(repository: Repository, commit: CommitSha, cited: Collection[str]) -> Iterator[str]:
    """Yield the paths that a commit before ``commit`` touched, found in one walk."""
    paths = [path for name in sorted(cited) if (path := _parse_cited_path(name)) is not None]
    left = {str(path) for path in paths}
    if not paths:
        return
    with repository.log([commit], paths) as commits:
        comparisons = (Comparison(past_commit.id) for n, past_commit in enumerate(commits) if n < COMMITS_MAX)
        with repository.changes(comparisons, paths, renames=False) as changes:
            for change in changes:
                touched = {str(file.path) for file in change.files} & left
                yield from sorted(touched)
                left -= touched
                if not left:
                    return


def _parse_cited_path(path: str) -> RepoPath | None:
    try:
        return RepoPath.of(path)
    except InputError:
        return None  # not a valid path, so it was never committed


FACTS_MAX = 500
CREATED = "created"
GONE = frozenset((404, 410))
NO_AGENT_LINES = "no line is recorded as written by an agent"
READINGS_NOT_RECORDED = "the session was recorded without the sources it read"
_URL = lazy_pattern(r"https?://[^\s<>\"'`)\]]+")
_ISSUE = lazy_pattern(r"https?://[^/\s]+/([^/\s]+/[^/\s]+)/(?:issues|pull)/(\d{1,9})\b")


@contextmanager
def open_citation_evidence(workspace: Workspace, session: str | None = None) -> Iterator["ReportEvidence"]:
    """Open the records of this repository, or of one session, to check reports; the store must exist."""
    # Assign numbers to sources that were read, so that the readings of all sessions can be queried.
    RecordRegistryStore(workspace).read(lambda _catalog: None)
    with open_attribution(workspace, "lineage") as evidence:
        yield ReportEvidence(evidence, session)
        evidence.save()


class _Lines(Struct, frozen=True):
    """The lines to check with the time each was written; ``reading`` are those of sessions with recorded readings."""

    judged: Mapping[int, int | None]
    reading: Mapping[int, int | None]
    sessions: frozenset[SessionId]


class ReportEvidence:
    """Evidence from records for any number of reports."""

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
        self._session = None if session is None else find_session_by_name(self._store, session)
        self._has_readings: dict[tuple[str, str], bool] = {}
        self._head = head
        """The commit to check; None for the work tree."""
        self._doubted: set[SessionId] = set()
        """Sessions recorded live; imported claims about what else they read are ignored."""
        self._believes_claims = believes_claims

    def check_version(self, path: RepoPath, subject: AuditSubject, rules: CiteRules) -> RecordFindings:
        """Check the committed version of a report."""
        lines = self._lines(path, subject)
        return (
            self._check_lines(path, lines, subject, rules)
            if lines.judged
            else skip_citation_record_checks(NO_AGENT_LINES)
        )

    def check_report(self, name: str, subject: AuditSubject, rules: CiteRules) -> RecordFindings:
        """Check a report by name; ``-`` is stdin."""
        try:
            path = None if name == STDIN else self._evidence.repository.path(name, self._evidence.workspace.folder)
            lines = self._lines(path, subject)
        except InputError as error:
            if self._session is None:
                return skip_citation_record_checks(error.message)
            path, lines = None, self._attribute_all_lines(subject, {})
        if path is None and self._session is None:
            return skip_citation_record_checks("stdin has no recorded author (pass --session)")
        return (
            self._check_lines(path, lines, subject, rules)
            if lines.judged
            else skip_citation_record_checks(NO_AGENT_LINES)
        )

    def _check_lines(
        self, path: RepoPath | None, lines: _Lines, subject: AuditSubject, rules: CiteRules
    ) -> RecordFindings:
        skipped: dict[CitationCode, str] = {}
        findings = [*self._readings(subject, lines, rules, skipped)]
        findings += self._names(subject, lines, path, skipped)
        findings += self._issues(subject, lines, skipped)
        return RecordFindings(tuple(findings), tuple(sorted(lines.sessions)), len(lines.judged), skipped)

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
        if self._session is not None:
            own = {n: at for n, (_, session, at) in written.items() if session == self._session.session}
            return self._attribute_all_lines(subject, own)
        return _Lines(
            {line: at for line, (_, _, at) in written.items()},
            {line: at for line, (agent, session, at) in written.items() if self._is_reading_captured(agent, session)},
            frozenset(session for _, session, _ in written.values()),
        )

    def _attribute_all_lines(self, subject: AuditSubject, own: Mapping[int, int]) -> _Lines:
        """Return all lines, as if the named session had written them."""
        assert self._session is not None, "only a named session can claim all lines"
        judged = {line: own.get(line) for line in range(1, subject.layout.data.count(b"\n") + 2)}
        has_readings = self._is_reading_captured(self._session.agent, self._session.session)
        return _Lines(judged, judged if has_readings else {}, frozenset((self._session.session,)))

    def _is_reading_captured(self, agent: str, session: SessionId) -> bool:
        """Return whether the readings of a session are recorded; for agents we do not read, if any reading is."""
        from custody.capture import TRANSCRIPT_READERS  # slow to load, and rarely needed

        key = (agent, session)
        if key not in self._has_readings:
            any_reading = list_session_source_locators(self._store, [session], _EVER_NS, 1).total > 0
            self._has_readings[key] = any_reading or (
                agent in TRANSCRIPT_READERS and has_session_tool_calls(self._store, session)
            )
        return self._has_readings[key]

    def _readings(
        self, subject: AuditSubject, lines: _Lines, rules: CiteRules, skipped: dict[CitationCode, str]
    ) -> Iterator[CheckFinding]:
        if not lines.reading:
            skipped.update(dict.fromkeys((*READING_CODES, CitationCode.SUPPORT), READINGS_NOT_RECORDED))
            return
        if all(at is None for at in lines.reading.values()):
            skipped[CitationCode.LATE] = "the time when its lines were written is unknown"
        openings = [
            *self._openings(lines.sessions),
            *self._prompt_pages(lines.sessions),
            *self._registry_readings(subject),
        ]
        written = WritingTimes(lines.reading, Readings(openings))
        for check in CHECKS.values():
            yield from check(subject, written)
        yield from self._unsupported(subject, lines, openings, rules, skipped)

    def _unsupported(
        self,
        subject: AuditSubject,
        lines: _Lines,
        openings: Iterable[PageReading],
        rules: CiteRules,
        skipped: dict[CitationCode, str],
    ) -> Iterator[CheckFinding]:
        """Yield the statements that the stored text of the cited page does not support."""
        texts: dict[str, list[str]] = {}
        for opening in openings:
            if opening.is_opened and opening.text and (key := compute_source_url_key(opening.locator)) is not None:
                texts.setdefault(key, []).append(opening.text)
        keys = {id(entry): entry.url and compute_source_url_key(entry.url) for entry in subject.listing.entries}
        if not any(key in texts for key in keys.values()):
            skipped[CitationCode.SUPPORT] = "no text of a listed page is stored"
            return

        def text_of(entry: ListEntry) -> str | None:
            key = keys.get(id(entry))
            return None if not key or key not in texts else "\n".join(texts[key])

        for finding in find_unsupported_citations(subject, text_of, rules):
            if subject.line(finding.at) in lines.reading:
                yield finding

    def _openings(self, sessions: frozenset[SessionId]) -> Iterator[PageReading]:
        """Yield the pages that these sessions opened, listed or tried to open."""
        for observed in find_source_readings(self._store, sessions):
            read = observed.view
            if not self._is_doubted(observed, read.session):
                text = None if read.text is None else read.text.content
                yield PageReading(read.locator, read.reading, read.at_ns, read.failed, read.code, text)

    def _prompt_pages(self, sessions: frozenset[SessionId]) -> Iterator[PageReading]:
        """Yield the URLs in prompts: a prompt with a URL may also contain the text of the page."""
        for observed in list_prompts_of_sessions(self._store, sessions):
            prompt = observed.view
            if not self._is_doubted(observed, prompt.session):
                for url in _URL.findall(prompt.text.content or ""):
                    yield PageReading(url.rstrip(".,;:!?"), Reading.ATTEMPTED, prompt.at_ns)

    def _registry_readings(self, subject: AuditSubject) -> Iterator[PageReading]:
        """Yield how any session read the pages that a report names, from the registry."""
        catalog: Catalog = RegistryTables(self._store).catalog(self._store.own())
        urls = [entry.url for entry in subject.listing.entries if entry.url] + [url for _, _, url in subject.links]
        for url in dict.fromkeys(urls):
            if self._doubted and self._is_claimed(url):
                continue
            work = parse_cited_work(url)
            keys = (f"url:{compute_source_url_key(url)}", "" if work is None else ":".join(work))
            numbers = {number for key in keys if (number := catalog.number_at(key)) is not None}
            for number in sorted(numbers):
                for reading in collect_source_readings(catalog, f"S{number}"):
                    failed = reading.reading is Reading.ATTEMPTED
                    yield PageReading(url, reading.reading, reading.stamp.at_ns, failed)

    def _is_doubted(self, observed: ObservedView[View], session: SessionId) -> bool:
        """Return whether a view of a session that was recorded live is only an imported claim."""
        return session in self._doubted and is_claim_record(observed.record, self._owned)

    def _is_claimed(self, url: str) -> bool:
        """Return whether an import claims that a page was read; the registry does not store the origin."""
        return any(is_claim_record(view.record, self._owned) for view in find_source_url_readings(self._store, url))

    @cached_property
    def _owned(self) -> set[StoreId]:
        return self._store.tables.list_owned_chains()

    def _names(
        self, subject: AuditSubject, lines: _Lines, path: RepoPath | None, skipped: dict[CitationCode, str]
    ) -> Iterator[CheckFinding]:
        if self._content is None:
            skipped.update(
                dict.fromkeys(
                    (CitationCode.NOFILE, CitationCode.NOSYMBOL, CitationCode.NOPACKAGE),
                    "the repository has no commits",
                )
            )
            return
        report = "" if path is None else str(path)
        if is_plan_or_history_report(report):
            skipped.update(
                dict.fromkeys(
                    (CitationCode.NOFILE, CitationCode.NOSYMBOL), "a plan or changelog describes other versions"
                )
            )
        files = find_missing_files(subject, lines.judged, self._content, report)
        if files.elsewhere:
            skipped[CitationCode.NOFILE] = (
                "most of the files that it names are missing, so it describes another repository"
            )
        if not self._content.manifests:
            skipped[CitationCode.NOPACKAGE] = "the repository has no manifest"
        yield from files.found
        yield from find_missing_symbols(subject, lines.judged, self._content, report)
        yield from find_missing_packages(subject, lines.judged, self._content)

    def _issues(self, subject: AuditSubject, lines: _Lines, skipped: dict[CitationCode, str]) -> Iterator[CheckFinding]:
        tracker = self._tracker(lines.sessions)
        if isinstance(tracker, str):
            skipped[CitationCode.NOISSUE] = tracker
            return
        yield from find_missing_issues(subject, lines.judged, tracker)

    @cached_property
    def _content(self) -> RepositoryContent | None:
        head = self._head or self._evidence.repository.head().commit
        return (
            None
            if head is None
            else read_cited_repository_content(self._evidence.repository, head, self._evidence.objects)
        )

    def _tracker(self, sessions: frozenset[SessionId]) -> Tracker | str:
        """Return what records show about the issue tracker, or why they show nothing."""
        observed = find_newest_pull_requests(self._store, FACTS_MAX)
        facts = [pull.view for pull in observed if pull.view.repository is not None]
        names = {fact.repository for fact in facts}
        if not facts:
            return "no issue tracker is recorded"
        if len(names) > 1:
            return "several issue trackers are recorded"
        absent = {
            int(match[2])
            for opening in self._openings(sessions)
            if opening.code in GONE and (match := _ISSUE.match(opening.locator)) is not None and match[1] in names
        }
        return Tracker(absent, [(fact.number, fact.at_ns) for fact in facts if fact.action == CREATED])


_EVER_NS = 2**63 - 1
