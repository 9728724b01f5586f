"""A verdict in the shapes that other places want: Markdown for a pull request, SARIF, annotations, a check run.

Whatever a sentence holds (a path, a title) may have been written by whoever made the change: nothing in it becomes
markup, and nobody is called by it.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from custody.core.wire.sarif import (
    Annotation,
    AnnotationLevel,
    SarifLevel,
    SarifResult,
    SarifRule,
    encode_annotations,
    encode_sarif,
)
from custody.gate.wire.report import GateReport, PlaceReport, ReasonReport

MARK = "<!-- custody: verdict -->"
"""The first line of a comment, by which it is found again and edited."""
SHA_DIGITS = 12
GITHUB_TEXT_BYTES_MAX = 65_535
GITHUB_ANNOTATIONS_MAX = 50
GITHUB_TITLE_CHARACTERS_MAX = 255
ANNOTATION_CHARACTERS_MAX = 4_000
CUT = "\n\n…"
SECOND_SIGNS = len("2026-11-16T09:00:00")

Conclusion = Literal["success", "neutral", "failure"]
_CONCLUSIONS: dict[str, Conclusion] = {"approve": "success", "review": "neutral", "block": "failure"}
_SARIF: dict[str, SarifLevel] = {"approve": "note", "review": "warning", "block": "error"}
_ANNOTATIONS: dict[str, Literal["notice", "warning", "failure"]] = {
    "approve": "notice",
    "review": "warning",
    "block": "failure",
}
_COMMANDS: dict[str, AnnotationLevel] = {"approve": "notice", "review": "warning", "block": "error"}
_SIGNS = re.compile(r"([\\`*_{}\[\]()#+\-.!|~$])")
_HEADLINES = {
    "approve": "nothing is missing",
    "review": "a person should read it",
    "block": "it should not land like this",
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
    annotations: list[_Annotation]


class _CheckRun(msgspec.Struct, frozen=True):
    name: str
    head_sha: str
    status: Literal["completed"]
    conclusion: Conclusion
    completed_at: str
    output: _Output


def encode_markdown(report: GateReport) -> str:
    """The verdict as Markdown."""
    return "\n".join([MARK, *_paragraphs(report)]) + "\n"


def encode_gate_sarif(report: GateReport, version: str, rules: Sequence[SarifRule], at: PlaceReport) -> bytes:
    """A result for each stretch of each reason.

    One about the change as a whole stands ``at`` a place of it: GitHub refuses a whole file for one result that stands
    nowhere.
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
            for file, first, last in _stretches(reason.places or [at])
        ],
    )


def encode_gate_annotations(report: GateReport) -> bytes:
    """The same as lines that a build prints, so that they are shown beside the change."""
    return encode_annotations(
        Annotation(
            level=_COMMANDS[reason.level],
            title=reason.code,
            message=_message(reason),
            file=file,
            first=first,
            last=last,
        )
        for reason in report.reasons
        for file, first, last in (_stretches(reason.places) if reason.places else [(None, 1, 1)])
    )


def _stretches(places: Sequence[PlaceReport]) -> Iterator[tuple[str, int, int]]:
    """Places with neighbouring lines as one."""
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
    """The body of a request that creates a check run, within GitHub's limits; what is left out is counted."""
    found = list(_annotations(report))
    said = encode_markdown(report)
    if len(found) > GITHUB_ANNOTATIONS_MAX:
        said += f"\n{len(found) - GITHUB_ANNOTATIONS_MAX} more place(s) are not marked.\n"
    output = _Output(
        truncate_bytes(f"{report.level}: {_HEADLINES[report.level]}", GITHUB_TITLE_CHARACTERS_MAX),
        truncate_bytes(said, GITHUB_TEXT_BYTES_MAX),
        found[:GITHUB_ANNOTATIONS_MAX],
    )
    conclusion = _CONCLUSIONS[report.level]
    return msgspec.json.encode(
        _CheckRun(name, report.head, "completed", conclusion, to_the_second(report.as_of), output)
    )


def to_the_second(moment: str) -> str:
    """A moment of ours as GitHub writes them.

    >>> to_the_second("2026-11-16T09:00:00.5Z"), to_the_second("2026-11-16T09:00:00Z")
    ('2026-11-16T09:00:00Z', '2026-11-16T09:00:00Z')
    """
    return f"{moment[:SECOND_SIGNS]}Z"


def truncate_bytes(text: str, bytes_max: int) -> str:
    """A text of at most so many bytes, with a sign where it was cut.

    >>> truncate_bytes("äöü", 6), len(truncate_bytes("ä" * 100, 50).encode()) <= 50
    ('äöü', True)
    """
    data = text.encode("utf-8", "replace")
    if len(data) <= bytes_max:
        return data.decode()
    return data[: bytes_max - len(CUT.encode())].decode("utf-8", "ignore") + CUT


def escape_markup(text: str) -> str:
    """Words that stay words: no markup, no HTML, no mention, no reference to an issue, on one line.

    >>> escape_markup("a_b [x](y) <img> @all")
    'a\\\\_b \\\\[x\\\\]\\\\(y\\\\) &lt;img&gt; &#64;all'
    """
    printable = "".join(sign if sign.isprintable() else " " for sign in text)
    plain = printable.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SIGNS.sub(r"\\\1", plain).replace("@", "&#64;").replace("://", ":&#47;&#47;")


def _paragraphs(report: GateReport) -> Iterator[str]:
    yield f"**custody: {report.level}** — {_HEADLINES[report.level]}"
    yield ""
    for reason in report.reasons:
        yield f"- `{reason.code}` ({reason.level}): {escape_markup(reason.sentence)}. *{escape_markup(reason.remedy)}*"
    if report.reasons:
        yield ""
    added = report.added
    by_whom = {"agent": added.agent, "mixed": added.mixed, "person": added.person, "unknown": added.none}
    counts = ", ".join(f"{count} {whose}" for whose, count in by_whom.items())
    yield f"{sum(by_whom.values())} added line(s): {counts}."
    for agent in report.trust:
        yield f"`{_code(agent.agent)}`: score {agent.score:.4f}, {agent.tier}, {agent.samples} decision(s)."
    for check in report.skipped:
        yield f"Not looked at: {check.name}, since {escape_markup(check.why)}."
    yield ""
    head = "the work tree" if report.worktree else report.head[:SHA_DIGITS]
    yield f"<sub>{report.fork[:SHA_DIGITS]}..{head}, rules {report.rules_digest[:19]}, as of {report.as_of}</sub>"


def _code(text: str) -> str:
    return "".join(sign for sign in text if sign.isprintable() and sign != "`")


def _annotations(report: GateReport) -> Iterator[_Annotation]:
    for reason in report.reasons:
        for path, first, last in _stretches(reason.places) if reason.places else ():
            yield _Annotation(
                path=path,
                start_line=first,
                end_line=last,
                annotation_level=_ANNOTATIONS[reason.level],
                title=reason.code,
                message=_message(reason),
            )


def _message(reason: ReasonReport) -> str:
    return truncate_bytes(f"{reason.sentence}; {reason.remedy}", ANNOTATION_CHARACTERS_MAX)
