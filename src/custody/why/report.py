"""The report of ``custody why``: the chain from one line back to its prompt, and where it ends."""

import msgspec

from custody.attribution.wire import Attribution
from custody.cite.wire import ReadingWord
from custody.core.wire.report import Report
from custody.runs.wire import TestsReport


class ChainLink(msgspec.Struct, frozen=True, kw_only=True, tag_field="what"):
    """One link of the chain; ``records`` are its evidence."""

    records: list[str] = []


class LineLink(ChainLink, frozen=True, kw_only=True, tag="line"):
    """The line itself, with its attribution."""

    path: str
    line: int
    text: str
    attribution: Attribution


class ChainCommit(ChainLink, frozen=True, kw_only=True, tag="commit"):
    """A commit that the line came through; ``commit`` is null while it is not committed."""

    commit: str | None
    author: str | None = None
    at: str | None = None
    subject: str | None = None


class CallLink(ChainLink, frozen=True, kw_only=True, tag="call"):
    """A tool call: the one that wrote the line, or one of its parents."""

    id: str
    name: str
    started: str
    ended: str | None
    status: str
    model: str | None
    parent: str | None
    prompt: str | None


class SubagentLink(ChainLink, frozen=True, kw_only=True, tag="subagent"):
    """The subagent that made the call before this link."""

    id: str


class PromptLink(ChainLink, frozen=True, kw_only=True, tag="prompt"):
    """The prompt; ``named`` when the call names it, else it is the last one before the call. An erased text is null."""

    id: str
    at: str
    text: str | None
    named: bool


class SourceLine(msgspec.Struct, frozen=True, kw_only=True):
    """A source that was read before the line was written: its best reading, and the time and call of the last one.

    ``id`` is its number in the registry, if any. ``locator`` is a path in the repository or, for a source outside of
    it, the text that the agent wrote.
    """

    id: str | None
    locator: str
    title: str | None
    reading: ReadingWord
    at: str
    call: str | None
    records: list[str]


class SourcesLink(ChainLink, frozen=True, kw_only=True, tag="sources"):
    """The sources that the session read before the line was written, latest first; ``more`` counts earlier ones."""

    sources: list[SourceLine]
    more: int


class TestsLink(ChainLink, frozen=True, kw_only=True, tag="tests"):
    """Whether the file was tested after its last edit before the line was committed."""

    __test__ = False

    tests: TestsReport


class SessionLink(ChainLink, frozen=True, kw_only=True, tag="session"):
    """The session of the call."""

    agent: str
    session: str
    model: str | None
    operator: str | None
    started: str | None


class StandingLink(ChainLink, frozen=True, kw_only=True, tag="standing"):
    """The agent's trust at ``at``; score and tier are null without decisions about the agent."""

    agent: str
    decisions: int
    score: float | None
    tier: str | None
    at: str


class SimilarChangeReport(msgspec.Struct, frozen=True, kw_only=True):
    """A change similar to the line's change; 'custody dupes show' takes the id in ``evidence``."""

    head: str
    title: str
    says: str
    category: str
    relations: list[str]
    evidence: str


class ChangeLink(ChainLink, frozen=True, kw_only=True, tag="change"):
    """The change that added the line, and similar changes; ``likes`` is null if not checked for duplicates."""

    head: str
    title: str | None
    likes: list[SimilarChangeReport] | None


class EndLink(ChainLink, frozen=True, kw_only=True, tag="end"):
    """The end of the chain or a gap in it, and the reason."""

    why: str


AnyLink = (
    LineLink
    | ChainCommit
    | CallLink
    | SubagentLink
    | PromptLink
    | SourcesLink
    | TestsLink
    | SessionLink
    | StandingLink
    | ChangeLink
    | EndLink
)


class WhyReport(Report, frozen=True, kw_only=True, tag="why"):
    """The chain of one line, in order; ``ends`` joins the reasons of all its ends."""

    path: str
    line: int
    revision: str | None
    rules_digest: str
    chain: list[AnyLink]
    ends: str
    notes: list[str]
