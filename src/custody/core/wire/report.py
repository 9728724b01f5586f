"""What verbs answer, as JSON: one shape for ``--json``, HTTP and stored evidence, each with its name and version."""

from typing import Any, Literal

import msgspec

from custody.core.record import Damage
from custody.core.wire.canonical import dump


class Report(msgspec.Struct, frozen=True, kw_only=True, tag_field="report"):
    """What every report says: its version, and whether the verb found what it looks for."""

    version: Literal[1] = 1
    outcome: Literal["fine", "found"] = "fine"


class IntegrityFinding(msgspec.Struct, frozen=True):
    """One thing that is wrong: its code, a sentence, and the record if it is about one."""

    code: str
    what: str
    record: str | None = None


def finding_of(damage: Damage) -> IntegrityFinding:
    """A damage as reports show it."""
    return IntegrityFinding(damage.code.label, damage.what, None if damage.record is None else str(damage.record))


class Chain(msgspec.Struct, frozen=True):
    """One chain: its store, how many records it holds, its last link, whether this store appends to it."""

    store: str
    records: int
    link: str
    own: bool


class VerifyReport(Report, frozen=True, kw_only=True, tag="verify"):
    """What was checked and what is wrong; ``withheld`` bodies stayed with the stores that shared their chains."""

    chains: list[Chain]
    records: int
    bodies: int
    erased: int
    pending: int
    findings: list[IntegrityFinding]
    withheld: int = 0


class DoctorCheck(msgspec.Struct, frozen=True):
    """One look of the doctor's: what was looked at, how it is, and what to do when it is not well."""

    name: str
    state: Literal["well", "note", "ill"]
    what: str
    hint: str | None = None


class AgentHook(msgspec.Struct, frozen=True):
    """The program and words that an agent's hook runs."""

    command: list[str]


class HookReport(msgspec.Struct, frozen=True):
    """What Claude Code runs (null before ``custody init``), and what each agent would."""

    command: list[str] | None
    agents: dict[str, AgentHook]


