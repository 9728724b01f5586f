"""Reports of commands as JSON: one format for ``--json``, HTTP and stored evidence, with name and version."""

from typing import Any, Literal

import msgspec

from custody.core.record import Damage
from custody.core.wire.canonical import dump_canonical_json


class Report(msgspec.Struct, frozen=True, kw_only=True, tag_field="report"):
    """The fields of every report: its version, and whether the command found a problem."""

    version: Literal[1] = 1
    outcome: Literal["fine", "found"] = "fine"


class IntegrityFinding(msgspec.Struct, frozen=True):
    """One problem: its code, a sentence, and its record if it has one."""

    code: str
    what: str
    record: str | None = None


def finding_from_damage(damage: Damage) -> IntegrityFinding:
    """Return a damage as reports show it."""
    return IntegrityFinding(damage.code.label, damage.what, None if damage.record is None else str(damage.record))


class Chain(msgspec.Struct, frozen=True):
    """One chain: its store, its number of records, its last link, and whether this store appends to it."""

    store: str
    records: int
    link: str
    own: bool


class VerifyReport(Report, frozen=True, kw_only=True, tag="verify"):
    """The result of a verification; ``withheld`` bodies were not included by the stores that shared their chains.

    ``warnings`` are acknowledged events that cannot be ingested: unchanged, set aside, and each a gap in the recording.
    ``earlier`` is how many of the records an earlier check covers; null if everything was checked. Then ``bodies``,
    ``erased`` and ``withheld`` are not counted.
    """

    chains: list[Chain]
    records: int
    bodies: int
    erased: int
    pending: int
    findings: list[IntegrityFinding]
    withheld: int = 0
    warnings: list[IntegrityFinding] = []
    earlier: int | None = None


class DoctorCheck(msgspec.Struct, frozen=True):
    """One check of ``custody doctor``: its name, state and result, and a hint if there is a problem."""

    name: str
    state: Literal["well", "note", "ill"]
    what: str
    hint: str | None = None


class AgentHook(msgspec.Struct, frozen=True):
    """The command that an agent's hook runs, with its arguments."""

    command: list[str]


class HookReport(msgspec.Struct, frozen=True):
    """The command that Claude Code runs (null before ``custody init``), and the command for each agent."""

    command: list[str] | None
    agents: dict[str, AgentHook]


class BackFill(msgspec.Struct, frozen=True, kw_only=True):
    """An agent's transcripts on disk for this repository, and their sessions that are not recorded.

    Only the newest files are checked (``looked_at``); ``trouble`` is the reason if a file could not be read.
    """

    transcripts: int
    new_sessions: int
    looked_at: int
    trouble: str | None = None


class AgentReport(msgspec.Struct, frozen=True, kw_only=True):
    """One agent: whether it is installed, whether its settings run our hook, and its last event.

    ``last_live`` is the last event of a hook, ``last`` the last of any kind. ``hooks`` is 'set up', 'partly' if some
    events do not run our hook, 'misled' if settings run a hook that does not report here, 'off' if a setting turns all
    hooks off, 'unreadable' if its settings cannot be read, 'not set up', 'transcripts' for an agent without a hook
    with sessions on disk that can be imported, or 'none' for any other agent. ``hint`` helps if hooks are set up and
    have never fired.
    """

    name: str
    title: str
    here: bool
    hooks: str
    last_live: str | None
    last: str | None
    sessions: int
    backfill: BackFill | None
    hint: str | None = None


class DoctorReport(Report, frozen=True, kw_only=True, tag="doctor"):
    """The state of the store and its environment."""

    store: str
    checks: list[DoctorCheck]
    hook: HookReport
    agents: list[AgentReport]
    rebuilt: int | None = None


class ExportReport(Report, frozen=True, kw_only=True, tag="export"):
    """The result of an export."""

    path: str
    chains: int
    records: int
    bodies: int
    erased: int
    forks: int
    pending: int
    bytes: int


class ImportedChain(msgspec.Struct, frozen=True):
    """The result of importing one chain."""

    store: str
    new: int
    known: int
    forked: int


class ImportReport(Report, frozen=True, kw_only=True, tag="import"):
    """The result of importing an export; with findings, nothing was imported."""

    path: str
    chains: list[ImportedChain]
    pending: int
    findings: list[IntegrityFinding]


class ImportProblem(msgspec.Struct, frozen=True):
    """Input that could not be used, or only in part: its file, its line, and the reason."""

    file: str
    line: int | None
    what: str


class ImportTranscriptsReport(Report, frozen=True, kw_only=True, tag="import-transcripts"):
    """The result of importing an agent's transcripts, with the first 1,000 problems.

    ``known`` lines were already in the store, ``repeated`` lines occur more than once in these files.
    """

    agent: str
    place: str
    files: int
    lines: int
    new: int
    known: int
    repeated: int
    sessions: int
    calls: int
    edits: int
    edits_without_file: int
    subagents: int
    subagents_unattached: int
    unknown_types: dict[str, int]
    versions: list[str]
    problems: list[ImportProblem]
    problem_count: int


class ImportTracesReport(Report, frozen=True, kw_only=True, tag="import-traces"):
    """The result of importing other tools' traces, with the problems."""

    path: str
    traces: int
    links: int
    known: int
    problem_count: int
    problems: list[ImportProblem]


class ExportTracesReport(Report, frozen=True, kw_only=True, tag="export-traces"):
    """The number of Agent Trace records written, and of edits left out because their lines are unknown."""

    path: str
    records: int
    left_out: int


class ImportEventsReport(Report, frozen=True, kw_only=True, tag="import-events"):
    """The result of importing a file of generic events, with the first 1,000 problems."""

    path: str
    lines: int
    new: int
    known: int
    problems: list[ImportProblem]
    problem_count: int


