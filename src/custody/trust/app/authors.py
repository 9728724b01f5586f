"""The authors of a change's added lines by attribution: agents by name, model and operator."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from msgspec import Struct, field
from msgspec.structs import replace

from custody.attribution import Grade, LineOwner, TraceAttribution
from custody.attribution.app.answers import LineAnswer
from custody.attribution.app.context import AttributionContext, open_attribution
from custody.attribution.app.findings import LineAttributor
from custody.config import TeamPolicy
from custody.core.assurance import Assurance, find_lowest_assurance
from custody.core.errors import InputError
from custody.core.ids import CommitSha, SessionId, StoreId
from custody.core.record import Record
from custody.core.view_merge import merge_session_views
from custody.core.wire.claims import IMPORTED_KINDS, is_imported_record
from custody.git import Repository
from custody.ledger.queries import list_session_views
from custody.store import Store
from custody.trust.model import ChangeAuthor
from custody.workspace.change import Addition
from custody.workspace.rules_in_force import load_base_team_policy, load_rules_at_commit
from custody.workspace.workspace import Workspace


class AuthorLines(Struct, frozen=True):
    """Added lines by the agent that wrote them, wholly or in part, and the number of lines of unknown authors.

    Claimed lines count as unknown: anybody can write a claim. ``sessions`` are the sessions of each agent's lines, by
    name.
    """

    authors: Mapping[ChangeAuthor, int]
    persons: int = 0
    unknown: int = 0
    sessions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    claimed: "AuthorLines | None" = None
    """The counts with claims included; None where claims make no difference."""

    @property
    def with_claims(self) -> "AuthorLines":
        """Return the counts with claims included: claims count against an agent, never for it."""
        return self.claimed or self

    def lines(self, agent: str) -> int:
        """Return how many lines the agent wrote, with any model."""
        return sum(lines for author, lines in self.authors.items() if author.agent == agent)

    def author(self, agent: str) -> ChangeAuthor:
        """Return the agent with the model and operator of most of its lines; only its name if it wrote none."""
        known = [(lines, author.model or "", author.operator or "", author) for author, lines in self.authors.items()]
        own = [row for row in known if row[3].agent == agent]
        return max(own, key=lambda row: row[:3])[3] if own else ChangeAuthor(agent)


class AuthorBelief(Struct, frozen=True):
    """Whom a count of lines believes: under which policy, and how far an agent's name must be vouched for."""

    team: TeamPolicy | None = None
    least: Assurance = Assurance.SELF_REPORTED

    def distrusts(self, context: AttributionContext, answer: LineAnswer) -> bool:
        """Return whether an agent's lines count as lines of an unknown author."""
        if _is_untrusted_claim(answer):
            return True
        return answer.owner.is_agent and not rate_line_origin(context, answer).meets(self.least)


ANYBODY = AuthorBelief()
"""Every recording is believed, as without a policy."""


def load_author_belief(repository: Repository, base: CommitSha | None) -> AuthorBelief:
    """Return whom the policy in ``base`` believes about who wrote a change on top of it."""
    if base is None:
        return ANYBODY
    least = load_rules_at_commit(repository, base, {})[0].settings_of("gate")["gate.assurance_min"].value
    return AuthorBelief(load_base_team_policy(repository, base, base), Assurance(least))


def count_trust_author_lines(
    workspace: Workspace, additions: Sequence[Addition], commit: CommitSha, belief: AuthorBelief = ANYBODY
) -> AuthorLines:
    """Count the lines that ``commit`` adds by author; unreadable files are not counted."""
    (authors,) = count_trust_authors_per_change(workspace, [(additions, commit)], belief)
    return authors


def rate_line_origin(context: AttributionContext, answer: LineAnswer) -> Assurance:
    """Return the lowest assurance of the records that an answer is from."""
    finding = answer.finding
    refs = finding.candidate.records if isinstance(finding, TraceAttribution) else ()
    if answer.story is not None:
        refs = (*refs, answer.story.record)
    records = [context.store.tables.record(ref) for ref in dict.fromkeys(refs)]
    rated = [context.ratings.rate_record(record) for record in records if record is not None]
    return find_lowest_assurance(rated) or Assurance.SELF_REPORTED


