"""The verbs of the gate.

May touch the terminal. Calls use cases and renders their reports.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, BinaryIO

import click
from msgspec import Struct

from custody import __version__
from custody.core.errors import InputError
from custody.core.plural import count_noun
from custody.terminal.frame import current_screen, json_option, open_command_workspace, print_command_report
from custody.terminal.screen import Piece, Role, Screen, StyledText, TextLine, table_lines, text_columns, wrap_text

if TYPE_CHECKING:
    from custody.gate.app.gate import GateRequest
    from custody.gate.app.reading_order import ReadingOrder
    from custody.gate.wire.report import GateReport, ReasonReport
    from custody.trust.wire import AgentApproval
    from custody.workspace.workspace import Workspace


SHA_DIGITS = 7
HUNKS_SHOWN_MAX = 10
REMOVALS_SHOWN_MAX = 3
PLACE_COLUMNS_MIN = 12
NUMBER_COLUMNS = 6
CODE_COLUMNS = 24
REASON_INDENT = "    "
RISK_ROLES: Mapping[str, Role] = MappingProxyType({"high": "bad", "medium": "warn", "low": "muted"})
DESCRIPTION_BYTES_MAX = 64 * 1024 * 1024
"""More is not read; the gate rejects far less as too large."""


class VerdictLook(Struct, frozen=True):
    """How a verdict is shown: a mark, the mark of a terminal without Unicode, words and color."""

    mark: str
    plain_mark: str
    words: str
    role: Role


VERDICT_LOOKS: Mapping[str, VerdictLook] = MappingProxyType(
    {
        "approve": VerdictLook("✓", "ok", "CAN MERGE", "ok"),
        "review": VerdictLook("!", "!", "NEEDS REVIEW", "warn"),
        "block": VerdictLook("x", "x", "BLOCKED", "bad"),
    }
)


@click.command("gate")
@click.argument("change", metavar="[BASE..HEAD]", required=False)
@click.option("--worktree", is_flag=True, help="Check the uncommitted changes.")
@click.option(
    "--description",
    type=click.File("rb"),
    metavar="FILE",
    help="Also check this description (- for stdin).",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["markdown", "annotations", "sarif", "check-run", "statement"]),
    help="Output for a pull request, a build log, code scanning, GitHub's checks API, or an in-toto statement.",
)
@click.option(
    "--sign-key",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Sign the statement with this private SSH key (a DSSE envelope).",
)
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write the verdict to FILE.")
@click.option("--no-reserve", is_flag=True, help="Reserve no lines of an approval.")
@click.option("-v", "--verbose", is_flag=True, help="Show reasons and budgets in full.")
@json_option
@click.pass_context
def gate_command(  # noqa: PLR0913 - one for each option
    ctx: click.Context,
    change: str | None,
    description: BinaryIO | None,
    form: str | None,
    sign_key: Path | None,
    out: Path | None,
    *,
    worktree: bool,
    no_reserve: bool,
    verbose: bool,
    as_json: bool,
) -> int:
    """Check whether a change can merge.

    The verdict is CAN MERGE, NEEDS REVIEW or BLOCKED (in JSON approve, review or block). Each reason has a code, a
    finding and a remedy. Each agent that wrote added lines is listed with its trust; -v adds its remaining budget.

    The gate checks the lines that HEAD adds since it forked from BASE. BASE alone means BASE..HEAD. The rules of BASE
    apply, whatever the change sets. The exit status is 1 for block and 0 otherwise.

    An approval of lines that agents wrote reserves them in the budget of lines without review. The same patch costs
    nothing again, also after an amend or a rebase. --no-reserve and --worktree reserve nothing.

    \b
    Examples:
      custody gate main..HEAD
      custody gate origin/main
      custody gate --worktree
      custody gate v1.2..v1.3 --json
      custody gate origin/main --format markdown > comment.md
      custody gate origin/main --format statement --sign-key ci --out v.json
    """
    from custody.core.wire.report import encode_report
    from custody.gate.app.gate import GateRequest, judge_change
    from custody.workspace.machine import open_atomic_file

    if worktree == (change is not None):
        raise InputError("pass either a change or --worktree", hint="for example 'custody gate main..HEAD'")
    if form is not None and as_json:
        raise InputError("--format and --json are mutually exclusive", hint="pass one of them")
    if sign_key is not None and form != "statement":
        raise InputError("--sign-key needs --format statement", hint="add --format statement")
    if out is not None and form is None and not as_json:
        raise InputError("--out needs --json or --format", hint="add one of them")
    text = None if description is None else description.read(DESCRIPTION_BYTES_MAX)
    workspace = open_command_workspace(ctx)
    request = GateRequest(change=change, description=text, budget="look" if no_reserve or worktree else "reserve")
    with judge_change(workspace, request) as judged:
        report, order = judged.report, judged.make_order()
    lines = render_verdict(report, order, current_screen(workspace), name_change(change), verbose=verbose)
    if form is None and out is None:
        return print_command_report(report, lines, as_json=as_json)
    data = (
        encode_report(report) + b"\n"
        if form is None
        else _encode_verdict_output(report, form, sign_key, workspace, request)
    )
    if out is None:
        click.echo(data, nl=False)
        return 1 if report.outcome == "found" else 0
    with open_atomic_file(out) as file:
        file.write(data)
    return print_command_report(report, lines, as_json=False)


def name_change(change: str | None) -> str:
    """Return the change as the user named it, with the head that a base alone implies."""
    if change is None:
        return "the work tree"
    return change if ".." in change else f"{change}..HEAD"


def _encode_verdict_output(
    report: GateReport, form: str, key: Path | None, workspace: Workspace, request: GateRequest
) -> bytes:
    from custody.gate.app.gate import encode_verdict_form, find_first_added_place

    if form != "statement":
        return encode_verdict_form(
            report, form, __version__, find_first_added_place(workspace, request) if form == "sarif" else None
        )
    # Imported late: it starts programs that most verdicts do not need.
    from custody.gate.app.verify_verdict import encode_verdict_statement

    return encode_verdict_statement(report, key)


def render_verdict(
    report: GateReport, order: ReadingOrder, screen: Screen, change: str, *, verbose: bool = False
) -> Iterator[TextLine]:
    """Yield the verdict, its strongest reasons, the hunks to read, every reason, and the authors of added lines.

    ``verbose`` prints reasons and agents in full where a terminal would cut them.
    """
    reasons = list({(reason.code, reason.sentence): reason for reason in report.reasons}.values())
    yield from _render_verdict_title(report, screen, change)
    yield ""
    if reasons:
        yield from _wrap_for_screen(order.summary, screen)
        yield ""
    if reasons and (places := list(_render_places(order, screen))):
        yield from (StyledText("Read these first", "strong"), *places, "")
    if reasons:
        yield StyledText("Reasons", "strong")
        for reason in reasons:
            yield from _render_reason(reason, screen, verbose=verbose)
        yield ""
    yield from _render_verdict_basis(report, screen, verbose=verbose)
    if report.fork == report.head:
        yield ""
        yield StyledText("hint: custody gate HEAD~1..HEAD checks the last commit", "muted")
    if reasons and not verbose:
        yield ""
        argument = "--worktree" if report.worktree else change
        yield StyledText(f"hint: custody gate {argument} -v shows reasons and budgets in full", "muted")


def _render_verdict_title(report: GateReport, screen: Screen, change: str) -> Iterator[TextLine]:
    """Yield the verdict, the change and its size: on two lines where a terminal has no room for one."""
    from custody.gate.wire.report import render_assurance_note

    if report.fork == report.head:
        yield (StyledText("NOTHING TO MERGE", "muted"), f"  {change}")
        return
    look = VERDICT_LOOKS[report.level]
    mark = look.mark if screen.has_unicode else look.plain_mark
    verdict = f"{mark} {look.words}{render_assurance_note(report.level, report.assurance)}"
    about = f"  {change}  {_render_change_size(report)}".rstrip()
    if screen.is_terminal and text_columns(verdict + about) > screen.columns:
        yield StyledText(verdict, look.role)
        yield about
    else:
        yield (StyledText(verdict, look.role), about)


def _render_change_size(report: GateReport) -> str:
    """Return the added and removed lines and the number of files, each if there are some."""
    from custody.gate.wire.report import count_added_lines

    added = count_added_lines(report.added)
    plus = f"+{added:,}" if added else ""
    minus = f"-{report.removed_lines:,}" if report.removed_lines else ""
    files = f"in {count_noun(report.files, 'file')}" if report.files else ""
    return " ".join(filter(None, (plus, minus, files)))


def _wrap_for_screen(text: str, screen: Screen) -> list[str]:
    """Return ``text`` in lines that fit a terminal; one line elsewhere."""
    return wrap_text(text, screen.columns) if screen.is_terminal else [text]


class ReadingRow(Struct, frozen=True, kw_only=True):
    """One row of a reading order: the risk, the place, and the rules that fired, the strongest first."""

    level: str
    path: str
    place: str
    words: Sequence[str]
    codes: Sequence[str]


def render_reading_rows(rows: Sequence[ReadingRow], screen: Screen) -> Iterator[TextLine]:
    """Yield a numbered row for each; a narrow screen shows the strongest rule, a wide one all that fit and codes."""
    room = max(PLACE_COLUMNS_MIN, screen.columns // 2 - NUMBER_COLUMNS)
    places = [screen.link_file(screen.cut_start(row.place, room), row.path) for row in rows]
    codes = [screen.cut(", ".join(row.codes[:2]), CODE_COLUMNS) for row in rows] if screen.is_wide else []
    taken = NUMBER_COLUMNS + max((text_columns(place.text) for place in places), default=0) + 2
    taken += max((len(row.level) for row in rows), default=0) + 2
    taken += max(map(len, codes), default=0) + 2 if codes else 0
    table: list[list[Piece]] = []
    for number, (place, row) in enumerate(zip(places, rows, strict=True), 1):
        words = " · ".join(row.words) if screen.is_wide else "".join(row.words[:1])
        cells: list[Piece] = [f"  {number}", StyledText(row.level, RISK_ROLES[row.level]), place]
        cells.append(screen.cut(words or "no reason", max(screen.columns - taken, 1)))
        table.append([*cells, StyledText(codes[number - 1], "muted")] if codes else cells)
    yield from table_lines(table, screen)


def _render_places(order: ReadingOrder, screen: Screen) -> Iterator[TextLine]:
    """Yield the first hunks that a rule fired for, in reading order; the others are counted."""
    urgent = [hunk for hunk in order.hunks if hunk.risk.level.value != "low"]
    rows = [
        ReadingRow(
            level=hunk.risk.level.value,
            path=hunk.path,
            place=hunk.path if hunk.lines is None else f"{hunk.path}:{hunk.lines}",
            words=[factor.words for factor in hunk.risk.factors],
            codes=[factor.code for factor in hunk.risk.factors],
        )
        for hunk in urgent[:HUNKS_SHOWN_MAX]
    ]
    yield from render_reading_rows(rows, screen)
    if len(urgent) > len(rows):
        yield StyledText(f"  {count_noun(len(urgent) - len(rows), 'more hunk')} (custody review lists them)", "muted")


def _render_reason(reason: ReasonReport, screen: Screen, *, verbose: bool) -> Iterator[TextLine]:
    """Yield a reason with its code, sentence and remedy; without ``verbose``, a terminal cuts the sentence."""
    label = f"  {reason.code} ({reason.level}): "
    role = VERDICT_LOOKS[reason.level].role
    if not screen.is_terminal:
        yield (StyledText(label, role), f"{reason.sentence}; {reason.remedy}")
    elif verbose:
        yield StyledText(label.rstrip(), role)
        yield from _indent_reason_text(f"{reason.sentence}; {reason.remedy}", screen)
    else:
        yield (StyledText(label, role), screen.cut(reason.sentence, max(screen.columns - len(label), 1)))
        yield from _indent_reason_text(reason.remedy, screen)


def _indent_reason_text(text: str, screen: Screen) -> Iterator[TextLine]:
    yield from (f"{REASON_INDENT}{line}" for line in wrap_text(text, screen.columns - len(REASON_INDENT)))


def _render_verdict_basis(report: GateReport, screen: Screen, *, verbose: bool) -> Iterator[TextLine]:
    """Yield the authors of the added lines, their agents, and the skipped checks."""
    from custody.gate.wire.report import render_skipped_check
    from custody.trust.cli.trust import render_agent_approval

    yield _render_added_line_counts(report)
    yield from _render_removals(report, screen, verbose=verbose)
    if verbose:
        yield from (render_agent_approval(agent) for agent in report.trust)
        yield from _render_budget(report)
    elif report.trust:
        agents = ", ".join(dict.fromkeys(_render_agent_trust(agent, screen) for agent in report.trust))
        yield from _wrap_for_screen(f"agents: {agents}", screen)
    if report.skipped:
        skipped = ", ".join(render_skipped_check(check) for check in report.skipped)
        yield from _wrap_for_screen(f"skipped: {skipped}", screen)
    if verbose:
        head = "the work tree" if report.worktree else report.head[:SHA_DIGITS]
        yield f"compared {report.fork[:SHA_DIGITS]}..{head}"


def _render_removals(report: GateReport, screen: Screen, *, verbose: bool) -> Iterator[TextLine]:
    """Yield the calls that removed text, those that weakened a line first; the rest are counted."""
    rows = sorted(report.removals, key=lambda row: (not row.words, row.path))
    shown = rows if verbose else rows[:REMOVALS_SHOWN_MAX]
    for row in shown:
        what = [count_noun(row.lines, "line")] if row.lines else []
        what += [count_noun(row.words, "word")] if row.words else []
        first = f":{row.shortened[0].line} ({' '.join(row.shortened[0].words)})" if row.shortened else ""
        sentence = f"{row.agent} call {row.tool_call_id or 'unknown'} removed {' and '.join(what)}: {row.path}{first}"
        yield from (sentence,) if verbose or not screen.is_terminal else (screen.cut(sentence, screen.columns),)
    if len(rows) > len(shown):
        yield f"{count_noun(len(rows) - len(shown), 'more call')} removed text (-v lists them)"


BUDGET_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "reserved": "{lines} reserved",
        "known": "{lines} reserved before by the same patch",
        "dry": "{lines} not reserved",
        "refused": "nothing reserved",
        "unverifiable": "nothing reserved",
    }
)


def _render_budget(report: GateReport) -> Iterator[str]:
    """Yield what became of the change's lines in the budget, and what is left of it."""
    if report.local is None or not report.local.budget.left:
        return
    budget = report.local.budget
    left = ", ".join(
        f"{agent.agent} {agent.left:,} of {count_noun(agent.budget, 'line')} left" for agent in budget.left
    )
    state = BUDGET_WORDS.get(budget.state, "").format(lines=count_noun(budget.lines, "line"))
    yield f"budget: {state}; {left}" if state else f"budget: {left}"


def _render_agent_trust(agent: AgentApproval, screen: Screen) -> str:
    reviews = f", {count_noun(agent.samples, 'review')}" if screen.is_wide else ""
    return f"{agent.agent} {agent.score:.2f} ({agent.tier}{reviews})"


def _render_added_line_counts(report: GateReport) -> str:
    """Return the number of added lines by author."""
    from custody.gate.wire.report import count_added_lines, render_added_lines

    unread = f"; {count_noun(len(report.unread), 'file')} not checked" if report.unread else ""
    lines = render_added_lines(report.added) if count_added_lines(report.added) else "no lines added"
    return f"{lines}{unread}"
