"""A draft written under the citation contract: its problems, and the report made from it.

A draft is checked against the sources that it was to cite. A source list of its own is removed, and entries of it that
are not among those sources are findings. During checks and conversion the list contains ids only, so that no title can
be misread; footnotes are written last.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from custody.cite.audit import Audit, audit_citations
from custody.cite.codes import CitationCode
from custody.cite.contract import (
    citation_contract,
    missing_citations_reminder,
    render_cited_findings,
    sort_sources_by_number,
)
from custody.cite.convert import ConversionTarget, convert_citations, detect_markdown_line_end, pad_before_source_list
from custody.cite.document import Label, LabelKind, ListEntry, MarkerForm, SourceListing
from custody.cite.footnotes import FootnoteFormatter
from custody.cite.keys import clean_source
from custody.cite.markdown import Layout, citation_markdown_to_text, parse_markdown_layout
from custody.cite.model import ResearchSource, SourceID, source_number_from_id
from custody.cite.registry import ARTIFACT_CHARS_MAX
from custody.cite.results import ResearchResults, SynthesisMetadata, quality_metrics
from custody.cite.rules import CiteRules
from custody.cite.source_list import find_source_listing
from custody.cite.subject import AuditSubject, CheckFinding, name_source_entry, shorten_citation_text
from custody.cite.urls import compute_source_url_key
from custody.cite.walk import HEADING
from custody.core.errors import WorldError
from custody.core.patterns import lazy_pattern
from custody.core.plural import count_noun
from custody.core.structs import hash_struct

UNNAMED = "report"
OWN_LISTS_MAX = 4
"""Maximum lists removed from a draft; removing a list can reveal another."""

_NOT_LINE_END = lazy_pattern(rb"[^\r\n]")
_STAND_IN = lazy_pattern(r"(?P<label>\[\^(?P<note>[0-9]+)\]:|[0-9]+\.|- \[[0-9]+\]) (?P<id>S[0-9]+)")
_WORDS = lazy_pattern(r"\w+")


class ReportDraft(Struct, frozen=True):
    """A text without a list of its own, and the sources that it may cite.

    ``body`` is the text with spaces instead of its list, which was at ``taken``, so that offsets stay. ``own`` are the
    findings about that list.
    """

    body: bytes
    sources: tuple[ResearchSource, ...]
    taken: tuple[tuple[int, int], ...] = ()
    own: tuple[CheckFinding, ...] = ()

    @classmethod
    def of(cls, data: bytes, sources: Sequence[ResearchSource]) -> "ReportDraft":
        """Parse a text; every source needs a unique id."""
        body = data
        taken: list[tuple[int, int]] = []
        own: list[CheckFinding] = []
        for _ in range(OWN_LISTS_MAX):
            layout = parse_markdown_layout(body)
            listing = find_source_listing(layout)
            if not listing.entries:
                break
            own += _find_foreign_sources(listing, sources)
            out = _source_list_ranges(body, listing)
            taken += out
            body = _blank_source_list(body, out)
        return cls(body, tuple(sources), tuple(taken), tuple(own))

    @property
    def text(self) -> bytes:
        """Return the text without its own list; unchanged if it has none."""
        if not self.taken:
            return self.body
        parts, at = [], 0
        for start, end in sorted(self.taken):
            parts += [self.body[at:start], _NOT_LINE_END.sub(b"", self.body[max(at, start) : end])]
            at = max(at, end)
        return b"".join([*parts, self.body[at:]]).rstrip() + detect_markdown_line_end(self.body)

    @property
    def whole(self) -> bytes:
        """Return the text with the list of its sources, by id only."""
        return _append_source_rows(self.body, [f"- [{source.source_id}] {source.source_id}" for source in self.sources])


class FootnotedReport(Struct, frozen=True):
    """The report made from a draft: its bytes, its sources in the order of its list, and their markers.

    Markers are empty if the text has none.
    """

    text: bytes
    sources: tuple[ResearchSource, ...]
    markers: tuple[str, ...]


def audit_draft(draft: ReportDraft, rules: CiteRules) -> Audit:
    """Audit a draft; positions are those in the text as it was written."""
    subject = AuditSubject.of(draft.whole)
    shows = _is_source_list_visible(subject.listing, draft.sources)
    more = _find_link_only_citations(subject) if shows else _find_hidden_source_list(draft)
    return _relocate_list_findings(audit_citations(subject, rules, [*draft.own, *more]), len(draft.body), subject)


def render_draft_footnotes(draft: ReportDraft) -> FootnotedReport:
    """Return the text with ``[^n]`` and ``## Footnotes``, or with ``## References`` if it cites nothing.

    Only markers change. If the list would not render, the markers stay and the list follows by ids.
    """
    formatter = FootnoteFormatter()
    by_id = {str(source.source_id): source for source in draft.sources}
    if not draft.sources:
        return FootnotedReport(draft.text, (), ())
    whole = _append_source_rows(draft.text, [f"- [{name}] {name}" for name in by_id])
    if not _is_source_list_visible(find_source_listing(parse_markdown_layout(whole)), draft.sources):
        rows = [f"- [{name}] {formatter.format_source(clean_source(source))}" for name, source in by_id.items()]
        return FootnotedReport(
            _append_source_rows(draft.text, rows), draft.sources, tuple(map(formatter.format_inline, by_id))
        )
    end = detect_markdown_line_end(whole)
    lines = convert_citations(whole, ConversionTarget.FOOTNOTES).text.removesuffix(end).split(end)
    stand_ins = [_STAND_IN.fullmatch(line.decode()) for line in lines[-len(by_id) :]]
    order, markers, written = [], [], []
    for stand_in in stand_ins:
        if stand_in is None:
            raise AssertionError("a converted text ends with its list")
        source = by_id[stand_in["id"]]
        order.append(source)
        markers.append(f"[^{stand_in['note']}]" if stand_in["note"] else "")
        if stand_in["note"]:
            written.append(formatter.format_footnote(int(stand_in["note"]), clean_source(source)))
        else:
            written.append(f"{stand_in['label']} {formatter.format_source(clean_source(source))}")
    rows_end = [line.encode("utf-8", "surrogatepass") for line in written]
    return FootnotedReport(end.join([*lines[: -len(by_id)], *rows_end]) + end, tuple(order), tuple(markers))


def find_cited_sections(draft: ReportDraft, name: str) -> Mapping[SourceID, tuple[str, ...]]:
    """Return where each source is cited: ``name#heading`` per section, or ``name`` before the first heading."""
    subject = AuditSubject.of(draft.whole)
    headings = [block for block in subject.layout.blocks if block.kind == HEADING]
    sections_by_id: dict[SourceID, dict[str, None]] = {}
    at, section = 0, _cited_section_name(name, "")
    for use in subject.uses:
        while at < len(headings) and headings[at].start <= use.marker.start:
            section = _cited_section_name(
                name, _cited_section_heading(subject.layout, headings[at].start, headings[at].end)
            )
            at += 1
        if use.entry is not None and use.entry.label is not None:
            sections_by_id.setdefault(str(use.entry.label), {})[section] = None
    return {
        source_id: tuple(sections_by_id[source_id]) for source_id in sorted(sections_by_id, key=source_number_from_id)
    }


