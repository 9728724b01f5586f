"""Who wrote what a change adds, as attribution tells it: an agent by its name, its model and who runs it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from custody.attribution import Grade, LineOwner
from custody.attribution.app.answers import LineAnswer
from custody.attribution.app.context import AttributionContext, open_attribution
from custody.attribution.app.findings import LineAttributor
from custody.core.errors import InputError
from custody.core.ids import CommitSha, SessionId, StoreId
from custody.core.view_merge import merge_session
from custody.ledger.queries import session_views
from custody.ledger.records import is_claim, list_trusted_chains
from custody.store import Store
from custody.trust.model import ChangeAuthor
from custody.workspace.change import Addition
from custody.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class AuthorLines:
    """Added lines by the agent that wrote them, wholly or in part; and how many were written by nobody known.

    What is only claimed counts as unknown: anybody can write a claim, and here it is asked what speaks for an agent.
    ``sessions`` are those of each agent's lines, by the agent's name.
    """

    authors: Mapping[ChangeAuthor, int]
    persons: int = 0
    unknown: int = 0
    sessions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    told: "AuthorLines | None" = None
    """The same with what is claimed; None where that makes no difference."""

    @property
    def with_claims(self) -> "AuthorLines":
        """The same as claims tell it too, for what speaks against an agent."""
        return self.told or self

    def lines(self, agent: str) -> int:
        """How many lines the agent of this name wrote, whatever its models."""
        return sum(lines for author, lines in self.authors.items() if author.agent == agent)

    def author(self, agent: str) -> ChangeAuthor:
        """The agent of this name as it wrote most of its lines; by its name alone where it wrote none."""
        known = [(lines, author.model or "", author.operator or "", author) for author, lines in self.authors.items()]
        own = [row for row in known if row[3].agent == agent]
        return max(own, key=lambda row: row[:3])[3] if own else ChangeAuthor(agent)


def count_author_lines(workspace: Workspace, additions: Sequence[Addition], commit: CommitSha) -> AuthorLines:
    """Who wrote the lines that ``commit`` adds; a file that cannot be read is not counted here."""
    (found,) = written_each(workspace, [(additions, commit)])
    return found


def written_each(
    workspace: Workspace, changes: Iterable[tuple[Sequence[Addition], CommitSha]]
) -> Iterator[AuthorLines]:
    """The same for any number of changes, with everything that it needs opened once."""
    with open_attribution(workspace) as evidence:
        attributor, operators = LineAttributor(evidence, strict=True), Operators(evidence)
        for additions, commit in changes:
            told = [answer for addition in additions for answer in _attribute_addition(attributor, addition, commit)]
            found = count_lines_by_author(told, operators)
            evidence.save()
            yield found


class Operators:
    """Who runs which session, each looked up once."""

    def __init__(self, evidence: AttributionContext) -> None:
        self._store: Store = evidence.store
        self._chains: set[StoreId] = list_trusted_chains(evidence.store)
        self._known: dict[tuple[str, str, bool], str | None] = {}

    def of(self, agent: str, session: SessionId, *, claims: bool) -> str | None:
        """The operator of a session; None where no record names one, or with ``claims`` not even a claim."""
        key = (agent, session, claims)
        if key not in self._known:
            seen = session_views(self._store, session)
            views = (view.view for view in seen if claims or not is_claim(view.record, self._chains))
            whole = merge_session(view for view in views if view.agent == agent)
            self._known[key] = None if whole is None else whole.operator
        return self._known[key]


def author_of(answer: LineAnswer, operators: Operators) -> ChangeAuthor | None:
    """The agent that wrote some lines; None where it was none."""
    trace = answer.trace
    if trace is None or not answer.owner.is_agent:
        return None
    operator = operators.of(trace.agent, trace.session, claims=_is_claimed(answer))
    return ChangeAuthor(trace.agent, answer.model, operator)


def count_lines_by_author(told: Sequence[LineAnswer], operators: Operators) -> AuthorLines:
    """The lines of some answers, counted by whose they are."""
    shown = [answer for answer in told if not _is_claimed(answer)]
    every = _counted(told, operators)
    if len(shown) == len(told):
        return every
    found = _counted(shown, operators)
    claimed = sum(len(answer.lines) for answer in told if _is_claimed(answer))
    return replace(found, unknown=found.unknown + claimed, told=every)


def _is_claimed(answer: LineAnswer) -> bool:
    return answer.grade is Grade.CLAIMED


def _counted(told: Iterable[LineAnswer], operators: Operators) -> AuthorLines:
    authors: Counter[ChangeAuthor] = Counter()
    others: Counter[str] = Counter()
    sessions: dict[str, set[str]] = {}
    for answer in told:
        author = author_of(answer, operators)
        if author is not None and answer.trace is not None:
            authors[author] += len(answer.lines)
            sessions.setdefault(author.agent, set()).add(answer.trace.session)
        else:
            others["person" if answer.owner is LineOwner.PERSON else "unknown"] += len(answer.lines)
    by_agent = {agent: tuple(sorted(ids)) for agent, ids in sessions.items()}
    return AuthorLines(dict(authors), others["person"], others["unknown"], by_agent)


def _attribute_addition(attributor: LineAttributor, addition: Addition, commit: CommitSha) -> list[LineAnswer]:
    if addition.unread is not None:
        return []
    try:
        return attributor.of_file(addition.path, commit, addition.lines)[1]
    except InputError:
        return []  # a submodule or a damaged object: the change is not one of lines, and that is told elsewhere
