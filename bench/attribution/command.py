"""``python -m bench attribution``: play stories with known truth and score the tools' answers."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TextIO

from bench.attribution import report
from bench.attribution.answers import Answerer, Custody, Nobody, Oracle
from bench.attribution.histories import histories
from bench.attribution.peer import Peer, PeerHooks, cache_folder, installed
from bench.attribution.run import Way, play_all
from bench.attribution.scenario import Scenario
from bench.attribution.scenarios import SCENARIOS
from bench.attribution.speakers import SPEAKERS, AgentHooks, AgentSessions, Speaking
from bench.attribution.telling import Hooks, Transcripts
from bench.attribution.versions import from_repository, from_templates
from bench.bars import BenchError
from bench.names import UnknownName, chosen
from bench.progress import Progress

JOBS = 2
SEED = 20260131
SOURCES = ("hooks", "transcripts", "peer")
"""The default sources; each other agent is one more, by its name."""
STAND_INS: dict[str, Answerer] = {"none": Nobody(), "oracle": Oracle()}


def main(argv: Sequence[str] | None = None, *, out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Play the stories in ``argv``; return 1 when a story could not be played or a tool did not answer."""
    out, err = out or sys.stdout, err or sys.stderr
    parser = arguments()
    args = parser.parse_args(argv)
    try:
        stories = wanted(args)
    except UnknownName as error:
        parser.error(str(error))
    if args.list:
        out.write("".join(f"{one.name}: {one.what}\n" for one in stories))
        return 0
    with Progress(err) as tell:
        results = play_all(stories, ways(args, err), args.jobs, tell)
    if args.json:
        out.write(json.dumps(report.as_json(results), indent=2, ensure_ascii=False) + "\n")
    else:
        out.write(report.tables(results))
    return int(any(one.failure for one in results))


def wanted(args: argparse.Namespace) -> list[Scenario]:
    """Return the stories of the command line: named ones, or random histories."""
    if args.random:
        versions = from_templates if args.repo is None else from_repository(args.repo.resolve())
        return list(histories(args.random, args.seed, versions))
    return chosen(SCENARIOS, args.scenarios.split(",") if args.scenarios else ())


def ways(args: argparse.Namespace, err: TextIO) -> list[Way]:
    """Return how events are recorded and which tools answer, by the command line."""
    if args.answerer:
        return [Way("silent", (STAND_INS[args.answerer],))]
    profiles = (Custody(),) if args.alone else (Custody(), Custody("document"))
    told: dict[str, Callable[[], list[Way]]] = {
        "hooks": lambda: [Way("hooks", profiles, lambda _folder: Hooks())],
        "transcripts": lambda: [Way("transcripts", (Custody(),), lambda folder: Transcripts(folder / "projects"))],
        "peer": lambda: [] if args.alone else peers(err),
    }
    told |= {name: partial(agents, name) for name in SPEAKERS}
    return [way for source in ([args.source] if args.source else SOURCES) for way in told[source]()]


def agents(name: str) -> list[Way]:
    """Return another agent with its hooks, and with its stored sessions."""
    agent, make = SPEAKERS[name]
    return [
        Way(f"{name} hooks", (Custody(),), lambda _folder: AgentHooks(Speaking(agent, make))),
        Way(f"{name} sessions", (Custody(),), lambda _folder: AgentSessions(Speaking(agent, make))),
    ]


def peers(err: TextIO) -> list[Way]:
    """Return the other tool, fed by its own hooks; print a warning if it cannot be installed."""
    try:
        program = installed(cache_folder())
    except BenchError as error:
        err.write(f"skipped the other tool: {error}\n")
        return []
    return [Way("its own hooks", (Peer(program),), lambda _folder: PeerHooks(program))]


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench attribution", description="Score who wrote which line.")
    parser.add_argument("--scenarios", metavar="NAME,…", help="only these stories")
    parser.add_argument("--list", action="store_true", help="list the stories and play none")
    parser.add_argument(
        "--source", choices=(*SOURCES, *SPEAKERS), help="how evidence is captured, or which other agent"
    )
    parser.add_argument("--random", type=int, default=0, metavar="N", help="N random histories instead of stories")
    parser.add_argument("--seed", type=int, default=SEED, metavar="S", help="which histories (%(default)s)")
    parser.add_argument("--repo", type=Path, metavar="GITDIR", help="take versions from this repository, not templates")
    parser.add_argument("--alone", action="store_true", help="query only custody's default profile, no other tool")
    parser.add_argument("--answerer", choices=STAND_INS, help="a stand-in instead of custody; no events are recorded")
    parser.add_argument("--jobs", type=int, default=JOBS, metavar="N", help="stories at a time (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    return parser
