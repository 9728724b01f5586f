"""The recorded decisions about agents, read for a fold; the base of all use cases of trust."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from custody.capture.spool import Spool
from custody.config import FILE_BYTES_MAX
from custody.core.errors import InputError, StoreError
from custody.core.ids import AgentName
from custody.core.paths import RepoPath
from custody.core.record import Record
from custody.core.views import Decision, DecisionKind, View
from custody.core.wire.arrival import Arrival
from custody.core.wire.body import format_digest
from custody.core.wire.canonical import digest_rule_tables
from custody.core.wire.time import format_timestamp, parse_timestamp
from custody.git import NoWorkFile, read_work_file
from custody.store import AppendResult, ObservedView, Store
from custody.trust.engine import replay_decisions
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
from custody.trust.queries import ScoreTables, list_agent_decisions
from custody.trust.rules import TrustRules
from custody.workspace.rules_in_force import load_workspace_rules, resolve_rules_in_force
from custody.workspace.workspace import Workspace

# Trust works on a repository with its store, or on a folder as in document 001, with its own store and rules.


CONFIG = "config.yaml"
DOCUMENTS_CONFIG = f".ai-git/{CONFIG}"
"""The rule file of document 001; in another folder the same file is called ``CONFIG``."""


class FolderWorkspace(Workspace, frozen=True):
    """A workspace with the store in its folder, with or without a repository around it."""

    @cached_property
    def home(self) -> Path:
        """Return the folder itself."""
        return self.folder

    @cached_property
    def spools(self) -> tuple[Spool, ...]:
        """Return no spools: hooks do not write into such a folder."""
        return ()


def open_trust_folder(folder: str | os.PathLike[str], now_ns: Callable[[], int] | None = None) -> FolderWorkspace:
    """Return the workspace of ``folder``, which is created at the first record."""
    path = Path(os.path.abspath(folder))  # the working directory may change between two calls
    if path.exists() and not path.is_dir():
        raise InputError(f"'{path}' is not a folder", hint="pass a folder; it is created if missing")
    return FolderWorkspace(path) if now_ns is None else FolderWorkspace(path, now_ns=now_ns)


def load_trust_rules(
    workspace: Workspace, environment: Mapping[str, str] = os.environ, policy: str | None = None
) -> TrustRules:
    """Return the rules in force, with a policy if passed; a folder has document 001's profile."""
    if not isinstance(workspace, FolderWorkspace):
        return load_workspace_rules(workspace, environment, policy)[0].of(TrustRules)
    effective, _ = resolve_rules_in_force(
        lambda path: _read_trust_folder_config(workspace.folder, path), environment, policy
    )
    return replace(effective.of(TrustRules), profile="document")


def _read_trust_folder_config(folder: Path, path: RepoPath) -> bytes | None:
    if str(path) != DOCUMENTS_CONFIG or not os.path.lexists(folder / CONFIG):
        return None
    file = read_work_file(folder, RepoPath.of(CONFIG), FILE_BYTES_MAX)
    if isinstance(file, NoWorkFile):
        raise InputError(f"'{folder / CONFIG}' {file.reason}", hint="use a regular file for rules")
    return file.content


EVENT_PREFIX = "trust-"
"""The prefix of the event names of decisions that the verbs of trust recorded; no input can choose it."""
SETTLE_MAX = 100
"""The most attempts to read a complete index."""

_COMPLEXITIES = {complexity.word: complexity for complexity in ChangeComplexity}


class TrustQuery(Struct, frozen=True):
    """A query as of ``now_ns`` by ``rules``; without ``until_ns`` all records count."""

    rules: TrustRules
    now_ns: int
    until_ns: int | None = None

    @property
    def digest(self) -> str:
        """Return the digest of the rules."""
        return format_digest(digest_rule_tables({"trust": self.rules}))


def make_trust_query(workspace: Workspace, at: str | None = None) -> TrustQuery:
    """Return a query as of now, or of a past time, by the rules in force."""
    rules = load_trust_rules(workspace)
    if at is None:
        return TrustQuery(rules, workspace.now_ns())
    at_ns = parse_timestamp(at)
    return TrustQuery(rules, at_ns, at_ns)


