"""``custody cite context``, ``near``, ``search`` and ``check-links``: questions about many sources."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import click

from custody.core.errors import InputError
from custody.core.plural import count_noun
from custody.terminal.frame import (
    escape_terminal_text,
    json_option,
    open_command_workspace,
    print_command_report,
    print_terminal_notice,
)

if TYPE_CHECKING:
    from custody.cite.wire import CiteLink, CiteLinksReport, CiteNearReport, CiteSearchReport
    from custody.core.wire.report import Report


STDIN = "-"
HITS = 5
SHOWN_MAX = 20


@click.command("context")
@click.option(
    "--budget",
    type=click.IntRange(min=0),
    metavar="TOKENS",
    help="Token budget; default: the rule cite.context_tokens.",
)
@click.option("--objective", "objectives", multiple=True, metavar="TEXT", help="A goal of the agent; can be repeated.")
@click.option("--restore", metavar="ID", help="Print the whole stored text of one source instead.")
@json_option
@click.pass_context
def build_context_command(
    ctx: click.Context, *, budget: int | None, objectives: tuple[str, ...], restore: str | None, as_json: bool
) -> int:
    """Print the sources for an agent's prompt, within a token budget.

    The most relevant sources are printed in full, the next by their key sentences, then by title and URL, then by id.
    --restore prints any of them in full. Objectives, recorded readings, uses and scores decide the relevance. The same
    store and options give the same text. A new source changes no earlier line while the levels stay. Nothing is
    recorded. Every byte counts as a token unless the rule cite.context_bytes_each is set, so the budget holds for any
    usual tokenizer. --json adds every level and the sources that did not fit.

    \b
    Examples:
      custody cite context --budget 8000 --objective "how caches revalidate"
      custody cite context --json | jq '.sources[] | select(.level == 0) | .id'
      custody cite context --restore S3
    """
    from custody.cite.app.context import cite_context, cite_text

    workspace = open_command_workspace(ctx)
    if restore is not None:
        if budget is not None or objectives:
            raise InputError(
                "--restore cannot be combined with --budget or --objective", hint="--restore prints one source in full"
            )
        source_text = cite_text(workspace, restore)
        if source_text.text is None and not as_json:
            print_terminal_notice(f"no text of {source_text.id} is stored")
        return _print_source_text(source_text, source_text.text or "", as_json=as_json)
    report = cite_context(workspace, budget=budget, objectives=objectives)
    if report.left_out and not as_json:
        left_out = count_noun(len(report.left_out), "source")
        print_terminal_notice(f"{left_out} did not fit: {_format_source_ids(report.left_out)}")
    return _print_source_text(report, report.context, as_json=as_json)


@click.command("near")
@click.argument("source_id", metavar="[ID]", required=False)
@click.option("--file", metavar="FILE", help="Find sources that this file copies; - reads stdin.")
@click.option(
    "--by",
    "way",
    type=click.Choice(("winnowing", "simhash", "forest")),
    default="winnowing",
    help="How to compare texts (see docs/cite-context.md).",
)
@click.option(
    "--least", type=click.FloatRange(0, 1), help="Minimum similarity, from 0 to 1; the default depends on --by."
)
@json_option
@click.pass_context
def find_near_copies_command(
    ctx: click.Context,
    source_id: str | None,
    *,
    file: str | None,
    way: Literal["winnowing", "simhash", "forest"],
    least: float | None,
    as_json: bool,
) -> int:
    """Find sources with nearly the same text.

    Compares all sources with each other, or one source or a file with all others. The result is a suggestion: merge
    two sources with 'custody cite merge'. Sources without stored text cannot be compared; they are counted.

    \b
    Examples:
      custody cite near
      custody cite near S3 --least 0.5
      custody cite near --file report.md --json
    """
    from custody.cite.app.context import cite_near

    if source_id is not None and file is not None:
        raise InputError("an id and --file are mutually exclusive", hint="pass one of them")
    stdin = sys.stdin.buffer.read() if file == STDIN else b""
    report = cite_near(open_command_workspace(ctx), source_id, file=file, stdin=stdin, way=way, least=least)
    return print_command_report(report, "\n".join(_render_near_copies(report)), as_json=as_json)


@click.command("search")
@click.argument("words", nargs=-1, required=True)
@click.option("--most", type=click.IntRange(min=1), default=HITS, help=f"Maximum number of results; default {HITS}.")
@json_option
@click.pass_context
def search_sources_command(ctx: click.Context, words: tuple[str, ...], *, most: int, as_json: bool) -> int:
    """Search sources by topic.

    The words are compared with the title and stored text of every source. Other forms of a word match, synonyms do not.

    \b
    Examples:
      custody cite search revalidation of shared caches
      custody cite search "price of mackerel" --most 1 --json
    """
    from custody.cite.app.context import cite_search

    report = cite_search(open_command_workspace(ctx), " ".join(words), most=most)
    return print_command_report(report, "\n".join(_render_search(report)), as_json=as_json)


def _print_source_text(report: Report, text: str, *, as_json: bool) -> int:
    """Print a text byte for byte; on a terminal, escape control characters."""
    if as_json:
        return print_command_report(report, "", as_json=True)
    if sys.stdout.isatty():
        click.echo(escape_terminal_text(text, tabs=True))
    else:
        sys.stdout.buffer.write(text.encode("utf-8", "surrogatepass"))
    return 0


def _render_near_copies(report: CiteNearReport) -> Iterator[str]:
    for pair in report.pairs:
        yield f"{pair.one}  {pair.other}  {pair.nearness:.0%}"
    if not report.pairs:
        yield f"no near copies among {count_noun(report.compared, 'source')} with text"
    if report.without_text:
        yield f"skipped {count_noun(len(report.without_text), 'source')} without stored text"


def _render_search(report: CiteSearchReport) -> Iterator[str]:
    for hit in report.hits:
        yield f"{hit.id}  {hit.title or '-'}  {hit.url or '-'}  {hit.likeness:.2f}"
    if not report.hits:
        yield f"no match in {count_noun(report.searched, 'source')}"


def _format_source_ids(ids: list[str]) -> str:
    more = f" and {len(ids) - SHOWN_MAX:,} more" if len(ids) > SHOWN_MAX else ""
    return ", ".join(ids[:SHOWN_MAX]) + more


ORDER = ("gone", "unreachable", "moved", "blocked", "alive")
VERDICT_WIDTH = 11


@click.command("check-links")
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@click.option("--file", metavar="REPORT", help="Check the URLs that a report lists; - reads stdin.")
@click.option("--all", "every", is_flag=True, help="Check every source of the registry.")
@click.option("--stale", is_flag=True, help="Check only URLs not checked within cite.link_fresh_days.")
@click.option("--network", is_flag=True, help="Send requests. Without it, only list what would be checked.")
@json_option
@click.pass_context
def check_links_command(  # noqa: PLR0913 - one argument for each option
    ctx: click.Context,
    sources: tuple[str, ...],
    *,
    file: str | None,
    every: bool,
    stale: bool,
    network: bool,
    as_json: bool,
) -> int:
    """Check whether the URLs of sources still work.

    Each URL is alive, moved, blocked (the server denies access), unreachable, or gone. Gone means that it failed three
    times, at least a day apart; the registry stores the failures. The list of a report stores none, so its URLs are
    never gone. Only public addresses are contacted; docs/cite-links.md shows exactly what is sent. Ctrl-C keeps the
    results so far. Exit status: 0 nothing is gone, 1 at least one URL is.

    \b
    Examples:
      custody cite check-links --all
      custody cite check-links --stale --network
      custody cite check-links S3 S7 --network --json
      custody cite check-links --file report.md --network
    """
    from custody.cite.app.links import LinkSelection, cite_check_links

    selection = LinkSelection(sources=sources, all=every, stale=stale, file=file)
    stdin = sys.stdin.buffer.read() if file == STDIN else b""
    report = cite_check_links(open_command_workspace(ctx), selection, stdin, network=network)
    status = print_command_report(report, "\n".join(_render_links(report)), as_json=as_json)
    _print_link_hints(report)
    if report.stopped:
        raise click.Abort
    return status


def _render_links(report: CiteLinksReport) -> Iterator[str]:
    width = max((len(link.id or "-") for link in report.links), default=0)
    for link in report.links:
        word = (link.verdict or "-") if report.network else ("would check" if link.asks else "skipped")
        details = _describe_link_verdict(link, report)
        yield f"{link.id or '-':<{width}}  {word:<{VERDICT_WIDTH}}  {link.address}{details}"
    yield _summarize_links(report)


def _describe_link_verdict(link: CiteLink, report: CiteLinksReport) -> str:
    details = [link.why] if report.network or not link.asks else []
    if not report.network and link.verdict is not None and link.at is not None:
        details.append(f"{link.verdict} on {link.at[:10]}")
    if link.verdict == "moved" and link.location is not None:
        details.append(f"now at {link.location}")
    if link.verdict == "unreachable" and link.failures and link.id is not None and report.file is None:
        details.append(f"failure {link.failures} of {report.gone_after}")
    return f"  ({'; '.join(details)})" if details else ""


def _summarize_links(report: CiteLinksReport) -> str:
    if not report.links:
        if report.file is not None:
            return "the report lists no URLs"
        return "all URLs were checked recently" if report.fresh else "no source has a URL"
    if not report.network:
        return f"dry run: would check {count_noun(sum(link.asks is not None for link in report.links), 'URL')}"
    counts = Counter[str](link.verdict or "unknown" for link in report.links)
    parts = [f"{counts[word]} {word}" for word in (*ORDER, "unknown") if counts[word]]
    return f"{count_noun(len(report.links), 'URL')}: {', '.join(parts)}"


def _print_link_hints(report: CiteLinksReport) -> None:
    if report.offline:
        print_terminal_notice("no server answered, so no failure was counted; this machine may be offline")
    if not report.network and any(link.asks for link in report.links):
        print_terminal_notice("add --network to check them")
