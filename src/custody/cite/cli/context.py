"""``custody cite context``, ``find_near_copies`` and ``search``: many sources, for agents and for finding again."""

import sys
from collections import Counter
from collections.abc import Iterator
from typing import Literal

import click

from custody.cite.app.context import cite_context, cite_near, cite_search, cite_text
from custody.cite.app.links import LinkSelection, cite_check_links
from custody.cite.wire import CiteLink, CiteLinksReport, CiteNearReport, CiteSearchReport
from custody.core.errors import InputError
from custody.core.wire.report import Report
from custody.terminal.frame import answer, json_option, open_workspace, printable, say

STDIN = "-"
HITS = 5
SHOWN_MAX = 20


@click.command("context")
@click.option("--budget", type=click.IntRange(min=0), metavar="TOKENS", help="Instead of the rule cite.context_tokens.")
@click.option("--objective", "objectives", multiple=True, metavar="TEXT", help="What the agent is after; several fit.")
@click.option("--restore", metavar="ID", help="Print the whole kept text of one source instead, to the byte.")
@json_option
@click.pass_context
def context(
    ctx: click.Context, *, budget: int | None, objectives: tuple[str, ...], restore: str | None, as_json: bool
) -> int:
    """Print the sources for an agent's prompt, within a budget of tokens.

    What matters most is shown whole, the next by its key sentences, by title and URL, or by its id; --restore gives any
    of it back. Objectives, recorded readings, uses and scores say what matters. The same store and the same words give
    the same text, and a later source changes no earlier line while levels stay. Nothing is recorded. A token is counted
    for every byte unless the rule cite.context_bytes_each says otherwise, so the budget holds for any usual tokeniser.
    With --json the answer has every level, what was left out, and the text itself.

    \b
    Examples:
      custody cite context --budget 8000 --objective "how shared caches revalidate" > prompt.txt
      custody cite context --json | jq '.sources[] | select(.level == 0) | .id'
      custody cite context --restore S3
    """
    workspace = open_workspace(ctx)
    if restore is not None:
        if budget is not None or objectives:
            raise InputError("--restore gives one source whole", hint="leave --budget and --objective out")
        said = cite_text(workspace, restore)
        if said.text is None and not as_json:
            say(f"no passage of {said.id} was kept, so nothing of its text is known")
        return _text(said, said.text or "", as_json=as_json)
    report = cite_context(workspace, budget=budget, objectives=objectives)
    if report.left_out and not as_json:
        say(f"{len(report.left_out):,} source(s) did not fit: {_format_ids(report.left_out)}")
    return _text(report, report.context, as_json=as_json)


@click.command("near")
@click.argument("source_id", metavar="[ID]", required=False)
@click.option("--file", metavar="FILE", help="Which sources stand, nearly, in this file; - is what is piped in.")
@click.option(
    "--by",
    "way",
    type=click.Choice(("winnowing", "simhash", "forest")),
    default="winnowing",
    help="How copies are found; docs/cite-context.md has what each finds.",
)
@click.option("--least", type=click.FloatRange(0, 1), help="How near, from 0 to 1; each way has its own usual bound.")
@json_option
@click.pass_context
def find_near_copies(
    ctx: click.Context,
    source_id: str | None,
    *,
    file: str | None,
    way: Literal["winnowing", "simhash", "forest"],
    least: float | None,
    as_json: bool,
) -> int:
    """Find sources whose kept texts are nearly copies.

    Of every source against every other, of one source, or of a file. A suggestion only: 'custody cite merge' says that
    two are one. Sources of which no passage was kept cannot be compared, and are counted.

    \b
    Examples:
      custody cite near
      custody cite near S3 --least 0.5
      custody cite near --file report.md --json
    """
    if source_id is not None and file is not None:
        raise InputError("an id and a file are two questions", hint="give one of them")
    stdin = sys.stdin.buffer.read() if file == STDIN else b""
    report = cite_near(open_workspace(ctx), source_id, file=file, stdin=stdin, way=way, least=least)
    return answer(report, "\n".join(_render_near_copies(report)), as_json=as_json)


@click.command("search")
@click.argument("words", nargs=-1, required=True)
@click.option("--most", type=click.IntRange(min=1), default=HITS, help=f"So many at most; {HITS} unless given.")
@json_option
@click.pass_context
def search(ctx: click.Context, words: tuple[str, ...], *, most: int, as_json: bool) -> int:
    """Find sources by what they speak of.

    Title and kept text of every source are compared with the words as vectors: forms of a word meet, synonyms do not.

    \b
    Examples:
      custody cite search revalidation of shared caches
      custody cite search "price of mackerel" --most 1 --json
    """
    report = cite_search(open_workspace(ctx), " ".join(words), most=most)
    return answer(report, "\n".join(_render_search(report)), as_json=as_json)