def _cited_section_heading(layout: Layout, start: int, end: int) -> str:
    return citation_markdown_to_text(layout.text(start, end).strip().splitlines()[0].strip("# \t"))


def _cited_section_name(name: str, heading: str) -> str:
    title = f"{name}#{heading}" if heading else name
    printable = "".join(character if character.isprintable() else " " for character in title)
    return " ".join(printable.split())[:ARTIFACT_CHARS_MAX].strip() or UNNAMED


def _find_foreign_sources(listing: SourceListing, sources: Sequence[ResearchSource]) -> Iterator[CheckFinding]:
    """Yield the entries of the text's own list that are not its sources, or have the id of another."""
    by_number = {source_number_from_id(str(source.source_id)): source for source in sources}
    for entry in listing.entries:
        number = entry.label.number if entry.label is not None and entry.label.kind is not LabelKind.NOTE else None
        meant = None if number is None else by_number.get(number)
        if meant is not None:
            if not _is_entry_for_source(entry, meant):
                yield CheckFinding(
                    CitationCode.CLASH,
                    entry.start,
                    f"{name_source_entry(entry)} is listed as '{shorten_citation_text(entry.text)}', another source",
                )
        elif not any(_is_entry_for_source(entry, source) for source in sources):
            yield CheckFinding(
                CitationCode.UNKNOWN,
                entry.start,
                f"'{shorten_citation_text(entry.text)}' is listed but is not one of the sources",
            )