class BackFill(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent left on disk of this repository: files, and sessions of which nothing is recorded.

    Only the newest files are looked at (``looked_at``); ``trouble`` says why one could not be.
    """

    transcripts: int
    new_sessions: int
    looked_at: int
    trouble: str | None = None


class AgentReport(msgspec.Struct, frozen=True, kw_only=True):
    """One agent: whether it is here, whether its settings run our hook, when something last came from it.

    ``last_live`` is the last event of a hook, ``last`` the last of any kind. ``hooks`` is 'set up', 'partly' where some
    events do not run our hook, 'misled' where settings run a hook from which nothing comes here, 'off' where a setting
    turns all hooks off, 'unreadable' where its settings cannot be read, 'not set up', or 'none' for an agent that has
    none. ``hint`` is what to know of an agent whose hooks are set up and have never fired.
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
    """How the store and its surroundings are."""

    store: str
    checks: list[DoctorCheck]
    hook: HookReport
    agents: list[AgentReport]
    rebuilt: int | None = None


class ExportReport(Report, frozen=True, kw_only=True, tag="export"):
    """What was written."""

    path: str
    chains: int
    records: int
    bodies: int
    erased: int
    forks: int
    pending: int
    bytes: int


class ImportedChain(msgspec.Struct, frozen=True):
    """What became of one chain."""

    store: str
    new: int
    known: int
    forked: int


class ImportReport(Report, frozen=True, kw_only=True, tag="import"):
    """What was read and what became of it; with findings, nothing was imported."""

    path: str
    chains: list[ImportedChain]
    pending: int
    findings: list[IntegrityFinding]


class ImportProblem(msgspec.Struct, frozen=True):
    """Something that could not be used, or not wholly: in which file, on which line, and why."""

    file: str
    line: int | None
    what: str


class ImportTranscriptsReport(Report, frozen=True, kw_only=True, tag="import-transcripts"):
    """What was read of an agent's transcripts and what became of it; of the problems the first 1,000.

    ``known`` lines were in the store already, ``repeated`` ones stood in these files before.
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


class ImportAgentsReport(Report, frozen=True, kw_only=True, tag="import-agents"):
    """What was read of every agent; ``without`` left nothing of this repository, ``trouble`` could not be looked at."""

    agents: list[ImportTranscriptsReport]
    without: list[str]
    trouble: dict[str, str]


class ImportTracesReport(Report, frozen=True, kw_only=True, tag="import-traces"):
    """What was read of other tools' traces; what could not be is named."""

    path: str
    traces: int
    links: int
    known: int
    problem_count: int
    problems: list[ImportProblem]


class ExportTracesReport(Report, frozen=True, kw_only=True, tag="export-traces"):
    """How many Agent Trace records were written, and how many edits were left out for want of known lines."""

    path: str
    records: int
    left_out: int


class ImportEventsReport(Report, frozen=True, kw_only=True, tag="import-events"):
    """What was read of a file of generic events; of the problems the first 1,000."""

    path: str
    lines: int
    new: int
    known: int
    problems: list[ImportProblem]
    problem_count: int


class EraseReport(Report, frozen=True, kw_only=True, tag="erase"):
    """What was erased, and the records that say so."""

    erased: list[str]
    records: list[str]


class RecordSummary(msgspec.Struct, frozen=True):
    """One record as it is listed; ``number`` is its place in this store's own chain, None in another's."""

    record: str
    number: int | None
    at: str
    kind: str
    key: str
    event: str
    digest: str


class RecordsReport(Report, frozen=True, kw_only=True, tag="records"):
    """The newest records, and how many there are in all."""

    records: list[RecordSummary]
    total: int


class ShowReport(Report, frozen=True, kw_only=True, tag="show"):
    """Records with what each says, in the same order; an erased one says null."""

    records: list[RecordSummary]
    payloads: list[Any]


class SessionLine(msgspec.Struct, frozen=True):
    """One session as it is listed; ``events`` counts everything that was captured of it."""

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


class AgentLine(msgspec.Struct, frozen=True):
    """One agent: how many sessions it had, and when it was last active."""

    agent: str
    sessions: int
    last: str


class LogReport(Report, frozen=True, kw_only=True, tag="log"):
    """The sessions that were active last, and how many there are in all; ``agents`` counts those of each."""

    sessions: list[SessionLine]
    total: int
    agents: list[AgentLine]


class PromptLine(msgspec.Struct, frozen=True):
    """What a person asked; null once it was erased."""

    id: str
    at: str
    text: str | None


class CallLine(msgspec.Struct, frozen=True):
    """A call of a tool, with the files it changed and the sources it read."""

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
    """What happened in one session."""

    session: SessionLine
    prompts: list[PromptLine]
    calls: list[CallLine]


class RuleInForce(msgspec.Struct, frozen=True):
    """A rule: the value in force, its default, and where it was set, the strongest place first."""

    rule: str
    value: Any
    default: Any
    origins: list[str]


class RulesSource(msgspec.Struct, frozen=True):
    """A place that was looked at for rules, weakest first: read, absent, or there but with nothing for custody."""

    name: str
    state: Literal["read", "absent", "foreign"]
    rules: int = 0


class RulesReport(Report, frozen=True, kw_only=True, tag="rules"):
    """The rules in force, the digest of each table shown, and the digest of all tables together.

    ``warnings`` has a sentence for each key of a file that has no effect any more.
    """

    rules: list[RuleInForce]
    digests: dict[str, str]
    digest: str
    sources: list[RulesSource]
    warnings: list[str] = []


class SetUpFile(msgspec.Struct, frozen=True):
    """One file that ``init`` or ``uninstall`` looked at: whose it is, what was done to it and why.

    ``by_hand`` is what the user is asked to add or remove, ``diff`` the change when nothing was written.
    """

    path: str
    whose: str
    done: Literal["created", "changed", "unchanged", "deleted", "restored", "by hand"]
    what: str
    by_hand: str | None = None
    diff: str | None = None


class InitReport(Report, frozen=True, kw_only=True, tag="init"):
    """What was set up, or with ``dry_run`` would be: the agents, and the homes that have a copy of the hook.

    ``found`` are the agents that are on this machine, chosen or not; ``already`` those that were not chosen now and are
    recorded all the same, since they were set up before. ``off`` says of each chosen agent whose settings turn all
    hooks off which of them does. ``backfill`` is what those that were chosen left on disk of this repository before.
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
    """What was taken away: the homes whose copy of the hook is gone, and whether the evidence went too."""

    homes: list[str]
    files: list[SetUpFile]
    purged: bool


def encode_report(report: Report) -> bytes:
    """A report as canonical JSON."""
    return dump(msgspec.to_builtins(report))
