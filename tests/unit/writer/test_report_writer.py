"""The report writer with scripted writers: prompts, retries, results."""

import asyncio
import functools
import json
import threading
import warnings
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from custody.core.errors import CustodyError
from custody.sources import (
    Attempt,
    CitationWarning,
    CitedReport,
    CiteRules,
    FootnoteFormatter,
    HierarchicalFinding,
    InMemorySourceRepository,
    NoReport,
    ReportWriter,
    ResearchResults,
    UnknownSource,
    cited_report,
    save_report_object,
)
from tests.unit.cite.drafts import SOURCES, TEXT

RESULTS = ResearchResults(sources=SOURCES, findings=(HierarchicalFinding(finding="It rose", source_ids=("S1",)),))
BAD = TEXT.replace("[S7]", "[S9]")
WORSE = BAD.replace("[S2]", "")


class Scripted:
    """A writer that returns these answers in order, raises those that are errors, and records its prompts."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.prompts: list[str] = []

    def __call__(self, prompt: str) -> Any:
        self.prompts.append(prompt)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def written(ask: Callable[[str], Any], results: ResearchResults = RESULTS, **options: Any) -> CitedReport:
    path = options.pop("path", None)
    return asyncio.run(ReportWriter(ask, **options).write(replace_usage(results), "Write on fish.", path=path))


def replace_usage(results: ResearchResults) -> ResearchResults:
    """Return equal results with their own usage, which changes."""
    return replace(results, source_usage={})


def warned(ask: Callable[[str], Any], **options: Any) -> CitedReport:
    with pytest.warns(CitationWarning, match="breaks the citation contract") as told:
        report = written(ask, **options)
    assert [one.message.report for one in told if isinstance(one.message, CitationWarning)] == [report]
    return report


# Conformance: 003-083
def test_a_passing_text_needs_one_request() -> None:
    writer = Scripted(TEXT)
    report = written(writer)
    (prompt,) = writer.prompts
    task, found, contract = prompt.partition("\n- It rose [S1]\n\nCITATION CONTRACT\n")
    assert task.startswith("Write on fish.\n\nFINDINGS\n\n") and found
    assert "S7 – An interview" in contract
    assert report.passed and report.draft == TEXT and report.warning is None
    assert "[^3]: An interview\n" in report.text
    assert report.quality_metrics == {"citation_coverage": 1.0, "orphaned_sources": 0.0, "audit_failures": 0.0}


# Conformance: 003-094
def test_a_failed_audit_is_followed_by_a_reminder_of_exactly_what_is_missing() -> None:
    writer = Scripted(BAD, TEXT)
    report = written(writer)
    first, second = writer.prompts
    assert second.startswith(first)
    assert f"<draft>\n{BAD}\n</draft>" in second
    assert "- [S7] is listed but never cited\n- line 7, column 32: [S9] is not in the source list" in second
    assert report.passed and report.audit_failures == 1
    assert [one.words for one in report.attempts] == ["2 findings", "passed"]


# Conformance: 003-094
def test_a_text_that_never_passes_is_returned_with_a_warning() -> None:
    writer = Scripted(WORSE, BAD, WORSE)
    report = warned(writer)
    assert len(writer.prompts) == 3
    assert report.draft == BAD, "the answer with the fewest findings"
    assert not report.passed and report.audit_failures == 3
    assert "[S9]" in report.text
    assert report.text.count("[^") == BAD.count("[S") - 1 + len(SOURCES)


# Conformance: 003-109
@pytest.mark.parametrize("retries", [0, 1, 5])
def test_retries_are_bounded_by_the_rule(retries: int) -> None:
    writer = Scripted(BAD)
    report = warned(writer, rules=CiteRules(retries_max=retries))
    assert len(writer.prompts) == retries + 1 == report.audit_failures


def test_without_sources_nothing_is_retried() -> None:
    writer = Scripted("Prices rose by 12%.")
    with pytest.warns(CitationWarning):
        report = written(writer, ResearchResults())
    assert len(writer.prompts) == 1 and report.text == "Prices rose by 12%."


async def _waiting(prompt: str) -> str:
    await asyncio.sleep(0)
    return TEXT


class _Waits:
    async def __call__(self, prompt: str) -> str:
        return TEXT


def _later(prompt: str) -> Awaitable[str]:
    return _waiting(prompt)


@pytest.mark.parametrize("ask", [lambda _: TEXT, _waiting, _Waits(), _later, functools.partial(_waiting)])
def test_any_callable_writes(ask: Callable[[str], Any]) -> None:
    assert written(ask) == written(Scripted(TEXT))


def test_a_synchronous_writer_does_not_block_the_loop() -> None:
    async def story() -> bool:
        asked, go_on = threading.Event(), threading.Event()

        def ask(_: str) -> str:
            asked.set()
            return TEXT if go_on.wait(60) else ""

        writing = asyncio.create_task(ReportWriter(ask).write(replace_usage(RESULTS)))
        while not asked.is_set():
            await asyncio.sleep(0)
        go_on.set()
        return (await writing).passed

    assert asyncio.run(story())


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("", "the answer is empty"),
        (" \n", "the answer is empty"),
        (None, "the answer is NoneType, not text"),
        (b"bytes", "the answer is bytes, not text"),
        ({"text": TEXT}, "the answer is dict, not text"),
        ("x" * 10_000_000, "the answer has 10,000,000 bytes, more than 2,097,152"),
    ],
)
def test_an_unusable_answer_is_reported_to_the_writer_and_retried(answer: object, told: str) -> None:
    writer = Scripted(answer, TEXT)
    report = written(writer)
    assert f"Your last answer was not a report: {told}." in writer.prompts[1]
    assert len(writer.prompts[1]) < 10_000
    assert report.passed and [one.words for one in report.attempts] == [told, "passed"]
    with pytest.raises(NoReport, match=f"no text in 3 answers: {told}") as none:
        written(Scripted(answer))
    assert [one.problem for one in none.value.attempts] == [told] * 3


def test_a_long_answer_is_audited_and_not_quoted() -> None:
    long = BAD + "A word is said here and there. " * 5000
    writer = Scripted(long, TEXT)
    assert written(writer).passed
    assert "<draft>" not in writer.prompts[1] and "[S7] is listed but never cited" in writer.prompts[1]


def test_exceptions_of_a_writer_propagate_with_the_attempts() -> None:
    error = ConnectionError("the model is away")
    with pytest.raises(ConnectionError) as raised:
        written(Scripted(BAD, None, error))
    assert raised.value is error
    assert error.__notes__ == [
        "the report writer made 3 requests; answer 1: 2 findings; answer 2: the answer is NoneType, not text"
    ]


# Conformance: 003-106
def test_research_is_run_again_after_every_answer_failed() -> None:
    runs: list[tuple[Attempt, ...]] = []

    async def rerun(attempts: tuple[Attempt, ...]) -> ResearchResults:
        runs.append(attempts)
        return replace(RESULTS, sources=SOURCES[:2], source_usage={})

    writer = Scripted(BAD, BAD, BAD, TEXT.replace("[S7]", ""))
    report = written(writer, rerun=rerun)
    assert [len(attempts) for attempts in runs] == [3]
    assert report.passed and report.audit_failures == 3 and len(report.sources) == 2
    assert "S7" not in writer.prompts[3]


# Conformance: 003-106
def test_reruns_are_bounded_and_optional() -> None:
    writer = Scripted(WORSE, WORSE, WORSE, BAD)
    report = warned(writer, rerun=lambda _: RESULTS, rules=CiteRules(reruns_max=2))
    assert len(writer.prompts) == 9 == report.audit_failures
    writer = Scripted(BAD)
    warned(writer, rerun=lambda _: None)
    assert len(writer.prompts) == 3


def test_the_best_answer_is_shown_with_the_sources_that_it_was_about() -> None:
    writer = Scripted(BAD, BAD, BAD, BAD.replace("[S2]", "[S3][S4]"))
    report = warned(writer, rerun=lambda _: replace(RESULTS, sources=SOURCES[:1], source_usage={}))
    assert report.draft == BAD and len(report.sources) == 3


def test_sections_are_recorded_as_uses_of_their_sources() -> None:
    repository = InMemorySourceRepository()

    async def story() -> None:
        for n, source in enumerate(SOURCES[:2], start=1):
            assert (await repository.register(source)).source_id == f"S{n}"
        results = replace(RESULTS, sources=SOURCES[:2], source_usage={})
        writer = ReportWriter(Scripted(TEXT.replace("[S7]", "")), repository=repository)
        await writer.write(results, name="fish")
        assert (await repository.usage("S1")).report_sections == ("fish#Prices of mackerel", "fish#Boats")
        assert (await repository.usage("S2")).report_sections == ("fish#Prices of mackerel",)
        assert results.source_usage["S1"].report_sections == ("fish#Prices of mackerel", "fish#Boats")

    asyncio.run(story())


@pytest.mark.parametrize("name", ["", " ", "\0", "a\nb"])
def test_a_report_may_have_any_name(name: str) -> None:
    async def story() -> tuple[str, ...]:
        repository = InMemorySourceRepository()
        await repository.register(SOURCES[0])
        results = ResearchResults(sources=SOURCES[:1])
        await ReportWriter(Scripted("It rose by 12% [S1]."), repository=repository).write(results, name=name)
        return (await repository.usage("S1")).report_sections

    assert asyncio.run(story()) == ("a b" if "a" in name else "report",)


def test_unknown_sources_stop_the_writer_before_any_request() -> None:
    writer = Scripted(TEXT)
    with pytest.raises(UnknownSource, match="S1"):
        written(writer, repository=InMemorySourceRepository())
    assert writer.prompts == []


def test_a_report_is_saved_with_its_metrics(tmp_path: Path) -> None:
    report = written(Scripted(BAD, TEXT), path=tmp_path / "fish.md")
    assert (tmp_path / "fish.md").read_text() == report.text
    beside = json.loads((tmp_path / "fish.md.citations.json").read_bytes())
    assert beside["quality_metrics"] == {"audit_failures": 1.0, "citation_coverage": 1.0, "orphaned_sources": 0.0}
    assert beside["passed"] is True and beside["answers"] == ["2 findings", "passed"]
    assert beside["sources"][0] == {
        "id": "S2",
        "marker": "[^1]",
        "title": "Annual review",
        "url": "https://example.org/review",
    }
    assert {one.name for one in tmp_path.iterdir()} == {"fish.md", "fish.md.citations.json"}


def test_a_failed_report_is_saved_as_failed(tmp_path: Path) -> None:
    report = warned(Scripted(BAD), path=tmp_path / "fish.md")
    assert (tmp_path / "fish.md").read_text() == report.text
    beside = json.loads((tmp_path / "fish.md.citations.json").read_bytes())
    assert beside["passed"] is False and beside["quality_metrics"]["audit_failures"] == 3.0
    assert [(one["code"], one["line"]) for one in beside["findings"]] == [("CITE-UNUSED", 1), ("CITE-UNKNOWN", 7)]


# Conformance: 003-087
def test_saving_writes_footnotes_or_references_and_the_same_bytes_each_time(tmp_path: Path) -> None:
    for text, heading in ((TEXT, "## Footnotes"), ("No number here.\n", "## References")):
        place = save_report_object(cited_report(text, SOURCES), tmp_path / "a.md")
        first = (place.path.read_bytes(), place.beside.read_bytes())
        assert f"\n{heading}\n\n".encode() in first[0]
        again = save_report_object(cited_report(text, SOURCES), str(tmp_path / "a.md"))
        assert (again.path.read_bytes(), again.beside.read_bytes()) == first


def test_a_report_that_cannot_be_saved_leaves_nothing_half_written(tmp_path: Path) -> None:
    (tmp_path / "a.md").mkdir()
    with pytest.raises(CustodyError, match="cannot write"):
        save_report_object(cited_report(TEXT, SOURCES), tmp_path / "a.md")
    with pytest.raises(CustodyError, match="cannot write"):
        save_report_object(cited_report(TEXT, SOURCES), tmp_path / "missing" / "a.md")
    assert {one.name for one in tmp_path.iterdir()} <= {"a.md", "a.md.citations.json"}


# Conformance: 003-109
@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from([TEXT, BAD, WORSE, "", None]), min_size=1, max_size=4), st.integers(0, 3))
def test_a_report_passes_exactly_if_one_of_the_answers_it_was_given_did(answers: list[Any], retries: int) -> None:
    asked = answers[: retries + 1] + [answers[-1]] * max(0, retries + 1 - len(answers))
    writer = Scripted(*answers)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            report = written(writer, rules=CiteRules(retries_max=retries))
        except NoReport:
            assert all(not one for one in asked)
            return
    assert report.passed is (TEXT in asked) is (not told)
    tried = asked.index(TEXT) + 1 if TEXT in asked else len(asked)
    assert len(writer.prompts) == tried and report.audit_failures == tried - report.passed
    lines = [FootnoteFormatter().format_footnote(n, one) for n, one in enumerate(report.sources, start=1)]
    assert report.text.endswith("\n".join(["## Footnotes", "", *lines, ""]))
