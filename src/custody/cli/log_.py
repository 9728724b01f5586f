"""``custody log``."""

from collections.abc import Iterator, Mapping

import click

from custody.app.log import log, log_session
from custody.cli.frame import answer, json_option, the_desk
from custody.wire.reports import CallLine, LogReport, PromptLine, SessionLine, SessionReport

MARKS = {"ok": " ", "running": "…", "failed": "!", "abandoned": "?"}
PROMPT_WIDTH = 100


@click.command("log")
@click.argument("session", required=False)
@click.option("-n", "limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="How many sessions.")
@click.option("--tree", is_flag=True, help="Show calls below the call or the subagent that made them.")
@json_option
@click.pass_context
def command(ctx: click.Context, session: str | None, *, limit: int, tree: bool, as_json: bool) -> int:
    """List sessions as they were captured, or show one.

    Without SESSION: the sessions that were active last, with agent, model, prompts, calls and files. With SESSION (its
    id or the beginning of it): its prompts and calls in order, with the files each changed and the sources it read.

    \b
    Examples:
      custody log
      custody log 5d2f0c3e --tree
    """
    desk = the_desk(ctx)
    if session is None:
        listed = log(desk, limit=limit)
        return answer(listed, _listed(listed), as_json=as_json)
    shown = log_session(desk, session)
    return answer(shown, "\n".join(_shown(shown, tree=tree)), as_json=as_json)


def _listed(report: LogReport) -> str:
    if not report.sessions:
        return "no session has been captured here yet"
    lines = [_line(session) for session in report.sessions]
    if report.total > len(lines):
        lines.append(f"({report.total - len(lines)} more; -n shows them)")
    return "\n".join(lines)


def _line(session: SessionLine) -> str:
    counts = f"{session.prompts} prompt(s), {session.calls} call(s), {len(session.files)} file(s)"
    model = session.model or "model unknown"
    return f"{session.last[:19]}Z  {session.agent:<12}  {session.session}  {model}  {counts}"


def _shown(report: SessionReport, *, tree: bool) -> Iterator[str]:
    yield _line(report.session)
    for file in report.session.files:
        yield f"  changed {file}"
    known = {call.id for call in report.calls}
    above = {call.id: call.parent for call in report.calls if call.parent in known} if tree else {}
    happened: list[PromptLine | CallLine] = [*report.prompts, *(c for c in report.calls if c.id not in above)]
    subagent: str | None = None
    for item in sorted(happened, key=_when):
        if isinstance(item, PromptLine):
            yield _prompt(item)
            continue
        if tree and item.subagent not in (None, subagent):
            yield f"{'':12}subagent {item.subagent}"
        subagent = item.subagent
        yield from _branch(report.calls, item, above, int(tree and subagent is not None))


def _when(item: PromptLine | CallLine) -> str:
    return item.at if isinstance(item, PromptLine) else item.started


def _branch(calls: list[CallLine], call: CallLine, above: Mapping[str, str | None], depth: int) -> Iterator[str]:
    """A call, and below it those that it made."""
    yield _call(call, depth)
    for child in calls:
        if above.get(child.id) == call.id:
            yield from _branch(calls, child, above, depth + 1)


def _prompt(prompt: PromptLine) -> str:
    words = "(erased)" if prompt.text is None else " ".join(prompt.text.split())[:PROMPT_WIDTH]
    return f"{prompt.at[11:19]}  > {words}"


def _call(call: CallLine, depth: int) -> str:
    what = ", ".join((*call.files, *call.sources))
    return f"{call.started[11:19]} {MARKS[call.status]}{'  ' * (depth + 1)}{call.name}" + (f"  {what}" if what else "")
