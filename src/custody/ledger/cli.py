"""The verbs for records: log, show, records, erase.

May touch the terminal. Calls use cases and renders their reports.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import click
from msgspec import Struct

from custody.core.errors import InputError
from custody.core.plural import count_noun, noun_for_count
from custody.terminal.dates import format_clock_time, format_duration, format_time, format_when
from custody.terminal.frame import current_screen, json_option, open_command_workspace, print_command_report
from custody.terminal.screen import Screen, StyledText, TextLine, escape_controls, text_columns

if TYPE_CHECKING:
    from custody.core.wire.report import (
        CallLine,
        EraseReport,
        LogReport,
        PromptLine,
        RecordsReport,
        RecordSummary,
        SessionLine,
        SessionReport,
        ShowReport,
        StoreReport,
    )


@click.command("store")
@json_option
@click.pass_context
def store_command(ctx: click.Context, *, as_json: bool) -> int:
    """Show the name and public key of this store.

    A team that lists the store in custody.toml of its base branch can tell its records from others. The key is made
    when it is first shown; it stays on this machine.

    \b
    Examples:
      custody store
      custody store --json
    """
    from custody.workspace.store_identity import describe_store

    report = describe_store(open_command_workspace(ctx))
    return print_command_report(report, "\n".join(_render_store(report)), as_json=as_json)


def _render_store(report: StoreReport) -> Iterator[str]:
    yield f"Store {report.name} ({'enrolled' if report.enrolled else 'not enrolled'})"
    yield f"  id   {report.id}"
    yield f"  key  {report.key}"
    if report.enrolled:
        return
    if report.listed_key is not None:
        yield f"custody.toml of HEAD lists it with another key, or its entry expired: {report.listed_key}"
    yield "To enroll it, add this line to [stores] in custody.toml and merge it into the base branch:"
    yield f"  {report.line}"


@click.command("erase")
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...")
@click.option("--reason", required=True, help="The reason, stored in the record of the erasure.")
@click.option("--who", help="The person who requests it (default: the user of this machine).")
@click.option("--yes", is_flag=True, help="Do not prompt.")
@json_option
@click.pass_context
def erase_command(
    ctx: click.Context, targets: tuple[str, ...], *, reason: str, who: str | None, yes: bool, as_json: bool
) -> int:
    """Erase the contents of a record.

    TARGET is a record (its number in this store, STORE:NUMBER, its event id or its natural key), or the digest of one
    stored text (8 digits or more). For a record, all its texts are erased. The bytes are overwritten (in PostgreSQL:
    released for reuse). The record stays in the chain and still verifies. This cannot be undone. Exported or shared
    copies are not erased.

    \b
    Examples:
      custody erase 17 --reason "a customer's name in a prompt"
      custody erase sha256:9f86d081 --reason "leaked key" --who ana --yes
    """
    from custody.ledger.records import erase_record_bodies, preview_record_erasure

    workspace = open_command_workspace(ctx)
    if not yes:
        if not sys.stdin.isatty():
            raise InputError("cannot prompt without a terminal", hint="pass --yes to erase")
        for sentence in preview_record_erasure(workspace, targets):
            click.echo(f"  {sentence}", err=True)
        click.confirm("Erase these texts? This cannot be undone.", abort=True, err=True)
    report = erase_record_bodies(workspace, targets, who=who, why=reason)
    return print_command_report(report, _render_erased_records(report), as_json=as_json)


def _render_erased_records(report: EraseReport) -> str:
    return "\n".join(
        f"erased {digest} (record {record})" for digest, record in zip(report.erased, report.records, strict=True)
    )


MARKS = {"ok": " ", "running": "…", "failed": "!", "abandoned": "?"}
PROMPT_WIDTH = 100
DATE_WIDTH = len("2026-03-03")
PROMPT_TITLE = StyledText("FIRST PROMPT", "muted")
PROMPT_COLUMNS_MIN = 20
PROMPT_COLUMNS_PIPED = 55
"""The width of the column of prompts where no terminal is; longer prompts move the rest of their row."""
PROMPT_CHARACTERS_PIPED_MAX = 200
"""Characters of a listed prompt where no terminal is; ``--json`` has all of them."""
SESSION_TITLES = ("SESSION", "LAST ACTIVE", "AGENT", "TIME", "FILES")
IMPORTED = "imported"
AGENT_COLUMNS_MAX = 20
STACKED_INDENT = 2
ERASED_PROMPT = "(erased, or shared without text)"
SESSIONS_LISTED_MAX = 10_000
MORE_SESSIONS = 4
"""How many times more sessions the hint offers."""


@click.command("log")
@click.argument("session", required=False)
@click.option(
    "-n",
    "limit",
    type=click.IntRange(1, SESSIONS_LISTED_MAX),
    default=20,
    show_default=True,
    help="Show at most this many.",
)
@click.option("--agent", metavar="NAME", help="Show only sessions of this agent.")
@click.option(
    "--grep",
    "prompt_text",
    metavar="TEXT",
    help="Show only sessions with these words in a row in a prompt.",
)
@click.option("--by-agent", is_flag=True, help="Count sessions by agent instead.")
@click.option("--tree", is_flag=True, help="Indent calls below their parent call or subagent.")
@json_option
@click.pass_context
def log_command(  # noqa: PLR0913 - one for each option
    ctx: click.Context,
    session: str | None,
    *,
    limit: int,
    agent: str | None,
    prompt_text: str | None,
    by_agent: bool,
    tree: bool,
    as_json: bool,
) -> int:
    """List recorded sessions, or show one.

    Without SESSION, list the last active sessions with their first prompt. With SESSION (its id or the start of it),
    show its prompts and calls in order, with changed files and read sources.

    \b
    Examples:
      custody log
      custody log --grep refund
      custody log 5d2f0c3e --tree
      custody log --by-agent
    """
    from custody.ledger.sessions import list_session_log, shorten_session_ids, show_session_log

    workspace = open_command_workspace(ctx)
    if session is None:
        log = list_session_log(workspace, limit=limit, agent=agent, prompt_text=prompt_text, with_prompts=True)
        if by_agent:
            return print_command_report(log, _render_sessions_by_agent(log, agent, prompt_text), as_json=as_json)
        ids = {} if as_json else shorten_session_ids(workspace, [line.session for line in log.sessions])
        search = SessionSearch(limit, agent, prompt_text)
        lines = render_session_list(log, ids, search, current_screen(), workspace.now_ns())
        return print_command_report(log, lines, as_json=as_json)
    if by_agent or prompt_text is not None:
        option = "--by-agent" if by_agent else "--grep"
        raise InputError(f"{option} and SESSION are mutually exclusive", hint="pass one of them")
    report = show_session_log(workspace, session, agent=agent)
    return print_command_report(report, render_session_log(report, current_screen(), tree=tree), as_json=as_json)


class SessionSearch(Struct, frozen=True):
    """The filters of a list of sessions."""

    limit: int
    agent: str | None = None
    prompt_text: str | None = None


class _SessionEntry(Struct, frozen=True):
    """The texts of one session in the list, without control characters."""

    id: str
    active: str
    agent: str
    prompt: StyledText
    duration: str
    files: str
    note: str


def render_session_list(
    report: LogReport, ids: Mapping[str, str], search: SessionSearch, screen: Screen, now_ns: int
) -> Iterator[TextLine]:
    """Yield the sessions: one row each where the screen is wide, else two lines each; ``ids`` are their short ids."""
    if not report.sessions:
        yield _render_no_sessions(search.agent, search.prompt_text)
        if search.agent is None and search.prompt_text is None:
            yield StyledText("hint: custody import reads past sessions of agents", "muted")
        return
    entries = [_make_session_entry(session, ids, now_ns) for session in report.sessions]
    yield from _render_session_table(entries, screen) if screen.is_wide else _render_session_pairs(entries, screen)
    yield ""
    count, hint = _summarize_session_list(report, search), _choose_session_hint(report, ids, search)
    yield (count, StyledText(screen.cut(hint, screen.columns - text_columns(count)), "muted"))


def _make_session_entry(session: SessionLine, ids: Mapping[str, str], now_ns: int) -> _SessionEntry:
    return _SessionEntry(
        id=escape_controls(ids[session.session]),
        active=format_when(session.ended or session.last, now_ns),
        agent=escape_controls(session.agent),
        prompt=_render_first_prompt(session),
        duration=format_duration(session.started, session.ended or session.started),
        files=count_noun(len(session.files), "file") if session.files else "no edits",
        note=IMPORTED if session.imported else "",
    )


def _render_first_prompt(session: SessionLine) -> StyledText:
    if session.prompt is not None:
        return StyledText(escape_controls(" ".join(session.prompt.split())))
    return StyledText(ERASED_PROMPT if session.prompts else "(no prompt recorded)", "muted")


def _render_session_table(entries: Sequence[_SessionEntry], screen: Screen) -> Iterator[TextLine]:
    """Yield a row for each session; only prompts are cut. A long prompt that is not cut moves no other row."""
    names = [screen.cut(entry.agent, AGENT_COLUMNS_MAX) for entry in entries]
    facts = [(e.id, e.active, name, e.duration, e.files) for e, name in zip(entries, names, strict=True)]
    widths = [max(map(text_columns, column)) for column in zip(SESSION_TITLES, *facts, strict=True)]
    notes = max(text_columns(entry.note) + 2 for entry in entries) if any(entry.note for entry in entries) else 0
    room = max(screen.columns - sum(widths) - 2 * len(widths) - notes, PROMPT_COLUMNS_MIN)
    prompts = [StyledText(_cut_listed_prompt(entry.prompt.text, room, screen), entry.prompt.role) for entry in entries]
    longest = max(text_columns(prompt.text) for prompt in (PROMPT_TITLE, *prompts))
    prompt_width = min(longest, room if screen.is_terminal else PROMPT_COLUMNS_PIPED)
    titles = [StyledText(title, "muted") for title in SESSION_TITLES]
    cells = [[StyledText(fact) for fact in row] for row in facts]
    remarks = ["", *(f"  {entry.note}" if entry.note else "" for entry in entries)]
    for row, prompt, remark in zip((titles, *cells), (PROMPT_TITLE, *prompts), remarks, strict=True):
        id_, active, agent, duration, files = map(_pad_session_cell, row, widths)
        who = agent if row is titles else (StyledText(agent[0].text, "agent"), agent[1])
        text = _pad_session_cell(prompt, prompt_width)
        facts_after = (*duration, "  ", *reversed(files), StyledText(remark, "muted"))
        yield (*id_, "  ", *active, "  ", *who, "  ", *text, "  ", *facts_after)


def _cut_listed_prompt(prompt: str, room: int, screen: Screen) -> str:
    """Return as much of a prompt as fits: a pasted plan has many screens, on a pipe too."""
    if screen.is_terminal or len(prompt) <= PROMPT_CHARACTERS_PIPED_MAX:
        return screen.cut(prompt, room)
    return prompt[:PROMPT_CHARACTERS_PIPED_MAX].rstrip() + ("…" if screen.has_unicode else "...")


def _pad_session_cell(cell: StyledText, width: int) -> tuple[StyledText, str]:
    return cell, " " * (width - text_columns(cell.text))


def _render_session_pairs(entries: Sequence[_SessionEntry], screen: Screen) -> Iterator[TextLine]:
    """Yield two lines for each session: its prompt, and below it the facts."""
    indent = max(text_columns(entry.id) for entry in entries) + 2
    room = max(screen.columns - indent, 1)
    for entry in entries:
        yield (
            *_pad_session_cell(StyledText(entry.id), indent),
            StyledText(screen.cut(entry.prompt.text, room), entry.prompt.role),
        )
        agent = screen.cut(entry.agent, min(room, AGENT_COLUMNS_MAX))
        note = f" · {entry.note}" if entry.note else ""
        facts = f" · {entry.active} · {entry.duration} · {entry.files}{note}"
        if text_columns(agent + facts) <= room or not screen.is_terminal:
            yield " " * indent, StyledText(agent, "agent"), StyledText(facts, "muted")
        else:
            yield from _render_stacked_facts(entry, screen)


def _render_stacked_facts(entry: _SessionEntry, screen: Screen) -> Iterator[TextLine]:
    """Yield the facts of a session below each other, for a terminal with too few columns for one line."""
    room = screen.columns - STACKED_INDENT
    yield " " * STACKED_INDENT, StyledText(screen.cut(entry.agent, room), "agent")
    for fact in filter(None, (entry.active, f"{entry.duration} · {entry.files}", entry.note)):
        yield " " * STACKED_INDENT, StyledText(screen.cut(fact, room), "muted")


def _summarize_session_list(report: LogReport, search: SessionSearch) -> str:
    shown = "" if report.total == len(report.sessions) else f"{len(report.sessions):,} of "
    noun = "session" if search.prompt_text is None else "matching session"
    return f"{shown}{count_noun(report.total, noun)}. "


def _choose_session_hint(report: LogReport, ids: Mapping[str, str], search: SessionSearch) -> str:
    if report.total > len(report.sessions):
        first = f"-n {min(MORE_SESSIONS * search.limit, SESSIONS_LISTED_MAX)} for more"
    else:
        first = f"custody log {ids[report.sessions[0].session]} shows one"
    return f"hint: {first}" + (", --grep TEXT searches prompts" if search.prompt_text is None else "")


def _render_no_sessions(agent: str | None, prompt_text: str | None) -> str:
    of_agent = "" if agent is None else f" of {agent}"
    if prompt_text is not None:
        return f"no session{of_agent} has a prompt with '{prompt_text}'"
    return f"no session{of_agent} has been recorded here yet"


def _render_sessions_by_agent(report: LogReport, agent: str | None, prompt_text: str | None) -> str:
    if not report.agents:
        return _render_no_sessions(agent, prompt_text)
    width = max(len(line.agent) for line in report.agents)
    return "\n".join(
        f"{line.agent:<{width}}  {line.sessions:>6,} {noun_for_count(line.sessions, 'session'):<8}"
        f"  last {format_time(line.last)}"
        for line in report.agents
    )


def _render_session_head(session: SessionLine) -> Iterator[str]:
    nouns = ((session.prompts, "prompt"), (session.calls, "call"), (len(session.files), "file"))
    counts = ", ".join(count_noun(count, noun) for count, noun in nouns)
    yield f"{format_time(session.started)}  {session.agent}  {session.session}"
    yield f"  {session.model or 'unknown model'}, {counts}"


def render_session_log(report: SessionReport, screen: Screen, *, tree: bool) -> Iterator[TextLine]:
    """Yield the files, prompts and calls of a session in order, with the date where it changes.

    Times are in the reader's zone. On a terminal, each prompt and call is one line.
    """
    yield from _render_session_head(report.session)
    for file in report.session.files:
        yield f"  changed {file}"
    date = format_time(report.session.started)[:DATE_WIDTH]
    for at, line in _render_session_items(report, tree=tree):
        if (day := format_time(at)[:DATE_WIDTH]) != date:
            date = day
            yield date
        yield screen.cut(escape_controls(line), screen.columns)


def _render_session_items(report: SessionReport, *, tree: bool) -> Iterator[tuple[str, str]]:
    """Yield each line below the head, with the time of its prompt or of the call that begins its branch."""
    from custody.core.wire.report import PromptLine

    children = _group_session_subcalls(report.calls) if tree else {}
    nested = {child.id for calls in children.values() for child in calls}
    items: list[PromptLine | CallLine] = [*report.prompts, *(c for c in report.calls if c.id not in nested)]
    subagent: str | None = None
    for item in sorted(items, key=_session_item_time):
        if isinstance(item, PromptLine):
            yield item.at, _render_session_prompt(item)
            continue
        if tree and item.subagent not in (None, subagent):
            yield item.started, f"{'':12}subagent {item.subagent}"
        subagent = item.subagent
        for line in _render_session_call_branch(item, children, int(tree and subagent is not None)):
            yield item.started, line


def _session_item_time(item: PromptLine | CallLine) -> str:
    from custody.core.wire.report import PromptLine

    return item.at if isinstance(item, PromptLine) else item.started


def _group_session_subcalls(calls: list[CallLine]) -> dict[str, list[CallLine]]:
    """Return the calls that each call made; a call in a cycle of parents has none."""
    parents = {call.id: call.parent for call in calls}
    children: dict[str, list[CallLine]] = {}
    for call in calls:
        if call.parent in parents and not _is_session_call_cycle(call.id, parents):
            children.setdefault(call.parent or "", []).append(call)
    return children


def _is_session_call_cycle(call: str, parents: Mapping[str, str | None]) -> bool:
    visited = {call}
    parent = parents.get(call)
    while parent is not None and parent not in visited:
        visited.add(parent)
        parent = parents.get(parent)
    return parent is not None


def _render_session_call_branch(call: CallLine, children: Mapping[str, list[CallLine]], depth: int) -> Iterator[str]:
    """Yield a call, and below it the calls that it made."""
    stack = [(call, depth)]
    while stack:
        current_call, level = stack.pop()
        yield _render_session_call(current_call, level)
        stack.extend((child, level + 1) for child in reversed(children.get(current_call.id, [])))


def _render_session_prompt(prompt: PromptLine) -> str:
    text = ERASED_PROMPT if prompt.text is None else _shorten_prompt(" ".join(prompt.text.split()))
    return f"{format_clock_time(prompt.at)}  > {text}"


def _shorten_prompt(text: str) -> str:
    return text if len(text) <= PROMPT_WIDTH else f"{text[: PROMPT_WIDTH - 1].rstrip()}…"


def _render_session_call(call: CallLine, depth: int) -> str:
    what = ", ".join((*call.files, *call.sources))
    return f"{format_clock_time(call.started)} {MARKS[call.status]}{'  ' * (depth + 1)}{call.name}" + (
        f"  {what}" if what else ""
    )


WIDTH_OF_NUMBER = 7


@click.command("records")
@click.option(
    "-n", "limit", type=click.IntRange(1, 100_000), default=20, show_default=True, help="Show at most this many."
)
@click.option("--kind", help="Show only records of this kind: edit, call, prompt, link, decision …")
@json_option
@click.pass_context
def records_command(ctx: click.Context, *, limit: int, kind: str | None, as_json: bool) -> int:
    """List records, newest first.

    Each line has the record's number in this store (or its full name if another store made it), its time, its kind and
    its key. 'custody show NUMBER' shows the content.

    \b
    Examples:
      custody records
      custody records -n 100 --kind edit
    """
    from custody.ledger.records import list_newest_records

    report = list_newest_records(open_command_workspace(ctx), limit=limit, kind=kind)
    return print_command_report(report, render_record_list(report, current_screen()), as_json=as_json)


def render_record_list(report: RecordsReport, screen: Screen) -> Iterator[TextLine]:
    """Yield one line for each record; on a terminal, a long key is cut."""
    if not report.records:
        yield "nothing has been recorded here yet" if not report.total else "no record of this kind"
    for record in report.records:
        yield screen.cut(escape_controls(_render_record_line(record)), screen.columns)


def _render_record_line(record: RecordSummary) -> str:
    name = record.record if record.number is None else f"{record.number:>{WIDTH_OF_NUMBER}}"
    return f"{name}  {format_time(record.at)}  {record.kind:<11}  {record.key}"


@click.command("show")
@click.argument("record")
@json_option
@click.pass_context
def show_command(ctx: click.Context, record: str, *, as_json: bool) -> int:
    """Show one record.

    RECORD is its number in this store, STORE:NUMBER, its event id, or its natural key. Several records can have the
    same natural key; all of them are shown.

    \b
    Examples:
      custody show 17
      custody show 17 --json | jq .payloads[0]
    """
    from custody.ledger.records import show_named_records

    report = show_named_records(open_command_workspace(ctx), record)
    return print_command_report(report, _render_record(report), as_json=as_json)


def _render_record(report: ShowReport) -> str:
    from custody.core.wire.canonical import indent_json, shorten_json_texts

    lines = []
    for record, payload in zip(report.records, report.payloads, strict=True):
        content = "erased" if payload is None else indent_json(shorten_json_texts(payload))
        lines += [_render_record_line(record), f"  event  {record.event}", f"  digest {record.digest}", content]
    return "\n".join(lines)
