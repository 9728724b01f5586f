"""``python -m bench peers``: custody and other tools in the same stories, against plain git.

    python -m bench peers                                  us, git's blame with trailers, and what is on the path
    python -m bench peers --tool git-ai PATH --tool entire PATH
    python -m bench peers --scenarios rebase,stash --json FILE
    python -m bench peers --times                          what a commit and a blame cost, over plain git

A tool that is not installed is reported as not run. Only committed lines are queried: some tools know no others.
"""

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from bench.attribution.answers import Answerer, Custody
from bench.attribution.peer import Peer, PeerHooks
from bench.attribution.run import Played, asked, played
from bench.attribution.scenario import Scenario
from bench.attribution.scenarios import SCENARIOS
from bench.attribution.score import Outcome, tally_of
from bench.attribution.telling import CUSTODY, Hooks, Teller
from bench.bars import BenchError
from bench.columns import columns
from bench.names import UnknownName, by_name, chosen
from bench.peer_times import Times, closed, time_of
from bench.peer_tools import Blame, Entire, EntireBlame, GitAi, GitAiBlame, Trailers
from bench.progress import Progress, Tell

STORIES = (
    "plain-edit",
    "plain-write",
    "person-inside-before",
    "person-inside-after",
    "person-deletes-half",
    "amend-by-agent",
    "amend-by-person",
    "rebase",
    "squash-merge",
    "squash-on-server",
    "cherry-pick",
    "stash",
    "partial-staging",
    "move-inside",
    "move-across",
    "rename-after",
    "formatter-after",
    "heredoc",
    "two-sessions",
    "same-boilerplate",
)
"""Chosen before the first run of another tool, one or two of each kind."""


SCORES = ("tool", "stories", "exact", "precision", "recall", "right", "stolen", "mistaken", "missed")
RATIOS = ("tool", "what", "over plain git", "quartiles", "verdict")
WRONG = (Outcome.STOLEN, Outcome.MISTAKEN, Outcome.MISSED)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: its recorder, its answerer, and the program that both need."""

    name: str
    teller: Callable[[Path], Teller]
    answerer: Callable[[Path], Answerer]
    program: str | None = None
    blame: Callable[[Path], list[str]] | None = None
    """Its blame command without the file; None if it has no blame."""
    hasty: Callable[[Path], Teller] | None = None
    """Its recorder during timing, if different."""


TOOLS = by_name(
    (
        Tool("custody", lambda _: Hooks(), lambda _: Custody(), blame=lambda _: [CUSTODY, "blame"]),
        Tool("git-trailers", lambda _: Trailers(), lambda _: Blame()),
        Tool("agent-trace", PeerHooks, Peer, "agent-trace", lambda program: [str(program), "blame"]),
        Tool(
            "git-ai",
            GitAi,
            GitAiBlame,
            "git-ai",
            blame=lambda program: [str(program), "blame"],
            hasty=lambda program: GitAi(program, patient=False),
        ),
        Tool("entire", Entire, lambda _: EntireBlame(), "entire"),
    )
)


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one tool; ``reason`` is set if there is none."""

    tool: str
    stories: tuple[Played, ...] = ()
    times: Times | None = None
    reason: str = ""


