"""``custody cite add``, ``list``, ``show``, ``merge`` and ``unmerge``: the registry of sources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from custody.core.errors import InputError
from custody.core.plural import count_noun, noun_for_count
from custody.terminal.frame import json_option, open_command_workspace, print_command_report

if TYPE_CHECKING:
    from custody.cite.wire import (
        CiteAddReport,
        CiteListReport,
        CiteMerge,
        CiteMergeReport,
        CiteShowReport,
        CiteSource,
        CiteSuggestion,
        ReadingReport,
    )


TITLE_CHARACTERS_MAX = 60
EXCERPT_CHARACTERS_MAX = 100
READINGS_SHOWN_MAX = 10
YEAR_MAX = 9999


@click.command("add")
@click.argument("url", required=False)
@click.option("--title", help="Its title; required without a URL.")
@click.option("--author", help="Who wrote it.")
@click.option("--publisher", help="Who published it.")
@click.option("--date", metavar="DATE", help="Publication date: 2026-01-31 or 2026-01-31T12:00:00Z.")
@click.option("--year", type=click.IntRange(min=0, max=YEAR_MAX), help="Publication year, if the date is unknown.")
@click.option("--type", "source_type", metavar="TYPE", help="Its type: paper, page, book and so on.")
@click.option("--snippet", help="A short quote; without a URL, title and snippet identify a source.")
@click.option("--doi", help="Its DOI; sources with the same DOI are the same work.")
@click.option("--isbn", help="Its ISBN; sources with the same ISBN are the same work.")
@json_option
@click.pass_context
def add_source_command(  # noqa: PLR0913 - one argument for each option
    ctx: click.Context,
    url: str | None,
    *,
    title: str | None,
    author: str | None,
    publisher: str | None,
    date: str | None,
    year: int | None,
    source_type: str | None,
    snippet: str | None,
    doi: str | None,
    isbn: str | None,
    as_json: bool,
) -> int:
    """Add or update a source.

    All spellings of a URL share one id, and so do all URLs of one work (a DOI, an arXiv paper, an RFC, a file on
    GitHub, an archived copy). Similar sources are only suggested; merge them with 'custody cite merge'.

    \b
    Examples:
      custody cite add https://www.rfc-editor.org/rfc/rfc9110 --year 2022
      custody cite add --title "Interview with the team" --author ana --json
    """
    from custody.cite.app.registry import cite_add

    fields = {
        "url": url,
        "title": title,
        "author": author,
        "publisher": publisher,
        "date": date,
        "source_type": source_type,
        "year": year,
        "snippet": snippet,
        "doi": doi,
        "isbn": isbn,
    }
    report = cite_add(open_command_workspace(ctx), fields)
    return print_command_report(report, "\n".join(_render_addition(report)), as_json=as_json)


@click.command("list")
@json_option
@click.pass_context
def list_sources_command(ctx: click.Context, *, as_json: bool) -> int:
    """List every source with its id.

    \b
    Examples:
      custody cite list
      custody cite list --json | jq -r '.sources[] | [.id, .url] | @tsv'
    """
    from custody.cite.app.registry import cite_list

    report = cite_list(open_command_workspace(ctx))
    return print_command_report(report, "\n".join(_render_list(report)), as_json=as_json)


@click.command("show")
@click.argument("source_id", metavar="ID")
@json_option
@click.pass_context
def show_source_command(ctx: click.Context, source_id: str, *, as_json: bool) -> int:
    """Show everything about one source.

    Accepts any of its ids. Shows its fields, its URLs, its merges, who read it and what cites it.

    \b
    Examples:
      custody cite show S3
      custody cite show S3 --json | jq .merges
    """
    from custody.cite.app.registry import cite_show

    report = cite_show(open_command_workspace(ctx), source_id)
    return print_command_report(report, "\n".join(_render_source(report)), as_json=as_json)


@click.command("merge")
@click.argument("kept", metavar="ID")
@click.argument("absorbed", metavar="OTHER")
@click.option("--reason", help="Why both are the same source.")
@json_option
@click.pass_context
def merge_sources_command(ctx: click.Context, kept: str, absorbed: str, *, reason: str | None, as_json: bool) -> int:
    """Merge two ids into one source.

    The source is shown as ID, and OTHER remains its alias. Nothing is lost: 'custody cite unmerge OTHER' restores both.

    \b
    Examples:
      custody cite merge S3 S7 --reason "the preprint of the same paper"
    """
    from custody.cite.app.registry import cite_merge

    report = cite_merge(open_command_workspace(ctx), kept, absorbed, reason=reason)
    return print_command_report(report, "\n".join(_render_merge(report)), as_json=as_json)


@click.command("unmerge")
@click.argument("source_id", metavar="ID")
@click.option("--url", help="Split this URL off, if it was merged automatically.")
@click.option("--reason", help="Why they are different sources.")
@json_option
@click.pass_context
def unmerge_sources_command(
    ctx: click.Context, source_id: str, *, url: str | None, reason: str | None, as_json: bool
) -> int:
    """Undo a merge.

    ID is the absorbed id. It becomes a source of its own again, and the two are not merged automatically a second time.
    With --url, one URL of the source ID becomes a new source with a new id.

    \b
    Examples:
      custody cite unmerge S7 --reason "another edition"
      custody cite unmerge S3 --url "https://example.org/app#one"
    """
    from custody.cite.app.registry import cite_unmerge

    if reason is not None and not reason.strip():
        raise InputError("the reason is empty", hint="omit --reason, or state why they are different sources")
    report = cite_unmerge(open_command_workspace(ctx), source_id, url=url, reason=reason or "")
    return print_command_report(report, "\n".join(_render_merge(report)), as_json=as_json)


def _render_addition(report: CiteAddReport) -> Iterator[str]:
    yield f"{_render_source_line(report.source)}  ({'new' if report.new else 'known'})"
    yield from _render_suggestions(report.suggestions)


def _render_list(report: CiteListReport) -> Iterator[str]:
    if not report.sources and not report.lost:
        yield "no sources registered"
    width = max((len(source.id) for source in report.sources), default=0)
    for source in report.sources:
        also = f"  (also {', '.join(source.aliases)})" if source.aliases else ""
        yield f"{source.id:<{width}}  {_truncate_source_title(source.title)}  {source.url or '-'}{also}"
    if report.lost:
        yield f"{', '.join(report.lost)} {noun_for_count(len(report.lost), 'was', 'were')} erased"


def _render_source(report: CiteShowReport) -> Iterator[str]:
    source = report.source
    yield _render_source_line(source)
    facts = {
        "author": source.author,
        "publisher": source.publisher,
        "date": source.date,
        "type": source.source_type,
        "year": source.metadata.get("year"),
        "also": ", ".join(source.aliases) or None,
        "reading": source.reading,
        "key": source.canonical_key,
        "version": source.source_version,
        "validation": source.metadata.get("validation_state"),
    }
    yield from (f"  {name:<10} {value}" for name, value in facts.items() if value is not None)
    yield from (f"  url        {address.spelling} ({address.id})" for address in report.addresses)
    yield from (f"  merged     {_describe_source_merge(source_merge)}" for source_merge in report.merges)
    usage = report.usage
    uses = (*usage.finding_ids, *usage.cluster_ids, *usage.contradiction_ids, *usage.report_sections)
    if uses:
        yield f"  used by    {', '.join(uses)}"
    yield from (
        f"  read       {_describe_source_reading(reading)}" for reading in report.readings[-READINGS_SHOWN_MAX:][::-1]
    )
    if len(report.readings) > READINGS_SHOWN_MAX:
        yield f"  read       {count_noun(len(report.readings) - READINGS_SHOWN_MAX, 'earlier reading')}"
    yield from (f'  excerpt    "{_truncate_source_excerpt(excerpt.text or "(erased)")}"' for excerpt in report.excerpts)
    yield from _render_suggestions(report.suggestions)


def _render_merge(report: CiteMergeReport) -> Iterator[str]:
    for source in report.sources:
        also = f"  (also {', '.join(source.aliases)})" if source.aliases else ""
        yield f"{_render_source_line(source)}{also}"


def _render_suggestions(suggestions: list[CiteSuggestion]) -> Iterator[str]:
    yield from (f"  possibly the same as {suggestion.id}: {suggestion.why}" for suggestion in suggestions)


def _describe_source_merge(source_merge: CiteMerge) -> str:
    by = f" by {source_merge.who}" if source_merge.who is not None and source_merge.how == "person" else ""
    return f"{source_merge.absorbed or source_merge.address} into {source_merge.kept}{by}: {source_merge.reason}"


def _describe_source_reading(report: ReadingReport) -> str:
    by = "" if report.who is None else f" by {report.who}"
    where = "" if report.session is None else f" in session {report.session}"
    call = "" if report.call is None else f" ({report.call})"
    return f"{report.reading}{by}{where}{call}, {report.at[:10]} {report.at[11:19]} UTC"


def _render_source_line(source: CiteSource) -> str:
    return f"{source.id}  {_truncate_source_title(source.title)}  {source.url or '-'}"


def _truncate_source_title(title: str) -> str:
    title = title or "-"
    return title if len(title) <= TITLE_CHARACTERS_MAX else f"{title[: TITLE_CHARACTERS_MAX - 1]}…"


def _truncate_source_excerpt(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= EXCERPT_CHARACTERS_MAX else f"{line[: EXCERPT_CHARACTERS_MAX - 1]}…"
