"""A text that somebody wrote under the citation contract: what is wrong with it, and the report that it makes.

It is judged against the sources that it was to cite, never against a list of its own: that list is taken out, and what
in it is none of those sources is a finding. While a text is looked at and converted, a source stands in its list by its
id alone, so that no title can be read as something else; its footnote is written at the very end.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from custody.cite.audit import Audit, audit_of
from custody.cite.codes import CitationCode
from custody.cite.contract import citation_contract, findings_context, index_by_number, missing_citations_reminder
from custody.cite.convert import ConversionTarget, convert, gap_after, line_end_of
from custody.cite.document import Label, LabelKind, ListEntry, MarkerForm, SourceListing
from custody.cite.footnotes import FootnoteFormatter
from custody.cite.keys import clean_source
from custody.cite.markdown import Layout, lay_out, plain
from custody.cite.model import ResearchSource, SourceID, number_of
from custody.cite.registry import ARTIFACT_CHARS_MAX
from custody.cite.results import ResearchResults, SynthesisMetadata, quality_metrics
from custody.cite.rules import CiteRules
from custody.cite.source_list import find_listing
from custody.cite.subject import AuditSubject, CheckFinding, brief, name_entry
from custody.cite.urls import url_key
from custody.cite.walk import HEADING
from custody.core.errors import WorldError

UNNAMED = "report"
OWN_LISTS_MAX = 4
"""Taking out one list can show another; after so many the text is left as it is."""

_NOT_LINE_END = re.compile(rb"[^\r\n]")
_STAND_IN = re.compile(r"(?P<label>\[\^(?P<note>[0-9]+)\]:|[0-9]+\.|- \[[0-9]+\]) (?P<id>S[0-9]+)")
_WORDS = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class ReportDraft:
    """A text without a list of its own, beside the sources that it may cite.

    ``body`` has every byte of the text in its place, with spaces for its own list, which stood at ``taken``; ``own`` is
    what was wrong with that list.
    """

    body: bytes
    sources: tuple[ResearchSource, ...]
    taken: tuple[tuple[int, int], ...] = ()
    own: tuple[CheckFinding, ...] = ()

    @classmethod
    def of(cls, data: bytes, sources: Sequence[ResearchSource]) -> "ReportDraft":
        """Read a text; the sources have ids, each its own."""
        body = data
        taken: list[tuple[int, int]] = []
        own: list[CheckFinding] = []
        for _ in range(OWN_LISTS_MAX):
            layout = lay_out(body)
            listing = find_listing(layout)
            if not listing.entries:
                break
            own += _foreign(listing, sources)
            out = _list_stretches(body, listing)
            taken += out
            body = _blanked(body, out)
        return cls(body, tuple(sources), tuple(taken), tuple(own))

    @property
    def text(self) -> bytes:
        """The text without its own list; without one, as it was written."""
        if not self.taken:
            return self.body
        made, at = [], 0
        for start, end in sorted(self.taken):
            made += [self.body[at:start], _NOT_LINE_END.sub(b"", self.body[max(at, start) : end])]
            at = max(at, end)
        return b"".join([*made, self.body[at:]]).rstrip() + line_end_of(self.body)

    @property
    def whole(self) -> bytes:
        """The text with the list of its sources, by id alone."""
        return _with_list(self.body, [f"- [{source.source_id}] {source.source_id}" for source in self.sources])


@dataclass(frozen=True, slots=True)
class FootnotedReport:
    """The report that a draft makes: its bytes, its sources in the order of its list, the marker of each.

    Where there are no markers, those are empty.
    """

    text: bytes
    sources: tuple[ResearchSource, ...]
    markers: tuple[str, ...]


def audit_draft(draft: ReportDraft, rules: CiteRules) -> Audit:
    """What is wrong with a draft, at its places in the text as it was written."""
    subject = AuditSubject.of(draft.whole)
    shows = _shows_its_list(subject.listing, draft.sources)
    more = _only_linked(subject) if shows else _hidden(draft)
    return _at_home(audit_of(subject, rules, [*draft.own, *more]), len(draft.body), subject)


def footnoted(draft: ReportDraft) -> FootnotedReport:
    """The text with ``[^n]`` and ``## Footnotes``, or with ``## References`` if it cites nothing.

    Only markers change. A text that hides its list is left with its markers, and the list follows it by ids.
    """
    formatter = FootnoteFormatter()
    by_id = {str(source.source_id): source for source in draft.sources}
    if not draft.sources:
        return FootnotedReport(draft.text, (), ())
    whole = _with_list(draft.text, [f"- [{name}] {name}" for name in by_id])
    if not _shows_its_list(find_listing(lay_out(whole)), draft.sources):
        rows = [f"- [{name}] {formatter.format_source(clean_source(source))}" for name, source in by_id.items()]
        return FootnotedReport(_with_list(draft.text, rows), draft.sources, tuple(map(formatter.format_inline, by_id)))
    end = line_end_of(whole)
    lines = convert(whole, ConversionTarget.FOOTNOTES).text.removesuffix(end).split(end)
    stand_ins = [_STAND_IN.fullmatch(line.decode()) for line in lines[-len(by_id) :]]
    order, markers, written = [], [], []
    for stand_in in stand_ins:
        if stand_in is None:
            raise AssertionError("the list of a converted text is its end")
        source = by_id[stand_in["id"]]
        order.append(source)
        markers.append(f"[^{stand_in['note']}]" if stand_in["note"] else "")
        if stand_in["note"]:
            written.append(formatter.format_footnote(int(stand_in["note"]), clean_source(source)))
        else:
            written.append(f"{stand_in['label']} {formatter.format_source(clean_source(source))}")
    rows_end = [line.encode("utf-8", "surrogatepass") for line in written]
    return FootnotedReport(end.join([*lines[: -len(by_id)], *rows_end]) + end, tuple(order), tuple(markers))


def cited_sections(draft: ReportDraft, name: str) -> Mapping[SourceID, tuple[str, ...]]:
    """Where each source is cited: ``name#heading`` of the sections, or ``name`` before the first heading."""
    subject = AuditSubject.of(draft.whole)
    headings = [block for block in subject.layout.blocks if block.kind == HEADING]
    made: dict[SourceID, dict[str, None]] = {}
    at, section = 0, _section(name, "")
    for use in subject.uses:
        while at < len(headings) and headings[at].start <= use.marker.start:
            section = _section(name, _heading(subject.layout, headings[at].start, headings[at].end))
            at += 1
        if use.entry is not None and use.entry.label is not None:
            made.setdefault(str(use.entry.label), {})[section] = None
    return {source_id: tuple(made[source_id]) for source_id in sorted(made, key=number_of)}


