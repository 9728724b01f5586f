"""What ``custody why`` answers: the chain from one line back to what was asked, and where it ends."""

import msgspec

from custody.attribution.wire import Attribution
from custody.cite.wire import ReadingWord
from custody.core.wire.report import Report


class ChainLink(msgspec.Struct, frozen=True, kw_only=True, tag_field="what"):
    """One link of the chain; ``records`` are those that show it."""

    records: list[str] = []


class LineLink(ChainLink, frozen=True, kw_only=True, tag="line"):
    """The line itself, and what is concluded about it."""

    path: str
    line: int
    text: str
    attribution: Attribution


class ChainCommit(ChainLink, frozen=True, kw_only=True, tag="commit"):
    """A commit that the line came through; without ``commit`` it is not committed yet."""

    commit: str | None
    author: str | None = None
    at: str | None = None
    subject: str | None = None


class CallLink(ChainLink, frozen=True, kw_only=True, tag="call"):
    """A call of a tool: the one that wrote the line, or one that it was made inside of."""

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
    """What was asked; ``named`` when the call names it, else it is the last before the call. An erased text is null."""

    id: str
    at: str
    text: str | None
    named: bool


class SourceLine(msgspec.Struct, frozen=True, kw_only=True):
    """A source that was read before the line was written: how at best, when and by which call last.

    ``id`` is what the registry calls it, where it has a number. ``locator`` is a path of the repository or, for what
    lies outside of it, what the agent wrote.
    """

    id: str | None
    locator: str
    title: str | None
    reading: ReadingWord
    at: str
    call: str | None
    records: list[str]


class SourcesLink(ChainLink, frozen=True, kw_only=True, tag="sources"):
    """The sources that the session read before the line was written, newest first; ``more`` were read before those."""

    sources: list[SourceLine]
    more: int


class SessionLink(ChainLink, frozen=True, kw_only=True, tag="session"):
    """The session that all of it happened in."""

    agent: str
    session: str
    model: str | None
    operator: str | None
    started: str | None


class StandingLink(ChainLink, frozen=True, kw_only=True, tag="standing"):
    """What the agent has earned by now; without decisions about it there is no score."""

    agent: str
    decisions: int
    score: float | None
    tier: str | None
    at: str


class SimilarChangeReport(msgspec.Struct, frozen=True, kw_only=True):
    """A change that was found to be like the line's; ``evidence`` names what 'custody dupes show' shows."""

    head: str
    title: str
    says: str
    category: str
    relations: list[str]
    evidence: str


class ChangeLink(ChainLink, frozen=True, kw_only=True, tag="change"):
    """The change that brought the line, and what was found to be like it; null where nobody looked."""

    head: str
    title: str | None
    likes: list[SimilarChangeReport] | None


class EndLink(ChainLink, frozen=True, kw_only=True, tag="end"):
    """A place where the chain ends, or has a gap, and why."""

    why: str


AnyLink = (
    LineLink
    | ChainCommit
    | CallLink
    | SubagentLink
    | PromptLink
    | SourcesLink
    | SessionLink
    | StandingLink
    | ChangeLink
    | EndLink
)


class WhyReport(Report, frozen=True, kw_only=True, tag="why"):
    """One line's chain in order; ``ends`` says where it ends and why."""

    path: str
    line: int
    revision: str | None
    rules_digest: str
    chain: list[AnyLink]
    ends: str
    notes: list[str]