@contextmanager
def read_settled_decisions(store: Store) -> Iterator[None]:
    """Hold a read transaction in which every decision is indexed: a partial index would give another score.

    Another process may be rebuilding the index step by step.
    """
    for _ in range(SETTLE_MAX):
        with store.reading():
            if store.views.current():
                yield
                return
        store.catch_up()
    raise make_decision_index_error()


def make_decision_index_error() -> StoreError:
    """Return the error for an index that other processes keep rebuilding."""
    return StoreError("other processes are rebuilding the index of decisions", hint="try again later")


def append_decision(store: Store, look: Callable[[], Sequence[Arrival]]) -> AppendResult:
    """Append what ``look`` returns; it reads a complete index that no other process can change meanwhile."""

    def look_at_current_index() -> Sequence[Arrival]:
        if not store.views.current():
            raise _IndexLag
        return look()

    for _ in range(SETTLE_MAX):
        store.catch_up()
        with suppress(_IndexLag):
            return store.append_from(look_at_current_index)
    raise make_decision_index_error()


class _IndexLag(Exception):
    """The index lacks some records."""


def list_agents_with_decisions(store: Store) -> list[AgentName]:
    """Return all agents with decisions, by name."""
    return ScoreTables(store).agents()


def count_decisions(store: Store, agent: str | None = None) -> int:
    """Return how many decisions were recorded, about one agent or all."""
    return ScoreTables(store).decisions(agent)


def read_decision_entries(store: Store, agent: str, until_ns: int | None = None) -> list[Entry]:
    """Return all entries about ``agent``, optionally only until a time."""
    return [
        entry
        for entry in decision_entries_from_views(list_agent_decisions(store, agent))
        if until_ns is None or entry.at_ns <= until_ns
    ]


def decision_entries_from_views(views: Sequence[ObservedView[View]]) -> Iterator[Entry]:
    """Yield the entries of the views that are decisions."""
    for observed in views:
        if isinstance(observed.view, Decision):
            yield _decision_entry_from_view(observed.record, observed.view)


def replay_trust_account(store: Store, agent: str, query: TrustQuery, running: CurrentModel | None = None) -> Account:
    """Replay all decisions about ``agent``."""
    entries = read_decision_entries(store, agent, query.until_ns)
    return replay_decisions(AgentName(agent), entries, query.rules, now_ns=query.now_ns, running=running)


def require_trust_account(workspace: Workspace, agent: str, query: TrustQuery) -> Account:
    """Replay all decisions about ``agent``; ``UnknownAgent`` if there are none."""
    with workspace.reading() as store, read_settled_decisions(store):
        account = replay_trust_account(store, agent, query)
        if not account.steps:
            raise make_unknown_agent_error(agent, list_agents_with_decisions(store), query.until_ns)
    return account


def make_unknown_agent_error(agent: str, known: Sequence[str], until_ns: int | None = None) -> UnknownAgent:
    """Return the error for an agent without decisions, with the known agents as a hint."""
    when = "" if until_ns is None else f" until {format_timestamp(until_ns)}"
    names = ", ".join(f"'{name}'" for name in known[:5]) + (", …" if len(known) > 5 else "")
    hint = f"known agents: {names}" if known else "record a decision with 'custody trust record'"
    return UnknownAgent(f"no decisions about '{agent}'{when}", hint=hint)


def _decision_entry_from_view(record: Record, view: Decision) -> Entry:
    ref = record.ref
    if view.decision is DecisionKind.RECOVERED:
        return RecoveryEntry(view.id, view.at_ns, ref, view.boost or 0.0, view.actor, view.reason)
    decision = DecisionType(view.decision.value)
    stakes = ChangeStakes(_COMPLEXITIES.get(view.complexity or ""), view.changed_lines, view.review_ms)
    if view.overrides is not None:
        return DecisionOverride(
            view.id,
            view.at_ns,
            ref,
            view.overrides,
            decision,
            view.actor,
            view.reason,
            view.witness,
            view.commit or view.commit_name,
            stakes,
            view.patch,
            view.agent_lines,
        )
    return DecisionEntry(
        id=view.id,
        at_ns=view.at_ns,
        record=ref,
        # A revert is a rejection, whatever else the record calls it.
        decision=decision if view.reverts is None else DecisionType.REJECTED,
        stakes=stakes,
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
        patch=view.patch,
        agent_lines=view.agent_lines,
        witness=view.witness,
    )