def _heading(layout: Layout, start: int, end: int) -> str:
    return plain(layout.text(start, end).strip().splitlines()[0].strip("# \t"))


def _section(name: str, heading: str) -> str:
    made = f"{name}#{heading}" if heading else name
    seen = "".join(sign if sign.isprintable() else " " for sign in made)
    return " ".join(seen.split())[:ARTIFACT_CHARS_MAX].strip() or UNNAMED


def _foreign(listing: SourceListing, sources: Sequence[ResearchSource]) -> Iterator[CheckFinding]:
    """What the text lists itself and is none of the sources, or is called by the id of another."""
    by_number = {number_of(str(source.source_id)): source for source in sources}
    for entry in listing.entries:
        number = entry.label.number if entry.label is not None and entry.label.kind is not LabelKind.NOTE else None
        meant = None if number is None else by_number.get(number)
        if meant is not None:
            if not _is(entry, meant):
                yield CheckFinding(
                    CitationCode.CLASH,
                    entry.start,
                    f"{name_entry(entry)} is listed as '{brief(entry.text)}' and is another",
                )
        elif not any(_is(entry, source) for source in sources):
            yield CheckFinding(
                CitationCode.UNKNOWN, entry.start, f"'{brief(entry.text)}' is listed and is none of the sources"
            )


def _is(entry: ListEntry, source: ResearchSource) -> bool:
    """Whether an entry names a source: by its address, or by its title where one of the two has no address."""
    if entry.url is not None and source.url is not None:
        key = url_key(entry.url)
        return key == url_key(source.url) if key is not None else entry.url == source.url
    said = _WORDS.findall(plain(entry.title).casefold())
    title = _WORDS.findall(source.title.casefold())
    return bool(title) and said[: len(title)] == title


def _list_stretches(data: bytes, listing: SourceListing) -> list[tuple[int, int]]:
    """Where a text lists its sources, with the headings under which nothing else stands."""
    left = _blanked(data, listing.cut)
    headings = [
        (section.heading_start, section.heading_end)
        for section in listing.sections
        if not left[section.heading_end : section.end].strip()
    ]
    return [*listing.cut, *headings]


def _blanked(data: bytes, stretches: Sequence[tuple[int, int]]) -> bytes:
    """The text with a space for every byte of these stretches that ends no line."""
    body = bytearray(data)
    for start, end in stretches:
        body[start:end] = _NOT_LINE_END.sub(b" ", data[start:end])
    return bytes(body)


