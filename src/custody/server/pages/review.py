"""The values of a review page: hunks in reading order, each with its lines and its card, within the size of a page."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from custody.core.plural import count_noun
from custody.gate.wire.report import ReasonReport
from custody.review.app.words import STATEMENT_WORDS as STATEMENT_WORDS
from custody.review.app.words import list_doubted_statements as list_doubted_statements
from custody.review.wire import HunkAuthor, HunkReport, ReviewReport
from custody.server.page_data.diff import ChangeDiff, DiffHunk, DiffReader
from custody.server.pages.diff_lines import HunkHtml, LineNote, render_hunk_lines
from custody.server.pages.phrases import capitalize_sentence, format_agent_title
from custody.workspace.workspace import Workspace

ELEMENTS_MAX = 620
"""Elements of all lines of code on a page; further hunks are folded."""
HUNK_ELEMENTS_MAX = 220
"""Elements of one hunk at first, so that a page shows several; a link shows the rest of it."""
BYTES_MAX = 90_000
"""Bytes of these lines."""
HUNKS_SHOWN = 24
"""Hunks of one page, folded ones included; a link leads to the next ones."""
ORDER_SHOWN = 8
STATEMENTS_SHOWN = 8
SKIM_SHOWN = 6
CARD_ELEMENTS = 48
NOTED_PLACES_MAX = 3
NOTED_LINES_MAX = 4
"""A reason for more places or more lines than this belongs to the hunk."""
TEST_WORDS: Mapping[str, tuple[str, str]] = {
    "after-edit": ("ok", "Tested after the last edit"),
    "stale": ("bad", "Not tested since the last edit"),
    "failed": ("bad", "The last test run failed"),
    "none": ("warn", "No test run recorded"),
    "unknown": ("muted", "No test run known"),
}
_FIRST_PLACE = ", first at '"
"""What follows names the line, which is beside the note."""
KINDS = ("mixed", "agent", "person", "none")
"""In the order in which a card names them."""
STRONG = ("certain", "strong")


class HunkBox(Struct, frozen=True, kw_only=True):
    """One hunk on the page; ``lines`` is None while it is folded, ``report`` while its evidence is gathered."""

    number: int
    hunk: DiffHunk
    lines: HunkHtml | None
    report: HunkReport | None

    @property
    def anchor(self) -> str:
        """The id of the hunk on the page, made of its patch identity."""
        return name_hunk_anchor(self.hunk.id)

    @property
    def level(self) -> str | None:
        """Its risk."""
        return None if self.report is None else self.report.risk.level


class ReviewPage(Struct, frozen=True, kw_only=True):
    """The hunks of one page in their order, and where the next ones start."""

    boxes: Sequence[HunkBox]
    start: int
    total: int
    is_by_file: bool

    @property
    def next(self) -> int | None:
        """The position of the first hunk of the next page."""
        return self.start + len(self.boxes) if self.start + len(self.boxes) < self.total else None


def name_hunk_anchor(id: str) -> str:
    """Return the id of an element for a hunk; a repetition keeps its number.

    >>> name_hunk_anchor("ab" * 32 + "-2")
    'h-abababababab-2'
    """
    digest, dash, number = id.partition("-")
    return f"h-{digest[:12]}{dash}{number}"


def make_review_page(
    workspace: Workspace,
    diff: ChangeDiff,
    report: ReviewReport | None,
    *,
    start: int,
    is_by_file: bool,
    wanted: str | None = None,
) -> ReviewPage:
    """Return the hunks from ``start`` on: riskiest first if the report is there, opened while there is room."""
    reports = {} if report is None else {hunk.id: hunk for hunk in report.hunks}
    ids = list(diff.hunks) if is_by_file or report is None else _order_hunks(diff, report.order)
    if wanted in ids:
        start = ids.index(wanted)
    reasons = () if report is None else report.reasons
    reader = DiffReader(workspace)
    elements = size = 0
    boxes: list[HunkBox] = []
    for number, id_ in enumerate(ids[start : start + HUNKS_SHOWN], start + 1):
        found = reports.get(id_)
        hunk = diff.hunks[id_]
        lines = None
        is_wanted = found is None or found.risk.level != "low" or number <= start + 1
        if is_wanted and elements < ELEMENTS_MAX and size < BYTES_MAX:
            room = ELEMENTS_MAX - elements
            lines = render_box_lines(reader, hunk, found, reasons, elements_max=min(room, HUNK_ELEMENTS_MAX))
            if boxes and ((lines.left_out and room < HUNK_ELEMENTS_MAX) or size + len(lines.html) > BYTES_MAX):
                lines = None
            elements += ELEMENTS_MAX if lines is None else lines.elements + CARD_ELEMENTS
            size += 0 if lines is None else len(lines.html)
        boxes.append(HunkBox(number=number, hunk=hunk, lines=lines, report=found))
    return ReviewPage(boxes=boxes, start=start, total=len(ids), is_by_file=is_by_file)


def _order_hunks(diff: ChangeDiff, order: Iterable[str]) -> list[str]:
    known = [id_ for id_ in order if id_ in diff.hunks]
    return [*known, *(id_ for id_ in diff.hunks if id_ not in set(known))]


def render_box_lines(
    reader: DiffReader,
    hunk: DiffHunk,
    report: HunkReport | None,
    reasons: Sequence[ReasonReport],
    *,
    elements_max: int | None = None,
) -> HunkHtml:
    """Return the lines of a hunk with the marks of their authors, and the reasons that belong to a line."""
    lines, kinds = reader.read_lines(hunk), map_line_kinds(hunk, report)
    return render_hunk_lines(lines, kinds, _map_line_notes(hunk, reasons), elements_max=elements_max)


def map_line_kinds(hunk: DiffHunk, report: HunkReport | None) -> dict[int, str]:
    """Return the kind of author of each added line by its number; unknown where no block has it."""
    if report is None:
        return {}
    kinds = {run.new_index + at + 1: "none" for run in hunk.hunk.runs for at in range(len(run.added))}
    for block in report.blocks:
        for number in range(block.start, block.end + 1):
            if number in kinds:
                kinds[number] = report.authors[block.author].kind
    return kinds


def _map_line_notes(hunk: DiffHunk, reasons: Sequence[ReasonReport]) -> dict[int, LineNote]:
    """Return the reasons that name single lines of the hunk, under the last of them."""
    notes: dict[int, LineNote] = {}
    for reason in reasons:
        for place in reason.places if len(reason.places) <= NOTED_PLACES_MAX else ():
            if place.path != hunk.path or place.start_line is None:
                continue
            end = place.start_line if place.end_line is None else place.end_line
            if end - place.start_line < NOTED_LINES_MAX:
                words = capitalize_sentence(reason.sentence.partition(_FIRST_PLACE)[0])
                notes.setdefault(end, LineNote(reason.level, words))
    return notes


def name_hunk_authors(authors: Sequence[HunkAuthor]) -> str:
    """Return the names of a hunk's authors; at most two."""
    names: list[str] = []
    for author in sorted(authors, key=lambda author: KINDS.index(author.kind)):
        title = format_agent_title(author.agent) if author.agent else None
        name = {"agent": title or "Agent", "mixed": f"{title or 'Agent'} + person", "person": "Person"}.get(
            author.kind, "Unknown"
        )
        if not any(known.startswith(name) for known in names):
            names.append(name)
    more = f" and {len(names) - 2} more" if len(names) > 2 else ""
    return " + ".join(names[:2]) + more if names else "No added lines"


