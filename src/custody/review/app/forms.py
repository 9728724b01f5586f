"""A review in other formats: Markdown, one comment, annotations, a code quality report of GitLab.

Everything from records or from the change is escaped: it becomes no markup, link, mention, reference or command.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Literal
from urllib.parse import quote

import msgspec

from custody.core.plural import count_noun
from custody.core.wire.markup import escape_markdown, quote_markdown_block, quote_markdown_code
from custody.core.wire.sarif import Annotation, AnnotationLevel, encode_annotations
from custody.gate.wire.report import render_added_lines, render_assurance_note, render_skipped_check
from custody.review.app.review import hide_review_prompts
from custody.review.app.words import (
    STATEMENT_WORDS,
    describe_authors,
    describe_calls,
    describe_duplicates,
    describe_readers,
    describe_sources,
    describe_tests,
    list_doubted_statements,
    list_prompt_facts,
    name_hunk_place,
    name_statement_place,
    wrap_prompt,
)
from custody.review.wire import HunkReport, PromptCard, ReviewReport, RiskName

MARK = "<!-- custody: review -->"
"""The first line of a comment; custody finds its own comment by it."""
COMMENT_CHARACTERS_MAX = 65_535
"""GitHub refuses longer comments."""
REST_CHARACTERS = 400
"""Room for the line that counts what was left out."""
LISTED_MAX = 30
REASONS_MAX = 20
STATEMENTS_SHOWN_MAX = 10
CARDS_OPEN = 3
NAME_CHARACTERS_MAX = 200
TEXT_CHARACTERS_MAX = 1_000
ANNOTATIONS_MAX = 50
"""GitHub takes this many in a request."""
ANNOTATIONS_PER_KIND_MAX = 10
SHA_DIGITS = 12
HEADLINES: Mapping[str, str] = MappingProxyType(
    {"approve": "✅ Can merge", "review": "⚠️ Needs review", "block": "⛔ Blocked"}
)
_COMMANDS: Mapping[str, AnnotationLevel] = MappingProxyType({"high": "warning", "medium": "warning", "low": "notice"})
_SEVERITIES: Mapping[str, Literal["critical", "major", "minor"]] = MappingProxyType(
    {"high": "critical", "medium": "major", "low": "minor"}
)


def encode_review_markdown(report: ReviewReport, link_base: str | None = None, *, with_prompts: bool = False) -> str:
    """Encode a review as Markdown of at most 65,535 characters; cards that do not fit are counted.

    ``link_base`` is the URL of the repository's files at the head, for links to lines. Excerpts of prompts are shown
    only ``with_prompts``, because more people read a pull request than may read a conversation.
    """
    report = report if with_prompts else hide_review_prompts(report)
    text = (
        "\n".join([MARK, *_render_head(report), *_render_statements(report), *_render_order(report, link_base)]) + "\n"
    )
    end = "\n".join(_render_end(report)) + "\n"
    room = COMMENT_CHARACTERS_MAX - len(text) - len(end) - REST_CHARACTERS
    shown = 0
    for hunk in report.hunks:
        if not hunk.has_card:
            break
        card = _render_card(hunk, link_base, is_open=shown < CARDS_OPEN and hunk.risk.level != "low")
        if len(card) > room:
            break
        text, room, shown = text + card, room - len(card), shown + 1
    rest = len(report.hunks) - shown + (0 if report.more is None else report.more.hunks)
    if rest:
        text += f"\n{count_noun(rest, 'more hunk')} without a card here: run `{_name_review_command(report)} -v`.\n"
    return text + end


def _name_review_command(report: ReviewReport) -> str:
    if report.worktree:
        return "custody review"
    return f"custody review {report.fork[:SHA_DIGITS]}..{report.head[:SHA_DIGITS]}"


def _render_head(report: ReviewReport) -> Iterator[str]:
    headline = HEADLINES[report.verdict] + render_assurance_note(report.verdict, report.assurance)
    yield f"### {headline}"
    yield ""
    yield escape_markdown(report.summary)
    yield ""
    counts = [escape_markdown(render_added_lines(report.added))]
    if report.tested is not None:
        tested = report.tested
        counts.append(f"{tested.tested:,} of {count_noun(tested.lines, 'agent line')} tested after their last edit")
    yield " · ".join(counts)
    yield ""


def _render_statements(report: ReviewReport) -> Iterator[str]:
    """Yield the statements that records contradict or do not back, with both texts."""
    statements = list_doubted_statements(report)
    if not statements:
        return
    yield "| What the texts say | What the records say |"
    yield "|---|---|"
    for statement in statements[:STATEMENTS_SHOWN_MAX]:
        said = f"“{_cut(statement.text, NAME_CHARACTERS_MAX)}” ({name_statement_place(statement)})"
        record = f"{STATEMENT_WORDS[statement.state]}: {_cut(statement.record, TEXT_CHARACTERS_MAX)}"
        yield f"| {escape_markdown(said)} | {escape_markdown(record)} |"
    if len(statements) > STATEMENTS_SHOWN_MAX:
        yield f"| {count_noun(len(statements) - STATEMENTS_SHOWN_MAX, 'more statement')} | |"
    yield ""


def _render_order(report: ReviewReport, link_base: str | None) -> Iterator[str]:
    if not report.hunks:
        return
    yield "| | Risk | Read these first | Why |"
    yield "|--:|---|---|---|"
    for number, hunk in enumerate(report.hunks[:LISTED_MAX], 1):
        reasons = " · ".join(_list_factor_words(hunk, cut=120)[:3]) or "no reason"
        yield f"| {number} | {_name_risk(hunk.risk.level)} | {_link_place(hunk, link_base)} | {reasons} |"
    rest = len(report.hunks) - LISTED_MAX + (0 if report.more is None else report.more.hunks)
    if rest > 0:
        yield f"| | | {count_noun(rest, 'more hunk')} | |"
    yield ""


def _name_risk(level: RiskName) -> str:
    return f"**{level}**" if level == "high" else level


def _list_factor_words(hunk: HunkReport, cut: int) -> list[str]:
    return [escape_markdown(_cut(factor.words, cut)) for factor in hunk.risk.factors]


def _link_place(hunk: HunkReport, link_base: str | None) -> str:
    place = quote_markdown_code(_cut(name_hunk_place(hunk), NAME_CHARACTERS_MAX))
    if link_base is None or hunk.lines is None:
        return place
    try:
        path = quote(hunk.path)
    except UnicodeEncodeError:
        return place
    return f'<a href="{link_base}/{path}#L{hunk.lines.start}-L{hunk.lines.end}">{place}</a>'


def _render_card(hunk: HunkReport, link_base: str | None, *, is_open: bool) -> str:
    """Return a card that folds; every text from records is in code or escaped."""
    size = f"+{hunk.added:,} -{hunk.removed:,}"
    authors = escape_markdown(_cut(describe_authors(hunk), NAME_CHARACTERS_MAX))
    title = f"{_name_risk_html(hunk.risk.level)} {_link_place(hunk, link_base)} {escape_markdown(size)}"
    lines = [
        "",
        f"<details{' open' if is_open else ''}>",
        f"<summary>{title}{' · ' if authors else ''}{authors}</summary>",
        "",
    ]
    if hunk.risk.factors:
        lines += [f"- **Risk:** {' · '.join(_list_factor_words(hunk, cut=TEXT_CHARACTERS_MAX))}"]
    rows = (
        ("Edited", describe_calls(hunk)),
        ("Read before", describe_sources(hunk)),
        ("Tested", describe_tests(hunk)),
        ("Certainty", hunk.certainty),
        ("Duplicates", describe_duplicates(hunk)),
        ("Read by", describe_readers(hunk)),
    )
    lines += [f"- **{name}:** {escape_markdown(_cut(text, TEXT_CHARACTERS_MAX))}" for name, text in rows if text]
    lines += [line for prompt in hunk.prompts for line in _render_prompt(prompt)]
    if hunk.links.why is not None:
        lines += [f"- **More:** {quote_markdown_code(_cut(hunk.links.why, TEXT_CHARACTERS_MAX))}"]
    return "\n".join([*lines, "", "</details>", ""])


def _name_risk_html(level: RiskName) -> str:
    return f"<b>{level}</b>" if level == "high" else level


def _render_prompt(prompt: PromptCard) -> Iterator[str]:
    facts = escape_markdown(", ".join(list_prompt_facts(prompt)))
    if prompt.text is None:
        yield f"- **Prompt:** {escape_markdown(prompt.note or 'prompt not captured')}{f' ({facts})' if facts else ''}"
        return
    yield f"- **Prompt**{f' ({facts})' if facts else ''}:"
    yield ""
    yield quote_markdown_block(wrap_prompt(prompt.text))
    yield ""


def _render_reasons(report: ReviewReport) -> Iterator[str]:
    """Yield every reason of the verdict, folded."""
    if not report.reasons:
        return
    yield "<details>"
    yield f"<summary>{count_noun(len(report.reasons), 'reason')} for the verdict</summary>"
    yield ""
    for reason in report.reasons[:REASONS_MAX]:
        sentence = escape_markdown(_cut(f"{reason.sentence}; {reason.remedy}", TEXT_CHARACTERS_MAX))
        yield f"- {quote_markdown_code(_cut(reason.code, NAME_CHARACTERS_MAX))} ({reason.level}): {sentence}"
    if len(report.reasons) > REASONS_MAX:
        yield f"- {count_noun(len(report.reasons) - REASONS_MAX, 'more reason')}"
    yield ""
    yield "</details>"


def _render_end(report: ReviewReport) -> Iterator[str]:
    yield ""
    yield from _render_reasons(report)
    yield ""
    if report.skipped:
        yield f"Skipped: {escape_markdown(', '.join(map(render_skipped_check, report.skipped)))}."
        yield ""
    for note in report.notes:
        yield f"Note: {escape_markdown(_cut(note, TEXT_CHARACTERS_MAX))}."
        yield ""
    head = "the work tree" if report.worktree else report.head[:SHA_DIGITS]
    rules, as_of = (quote_markdown_code(_cut(text, 40)) for text in (report.rules_digest[:19], report.as_of))
    yield f"<sub>{report.fork[:SHA_DIGITS]}..{head}, rules {rules}, as of {as_of}</sub>"


def _cut(text: str, characters_max: int) -> str:
    return text if len(text) <= characters_max else f"{text[: characters_max - 1]}…"


def encode_review_annotations(report: ReviewReport) -> bytes:
    """Encode a review as workflow commands, worst first: at most 10 of a kind and 50 in all."""
    return encode_annotations(
        Annotation(
            level="error" if report.verdict == "block" and hunk.risk.level == "high" else _COMMANDS[hunk.risk.level],
            title=f"{hunk.risk.level}: {', '.join(factor.code for factor in hunk.risk.factors[:3])}",
            message=_cut(_describe_hunk(hunk), TEXT_CHARACTERS_MAX),
            file=hunk.path,
            first=1 if hunk.lines is None else hunk.lines.start,
            last=1 if hunk.lines is None else hunk.lines.end,
        )
        for hunk in select_annotated_hunks(report.hunks)
    )


def select_annotated_hunks(hunks: Sequence[HunkReport]) -> list[HunkReport]:
    """Return the hunks to annotate, in reading order: those with a reason, at most 10 with the same strongest one."""
    taken: dict[str, int] = {}
    chosen: list[HunkReport] = []
    for hunk in hunks:
        if hunk.risk.level == "low" or not hunk.risk.factors:
            continue
        kind = hunk.risk.factors[0].code
        taken[kind] = taken.get(kind, 0) + 1
        if taken[kind] <= ANNOTATIONS_PER_KIND_MAX and len(chosen) < ANNOTATIONS_MAX:
            chosen.append(hunk)
    return chosen


def _describe_hunk(hunk: HunkReport) -> str:
    reasons = " · ".join(factor.words for factor in hunk.risk.factors)
    return "; ".join(part for part in (reasons, describe_authors(hunk), describe_tests(hunk), hunk.links.why) if part)


class _QualityLines(msgspec.Struct, frozen=True):
    begin: int


class _QualityPlace(msgspec.Struct, frozen=True):
    path: str
    lines: _QualityLines


class _QualityIssue(msgspec.Struct, frozen=True):
    description: str
    check_name: str
    fingerprint: str
    severity: Literal["critical", "major", "minor"]
    location: _QualityPlace


def encode_code_quality(report: ReviewReport) -> bytes:
    """Encode a review as a code quality report of GitLab, worst first, with the limits of the annotations."""
    return msgspec.json.encode(
        [
            _QualityIssue(
                description=_replace_surrogates(_cut(_describe_hunk(hunk), TEXT_CHARACTERS_MAX)),
                check_name=(code := _replace_surrogates(hunk.risk.factors[0].code)),
                fingerprint=hashlib.sha256(f"{hunk.id} {code}".encode()).hexdigest(),
                severity=_SEVERITIES[hunk.risk.level],
                location=_QualityPlace(
                    _replace_surrogates(hunk.path), _QualityLines(1 if hunk.lines is None else hunk.lines.start)
                ),
            )
            for hunk in select_annotated_hunks(report.hunks)
        ]
    )


def _replace_surrogates(text: str) -> str:
    """Return a text that is valid Unicode: a file name may have other bytes, and JSON half of a character."""
    return text.encode("utf-8", "replace").decode("utf-8")


REVIEW_FORMS = MappingProxyType(
    {
        "markdown": lambda report: encode_review_markdown(report, with_prompts=report.publishes_prompts).encode(),
        "annotations": encode_review_annotations,
        "code-quality": encode_code_quality,
    }
)
"""The formats of a review by name."""