class EraseReport(Report, frozen=True, kw_only=True, tag="erase"):
    """The erased bodies, and the records of the erasure."""

    erased: list[str]
    records: list[str]


class StoreReport(Report, frozen=True, kw_only=True, tag="store"):
    """This store: its name, the id of its chain and its public key.

    ``enrolled``: the policy of HEAD lists it with this key; ``listed_key`` is the key that it lists. ``line`` belongs
    into the table ``[stores]`` of custody.toml.
    """

    name: str
    id: str
    key: str
    enrolled: bool
    listed_key: str | None
    line: str


class TeamPolicyReport(Report, frozen=True, kw_only=True, tag="team-policy"):
    """What ``custody init --team`` added to custody.toml, and what it left as it was."""

    file: str
    added: list[str]
    kept: list[str]
    dry_run: bool
    text: str


class RecordSummary(msgspec.Struct, frozen=True):
    """One record in a list; ``number`` is its position in this store's own chain, None in another chain."""

    record: str
    number: int | None
    at: str
    kind: str
    key: str
    event: str
    digest: str


class RecordsReport(Report, frozen=True, kw_only=True, tag="records"):
    """The newest records, and the total number."""

    records: list[RecordSummary]
    total: int


class SpanProof(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A proof that a record holds a span: its salt, and the hashes beside the path from its leaf to the root."""

    salt: str
    position: int
    count: int
    path: list[str]


class ShowReport(Report, frozen=True, kw_only=True, tag="show"):
    """Records and their payloads, in the same order; the payload of an erased record is null.

    ``proofs`` show that spans are part of the records that they share with others.
    """

    records: list[RecordSummary]
    payloads: list[Any]
    proofs: list[SpanProof | None] = []


class SessionLine(msgspec.Struct, frozen=True):
    """One session in a list; ``events`` counts all its captured events.

    ``ended`` is the time of its last message; ``last`` may be later, if it was linked to a commit. ``prompt`` is its
    first prompt: null if there is none, if it was erased, or if the caller may not read prompts. An ``imported``
    session is only known from its transcript; nothing of it was recorded live.
    """

    agent: str
    session: str
    started: str
    last: str
    model: str | None
    operator: str | None
    prompts: int
    calls: int
    files: list[str]
    events: int
    ended: str | None = None
    prompt: str | None = None
    imported: bool = False


class AgentLine(msgspec.Struct, frozen=True):
    """One agent: its number of sessions, and when it was last active."""

    agent: str
    sessions: int
    last: str


class LogReport(Report, frozen=True, kw_only=True, tag="log"):
    """The most recently active sessions, and the total number; ``agents`` has the numbers by agent."""

    sessions: list[SessionLine]
    total: int
    agents: list[AgentLine]


class PromptLine(msgspec.Struct, frozen=True):
    """A prompt; ``text`` is null after it was erased."""

    id: str
    at: str
    text: str | None


class CallLine(msgspec.Struct, frozen=True):
    """A tool call, with the files it changed and the sources it read."""

    id: str
    name: str
    started: str
    ended: str | None
    status: str
    parent: str | None
    prompt: str | None
    subagent: str | None
    files: list[str]
    sources: list[str]


class SessionReport(Report, frozen=True, kw_only=True, tag="session"):
    """The prompts and calls of one session."""

    session: SessionLine
    prompts: list[PromptLine]
    calls: list[CallLine]


class RuleInForce(msgspec.Struct, frozen=True):
    """A rule: its value, its default, and where it was set, highest precedence first."""

    rule: str
    value: Any
    default: Any
    origins: list[str]


class RulesSource(msgspec.Struct, frozen=True):
    """A source of rules, lowest precedence first: read, absent, or a file without rules of custody."""

    name: str
    state: Literal["read", "absent", "foreign"]
    rules: int = 0


class RulesReport(Report, frozen=True, kw_only=True, tag="rules"):
    """The rules in force, the digest of each table shown, and the digest of all tables together.

    ``warnings`` has a sentence for each key of a file that no longer has an effect.
    """

    rules: list[RuleInForce]
    digests: dict[str, str]
    digest: str
    sources: list[RulesSource]
    warnings: list[str] = []


class SetUpFile(msgspec.Struct, frozen=True):
    """One file that ``init`` or ``uninstall`` checked: its owner, the action and the reason.

    ``by_hand`` is what the user has to add or remove, ``diff`` the change if nothing was written.
    """

    path: str
    whose: str
    done: Literal["created", "changed", "unchanged", "deleted", "restored", "by hand"]
    what: str
    by_hand: str | None = None
    diff: str | None = None


class InitReport(Report, frozen=True, kw_only=True, tag="init"):
    """The setup, or with ``dry_run`` the plan: the agents, and the homes with a copy of the hook.

    ``found`` has all agents on this machine. ``already`` has agents that were set up before and not chosen now; they
    are still recorded. ``off`` names, for a chosen agent, the setting that turns off all its hooks. ``backfill`` has
    the earlier transcripts of the chosen agents for this repository.
    """

    agents: list[str]
    found: list[str]
    already: list[str]
    off: dict[str, str]
    homes: list[str]
    files: list[SetUpFile]
    dry_run: bool
    backfill: dict[str, BackFill]


class UninstallReport(Report, frozen=True, kw_only=True, tag="uninstall"):
    """The removed parts: the homes without the hook now, and whether the evidence was deleted too."""

    homes: list[str]
    files: list[SetUpFile]
    purged: bool


def encode_report(report: Report) -> bytes:
    """Encode a report as canonical JSON."""
    return dump_canonical_json(msgspec.to_builtins(report))
