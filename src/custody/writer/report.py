"""The report writer: contract, text, audit, retry, footnotes, saved report. It never adds a citation."""

import os
import warnings
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from custody.cite.app.library import (
    Attempt,
    CitedReport,
    CiteRules,
    ResearchResults,
    UnknownSource,
    cited_report,
    save_report_object,
)
from custody.cite.app.writing_steps import DraftLoop, best_of
from custody.writer.tools import SourceRepository, call_maybe_async

ModelCall: TypeAlias = Callable[[str], Any]
"""A writer: is handed a prompt and gives a text, at once or later. Anything else that it gives is told to it."""
Rerun: TypeAlias = Callable[[tuple[Attempt, ...]], "ResearchResults | Awaitable[ResearchResults | None] | None"]
"""Runs research again after every answer failed: is handed the answers, gives other results, or None to leave it."""


class ReportWriter:
    """Writes reports with any callable, ``(prompt) -> text``, that waits or does not.

    An answer that does not pass the audit is followed by up to ``cite.retries_max`` more, each asked for with a list of
    exactly what is missing. If none passes and there is a ``rerun``, research is run again up to ``cite.reruns_max``
    times. What never passes is given back all the same, as the answer with the fewest findings, with a
    ``CitationWarning``. What the callable raises comes through as it is, with a note of what was tried.
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
        """The report on ``results``; saved if there is a ``path``, and its sections noted as uses of their sources."""
        results, attempts = await self._attempted(results, task)
        text = best_of(attempts).text
        report: CitedReport = await call_maybe_async(
            lambda: cited_report(text, results.sources, self._rules, name=name, attempts=attempts)
        )
        if path is not None:
            await call_maybe_async(save_report_object, report, path)
        await self._note_usage(results, report)
        if report.warning is not None:
            warnings.warn(report.warning, stacklevel=2)
        return report

    async def _attempted(self, results: ResearchResults, task: str) -> tuple[ResearchResults, tuple[Attempt, ...]]:
        """Every answer, and the results that the best of them is about."""
        made: list[Attempt] = []
        about: dict[int, ResearchResults] = {}
        for runs_left in range(self._rules.reruns_max if self._rerun else 0, -1, -1):
            await self._check_known(results)
            drafting = await self._drafted(DraftLoop.of(results, task, self._rules), made)
            about |= {id(attempt): results for attempt in drafting.attempts}
            made += drafting.attempts
            if made[-1].passed or not runs_left or self._rerun is None:
                break
            again = await call_maybe_async(self._rerun, tuple(made))
            if again is None:
                break
            results = again
        return about[id(best_of(made))], tuple(made)

    async def _drafted(self, drafting: DraftLoop, before: list[Attempt]) -> DraftLoop:
        while not drafting.is_over:
            try:
                answer = await call_maybe_async(self._ask, drafting.prompt)
            except Exception as error:
                tried = [*before, *drafting.attempts]
                answers_note = "".join(f"; answer {at}: {attempt.words}" for at, attempt in enumerate(tried, start=1))
                error.add_note(f"the report writer had asked {len(tried) + 1} time(s){answers_note}")
                raise
            drafting = await call_maybe_async(drafting.answered, answer)
        return drafting

    async def _check_known(self, results: ResearchResults) -> None:
        """Nobody is asked for a report whose sources the registry would not know afterwards."""
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