def _is_entry_for_source(entry: ListEntry, source: ResearchSource) -> bool:
    """Return whether an entry is a source: by URL, or by title if one of the two has no URL."""
    if entry.url is not None and source.url is not None:
        key = compute_source_url_key(entry.url)
        return key == compute_source_url_key(source.url) if key is not None else entry.url == source.url
    words = _WORDS.findall(citation_markdown_to_text(entry.title).casefold())
    title = _WORDS.findall(source.title.casefold())
    return bool(title) and words[: len(title)] == title


def _source_list_ranges(data: bytes, listing: SourceListing) -> list[tuple[int, int]]:
    """Return the byte ranges of a text's own list, with headings that would be empty."""
    left = _blank_source_list(data, listing.cut)
    headings = [
        (section.heading_start, section.heading_end)
        for section in listing.sections
        if not left[section.heading_end : section.end].strip()
    ]
    return [*listing.cut, *headings]


def _blank_source_list(data: bytes, spans: Sequence[tuple[int, int]]) -> bytes:
    """Return the text with spaces in these byte ranges, except for line ends."""
    body = bytearray(data)
    for start, end in spans:
        body[start:end] = _NOT_LINE_END.sub(b" ", data[start:end])
    return bytes(body)


def _append_source_rows(body: bytes, rows: Sequence[str]) -> bytes:
    end = detect_markdown_line_end(body)
    lines = ["## Sources", "", *rows] if rows else []
    return (
        body
        + pad_before_source_list(body, end)
        + b"".join(line.encode("utf-8", "surrogatepass") + end for line in lines)
    )


def _is_source_list_visible(listing: SourceListing, sources: Sequence[ResearchSource]) -> bool:
    expected = [Label(LabelKind.ID, str(source_number_from_id(str(source.source_id)))) for source in sources]
    return [entry.label for entry in listing.entries] == expected and not listing.troubles


def _find_hidden_source_list(draft: ReportDraft) -> Iterator[CheckFinding]:
    """Yield a finding if the list would not render, because then nothing counts as cited."""
    end = len(draft.body)
    yield CheckFinding(
        CitationCode.LIST, end, "the source list would not render: the text ends in unclosed code or HTML"
    )
    for source in draft.sources:
        yield CheckFinding(CitationCode.UNUSED, end, f"[{source.source_id}] is listed but never cited")


def _find_link_only_citations(subject: AuditSubject) -> Iterator[CheckFinding]:
    """Yield the sources cited only by links that show a number: links stay, and cite nothing after conversion."""
    cited = {id(use.entry) for use in subject.uses if use.marker.form is not MarkerForm.LINKED}
    linked = {
        id(use.entry): use for use in subject.uses if use.marker.form is MarkerForm.LINKED and use.entry is not None
    }
    for key, use in linked.items():
        if key not in cited and use.entry is not None:
            message = f"{name_source_entry(use.entry)} is cited only by a link"
            yield CheckFinding(CitationCode.UNUSED, use.marker.start, message)


