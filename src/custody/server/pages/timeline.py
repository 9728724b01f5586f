"""A session as a timeline: prompts, the calls that follow each, equal calls in a row as one."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from custody.core.ids import CallId
from custody.core.wire.report import CallLine
from custody.graph.app.call_tree import CallRow
from custody.graph.app.session_spans import span_id_from_call
from custody.runs import CommandRun, RunResult

COMMAND_TOOLS = frozenset(
    ("bash", "shell", "exec", "exec_command", "local_shell", "run_shell_command", "run_terminal_cmd", "runcommand")
)
READ_TOOLS = frozenset(("read", "grep", "glob", "ls", "search", "webfetch", "websearch", "read_file", "list_directory"))
SHOWN = ("all", "edits", "commands", "reads", "failed")
"""The filters of a timeline."""
DEPTH_MAX = 6
SESSION_KIND, PROMPT_KIND = "session", "turn"
SHOWN_WIDTH_MIN = 0.4
"""The smallest mark of a call, in percent of the session."""


class TimelineRow(Struct, frozen=True, kw_only=True):
    """One prompt or call, or ``count`` equal calls in a row; ``depth`` counts the calls around it.

    ``inside`` and ``failed`` count the calls of a prompt. ``start`` and ``width`` are percents of the session.
    """

    id: str
    kind: str
    """``prompt``, ``edit``, ``command``, ``read``, ``agent`` or ``call``."""
    name: str
    depth: int
    detail: str | None
    state: str
    began_ns: int | None
    duration_ns: int | None
    count: int = 1
    inside: int = 0
    failed: int = 0
    start: float = 0.0
    width: float = 0.0
    result: str | None = None
    """The result of a command in a few words."""
    result_kind: str = ""
    """``ok`` or ``bad`` where the result is certain."""


class TimelineSummary(Struct, frozen=True, kw_only=True):
    """What a session did: its calls by kind, failures, and the longest row of equal calls that failed."""

    reads: int
    edits: int
    commands: int
    failed: int
    worst: TimelineRow | None
    working_ns: int


def build_timeline(
    rows: Sequence[CallRow], calls: Sequence[CallLine], runs: Sequence[CommandRun] = ()
) -> list[TimelineRow]:
    """Return the rows of a session in order; equal calls in a row without calls inside them count as one row."""
    kinds = {str(span_id_from_call(CallId(call.id))): _classify_call(call) for call in calls}
    results = {str(span_id_from_call(run.call)): run for run in runs}
    times = [row.began_ns for row in rows if row.began_ns is not None]
    ends = [row.ended_ns for row in rows if row.ended_ns is not None]
    zero = min(times, default=0)
    span = max([*times, *ends], default=zero) - zero
    made: list[TimelineRow] = []
    is_leaf = [n + 1 == len(rows) or rows[n + 1].depth <= row.depth for n, row in enumerate(rows)]
    last_leaf = False
    for row, leaf in zip(rows, is_leaf, strict=True):
        if row.kind == SESSION_KIND and row.depth == 0:
            continue
        made_row = _make_timeline_row(row, kinds, zero, span)
        if (run := results.get(row.id)) is not None:
            made_row = replace(made_row, result=format_run_result(run), result_kind=_RESULT_KINDS.get(run.result, ""))
        if made and leaf and last_leaf and _is_repeat(made[-1], made_row):
            made[-1] = _join_rows(made[-1], made_row)
        else:
            made.append(made_row)
        last_leaf = leaf
    return _count_calls_of_prompts(made)


_RESULT_KINDS = {RunResult.PASSED: "ok", RunResult.FAILED: "bad"}


def format_run_result(run: CommandRun) -> str | None:
    """Return the result of a command in a few words: a failed exit status, and the tests that its runner counted."""
    counts = run.counts
    is_told = run.exit_code is not None and (run.exit_code or counts is not None or run.result is RunResult.PASSED)
    parts = [f"exit {run.exit_code}"] if is_told else []
    if counts is not None:
        named = (("failed", counts.failed), ("passed", counts.passed), ("skipped", counts.skipped))
        parts += [f"{count:,} {word}" for word, count in named if count]
    return " · ".join(parts) or None


def summarize_timeline(rows: Sequence[TimelineRow]) -> TimelineSummary:
    """Return the counts of a timeline."""
    by_kind = {kind: sum(row.count for row in rows if row.kind == kind) for kind in ("read", "edit", "command")}
    loops = [row for row in rows if row.state == "failed" and row.count > 1]
    return TimelineSummary(
        reads=by_kind["read"],
        edits=by_kind["edit"],
        commands=by_kind["command"],
        failed=sum(row.failed for row in rows if row.kind != "prompt"),
        worst=max(loops, key=lambda row: row.count, default=None),
        working_ns=_measure_working_time(rows),
    )


def filter_timeline(rows: Sequence[TimelineRow], show: str) -> list[TimelineRow]:
    """Return the rows of one filter, with the prompts that have any."""
    if show == "all":
        return list(rows)
    kind = show.removesuffix("s")
    kept: list[TimelineRow] = []
    prompt: TimelineRow | None = None
    for row in rows:
        if row.kind == "prompt":
            prompt = row
        elif row.state == "failed" if show == "failed" else row.kind == kind:
            if prompt is not None:
                kept.append(prompt)
                prompt = None
            kept.append(row)
    return kept


def _make_timeline_row(row: CallRow, kinds: Mapping[str, str], zero: int, span: int) -> TimelineRow:
    duration = None if row.began_ns is None or row.ended_ns is None else max(row.ended_ns - row.began_ns, 0)
    kind = "prompt" if row.kind == PROMPT_KIND else kinds.get(row.id) or ("agent" if row.kind == "agent" else "call")
    start = 0.0 if row.began_ns is None or not span else 100 * (row.began_ns - zero) / span
    return TimelineRow(
        id=row.id,
        kind=kind,
        name=row.name,
        depth=0 if kind == "prompt" else min(max(row.depth - 2, 0), DEPTH_MAX),
        detail=row.detail,
        state=row.state,
        began_ns=row.began_ns,
        duration_ns=duration,
        failed=int(row.state == "failed"),
        start=min(start, 100 - SHOWN_WIDTH_MIN),
        width=max(100 * (duration or 0) / span if span else 0.0, SHOWN_WIDTH_MIN),
    )


def _classify_call(call: CallLine) -> str:
    name = call.name.lower()
    if call.files and name not in COMMAND_TOOLS:
        return "edit"
    if name in COMMAND_TOOLS:
        return "command"
    return "read" if call.sources or name in READ_TOOLS else "call"


def _is_repeat(row: TimelineRow, other: TimelineRow) -> bool:
    return row.kind == other.kind != "prompt" and (row.name, row.detail, row.depth, row.state, row.result) == (
        other.name,
        other.detail,
        other.depth,
        other.state,
        other.result,
    )


def _join_rows(row: TimelineRow, other: TimelineRow) -> TimelineRow:
    known = [duration for duration in (row.duration_ns, other.duration_ns) if duration is not None]
    return replace(
        row,
        count=row.count + 1,
        failed=row.failed + other.failed,
        duration_ns=sum(known) if known else None,
        width=max(row.width, other.start + other.width - row.start),
    )


def _count_calls_of_prompts(rows: Sequence[TimelineRow]) -> list[TimelineRow]:
    counted: list[TimelineRow] = []
    inside = failed = 0
    for row in reversed(rows):
        if row.kind == "prompt":
            counted.append(replace(row, inside=inside, failed=failed))
            inside = failed = 0
        else:
            inside, failed = inside + row.count, failed + row.failed
            counted.append(row)
    return counted[::-1]


def _measure_working_time(rows: Sequence[TimelineRow]) -> int:
    """Return the time in which any call ran; calls at the same time count once."""
    total, until = 0, 0
    for began, ended in sorted(_list_call_times(rows)):
        total += max(0, ended - max(began, until))
        until = max(until, ended)
    return total


def _list_call_times(rows: Sequence[TimelineRow]) -> Iterator[tuple[int, int]]:
    for row in rows:
        if row.kind != "prompt" and row.began_ns is not None and row.duration_ns is not None:
            yield row.began_ns, row.began_ns + row.duration_ns
