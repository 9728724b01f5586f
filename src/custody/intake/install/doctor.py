"""Checks of the setup, the store and the disk, each with a hint."""

import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from shlex import quote
from types import MappingProxyType

from custody.capture.hook.event_home import read_capture_gaps
from custody.capture.hook.install import AGENTS, hook_argv, is_hook_installed
from custody.capture.spool import RejectedFile
from custody.core.ids import PENDING
from custody.core.plural import count_noun, noun_for_count
from custody.core.wire.report import AgentHook, DoctorCheck, DoctorReport, HookReport
from custody.intake.install.agent_status import (
    CheckState,
    HookCheckResult,
    check_agent_hooks,
    format_settings_paths,
    report_agent_status,
)
from custody.intake.install.site import list_hook_entries
from custody.store import SCHEMA_VERSION, DamagedStoreError, SchemaMismatchError, Store
from custody.workspace.workspace import Workspace

SPACE_BYTES_MIN = 256 * 1024 * 1024
"""With less free space the doctor warns: a full disk stops recording."""
AHEAD_NS_MAX = 5 * 60 * 1_000_000_000
"""A record further in the future than this means that a clock was wrong."""
SHOWN_MAX = 5
CLAUDE_CODE = "claude-code"


def run_doctor_checks(workspace: Workspace, *, rebuild: bool = False) -> DoctorReport:
    """Run every check; with ``rebuild``, first rebuild all views from the records."""
    restored = [event for spool in workspace.spools for event in spool.restore_readable_files()]
    rebuilt = _rebuild_store_views(workspace) if rebuild else None
    try:
        with workspace.reading() as store:
            checks = [
                DoctorCheck(name, *result) for name, check in STORE_CHECKS.items() for result in check(workspace, store)
            ]
            agents = report_agent_status(workspace, store)
    except DamagedStoreError as error:
        checks = [_make_damaged_store_check(error)]
        agents = []
    except SchemaMismatchError:
        checks = _list_schema_checks(workspace)
        agents = []
    if restored:
        count = count_noun(len(restored), "event")
        checks.append(DoctorCheck("spool", "note", f"{count} set aside earlier can be read now"))
    checks += [DoctorCheck(name, *result) for name, check in SITE_CHECKS.items() for result in check(workspace)]
    ill = any(check.state == "ill" for check in checks)
    return DoctorReport(
        outcome="found" if ill else "fine",
        store=workspace.store_name,
        checks=checks,
        rebuilt=rebuilt,
        hook=_report_hook_commands(workspace),
        agents=agents,
    )


def run_quick_doctor_checks(workspace: Workspace) -> list[DoctorCheck]:
    """Run the checks that are fast: without those that read every record, and without changing the spool."""
    try:
        with workspace.reading() as store:
            checks = [
                DoctorCheck(name, *result) for name, check in QUICK_CHECKS.items() for result in check(workspace, store)
            ]
    except DamagedStoreError as error:
        checks = [_make_damaged_store_check(error)]
    except SchemaMismatchError:
        checks = _list_schema_checks(workspace)
    site_checks = (DoctorCheck(name, *result) for name, check in SITE_CHECKS.items() for result in check(workspace))
    return [*checks, *site_checks]


def _make_damaged_store_check(error: DamagedStoreError) -> DoctorCheck:
    return DoctorCheck("store", "ill", error.message, "run 'custody verify'; 'custody import' restores an export")


def _list_schema_checks(workspace: Workspace) -> list[DoctorCheck]:
    """Return the check of the schema alone, for a store that other checks cannot read."""
    with workspace.inspecting() as store:
        return [DoctorCheck("schema", *result) for result in _diagnose_store_schema(workspace, store)]


def _report_hook_commands(workspace: Workspace) -> HookReport:
    """Return the command that each agent runs, or would run with the right settings; none before a hook exists."""
    if workspace.home is None:
        return HookReport(command=None, agents={})
    commands = (
        {agent: hook_argv(workspace.home, agent) for agent in AGENTS} if is_hook_installed(workspace.home) else {}
    )
    # The work tree's entries come first, and win if both levels are set up.
    entries = reversed(list_hook_entries(workspace))
    commands |= {entry.agent: entry.argv for entry in entries if entry.records and entry.argv}
    agents = {agent: AgentHook(argv) for agent, argv in sorted(commands.items())}
    return HookReport(command=commands.get(CLAUDE_CODE), agents=agents)


