"""From the contract to a text that keeps it: what a writer is asked, what it answered, and whether to ask again.

Nothing here asks anybody: whoever has a writer takes the ``prompt``, and hands over what came back.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from custody.cite.audit import Audit
from custody.cite.contract import citation_contract, findings_context, index_by_number, missing_citations_reminder
from custody.cite.drafts import ReportDraft, audit_draft
from custody.cite.model import ResearchSource
from custody.cite.results import ResearchResults
from custody.cite.rules import CiteRules
from custody.core.errors import WorldError

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
