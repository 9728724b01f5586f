"""How are the store and its surroundings, and what should be done about it."""

import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from types import MappingProxyType

from custody.capture.hook.event_home import gaps_in
from custody.capture.hook.install import AGENTS, hook_argv, is_installed
from custody.core.ids import PENDING
from custody.core.wire.report import AgentHook, DoctorCheck, DoctorReport, HookReport
from custody.intake.install.agent_status import HookCheckResult, join_paths, look_at_hooks, report_agents
from custody.intake.install.site import list_hook_entries
from custody.store import SCHEMA_VERSION, DamagedStoreError, Store
from custody.workspace.workspace import Workspace

SPACE_BYTES_MIN = 256 * 1024 * 1024
"""Below this the doctor warns: a disk that fills up stops recording."""
AHEAD_NS_MAX = 5 * 60 * 1_000_000_000
"""A record further in the future than this means that a clock was wrong."""
SHOWN_MAX = 5
CLAUDE_CODE = "claude-code"


def doctor(workspace: Workspace, *, rebuild: bool = False) -> DoctorReport:
    """Look at everything that can go wrong; with ``rebuild`` make every view again from the records first."""
    returned = [event for spool in workspace.spools for event in spool.look_again()]
    rebuilt = _rebuild(workspace) if rebuild else None
    try:
        with workspace.reading() as store:
            checks = [
                DoctorCheck(name, *found) for name, look in STORE_LOOKS.items() for found in look(workspace, store)
            ]
            agents = report_agents(workspace, store)
    except DamagedStoreError as error:
        checks = [
            DoctorCheck("store", "ill", error.message, "run 'custody verify'; 'custody import' brings a copy back")
        ]
        agents = []
    if returned:
        checks.append(DoctorCheck("spool", "note", f"{len(returned)} event(s) that were set aside can be read now"))
    checks += [DoctorCheck(name, *found) for name, look in LOOKS.items() for found in look(workspace)]
    ill = any(check.state == "ill" for check in checks)
    return DoctorReport(
        outcome="found" if ill else "fine",
        store=workspace.store_name,
        checks=checks,
        rebuilt=rebuilt,
        hook=_commands(workspace),
        agents=agents,
    )


def glance(workspace: Workspace) -> list[DoctorCheck]:
    """The same for whoever looks often: without what reads every record, and without touching the spool."""
    try:
        with workspace.reading() as store:
            checks = [DoctorCheck(name, *found) for name, look in GLANCES.items() for found in look(workspace, store)]
    except DamagedStoreError as error:
        checks = [
            DoctorCheck("store", "ill", error.message, "run 'custody verify'; 'custody import' brings a copy back")
        ]
    return [*checks, *(DoctorCheck(name, *found) for name, look in LOOKS.items() for found in look(workspace))]


def _commands(workspace: Workspace) -> HookReport:
    """What each agent runs, or would once its settings say so; nothing before a hook is there."""
    if workspace.home is None:
        return HookReport(command=None, agents={})
    commands = {agent: hook_argv(workspace.home, agent) for agent in AGENTS} if is_installed(workspace.home) else {}
    # The work tree's own come first, and count where both are set up.
    commands |= {each.agent: each.argv for each in reversed(list_hook_entries(workspace)) if each.records and each.argv}
    agents = {agent: AgentHook(argv) for agent, argv in sorted(commands.items())}
    return HookReport(command=commands.get(CLAUDE_CODE), agents=agents)


def _rebuild(workspace: Workspace) -> int:
    with workspace.writing() as store:
        total = store.tables.record_count()
        workspace.progress.start("rebuilding views", total)
        store.views.rebuild(workspace.progress.step)
        return total


def _chains(_workspace: Workspace, store: Store) -> Iterator[HookCheckResult]:
    own = store.own()
    for head in store.tables.chains():
        if head.store != PENDING:
            whose = "own" if head.store == own else "kept from before, or a copy"
            yield "well", f"chain {head.store} has {head.seq} record(s), {whose}", None
    if own is None:
        yield "note", "nothing has been recorded yet", "records arrive as an agent works"


def _schema(_workspace: Workspace, store: Store) -> Iterator[HookCheckResult]:
    yield "well", f"schema {store.schema_version()} of {SCHEMA_VERSION}", None


def _writable(workspace: Workspace, store: Store) -> Iterator[HookCheckResult]:
    pending = store.tables.head(PENDING).seq
    if pending:
        yield (
            "ill",
            f"the store cannot be written; {pending} acknowledged event(s) wait in the spool and are shown from there",
            "free space or make the store writable; nothing is lost meanwhile",
        )


def _heads(workspace: Workspace, store: Store) -> Iterator[HookCheckResult]:
    for kept in store.heads.all() if store.heads else []:
        if kept.head is None or not kept.genuine:
            yield "ill", f"'{kept.name}' was not written under this machine's key", "run 'custody verify'"
            continue
        behind = store.tables.head(kept.head.store).seq - kept.head.seq
        if behind > 0:
            yield (
                "note",
                f"'{kept.name}' is {behind} record(s) behind: a writer was killed; the next one catches up",
                None,
            )
        elif behind < 0:
            yield "ill", f"chain {kept.head.store} lost its last {-behind} record(s)", "run 'custody verify'"


