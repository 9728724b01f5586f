"""What was recorded about agents, gathered for a fold: every door of trust begins here."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from custody.capture.spool import Spool
from custody.config import FILE_BYTES_MAX
from custody.core.errors import InputError, StoreError
from custody.core.ids import AgentName
from custody.core.paths import RepoPath
from custody.core.record import Record
from custody.core.views import Decision, DecisionKind, View
from custody.core.wire.arrival import Arrival
from custody.core.wire.body import digest_text
from custody.core.wire.canonical import rules_digest
from custody.core.wire.time import ns_from, text_from
from custody.git import NoWorkFile, read_work_file
from custody.store import AppendResult, ObservedView, Store
from custody.trust.engine import replay
from custody.trust.model import (
    Account,
    ChangeComplexity,
    ChangeStakes,
    CurrentModel,
    DecisionEntry,
    DecisionOverride,
    DecisionType,
    Entry,
    RecoveryEntry,
    UnknownAgent,
)
from custody.trust.queries import StandingTables, decisions_of_agent
from custody.trust.rules import TrustRules
from custody.workspace.rules_in_force import load_rules, read_rules
from custody.workspace.workspace import Workspace

# Where trust works: a repository with its store, or a folder as document 001 has it, with its own store and file.


CONFIG = "config.yaml"
DOCUMENTS_CONFIG = f".ai-git/{CONFIG}"
"""Under this name the document's file is known; beside another folder's store it is the same file."""


@dataclass(frozen=True)
class FolderWorkspace(Workspace):
    """A workspace whose store lies in its folder, whether or not there is a repository around it."""

    @cached_property
    def home(self) -> Path:
        """The folder itself."""
        return self.folder

    @cached_property
    def spools(self) -> tuple[Spool, ...]:
        """No hook writes into a folder of this kind."""
        return ()


def folder_workspace(folder: str | os.PathLike[str], now_ns: Callable[[], int] | None = None) -> FolderWorkspace:
    """The workspace of ``folder``, which is made when something is recorded."""
    path = Path(os.path.abspath(folder))  # the working directory may change between two calls
    if path.exists() and not path.is_dir():
        raise InputError(f"'{path}' is not a folder", hint="name a folder; it is made when it is not there")
    return FolderWorkspace(path) if now_ns is None else FolderWorkspace(path, now_ns=now_ns)


def trust_rules(
    workspace: Workspace, environment: Mapping[str, str] = os.environ, policy: str | None = None
) -> TrustRules:
    """Return the rules in force, perhaps with a policy; a folder of the document's has the document's profile."""
    if not isinstance(workspace, FolderWorkspace):
        return load_rules(workspace, environment, policy)[0].of(TrustRules)
    effective, _ = read_rules(lambda path: _beside(workspace.folder, path), environment, policy)
    return replace(effective.of(TrustRules), profile="document")


def _beside(folder: Path, path: RepoPath) -> bytes | None:
    if str(path) != DOCUMENTS_CONFIG or not os.path.lexists(folder / CONFIG):
        return None
    file = read_work_file(folder, RepoPath.of(CONFIG), FILE_BYTES_MAX)
    if isinstance(file, NoWorkFile):
        raise InputError(f"'{folder / CONFIG}' {file.reason}", hint="rules are read from regular files")
    return file.content


SETTLE_MAX = 100
"""How often to look whether the index is whole before giving up."""

_COMPLEXITIES = {complexity.word: complexity for complexity in ChangeComplexity}


@dataclass(frozen=True, slots=True)
class TrustQuery:
    """As of which moment, and by which rules; without ``until_ns`` everything recorded counts."""

    rules: TrustRules
    now_ns: int
    until_ns: int | None = None

    @property
    def digest(self) -> str:
        """The name of the rules."""
        return digest_text(rules_digest({"trust": self.rules}))


def make_trust_query(workspace: Workspace, at: str | None = None) -> TrustQuery:
    """A question of now, or of a past moment, by the rules in force."""
    rules = trust_rules(workspace)
    if at is None:
        return TrustQuery(rules, workspace.now_ns())
    moment = ns_from(at)
    return TrustQuery(rules, moment, moment)


@contextmanager
def read_settled_decisions(store: Store) -> Iterator[None]:
    """One moment in which the index of decisions has read every record: half of them would give another score.

    Another process may be making the index again, and its steps can be seen.
    """
    for _ in range(SETTLE_MAX):
        with store.reading():
            if store.views.current():
                yield
                return
        store.catch_up()
    raise being_made_again()


def being_made_again() -> StoreError:
    """The error for an index that other processes never leave alone."""
    return StoreError("the index of decisions is being made again by other processes", hint="try again in a moment")


def append_decision(store: Store, look: Callable[[], Sequence[Arrival]]) -> AppendResult:
    """Append what ``look`` gives, which sees an index that is whole and that nobody else can change meanwhile."""

    def looked() -> Sequence[Arrival]:
        if not store.views.current():
            raise _IndexLag
        return look()

    for _ in range(SETTLE_MAX):
        store.catch_up()
        with suppress(_IndexLag):
            return store.append_what(looked)
    raise being_made_again()


class _IndexLag(Exception):
    """The index has not read every record."""


def agents_in(store: Store) -> list[AgentName]:
    """Everybody about whom a decision was recorded, by name."""
    return StandingTables(store).agents()


def count_decisions(store: Store, agent: str | None = None) -> int:
    """Return how many decisions were recorded, about one agent or about any."""
    return StandingTables(store).decisions(agent)


def entries_of(store: Store, agent: str, until_ns: int | None = None) -> list[Entry]:
    """Everything that was recorded about ``agent``, perhaps only until a moment."""
    return [
        entry for entry in entries_from(decisions_of_agent(store, agent)) if until_ns is None or entry.at_ns <= until_ns
    ]


def entries_from(seen: Sequence[ObservedView[View]]) -> Iterator[Entry]:
    """What views of decisions say, in the terms of trust."""
    for view in seen:
        if isinstance(view.view, Decision):
            yield _entry(view.record, view.view)


def account_of(store: Store, agent: str, asked: TrustQuery, running: CurrentModel | None = None) -> Account:
    """The replay of everything about ``agent``."""
    entries = entries_of(store, agent, asked.until_ns)
    return replay(AgentName(agent), entries, asked.rules, now_ns=asked.now_ns, running=running)


def known_account(workspace: Workspace, agent: str, asked: TrustQuery) -> Account:
    """The same, where there is anything; else an ``UnknownAgent``."""
    with workspace.reading() as store, read_settled_decisions(store):
        account = account_of(store, agent, asked)
        if not account.steps:
            raise make_unknown_agent_error(agent, agents_in(store), asked.until_ns)
    return account


def make_unknown_agent_error(agent: str, known: Sequence[str], until_ns: int | None = None) -> UnknownAgent:
    """The error for an agent without decisions, with the names that there are."""
    when = "" if until_ns is None else f" until {text_from(until_ns)}"
    names = ", ".join(f"'{name}'" for name in known[:5]) + (", …" if len(known) > 5 else "")
    hint = f"there are decisions about {names}" if known else "record one with 'custody trust record'"
    return UnknownAgent(f"nothing was decided about '{agent}'{when}", hint=hint)


def _entry(record: Record, view: Decision) -> Entry:
    ref = record.ref
    if view.decision is DecisionKind.RECOVERED:
        return RecoveryEntry(view.id, view.at_ns, ref, view.boost or 0.0, view.actor, view.reason)
    decision = DecisionType(view.decision.value)
    if view.overrides is not None:
        return DecisionOverride(view.id, view.at_ns, ref, view.overrides, decision, view.actor, view.reason)
    return DecisionEntry(
        id=view.id,
        at_ns=view.at_ns,
        record=ref,
        # What was taken back was not good, whatever else the record calls it.
        decision=decision if view.reverts is None else DecisionType.REJECTED,
        stakes=ChangeStakes(_COMPLEXITIES.get(view.complexity or ""), view.changed_lines, view.review_ms),
        actor=view.actor,
        reason=view.reason,
        commit=view.commit or view.commit_name,
        reverts=view.reverts,
        unreviewed=view.unreviewed,
        head=view.head,
        model=view.model,
        operator=view.operator,
        areas=view.areas,
        opened_ns=view.opened_ns,
    )