def _relocate_list_findings(audit: Audit, length: int, subject: AuditSubject) -> Audit:
    """Move findings in the added list to the start of the text, because its writer never saw that list."""
    last = subject.layout.place(length)
    findings = [
        finding if (finding.line, finding.column) < last else replace(finding, line=1, column=1)
        for finding in audit.findings
    ]
    findings.sort(key=lambda finding: (finding.line, finding.column))
    return replace(audit, findings=tuple(findings))


# The loop from contract to report: prompt, answer, retry. It calls nothing itself: the caller sends each ``prompt`` to
# a writer and passes the answer back.


ECHO_CHARACTERS_MAX = 100_000
"""Maximum length of an answer that is quoted in the next prompt."""

ANSWER_BYTES_MAX = 2 * 1024 * 1024
"""Maximum size of an answer that is audited."""


class NoReport(WorldError):
    """A writer returned no usable text; ``attempts`` are its answers."""

    def __init__(self, attempts: "tuple[Attempt, ...]") -> None:
        problems = "; ".join(dict.fromkeys(attempt.words for attempt in attempts))
        super().__init__(
            f"the writer returned no text in {count_noun(len(attempts), 'answer')}: {problems}",
            hint="use another writer",
        )
        self.attempts = attempts


class Attempt(Struct, frozen=True):
    """An answer of a writer: its text and its audit, or why it is unusable."""

    text: str = ""
    audit: Audit | None = None
    problem: str = ""

    @property
    def passed(self) -> bool:
        """Return whether the audit passed."""
        return self.audit is not None and self.audit.passed

    @property
    def words(self) -> str:
        """Return a short description of the result."""
        if self.audit is None:
            return self.problem
        return "passed" if self.passed else count_noun(len(self.audit.findings), "finding")


class DraftLoop(Struct, frozen=True):
    """A report in progress: the task, and all answers so far."""

    task: str
    sources: tuple[ResearchSource, ...]
    rules: CiteRules
    attempts: tuple[Attempt, ...] = ()

    @classmethod
    def of(cls, results: ResearchResults, task: str, rules: CiteRules) -> "DraftLoop":
        """Start with the task, the findings and the contract."""
        sources = sort_sources_by_number(results.sources)
        parts = (task.strip(), render_cited_findings(results.findings).strip(), citation_contract(sources, rules))
        return cls("\n\n".join(part for part in parts if part), sources, rules)

    @property
    def prompt(self) -> str:
        """Return the next prompt, complete each time, for a writer without memory."""
        if not self.attempts:
            return self.task
        last = self.attempts[-1]
        if last.audit is None:
            return f"{self.task}\nYour last answer was not a report: {last.problem}. Answer with the report itself.\n"
        echo = len(last.text) <= ECHO_CHARACTERS_MAX
        quoted = f"YOUR LAST ANSWER\n\n<draft>\n{last.text}\n</draft>\n\n" if echo else ""
        return f"{self.task}\n{quoted}{missing_citations_reminder(last.audit, last.text)}"

    @property
    def is_over(self) -> bool:
        """Return whether an answer passed or retries are used up; a text without sources gets no retry."""
        if not self.attempts:
            return False
        answers_max = 1 + (self.rules.retries_max if self.sources else 0)
        return self.attempts[-1].passed or len(self.attempts) >= answers_max

    def answered(self, answer: object) -> "DraftLoop":
        """Return the loop with one more answer, audited."""
        return replace(self, attempts=(*self.attempts, _audit_answer(answer, self.sources, self.rules)))


def choose_best_draft(attempts: Sequence[Attempt]) -> Attempt:
    """Return the answer with the fewest findings, the last of equals; raise ``NoReport`` if none was text."""
    usable = [(len(attempt.audit.findings), -at) for at, attempt in enumerate(attempts) if attempt.audit is not None]
    if not usable:
        raise NoReport(tuple(attempts))
    return attempts[-min(usable)[1]]