def _with_list(body: bytes, rows: Sequence[str]) -> bytes:
    end = line_end_of(body)
    lines = ["## Sources", "", *rows] if rows else []
    return body + gap_after(body, end) + b"".join(line.encode("utf-8", "surrogatepass") + end for line in lines)


def _shows_its_list(listing: SourceListing, sources: Sequence[ResearchSource]) -> bool:
    wanted = [Label(LabelKind.ID, str(number_of(str(source.source_id)))) for source in sources]
    return [entry.label for entry in listing.entries] == wanted and not listing.troubles


def _hidden(draft: ReportDraft) -> Iterator[CheckFinding]:
    """Of a text behind which no list shows, nothing can be said to be cited."""
    end = len(draft.body)
    yield CheckFinding(
        CitationCode.LIST, end, "the list of sources would not show: the text ends in code or HTML that is not closed"
    )
    for source in draft.sources:
        yield CheckFinding(CitationCode.UNUSED, end, f"[{source.source_id}] is listed and never cited")


def _only_linked(subject: AuditSubject) -> Iterator[CheckFinding]:
    """Sources that are cited by nothing but links that show a number: those stay links, and cite nothing afterwards."""
    cited = {id(use.entry) for use in subject.uses if use.marker.form is not MarkerForm.LINKED}
    linked = {
        id(use.entry): use for use in subject.uses if use.marker.form is MarkerForm.LINKED and use.entry is not None
    }
    for key, use in linked.items():
        if key not in cited and use.entry is not None:
            message = f"{name_entry(use.entry)} is cited by a link alone"
            yield CheckFinding(CitationCode.UNUSED, use.marker.start, message)


def _at_home(made: Audit, length: int, subject: AuditSubject) -> Audit:
    """The audit with what stands in the added list told of the whole text: its writer never saw that list."""
    last = subject.layout.place(length)
    findings = [
        finding if (finding.line, finding.column) < last else replace(finding, line=1, column=1)
        for finding in made.findings
    ]
    findings.sort(key=lambda finding: (finding.line, finding.column))
    return replace(made, findings=tuple(findings))


# From the contract to a text that keeps it: what a writer is asked, what it answered, and whether to ask again.
# Nothing here asks anybody: whoever has a writer takes the ``prompt``, and hands over what came back.


ECHO_CHARACTERS_MAX = 100_000
"""A longer answer is not shown to its writer again."""

ANSWER_BYTES_MAX = 2 * 1024 * 1024
"""A longer answer is not audited: people do not read reports of this size."""


class NoReport(WorldError):
    """A writer gave nothing that could be looked at; ``attempts`` are what became of each answer."""

    def __init__(self, attempts: "tuple[Attempt, ...]") -> None:
        told = "; ".join(dict.fromkeys(attempt.words for attempt in attempts))
        super().__init__(f"the writer gave no text in {len(attempts)} answer(s): {told}", hint="ask another writer")
        self.attempts = attempts


