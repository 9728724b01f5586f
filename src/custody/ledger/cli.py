"""The verbs of recorded evidence: log, show, records, erase.

May touch the terminal. Asks use cases and renders their reports.
"""

import sys
from collections.abc import Iterator, Mapping

import click

from custody.core.errors import InputError
from custody.core.wire.canonical import indented, shortened
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
)
from custody.ledger.records import erase, preview, records, show
from custody.ledger.sessions import log, log_session
from custody.terminal.frame import answer, json_option, open_workspace


@click.command("erase")
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...")
@click.option("--reason", required=True, help="Why; kept in the record of the erasure.")
@click.option("--who", help="Who asks for it; the user of this machine if not given.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@click.pass_context
def erase_command(
    ctx: click.Context, targets: tuple[str, ...], *, reason: str, who: str | None, yes: bool, as_json: bool
) -> int:
    """Forget what a record says, and keep the proof that it was there.

    TARGET is a record (its number in this store, STORE:NUMBER, its event id or its natural key), which erases all
    that it says, or the digest of one stored text (8 digits or more). The bytes are overwritten (PostgreSQL: given up
    for reuse); digest and chain still check, and 'custody verify' says erased. This cannot be undone. Copies that
    were exported or imported elsewhere are not reached.

    \b
    Examples:
      custody erase 17 --reason "a customer's name in a prompt"
      custody erase sha256:9f86d081 --reason "leaked key" --who ana --yes
    """
    workspace = open_workspace(ctx)
    if not yes:
        if not sys.stdin.isatty():
            raise InputError("erasing cannot be undone and nobody is here to ask", hint="add --yes")
        for sentence in preview(workspace, targets):
            click.echo(f"  {sentence}", err=True)
        click.confirm("erase for good?", abort=True, err=True)
    report = erase(workspace, targets, who=who, why=reason)
    return answer(report, _render_erasure(report), as_json=as_json)


def _render_erasure(report: EraseReport) -> str:
    return "\n".join(
        f"erased {digest} (record {record})" for digest, record in zip(report.erased, report.records, strict=True)
    )


MARKS = {"ok": " ", "running": "…", "failed": "!", "abandoned": "?"}
PROMPT_WIDTH = 100


@click.command("log")
@click.argument("session", required=False)
@click.option("-n", "limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="How many sessions.")
@click.option("--agent", metavar="NAME", help="Only sessions of this agent; two may have the same id.")
@click.option("--by-agent", is_flag=True, help="Each agent with its sessions, instead of the sessions.")
@click.option("--tree", is_flag=True, help="Show calls below the call or the subagent that made them.")
@json_option
@click.pass_context
def log_command(  # noqa: PLR0913 - one for each option
    ctx: click.Context,
    session: str | None,
    *,
    limit: int,
    agent: str | None,
    by_agent: bool,
    tree: bool,
    as_json: bool,
) -> int:
    """List sessions as they were captured, or show one.

    Without SESSION: the sessions that were active last, with agent, model, prompts, calls and files. With SESSION (its
    id or the beginning of it): its prompts and calls in order, with the files each changed and the sources it read.

    \b
    Examples:
      custody log
      custody log 5d2f0c3e --tree
      custody log s1 --agent codex
      custody log --by-agent
    """
    workspace = open_workspace(ctx)
    if session is None:
        listed = log(workspace, limit=limit, agent=agent)
        return answer(listed, _by_agent(listed, agent) if by_agent else _listed(listed, agent), as_json=as_json)
    if by_agent:
        raise InputError("--by-agent is about all sessions", hint="name a session, or --by-agent")
    shown = log_session(workspace, session, agent=agent)
    return answer(shown, "\n".join(_shown(shown, tree=tree)), as_json=as_json)


def _listed(report: LogReport, agent: str | None) -> str:
    if not report.sessions:
        return _nothing(agent)
    lines = [_line(session) for session in report.sessions]
    if report.total > len(lines):
        lines.append(f"({report.total - len(lines)} more; -n shows them)")
    return "\n".join(lines)


def _nothing(agent: str | None) -> str:
    return f"no session{'' if agent is None else f' of {agent}'} has been captured here yet"


def _by_agent(report: LogReport, agent: str | None) -> str:
    if not report.agents:
        return _nothing(agent)
    wide = max(len(agent_line.agent) for agent_line in report.agents)
    return "\n".join(
        f"{agent_line.agent:<{wide}}  {agent_line.sessions:>6,} session(s)  last {agent_line.last[:19]}Z"
        for agent_line in report.agents
    )


def _line(session: SessionLine) -> str:
    counts = f"{session.prompts} prompt(s), {session.calls} call(s), {len(session.files)} file(s)"
    model = session.model or "model unknown"
    return f"{session.last[:19]}Z  {session.agent:<12}  {session.session}  {model}  {counts}"


def _shown(report: SessionReport, *, tree: bool) -> Iterator[str]:
    yield _line(report.session)
    for file in report.session.files:
        yield f"  changed {file}"
    below = _below(report.calls) if tree else {}
    inside = {child.id for children in below.values() for child in children}
    happened: list[PromptLine | CallLine] = [*report.prompts, *(c for c in report.calls if c.id not in inside)]
    subagent: str | None = None
    for item in sorted(happened, key=_when):
        if isinstance(item, PromptLine):
            yield _prompt(item)
            continue
        if tree and item.subagent not in (None, subagent):
            yield f"{'':12}subagent {item.subagent}"
        subagent = item.subagent
        yield from _branch(item, below, int(tree and subagent is not None))


def _when(item: PromptLine | CallLine) -> str:
    return item.at if isinstance(item, PromptLine) else item.started


def _below(calls: list[CallLine]) -> dict[str, list[CallLine]]:
    """The calls that each call made; one that claims to be inside itself, at whatever distance, stands alone."""
    parents = {call.id: call.parent for call in calls}
    below: dict[str, list[CallLine]] = {}
    for call in calls:
        if call.parent in parents and not _is_circle(call.id, parents):
            below.setdefault(call.parent or "", []).append(call)
    return below


def _is_circle(call: str, parents: Mapping[str, str | None]) -> bool:
    met = {call}
    above = parents.get(call)
    while above is not None and above not in met:
        met.add(above)
        above = parents.get(above)
    return above is not None


def _branch(call: CallLine, below: Mapping[str, list[CallLine]], depth: int) -> Iterator[str]:
    """A call, and below it those that it made."""
    waiting = [(call, depth)]
    while waiting:
        current_call, level = waiting.pop()
        yield _call(current_call, level)
        waiting.extend((child, level + 1) for child in reversed(below.get(current_call.id, [])))


def _prompt(prompt: PromptLine) -> str:
    words = "(not here any more, or withheld)" if prompt.text is None else " ".join(prompt.text.split())[:PROMPT_WIDTH]
    return f"{prompt.at[11:19]}  > {words}"


def _call(call: CallLine, depth: int) -> str:
    what = ", ".join((*call.files, *call.sources))
    return f"{call.started[11:19]} {MARKS[call.status]}{'  ' * (depth + 1)}{call.name}" + (f"  {what}" if what else "")


WIDTH_OF_NUMBER = 7


@click.command("records")
@click.option("-n", "limit", type=click.IntRange(1, 100_000), default=20, show_default=True, help="How many.")
@click.option("--kind", help="Only records of this kind: edit, call, prompt, link, decision …")
@json_option
@click.pass_context
def records_command(ctx: click.Context, *, limit: int, kind: str | None, as_json: bool) -> int:
    """List what was recorded, newest first.

    Each line has the record's number in this store (or its full name when it came from another), the time it claims,
    its kind and its key. 'custody show NUMBER' shows what it says.

    \b
    Examples:
      custody records
      custody records -n 100 --kind edit
    """
    report = records(open_workspace(ctx), limit=limit, kind=kind)
    return answer(report, _render_records(report), as_json=as_json)


def _render_records(report: RecordsReport) -> str:
    if not report.records:
        return "nothing has been recorded here yet" if not report.total else "no such record"
    return "\n".join(line_of(record) for record in report.records)


def line_of(record: RecordSummary) -> str:
    """A record on one line."""
    name = record.record if record.number is None else f"{record.number:>{WIDTH_OF_NUMBER}}"
    return f"{name}  {record.at:<24}  {record.kind:<11}  {record.key}"


@click.command("show")
@click.argument("record")
@json_option
@click.pass_context
def show_command(ctx: click.Context, record: str, *, as_json: bool) -> int:
    """Show what a record says.

    RECORD is its number in this store, STORE:NUMBER, its event id, or its natural key (which may name several
    observations of the same thing; all are shown).

    \b
    Examples:
      custody show 17
      custody show 17 --json | jq .payloads[0]
    """
    report = show(open_workspace(ctx), record)
    return answer(report, _render_record(report), as_json=as_json)


def _render_record(report: ShowReport) -> str:
    lines = []
    for record, payload in zip(report.records, report.payloads, strict=True):
        says = "erased" if payload is None else indented(shortened(payload))
        lines += [line_of(record), f"  event  {record.event}", f"  digest {record.digest}", says]
    return "\n".join(lines)