def choose_hunk_kind(authors: Sequence[HunkAuthor]) -> str:
    """Return the kind of author of a whole hunk: mixed if an agent and a person wrote in it."""
    kinds = {author.kind for author in authors}
    if "mixed" in kinds or {"agent", "person"} <= kinds:
        return "mixed"
    return next((kind for kind in ("agent", "person") if kind in kinds), "none")


class CertaintyCount(Struct, frozen=True):
    """Added lines by how sure their authors are."""

    strong: int
    weak: int
    unknown: int
    lines: int


def count_certainty(report: ReviewReport) -> CertaintyCount:
    """Count the added lines of the reported hunks by certainty."""
    strong = weak = unknown = 0
    for hunk in report.hunks:
        for author in hunk.authors:
            if author.certainty in STRONG:
                strong += author.lines
            elif author.certainty == "unknown":
                unknown += author.lines
            else:
                weak += author.lines
    return CertaintyCount(strong, weak, unknown, strong + weak + unknown)


def list_untested_hunks(report: ReviewReport) -> list[HunkReport]:
    """Return the hunks with agents' lines that no recorded run tested after the last edit."""
    return [
        hunk
        for hunk in report.hunks
        if hunk.tests.state != "after-edit" and any(author.kind in ("agent", "mixed") for author in hunk.authors)
    ]


def count_hunk_duplicates(report: ReviewReport) -> int:
    """Count the hunks with lines like those of another change."""
    return sum(bool(hunk.duplicates) for hunk in report.hunks)


def describe_order(report: ReviewReport) -> str:
    """Return how many hunks carry the risk."""
    risky = report.levels["high"] + report.levels["medium"]
    total = risky + report.levels["low"]
    if not risky:
        return f"No rule fired for {count_noun(total, 'hunk')}."
    if risky == total:
        return f"{count_noun(total, 'hunk')}, {'with' if total == 1 else 'each with'} a reason to read it."
    return f"{risky:,} of {count_noun(total, 'hunk')} carry the risk; no rule fired for the others."