def count_trust_authors_per_change(
    workspace: Workspace, changes: Iterable[tuple[Sequence[Addition], CommitSha]], belief: AuthorBelief = ANYBODY
) -> Iterator[AuthorLines]:
    """Count the added lines of several changes by author, with one open attribution."""
    with open_attribution(workspace, policy=belief.team) as context:
        attributor, operators = LineAttributor(context, strict=True), Operators(context)
        for additions, commit in changes:
            answers = [
                answer for addition in additions for answer in _attribute_lines_for_trust(attributor, addition, commit)
            ]
            authors = tally_trust_authors(answers, operators, partial(belief.distrusts, context))
            context.save()
            yield authors


class Operators:
    """The operators of sessions, each looked up once."""

    def __init__(self, context: AttributionContext) -> None:
        self._store: Store = context.store
        self._chains: frozenset[StoreId] = context.ratings.believed
        self._known: dict[tuple[str, str, bool], str | None] = {}

    def find_operator(self, agent: str, session: SessionId, *, claims: bool) -> str | None:
        """Return the operator of a session, with ``claims`` also a claimed one; None where no record names one."""
        key = (agent, session, claims)
        if key not in self._known:
            observed = list_session_views(self._store, session)
            # Only generic events name operators. They need no hook, because operators earn no trust.
            views = (view.view for view in observed if claims or self._is_recorded_here(view.record))
            merged = merge_session_views(view for view in views if view.agent == agent)
            self._known[key] = None if merged is None else merged.operator
        return self._known[key]

    def _is_recorded_here(self, record: Record) -> bool:
        return record.entry.kind not in IMPORTED_KINDS and not is_imported_record(record, self._chains)


def trust_author_from_answer(answer: LineAnswer, operators: Operators) -> ChangeAuthor | None:
    """Return the agent that wrote some lines; None if no agent did."""
    trace = answer.trace
    if trace is None or not answer.owner.is_agent:
        return None
    operator = operators.find_operator(trace.agent, trace.session, claims=_is_untrusted_claim(answer))
    return ChangeAuthor(trace.agent, answer.model, operator)


def tally_trust_authors(
    answers: Sequence[LineAnswer], operators: Operators, is_distrusted: Callable[[LineAnswer], bool] | None = None
) -> AuthorLines:
    """Count attributed lines by author; distrusted ones, by default claims, count as unknown."""
    is_distrusted = is_distrusted or _is_untrusted_claim
    distrusted = [answer for answer in answers if is_distrusted(answer)]
    shown = [answer for answer in answers if answer not in distrusted]
    every = _tally_agent_lines(answers, operators)
    if not distrusted:
        return every
    authors = _tally_agent_lines(shown, operators)
    claimed = sum(len(answer.lines) for answer in distrusted)
    return replace(authors, unknown=authors.unknown + claimed, claimed=every)


def _is_untrusted_claim(answer: LineAnswer) -> bool:
    return answer.grade is Grade.CLAIMED


def _tally_agent_lines(answers: Iterable[LineAnswer], operators: Operators) -> AuthorLines:
    authors: Counter[ChangeAuthor] = Counter()
    others: Counter[str] = Counter()
    sessions: dict[str, set[str]] = {}
    for answer in answers:
        author = trust_author_from_answer(answer, operators)
        if author is not None and answer.trace is not None:
            authors[author] += len(answer.lines)
            sessions.setdefault(author.agent, set()).add(answer.trace.session)
        else:
            others["person" if answer.owner is LineOwner.PERSON else "unknown"] += len(answer.lines)
    by_agent = {agent: tuple(sorted(ids)) for agent, ids in sessions.items()}
    return AuthorLines(dict(authors), others["person"], others["unknown"], by_agent)


def _attribute_lines_for_trust(attributor: LineAttributor, addition: Addition, commit: CommitSha) -> list[LineAnswer]:
    if addition.unread is not None:
        return []
    try:
        return attributor.of_file(addition.path, commit, addition.lines)[1]
    except InputError:
        return []  # a submodule or a damaged object; another check reports it
