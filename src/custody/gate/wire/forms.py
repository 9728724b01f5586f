"""A verdict in other formats: Markdown for a pull request, SARIF, annotations, a check run.

Sentences hold paths and titles from the change itself. They are escaped, so that they cannot inject markup or mentions.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from custody.core.patterns import lazy_pattern
from custody.core.plural import count_noun
from custody.core.wire.sarif import (
    Annotation,
    AnnotationLevel,
    SarifLevel,
    SarifResult,
    SarifRule,
    encode_annotations,
    encode_sarif,
)
from custody.gate.wire.report import (
    GateReport,
    PlaceReport,
    ReasonReport,
    render_added_lines,
    render_assurance_note,
    render_skipped_check,
)

MARK = "<!-- custody: verdict -->"
"""The first line of a comment; custody finds its own comment by it."""
SHA_DIGITS = 12
GITHUB_TEXT_BYTES_MAX = 65_535
GITHUB_ANNOTATIONS_MAX = 50
GITHUB_TITLE_CHARACTERS_MAX = 255
ANNOTATION_CHARACTERS_MAX = 4_000
CUT = "\n\n…"
TIMESTAMP_CHARACTERS = len("2026-11-16T09:00:00")

Conclusion = Literal["success", "neutral", "failure"]
_CONCLUSIONS: dict[str, Conclusion] = {"approve": "success", "review": "neutral", "block": "failure"}
_SARIF: dict[str, SarifLevel] = {"approve": "note", "review": "warning", "block": "error"}
_ANNOTATIONS: dict[str, Literal["notice", "warning", "failure"]] = {
    "approve": "notice",
    "review": "warning",
    "block": "failure",
}
_COMMANDS: dict[str, AnnotationLevel] = {"approve": "notice", "review": "warning", "block": "error"}
_MARKUP_CHARACTERS = lazy_pattern(r"([\\`*_{}\[\]()#+\-.!|~$])")
_HEADLINES = {
    "approve": "can merge",
    "review": "needs review",
    "block": "blocked",
}


class _Annotation(msgspec.Struct, frozen=True):
    path: str
    start_line: int
    end_line: int
    annotation_level: Literal["notice", "warning", "failure"]
    title: str
    message: str


class _Output(msgspec.Struct, frozen=True):
    title: str
    summary: str
    annotations: list[_Annotation] | msgspec.UnsetType = msgspec.UNSET


class _CheckRun(msgspec.Struct, frozen=True):
    name: str
    head_sha: str
    status: Literal["completed"]
    conclusion: Conclusion | Literal["action_required"]
    completed_at: str
    output: _Output


def encode_markdown(report: GateReport) -> str:
    """Encode the verdict as Markdown."""
    return "\n".join([MARK, *_render_verdict_paragraphs(report)]) + "\n"


def encode_gate_sarif(report: GateReport, version: str, rules: Sequence[SarifRule], at: PlaceReport) -> bytes:
    """Encode the verdict as SARIF, with one result for each place of each reason.

    A reason about the whole change is placed ``at`` one of its lines: GitHub rejects files that have a result without a
    place.
    """
    return encode_sarif(
        version,
        rules,
        [
            SarifResult(
                reason.code,
                reason.sentence if reason.places else f"the change as a whole: {reason.sentence}",
                file,
                first,
                1,
                _SARIF[reason.level],
                last,
            )
            for reason in report.reasons
            for file, first, last in _merge_reason_places(reason.places or [at])
        ],
    )


def encode_gate_annotations(report: GateReport) -> bytes:
    """Encode the verdict as workflow commands, which GitHub shows beside the diff."""
    return encode_annotations(
        Annotation(
            level=_COMMANDS[reason.level],
            title=reason.code,
            message=_render_reason_message(reason),
            file=file,
            first=first,
            last=last,
        )
        for reason in report.reasons
        for file, first, last in (_merge_reason_places(reason.places) if reason.places else [(None, 1, 1)])
    )


def _merge_reason_places(places: Sequence[PlaceReport]) -> Iterator[tuple[str, int, int]]:
    """Yield the places, with adjacent line ranges merged."""
    lines = sorted((place.path, place.start_line or 1, place.end_line or 1) for place in places)
    path, first, last = lines[0]
    for other, start, end in lines[1:]:
        if other == path and start <= last + 1:
            last = max(last, end)
            continue
        yield path, first, last
        path, first, last = other, start, end
    yield path, first, last


def encode_check_run(report: GateReport, name: str = "custody") -> bytes:
    """Encode the request that creates a check run, within GitHub's limits; omitted annotations are counted."""
    annotations = list(_make_check_run_annotations(report))
    summary = encode_markdown(report)
    if len(annotations) > GITHUB_ANNOTATIONS_MAX:
        summary += f"\n{count_noun(len(annotations) - GITHUB_ANNOTATIONS_MAX, 'more place')} not annotated.\n"
    output = _Output(
        truncate_verdict_text(f"{report.level}: {_render_headline(report)}", GITHUB_TITLE_CHARACTERS_MAX),
        truncate_verdict_text(summary, GITHUB_TEXT_BYTES_MAX),
        annotations[:GITHUB_ANNOTATIONS_MAX],
    )
    conclusion = _CONCLUSIONS[report.level]
    return msgspec.json.encode(
        _CheckRun(name, report.head, "completed", conclusion, _to_check_run_timestamp(report.as_of), output)
    )