def _text(report: Report, text: str, *, as_json: bool) -> int:
    """Print a text to the byte; a terminal is shown nothing that moves its cursor."""
    if as_json:
        return answer(report, "", as_json=True)
    if sys.stdout.isatty():
        click.echo(printable(text, tabs=True))
    else:
        sys.stdout.buffer.write(text.encode("utf-8", "surrogatepass"))
    return 0


def _render_near_copies(report: CiteNearReport) -> Iterator[str]:
    for pair in report.pairs:
        yield f"{pair.one}  {pair.other}  {pair.nearness:.0%}"
    if not report.pairs:
        yield f"no near copy among {report.compared:,} source(s) with text"
    if report.without_text:
        yield f"{len(report.without_text):,} source(s) without text could not be compared"


def _render_search(report: CiteSearchReport) -> Iterator[str]:
    for hit in report.hits:
        yield f"{hit.id}  {hit.title or '-'}  {hit.url or '-'}  {hit.likeness:.2f}"
    if not report.hits:
        yield f"none of {report.searched:,} source(s) speaks of it"


def _format_ids(ids: list[str]) -> str:
    more = f" and {len(ids) - SHOWN_MAX:,} more" if len(ids) > SHOWN_MAX else ""
    return ", ".join(ids[:SHOWN_MAX]) + more


ORDER = ("gone", "unreachable", "moved", "blocked", "alive")
VERDICT_SIGNS = 11


@click.command("check-links")
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@click.option("--file", metavar="REPORT", help="Check the addresses that a report lists; - is what is piped in.")
@click.option("--all", "every", is_flag=True, help="Check every source of the registry.")
@click.option("--stale", is_flag=True, help="Only what was never checked, or too long ago (cite.link_fresh_days).")
@click.option("--network", is_flag=True, help="Ask the web. Without it, nothing is asked: you see what would be.")
@json_option
@click.pass_context
def check_links(  # noqa: PLR0913 - one argument for each option
    ctx: click.Context,
    sources: tuple[str, ...],
    *,
    file: str | None,
    every: bool,
    stale: bool,
    network: bool,
    as_json: bool,
) -> int:
    """See whether the addresses of sources still answer.

    Each is alive, moved, blocked (nobody lets us look), unreachable, or gone: it failed three times with a day between,
    which the registry remembers. Only public addresses are asked, and docs/cite-links.md says exactly what is sent. A
    report's list has no memory, so nothing in it is ever gone. Ctrl-C keeps what was found out. Exit status: 0 nothing
    is gone, 1 something.

    \b
    Examples:
      custody cite check-links --all
      custody cite check-links --stale --network
      custody cite check-links S3 S7 --network --json
      custody cite check-links --file report.md --network
    """
    wanted = LinkSelection(sources=sources, all=every, stale=stale, file=file)
    stdin = sys.stdin.buffer.read() if file == STDIN else b""
    report = cite_check_links(open_workspace(ctx), wanted, stdin, network=network)
    status = answer(report, "\n".join(_render_links(report)), as_json=as_json)
    _tell(report)
    if report.stopped:
        raise click.Abort
    return status


def _render_links(report: CiteLinksReport) -> Iterator[str]:
    width = max((len(link.id or "-") for link in report.links), default=0)
    for link in report.links:
        word = (link.verdict or "-") if report.network else ("would ask" if link.asks else "not asked")
        yield f"{link.id or '-':<{width}}  {word:<{VERDICT_SIGNS}}  {link.address}{_more(link, report)}"
    yield _sum(report)


def _more(link: CiteLink, report: CiteLinksReport) -> str:
    said = [link.why] if report.network or not link.asks else []
    if not report.network and link.verdict is not None and link.at is not None:
        said.append(f"{link.verdict} on {link.at[:10]}")
    if link.verdict == "moved" and link.location is not None:
        said.append(f"now at {link.location}")
    if link.verdict == "unreachable" and link.failures and link.id is not None and report.file is None:
        said.append(f"failure {link.failures} of {report.gone_after}")
    return "".join(f"  ({'; '.join(said)})" if said else "")


def _sum(report: CiteLinksReport) -> str:
    if not report.links:
        what = "nothing is stale" if report.fresh else "no source has an address"
        return "no address is listed" if report.file is not None else what
    if not report.network:
        return f"{sum(link.asks is not None for link in report.links)} address(es) would be asked; nothing was"
    counted = Counter[str](link.verdict or "not known" for link in report.links)
    parts = [f"{counted[word]} {word}" for word in (*ORDER, "not known") if counted[word]]
    return f"{len(report.links)} address(es): {', '.join(parts)}"


def _tell(report: CiteLinksReport) -> None:
    if report.offline:
        say("no server answered at all, so no failure was counted: perhaps this machine is offline")
    if not report.network and any(link.asks for link in report.links):
        say("add --network to ask")
