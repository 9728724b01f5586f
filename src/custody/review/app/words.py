"""What the card of a hunk says, in the same words on a terminal, in Markdown and in annotations."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from custody.core.plural import count_noun
from custody.terminal.screen import wrap_text

if TYPE_CHECKING:
    from custody.gate.wire.report import StatementReport
    from custody.review.wire import HunkReport, PromptCard, ReviewReport

PROMPT_COLUMNS = 100
TEST_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "after-edit": "tested after the last edit",
        "stale": "not tested since the last edit",
        "failed": "the last test run failed",
        "none": "no test run recorded",
        "unknown": "no test run known",
    }
)


def name_hunk_place(hunk: HunkReport) -> str:
    """Return the path of a hunk with its lines after the change."""
    if hunk.lines is None:
        return hunk.path
    end = "" if hunk.lines.end == hunk.lines.start else f"-{hunk.lines.end}"
    return f"{hunk.path}:{hunk.lines.start}{end}"


def describe_authors(hunk: HunkReport) -> str:
    """Return the authors of a hunk with their certainty, most lines first."""
    if not hunk.authors:
        return "not checked" if hunk.note or hunk.added else ""
    names = []
    for author in hunk.authors:
        if author.kind == "none":
            name = "unknown"
        elif author.kind == "person":
            name = "a person"
        else:
            name = author.agent or "an agent"
            name += " and a person" if author.kind == "mixed" else ""
        model = f" {author.model}" if author.model and author.kind in ("agent", "mixed") else ""
        names.append(f"{name}{model} ({author.certainty}, {count_noun(author.lines, 'line')})")
    return ", ".join(names)


def describe_prompt(prompt: PromptCard) -> str:
    """Return the excerpt of a prompt with who wrote it and when, or why there is none."""
    facts = ", ".join(list_prompt_facts(prompt))
    if prompt.text is None:
        return f"{prompt.note or 'prompt not captured'}{f' ({facts})' if facts else ''}"
    return f"“{prompt.text}”{f' {facts}' if facts else ''}"


def list_prompt_facts(prompt: PromptCard) -> list[str]:
    """Return who wrote a prompt and when, and whether the call names it."""
    facts = [prompt.by] if prompt.by else []
    facts += [prompt.at[:16].replace("T", " ")] if prompt.at else []
    return [*facts, *(["the last prompt before the call"] if prompt.text is not None and not prompt.named else [])]


def wrap_prompt(text: str) -> list[str]:
    """Return the excerpt of a prompt in lines that need no scrolling."""
    return wrap_text("".join(letter if letter.isprintable() else " " for letter in text), PROMPT_COLUMNS)


def describe_calls(hunk: HunkReport) -> str:
    """Return the calls that wrote a hunk."""
    parts = []
    for call in hunk.calls:
        number = "" if call.number is None else f" (call {call.number:,} of {call.of:,})"
        status = "" if call.status == "ok" else f", {call.status}"
        parts.append(f"{call.tool or 'unnamed call'}{number}{status}")
    model = next((call.model for call in hunk.calls if call.model), None)
    return ", ".join([*parts, *([model] if model and parts else [])])


def describe_sources(hunk: HunkReport) -> str:
    """Return the sources that were read before the edit, and the number of others."""
    more = [f"{hunk.sources_more:,} more"] if hunk.sources_more else []
    return ", ".join([*(source.locator for source in hunk.sources[:4]), *more]) if hunk.sources else ""


def describe_tests(hunk: HunkReport) -> str:
    """Return the test state of a hunk with the run that it rests on."""
    words, run = TEST_WORDS[hunk.tests.state], hunk.tests.run
    if run is None:
        return words
    counts = "" if run.counts is None else f", {run.counts.passed:,} passed"
    counts += f", {run.counts.failed:,} failed" if run.counts is not None and run.counts.failed else ""
    return f"{words}: {run.command}{counts}"


STATEMENT_WORDS: Mapping[str, str] = MappingProxyType(
    {"contradicted": "contradicted", "unbacked": "not backed", "unknown": "not compared", "backed": "backed"}
)
DOUBTED = frozenset(("contradicted", "unbacked"))


def list_doubted_statements(report: ReviewReport) -> list[StatementReport]:
    """Return the statements that records contradict or do not back."""
    return [statement for statement in report.statements if statement.state in DOUBTED]


def name_statement_place(statement: StatementReport) -> str:
    """Return the text that makes a statement, and its line there."""
    return f"{statement.source}, line {statement.line}"


READERS_SHOWN_MAX = 3


def describe_readers(hunk: HunkReport) -> str:
    """Return who read a hunk; empty if no person did."""
    shown = [f"{mark.person}, {mark.at[:10]} ({mark.assurance})" for mark in hunk.read_by[:READERS_SHOWN_MAX]]
    rest = len(hunk.read_by) - READERS_SHOWN_MAX
    return "; ".join([*shown, *([f"and {count_noun(rest, 'other person', 'other people')}"] if rest > 0 else [])])


def describe_duplicates(hunk: HunkReport) -> str:
    """Return the duplicates of a hunk, or that none were searched."""
    if hunk.duplicates is None:
        return "not checked for duplicates"
    return "; ".join(f"{duplicate.name}: {duplicate.why}" for duplicate in hunk.duplicates) or "none found"