@dataclass(frozen=True, slots=True)
class Attempt:
    """One answer of a writer: its text and what is wrong with it, or why it is no text to look at."""

    text: str = ""
    audit: Audit | None = None
    problem: str = ""

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong with it."""
        return self.audit is not None and self.audit.passed

    @property
    def words(self) -> str:
        """What became of it, in a few words."""
        if self.audit is None:
            return self.problem
        return "passed" if self.passed else f"{len(self.audit.findings)} finding(s)"


@dataclass(frozen=True, slots=True)
class DraftLoop:
    """A report that is being written: what was asked first, and every answer so far."""

    task: str
    sources: tuple[ResearchSource, ...]
    rules: CiteRules
    attempts: tuple[Attempt, ...] = ()

    @classmethod
    def of(cls, results: ResearchResults, task: str, rules: CiteRules) -> "DraftLoop":
        """Begin: what is to be written, what was found, the contract."""
        sources = index_by_number(results.sources)
        parts = (task.strip(), findings_context(results.findings).strip(), citation_contract(sources, rules))
        return cls("\n\n".join(part for part in parts if part), sources, rules)

    @property
    def prompt(self) -> str:
        """What to ask the writer now: all of it each time, for one that remembers nothing."""
        if not self.attempts:
            return self.task
        last = self.attempts[-1]
        if last.audit is None:
            return f"{self.task}\nYour last answer was no report: {last.problem}. Answer with the report itself.\n"
        echo = len(last.text) <= ECHO_CHARACTERS_MAX
        said = f"YOUR LAST ANSWER\n\n<draft>\n{last.text}\n</draft>\n\n" if echo else ""
        return f"{self.task}\n{said}{missing_citations_reminder(last.audit, last.text)}"

    @property
    def is_over(self) -> bool:
        """Whether an answer passed, or enough were given; without sources, no second answer could do better."""
        if not self.attempts:
            return False
        asked = 1 + (self.rules.retries_max if self.sources else 0)
        return self.attempts[-1].passed or len(self.attempts) >= asked

    def answered(self, answer: object) -> "DraftLoop":
        """The same with one answer more, looked at."""
        return replace(self, attempts=(*self.attempts, _audit_answer(answer, self.sources, self.rules)))


def best_of(attempts: Sequence[Attempt]) -> Attempt:
    """The answer with the fewest findings, of equals the last; ``NoReport`` if none was a text."""
    usable = [(len(attempt.audit.findings), -at) for at, attempt in enumerate(attempts) if attempt.audit is not None]
    if not usable:
        raise NoReport(tuple(attempts))
    return attempts[-min(usable)[1]]


def _audit_answer(answer: object, sources: Sequence[ResearchSource], rules: CiteRules) -> Attempt:
    if not isinstance(answer, str):
        return Attempt(problem=f"the answer is {type(answer).__name__}, not a text")
    if not answer.strip():
        return Attempt(problem="the answer is empty")
    data = answer.encode("utf-8", "surrogatepass")
    if len(data) > ANSWER_BYTES_MAX:
        return Attempt(problem=f"the answer has {len(data):,} bytes, more than {ANSWER_BYTES_MAX:,}")
    return Attempt(text=answer, audit=audit_draft(ReportDraft.of(data, sources), rules))


# A report with its citations: the text as it is saved, its sources, its audit, and how good it is in numbers.


class CitationWarning(UserWarning):
    """A report did not pass its audit and is there all the same; ``report`` says what is wrong with it."""

    def __init__(self, report: "CitedReport") -> None:
        codes = ", ".join(dict.fromkeys(finding.code.value for finding in report.audit.findings))
        super().__init__(
            f"'{report.name}' does not keep the citation contract after {report.audit_failures} answer(s): {codes}"
        )
        self.report = report


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedReport:
    """A report; ``text`` is what is saved, ``draft`` what its writer gave, ``sources`` are in the order of its list.

    ``markers`` are what stands for each source in the text, empty where the text has none.

    It may have failed its audit: ``passed`` says so, and ``warning`` is there exactly then.
    """

    name: str
    text: str
    draft: str
    sources: tuple[ResearchSource, ...]
    markers: tuple[str, ...]
    audit: Audit
    attempts: tuple[Attempt, ...] = ()
    sections: Mapping[SourceID, tuple[str, ...]] = field(default_factory=dict, hash=False)
    synthesis_metadata: SynthesisMetadata = field(default_factory=SynthesisMetadata)

    @property
    def passed(self) -> bool:
        """Whether the audit found nothing."""
        return self.audit.passed

    @property
    def quality_metrics(self) -> Mapping[str, float]:
        """``citation_coverage``, ``orphaned_sources`` and ``audit_failures``."""
        return self.synthesis_metadata.quality_metrics

    @property
    def audit_failures(self) -> int:
        """How many answers failed, this one among them if it did."""
        return int(self.quality_metrics["audit_failures"])

    @property
    def warning(self) -> CitationWarning | None:
        """What to tell the reader of a report that did not pass."""
        return None if self.passed else CitationWarning(self)


def cited_report(
    text: str,
    sources: Sequence[ResearchSource],
    rules: CiteRules | None = None,
    *,
    name: str = "report",
    attempts: Sequence[Attempt] = (),
) -> CitedReport:
    """The report that a text with ``[Sx]`` markers makes; without ``attempts``, the text is the only one."""
    draft = ReportDraft.of(text.encode("utf-8", "surrogatepass"), index_by_number(sources))
    audit = audit_draft(draft, rules or CiteRules())
    made = footnoted(draft)
    failures = sum(not attempt.passed for attempt in attempts) if attempts else int(not audit.passed)
    metrics = quality_metrics(
        citation_coverage=audit.coverage.ratio,
        orphaned_sources=sum(finding.code is CitationCode.UNUSED for finding in audit.findings),
        audit_failures=failures,
    )
    return CitedReport(
        name=name,
        text=made.text.decode("utf-8", "surrogatepass"),
        draft=text,
        sources=made.sources,
        markers=made.markers,
        audit=audit,
        attempts=tuple(attempts),
        sections=cited_sections(draft, name),
        synthesis_metadata=SynthesisMetadata(quality_metrics=metrics),
    )