def _forks(_workspace: Workspace, store: Store) -> Iterator[HookCheckResult]:
    if forks := store.tables.forks():
        yield "ill", f"{len(forks)} record(s) claim places that others have", "run 'custody verify'"


def _behind(_workspace: Workspace, store: Store) -> Iterator[HookCheckResult]:
    behind = store.views.behind()
    yield (
        ("note", f"views are {behind} record(s) behind", "the next command catches up")
        if behind
        else (
            "well",
            "views are up to date",
            None,
        )
    )


def _views(workspace: Workspace, store: Store) -> Iterator[HookCheckResult]:
    yield from _behind(workspace, store)
    if unreadable := sum(1 for _ in store.views.unreadable()):
        yield "note", f"{unreadable} record(s) cannot be read by this version; they are kept", "upgrade custody"


def _observations(_workspace: Workspace, store: Store) -> Iterator[HookCheckResult]:
    for key, count in store.tables.second_observations(SHOWN_MAX):
        yield "note", f"'{key}' was observed {count} times with different content; all are kept", None


def _times(workspace: Workspace, store: Store) -> Iterator[HookCheckResult]:
    ahead = store.tables.count_after(workspace.now_ns() + AHEAD_NS_MAX)
    if ahead:
        yield (
            "note",
            f"{ahead} record(s) claim a time in the future: a clock was wrong; their order does not rest on it",
            None,
        )


def _spool(workspace: Workspace) -> Iterator[HookCheckResult]:
    waiting = sum(len(spool.names()) for spool in workspace.spools)
    yield "well", f"{waiting} event(s) wait in the spool" if waiting else "nothing waits in the spool", None
    refused = [wrong for spool in workspace.spools for wrong in spool.refused()]
    for wrong in refused[:SHOWN_MAX]:
        yield (
            "ill",
            f"the event file '{wrong.event}' was set aside: {wrong.why}",
            "it is kept in the spool's 'refused' folder",
        )
    if len(refused) > SHOWN_MAX:
        yield "ill", f"{len(refused) - SHOWN_MAX} more event file(s) were set aside", None
    if unfinished := [path for spool in workspace.spools for path in spool.unfinished()]:
        yield "note", f"{len(unfinished)} recorder(s) were killed before their event was acknowledged", None
    if strangers := [path for spool in workspace.spools for path in spool.strangers()]:
        yield "note", f"{len(strangers)} file(s) in the spool are not ours and were left alone", None


def _space(workspace: Workspace) -> Iterator[HookCheckResult]:
    if workspace.home is None:
        return
    free = shutil.disk_usage(_nearest(workspace.home)).free
    low = free < SPACE_BYTES_MIN
    yield (
        ("ill" if low else "well"),
        f"{free // 1024**2:,} MiB are free",
        "a full disk stops recording" if low else None,
    )


def _privacy(workspace: Workspace) -> Iterator[HookCheckResult]:
    if workspace.home is None or not workspace.home.exists():
        return
    mode = stat.S_IMODE(workspace.home.stat().st_mode)
    if mode & 0o077:
        yield "note", f"other users can look into '{workspace.home}' (mode {mode:o})", f"chmod 700 '{workspace.home}'"


def _nearest(path: Path) -> Path:
    return path if path.exists() else _nearest(path.parent)


def _gaps(workspace: Workspace) -> Iterator[HookCheckResult]:
    found = {folder / "gaps": gaps for folder in workspace.gap_folders if (gaps := gaps_in(folder))}
    if found:
        last = max((gap for gaps in found.values() for gap in gaps), key=_moment)
        yield (
            "note",
            f"{sum(map(len, found.values()))} gap(s): something could not be recorded; the last one: {last}",
            f"what is known of each is in {join_paths(found)}; delete what you have seen: the chain keeps it",
        )


def _moment(gap: str) -> int:
    """When a gap was counted; one that the shell counted does not say."""
    first = gap.partition(" ")[0]
    return int(first) if first.isascii() and first.isdigit() else 0


STORE_LOOKS: MappingProxyType[str, Callable[[Workspace, Store], Iterator[HookCheckResult]]] = MappingProxyType(
    {
        "chains": _chains,
        "schema": _schema,
        "writable": _writable,
        "heads": _heads,
        "forks": _forks,
        "views": _views,
        "observations": _observations,
        "times": _times,
    }
)
GLANCES = MappingProxyType(
    {**{name: look for name, look in STORE_LOOKS.items() if name != "observations"}, "views": _behind}
)
"""Those that a store of any size answers at once."""
LOOKS: MappingProxyType[str, Callable[[Workspace], Iterator[HookCheckResult]]] = MappingProxyType(
    {"spool": _spool, "gaps": _gaps, "hook": look_at_hooks, "space": _space, "privacy": _privacy}
)