def _audit_answer(answer: object, sources: Sequence[ResearchSource], rules: CiteRules) -> Attempt:
    if not isinstance(answer, str):
        return Attempt(problem=f"the answer is {type(answer).__name__}, not text")
    if not answer.strip():
        return Attempt(problem="the answer is empty")
    data = answer.encode("utf-8", "surrogatepass")
    if len(data) > ANSWER_BYTES_MAX:
        return Attempt(problem=f"the answer has {len(data):,} bytes, more than {ANSWER_BYTES_MAX:,}")
    return Attempt(text=answer, audit=audit_draft(ReportDraft.of(data, sources), rules))


# A finished report: its text, sources, audit and metrics.


class CitationWarning(UserWarning):
    """A report was made although it failed its audit; ``report`` has the findings."""

    def __init__(self, report: "CitedReport") -> None:
        codes = ", ".join(dict.fromkeys(finding.code.value for finding in report.audit.findings))
        super().__init__(
            f"'{report.name}' breaks the citation contract after {count_noun(report.audit_failures, 'answer')}: {codes}"
        )
        self.report = report


class CitedReport(Struct, frozen=True, kw_only=True):
    """A report; ``text`` is for saving, ``draft`` is the writer's text, ``sources`` are in the order of its list.

    ``markers`` are the markers of the sources, empty if the text has none.

    A report may have failed its audit: then ``passed`` is false and ``warning`` is set.
    """

    name: str
    text: str
    draft: str
    sources: tuple[ResearchSource, ...]
    markers: tuple[str, ...]
    audit: Audit
    attempts: tuple[Attempt, ...] = ()
    sections: Mapping[SourceID, tuple[str, ...]] = field(default_factory=dict)
    synthesis_metadata: SynthesisMetadata = field(default_factory=SynthesisMetadata)

    @property
    def passed(self) -> bool:
        """Return whether the audit passed."""
        return self.audit.passed

    @property
    def quality_metrics(self) -> Mapping[str, float]:
        """Return ``citation_coverage``, ``orphaned_sources`` and ``audit_failures``."""
        return self.synthesis_metadata.quality_metrics

    @property
    def audit_failures(self) -> int:
        """Return how many answers failed, including this one."""
        return int(self.quality_metrics["audit_failures"])

    @property
    def warning(self) -> CitationWarning | None:
        """Return the warning for a report that failed its audit."""
        return None if self.passed else CitationWarning(self)

    def __hash__(self) -> int:
        return hash_struct(self, but=("sections",))


def cited_report(
    text: str,
    sources: Sequence[ResearchSource],
    rules: CiteRules | None = None,
    *,
    name: str = "report",
    attempts: Sequence[Attempt] = (),
) -> CitedReport:
    """Return the report of a text with ``[Sx]`` markers; without ``attempts``, the text is the only attempt."""
    draft = ReportDraft.of(text.encode("utf-8", "surrogatepass"), sort_sources_by_number(sources))
    audit = audit_draft(draft, rules or CiteRules())
    rendered = render_draft_footnotes(draft)
    failures = sum(not attempt.passed for attempt in attempts) if attempts else int(not audit.passed)
    metrics = quality_metrics(
        citation_coverage=audit.coverage.ratio,
        orphaned_sources=sum(finding.code is CitationCode.UNUSED for finding in audit.findings),
        audit_failures=failures,
    )
    return CitedReport(
        name=name,
        text=rendered.text.decode("utf-8", "surrogatepass"),
        draft=text,
        sources=rendered.sources,
        markers=rendered.markers,
        audit=audit,
        attempts=tuple(attempts),
        sections=find_cited_sections(draft, name),
        synthesis_metadata=SynthesisMetadata(quality_metrics=metrics),
    )