def _rebuild_store_views(workspace: Workspace) -> int:
    with workspace.writing() as store:
        total = store.tables.record_count()
        workspace.progress.start("rebuilding views", total)
        store.views.rebuild(workspace.progress.step)
        return total


def _diagnose_store_chains(_workspace: Workspace, store: Store) -> Iterator[HookCheckResult]:
    own, sealed = store.own(), store.read_sealed_positions() or {}
    for head in store.tables.chains():
        if head.store != PENDING:
            origin = "own" if head.store == own else "an earlier chain, or a copy"
            verified = "" if store.is_shared else f", {sealed.get(head.store, 0):,} verified"
            yield "well", f"chain {head.store}: {count_noun(head.seq, 'record')}{verified} ({origin})", None
    if own is None:
        yield "note", "nothing has been recorded yet", "records are added while an agent works"


def _diagnose_store_schema(_workspace: Workspace, store: Store) -> Iterator[HookCheckResult]:
    differences = store.compare_schema()
    restore = "restore a backup" if store.is_shared else "move the store away and import an export or a backup"
    for difference in differences[:SHOWN_MAX]:
        yield "ill", difference, f"another program changed the schema: {restore}"
    if len(differences) > SHOWN_MAX:
        yield "ill", f"{count_noun(len(differences) - SHOWN_MAX, 'more difference')} in the schema", None
    if not differences:
        yield "well", f"schema {store.schema_version()} of {SCHEMA_VERSION}", None


def _diagnose_unwritable_store(workspace: Workspace, store: Store) -> Iterator[HookCheckResult]:
    pending = store.tables.head(PENDING).seq
    if pending:
        yield (
            "ill",
            f"cannot write the store; {count_noun(pending, 'event')} pending in the spool, and used from there",
            "free disk space or make the store writable; no event is lost",
        )


def _diagnose_head_files(workspace: Workspace, store: Store) -> Iterator[HookCheckResult]:
    for stored in store.heads.read_all() if store.heads else []:
        if stored.head is None or not stored.genuine:
            yield "ill", f"'{stored.name}' was not written with this machine's key", "run 'custody verify'"
            continue
        behind = store.tables.head(stored.head.store).seq - stored.head.seq
        if behind > 0:
            count = count_noun(behind, "record")
            yield "note", f"'{stored.name}' is {count} behind: a writer was killed; the next one catches up", None
        elif behind < 0:
            what = f"chain {stored.head.store} lost its last {count_noun(-behind, 'record')}"
            yield "ill", what, "run 'custody verify'"


def _diagnose_chain_forks(_workspace: Workspace, store: Store) -> Iterator[HookCheckResult]:
    if forks := store.tables.forks():
        have = noun_for_count(len(forks), "has a conflicting position", "have conflicting positions")
        yield "ill", f"{count_noun(len(forks), 'record')} {have}", "run 'custody verify'"


def _diagnose_view_lag(_workspace: Workspace, store: Store) -> Iterator[HookCheckResult]:
    behind = store.views.count_unread_records()
    if behind:
        yield "note", f"views are {count_noun(behind, 'record')} behind", "the next command catches up"
    else:
        yield "well", "views are up to date", None


def _diagnose_store_views(workspace: Workspace, store: Store) -> Iterator[HookCheckResult]:
    yield from _diagnose_view_lag(workspace, store)
    if unreadable := sum(1 for _ in store.views.find_unreadable_records()):
        yield (
            "note",
            f"this version cannot read {count_noun(unreadable, 'record')}; they stay stored",
            "upgrade custody",
        )


def _diagnose_repeated_observations(_workspace: Workspace, store: Store) -> Iterator[HookCheckResult]:
    for key, count in store.tables.second_observations(SHOWN_MAX):
        yield "note", f"'{key}' was recorded {count} times with different content; all are stored", None


def _diagnose_future_timestamps(workspace: Workspace, store: Store) -> Iterator[HookCheckResult]:
    ahead = store.tables.count_after(workspace.now_ns() + AHEAD_NS_MAX)
    if ahead:
        yield (
            "note",
            f"{count_noun(ahead, 'record')} with a time in the future: a clock was wrong; the order is not affected",
            None,
        )


