"""The report writer: contract, draft, audit, retries, footnotes, saved report. It never adds a citation."""

import os
import warnings
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from custody.cite.app.library import (
    Attempt,
    CitedReport,
    CiteRules,
    DraftLoop,
    ResearchResults,
    UnknownSource,
    choose_best_draft,
    cited_report,
    save_report_object,
)
from custody.core.plural import count_noun
from custody.writer.tools import SourceRepository, await_writer_call

ModelCall: TypeAlias = Callable[[str], Any]
"""A writer: takes a prompt and returns text, synchronously or not."""
Rerun: TypeAlias = Callable[[tuple[Attempt, ...]], "ResearchResults | Awaitable[ResearchResults | None] | None"]
"""Runs research again after all answers failed: takes the answers, returns new results, or None to stop."""


class ReportWriter:
    """Writes reports with any callable ``(prompt) -> text``, synchronous or not.

    If an answer fails the audit, the writer is called up to ``cite.retries_max`` more times, with a list of what is
    missing. If none passes and there is a ``rerun``, research runs again up to ``cite.reruns_max`` times. If all fail,
    the answer with the fewest findings is returned with a ``CitationWarning``. Exceptions of the callable propagate,
    with a note about the attempts.
    """

    def __init__(
        self,
        ask: ModelCall,
        *,
        repository: SourceRepository | None = None,
        rules: CiteRules | None = None,
        rerun: Rerun | None = None,
    ) -> None:
        self._ask = ask
        self._repository = repository
        self._rules = rules or CiteRules()
        self._rerun = rerun

    async def write(
        self,
        results: ResearchResults,
        task: str = "",
        *,
        name: str = "report",
        path: str | os.PathLike[str] | None = None,
    ) -> CitedReport:
        """Write the report on ``results``, save it if ``path`` is passed, and record its sections as uses."""
        results, attempts = await self._collect_attempts(results, task)
        text = choose_best_draft(attempts).text
        report: CitedReport = await await_writer_call(
            lambda: cited_report(text, results.sources, self._rules, name=name, attempts=attempts)
        )
        if path is not None:
            await await_writer_call(save_report_object, report, path)
        await self._note_usage(results, report)
        if report.warning is not None:
            warnings.warn(report.warning, stacklevel=2)
        return report

    async def _collect_attempts(
        self, results: ResearchResults, task: str
    ) -> tuple[ResearchResults, tuple[Attempt, ...]]:
        """Return all answers, and the results that the best one is about."""
        attempts: list[Attempt] = []
        about: dict[int, ResearchResults] = {}
        for runs_left in range(self._rules.reruns_max if self._rerun else 0, -1, -1):
            await self._check_known(results)
            drafting = await self._run_draft_loop(DraftLoop.of(results, task, self._rules), attempts)
            about |= {id(attempt): results for attempt in drafting.attempts}
            attempts += drafting.attempts
            if attempts[-1].passed or not runs_left or self._rerun is None:
                break
            new_results = await await_writer_call(self._rerun, tuple(attempts))
            if new_results is None:
                break
            results = new_results
        return about[id(choose_best_draft(attempts))], tuple(attempts)

    async def _run_draft_loop(self, drafting: DraftLoop, before: list[Attempt]) -> DraftLoop:
        while not drafting.is_over:
            try:
                answer = await await_writer_call(self._ask, drafting.prompt)
            except Exception as error:
                tried = [*before, *drafting.attempts]
                answers_note = "".join(f"; answer {at}: {attempt.words}" for at, attempt in enumerate(tried, start=1))
                error.add_note(f"the report writer made {count_noun(len(tried) + 1, 'request')}{answers_note}")
                raise
            drafting = await await_writer_call(drafting.answered, answer)
        return drafting

    async def _check_known(self, results: ResearchResults) -> None:
        """Raise ``UnknownSource`` unless all sources are registered."""
        if self._repository is None:
            return
        for source in results.sources:
            if await self._repository.get(str(source.source_id)) is None:
                raise UnknownSource(str(source.source_id))

    async def _note_usage(self, results: ResearchResults, report: CitedReport) -> None:
        for source_id, sections in report.sections.items():
            for section in sections:
                results.record_usage(source_id, report_section=section)
                if self._repository is not None:
                    await self._repository.register_usage(source_id, "report_section", section)