def _render_headline(report: GateReport) -> str:
    return _HEADLINES[report.level] + render_assurance_note(report.level, report.assurance)


def encode_unchecked_run(head: str, as_of: str, why: str, name: str = "custody") -> bytes:
    """Encode a check run for a change that could not be checked: it requires action, so it does not pass."""
    output = _Output("not checked", f"custody could not check this change: {escape_verdict_markup(why)}")
    return msgspec.json.encode(
        _CheckRun(name, head, "completed", "action_required", _to_check_run_timestamp(as_of), output)
    )


def _to_check_run_timestamp(timestamp: str) -> str:
    """Return a timestamp in GitHub's format, in whole seconds.

    >>> _to_check_run_timestamp("2026-11-16T09:00:00.5Z"), _to_check_run_timestamp("2026-11-16T09:00:00Z")
    ('2026-11-16T09:00:00Z', '2026-11-16T09:00:00Z')
    """
    return f"{timestamp[:TIMESTAMP_CHARACTERS]}Z"


def truncate_verdict_text(text: str, bytes_max: int) -> str:
    """Truncate a text to ``bytes_max`` bytes, with an ellipsis at the cut.

    >>> truncate_verdict_text("äöü", 6), len(truncate_verdict_text("ä" * 100, 50).encode()) <= 50
    ('äöü', True)
    """
    data = text.encode("utf-8", "replace")
    if len(data) <= bytes_max:
        return data.decode()
    return data[: bytes_max - len(CUT.encode())].decode("utf-8", "ignore") + CUT


def escape_verdict_markup(text: str) -> str:
    """Escape a text for Markdown: no markup, HTML, mentions or issue references, on one line.

    >>> escape_verdict_markup("a_b [x](y) <img> @all")
    'a\\\\_b \\\\[x\\\\]\\\\(y\\\\) &lt;img&gt; &#64;all'
    """
    printable = "".join(character if character.isprintable() else " " for character in text)
    plain = printable.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MARKUP_CHARACTERS.sub(r"\\\1", plain).replace("@", "&#64;").replace("://", ":&#47;&#47;")


def _render_verdict_paragraphs(report: GateReport) -> Iterator[str]:
    yield f"**custody: {report.level}** — {_render_headline(report)}"
    yield ""
    for reason in report.reasons:
        sentence, remedy = escape_verdict_markup(reason.sentence), escape_verdict_markup(reason.remedy)
        yield f"- `{reason.code}` ({reason.level}): {sentence}. *{remedy}*"
    if report.reasons:
        yield ""
    yield f"{render_added_lines(report.added)}."
    for agent in report.trust:
        reviews = count_noun(agent.samples, "review")
        yield f"`{_escape_verdict_code(agent.agent)}`: trust {agent.score:.2f} ({agent.tier}), {reviews}."
    if report.skipped:
        yield f"Skipped: {', '.join(escape_verdict_markup(render_skipped_check(check)) for check in report.skipped)}."
    yield ""
    head = "the work tree" if report.worktree else report.head[:SHA_DIGITS]
    yield f"<sub>{report.fork[:SHA_DIGITS]}..{head}, rules {report.rules_digest[:19]}, as of {report.as_of}</sub>"


def _escape_verdict_code(text: str) -> str:
    return "".join(character for character in text if character.isprintable() and character != "`")


def _make_check_run_annotations(report: GateReport) -> Iterator[_Annotation]:
    for reason in report.reasons:
        for path, first, last in _merge_reason_places(reason.places) if reason.places else ():
            yield _Annotation(
                path=path,
                start_line=first,
                end_line=last,
                annotation_level=_ANNOTATIONS[reason.level],
                title=reason.code,
                message=_render_reason_message(reason),
            )


def _render_reason_message(reason: ReasonReport) -> str:
    return truncate_verdict_text(f"{reason.sentence}; {reason.remedy}", ANNOTATION_CHARACTERS_MAX)