def _diagnose_event_spool(workspace: Workspace) -> Iterator[HookCheckResult]:
    pending = sum(len(spool.names()) for spool in workspace.spools)
    yield "well", f"{count_noun(pending, 'event')} pending in the spool" if pending else "the spool is empty", None
    rejected = [file for spool in workspace.spools for file in spool.list_rejected_files()]
    yield from _diagnose_rejected_files("ill", [file for file in rejected if file.is_damaged])
    yield from _diagnose_rejected_files("note", [file for file in rejected if not file.is_damaged])
    if unfinished := [path for spool in workspace.spools for path in spool.list_unfinished_files()]:
        count = count_noun(len(unfinished), "recorder")
        yield "note", f"{count} killed before the event was acknowledged", None
    if foreign := [path for spool in workspace.spools for path in spool.list_foreign_files()]:
        yield "note", f"{count_noun(len(foreign), 'unknown file')} in the spool, not touched", None


def _diagnose_rejected_files(state: CheckState, files: Sequence[RejectedFile]) -> Iterator[HookCheckResult]:
    for file in files[:SHOWN_MAX]:
        path = quote(str(file.path))
        again = "" if file.is_damaged else "; when it can be read, 'custody doctor' ingests it"
        yield (
            state,
            f"the event file '{file.event}' was set aside: {file.why}",
            f"inspect it with: cat {path}{again}; remove it with: rm {path} (it stays a gap in the recording)",
        )
    if len(files) > SHOWN_MAX:
        yield (
            state,
            f"{count_noun(len(files) - SHOWN_MAX, 'more event file')} set aside",
            f"ls {quote(str(files[0].path.parent))}",
        )


def _diagnose_disk_space(workspace: Workspace) -> Iterator[HookCheckResult]:
    if workspace.home is None:
        return
    free = shutil.disk_usage(_nearest_existing_folder(workspace.home)).free
    low = free < SPACE_BYTES_MIN
    yield (
        ("ill" if low else "well"),
        f"{free // 1024**2:,} MiB free",
        "a full disk stops recording" if low else None,
    )


def _diagnose_home_privacy(workspace: Workspace) -> Iterator[HookCheckResult]:
    if workspace.home is None or not workspace.home.exists():
        return
    mode = stat.S_IMODE(workspace.home.stat().st_mode)
    if mode & 0o077:
        yield "note", f"other users can read '{workspace.home}' (mode {mode:o})", f"chmod 700 '{workspace.home}'"


def _nearest_existing_folder(path: Path) -> Path:
    return path if path.exists() else _nearest_existing_folder(path.parent)


def _diagnose_recording_gaps(workspace: Workspace) -> Iterator[HookCheckResult]:
    gaps_by_file = {folder / "gaps": gaps for folder in workspace.gap_folders if (gaps := read_capture_gaps(folder))}
    if gaps_by_file:
        last = max((gap for gaps in gaps_by_file.values() for gap in gaps), key=_parse_gap_timestamp)
        count = count_noun(sum(map(len, gaps_by_file.values())), "event")
        yield (
            "note",
            f"{count} not recorded; the last one: {last}",
            f"details are in {format_settings_paths(gaps_by_file)}; you can delete it: the chain has the records",
        )


def _parse_gap_timestamp(gap: str) -> int:
    """Return the time of a gap; 0 for one that the shell wrote, which has none."""
    first = gap.partition(" ")[0]
    return int(first) if first.isascii() and first.isdigit() else 0


STORE_CHECKS: MappingProxyType[str, Callable[[Workspace, Store], Iterator[HookCheckResult]]] = MappingProxyType(
    {
        "chains": _diagnose_store_chains,
        "schema": _diagnose_store_schema,
        "writable": _diagnose_unwritable_store,
        "heads": _diagnose_head_files,
        "forks": _diagnose_chain_forks,
        "views": _diagnose_store_views,
        "observations": _diagnose_repeated_observations,
        "times": _diagnose_future_timestamps,
    }
)
QUICK_CHECKS = MappingProxyType(
    {**{name: check for name, check in STORE_CHECKS.items() if name != "observations"}, "views": _diagnose_view_lag}
)
"""The checks that are fast on a store of any size."""
SITE_CHECKS: MappingProxyType[str, Callable[[Workspace], Iterator[HookCheckResult]]] = MappingProxyType(
    {
        "spool": _diagnose_event_spool,
        "gaps": _diagnose_recording_gaps,
        "hook": check_agent_hooks,
        "space": _diagnose_disk_space,
        "privacy": _diagnose_home_privacy,
    }
)
