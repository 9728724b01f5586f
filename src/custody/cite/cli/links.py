"""``custody cite check-links``."""

import sys
from collections import Counter
from collections.abc import Iterator

import click

from custody.cite.app.links import LinkSelection, cite_check_links
from custody.cite.wire.links import CiteLink, CiteLinksReport
from custody.terminal.frame import answer, json_option, open_workspace, say

STDIN = "-"
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