def main(argv: Sequence[str] | None = None, *, out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Run every installed tool; return 1 when one of them could not play a story."""
    out, err = out or sys.stdout, err or sys.stderr
    parser = arguments()
    args = parser.parse_args(argv)
    try:
        stories = chosen(SCENARIOS, args.scenarios.split(",") if args.scenarios else STORIES)
        tools = chosen(TOOLS, args.only.split(",") if args.only else ())
    except UnknownName as error:
        parser.error(str(error))
    given = {name: Path(path).resolve() for name, path in args.tool}
    if unknown := sorted(given.keys() - TOOLS.keys()):
        parser.error(f"no tool is called '{unknown[0]}'")
    with Progress(err) as tell:
        results = [result_of(one, given.get(one.name), stories, times=args.times, tell=tell) for one in tools]
    out.write(tables(results))
    if args.json:
        Path(args.json).write_text(json.dumps(as_json(results), indent=2) + "\n", encoding="utf-8")
    return int(any(story.failure for result in results for story in result.stories))


def result_of(tool: Tool, given: Path | None, stories: Sequence[Scenario], *, times: bool, tell: Tell) -> Result:
    """Play the stories, or measure times, with one tool; or return the reason why not."""
    program = given or Path(shutil.which(tool.program) or "") if tool.program else Path()
    if tool.program and not program.is_file():
        return Result(
            tool.name, reason=f"not run: '{tool.program}' is not installed (--tool {tool.name} PATH names it)"
        )
    if times:
        return _timed(tool, program, tell)
    return Result(tool.name, tuple(_play(tool, program, story, tell) for story in stories))


def _timed(tool: Tool, program: Path, tell: Tell) -> Result:
    blame, teller = tool.blame(program) if tool.blame else None, tool.hasty or tool.teller
    try:
        return Result(tool.name, times=time_of(tool.name, lambda: teller(program), blame, tell))
    except BenchError as error:
        return Result(tool.name, reason=f"not measured: {error}")


def _play(tool: Tool, program: Path, story: Scenario, tell: Tell) -> Played:
    name = tool.name
    tell(f"{name}: {story.name}")
    with tempfile.TemporaryDirectory(prefix="custody-peers-", ignore_cleanup_errors=True) as temporary:
        teller = tool.teller(program)
        try:
            return asked(story, name, played(story, teller, Path(temporary)), tool.answerer(program))
        except BenchError as error:
            return Played(story, name, name, failure=str(error))
        finally:
            closed(teller)


def tables(results: Sequence[Result]) -> str:
    """Format the results of all tools, and each story that is not exact."""
    rows = [row for result in results if (row := _row(result))]
    times = [row for result in results for row in (result.times.rows() if result.times else ())]
    parts = [
        columns(SCORES, rows) if rows else "",
        columns(RATIOS, times) if times else "",
        "".join(f"{result.tool}: {result.reason}\n" for result in results if result.reason),
        "".join(f"{result.tool}: {line}\n" for result in results for line in _inexact(result)),
    ]
    return "\n".join(part for part in parts if part)


def _row(result: Result) -> tuple[str, ...] | None:
    there = [story for story in result.stories if not story.failure]
    if not there:
        return None
    tally = tally_of(line for story in there for line in story.head)
    exact = sum(tally_of(story.head).exact for story in there)
    counts = [str(tally.count(one)) for one in (Outcome.RIGHT, *WRONG)]
    return (result.tool, str(len(there)), str(exact), f"{tally.precision:.4f}", f"{tally.recall:.4f}", *counts)


def _inexact(result: Result) -> list[str]:
    found = []
    for story in result.stories:
        tally = tally_of(story.head)
        if story.failure:
            found.append(f"{story.scenario.name}: could not be played: {story.failure}")
        elif not tally.exact:
            wrong = ", ".join(f"{tally.count(one)} {one.value}" for one in WRONG if tally.count(one))
            found.append(f"{story.scenario.name}: {wrong}")
    return found


def as_json(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Return the same figures as JSON."""
    return [
        {
            "tool": result.tool,
            "reason": result.reason,
            "total": dict(zip(("stories", "exact", "precision", "recall"), row[1:5], strict=True)) if row else None,
            "inexact": _inexact(result),
            "times": result.times.as_json() if result.times else None,
        }
        for result in results
        for row in [_row(result)]
    ]


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench peers", description="Measure other tools beside us.")
    parser.add_argument(
        "--tool", nargs=2, action="append", default=[], metavar=("NAME", "PATH"), help="the path of a tool's program"
    )
    parser.add_argument("--only", metavar="NAME,…", help=f"only these tools (of {', '.join(TOOLS)})")
    parser.add_argument("--scenarios", metavar="NAME,…", help="only these stories")
    parser.add_argument("--times", action="store_true", help="time commits and blames instead of playing stories")
    parser.add_argument("--json", metavar="FILE", help="write the results as JSON too")
    return parser
