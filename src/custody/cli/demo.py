"""``custody demo``."""

from __future__ import annotations

import sys
from codecs import lookup
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from custody.core.plural import count_noun
from custody.demo.narrator import OutputKind
from custody.terminal.frame import json_option, print_command_report, print_terminal_notice

if TYPE_CHECKING:
    from custody.demo.narrator import DemoReport, Show


_STYLES: MappingProxyType[OutputKind, dict[str, Any]] = MappingProxyType(
    {
        OutputKind.HEADING: {"bold": True, "fg": "cyan"},
        OutputKind.SENTENCE: {},
        OutputKind.COMMAND: {"bold": True},
        OutputKind.OUTPUT: {"dim": True},
        OutputKind.WRONG: {"bold": True, "fg": "red"},
    }
)


@click.command("demo")
@click.option("--keep", is_flag=True, help="Keep the sample repository and print its path.")
@click.option("--plain", is_flag=True, help="Print without colors.")
@click.option(
    "--serve/--no-serve",
    "with_pages",
    default=None,
    help="Open the pages in a browser at the end, or do not; on a terminal, the default is to ask.",
)
@json_option
def demo_command(*, keep: bool, plain: bool, with_pages: bool | None, as_json: bool) -> int:
    """Run every command on a sample repository.

    Creates a repository in a temporary folder, with sessions of two agents, commits of a person and six proposed
    changes: a duplicate, a rewrite, a backport, one with a forged trace, a report without sources, and a clean one.
    Then runs every command and compares each result with the expected one. Reads and changes none of your files, sends
    nothing to other machines, and deletes the folder at the end. On a terminal, it then offers the pages of 'custody
    serve'. Exit status: 0 every result as expected, 1 at least one was not.

    \b
    Examples:
      custody demo
      custody demo --keep
      custody demo --serve
      custody demo --json | jq '.steps[].commands[].line'
    """
    from custody.cli.main import main
    from custody.demo.narrator import STORY, play_demo_story
    from custody.demo.sandbox import InProcessCommand, remove_demo_sandbox

    show = _discard_demo_line if as_json else _make_demo_printer(None if not plain else False)
    offered = with_pages if with_pages is not None else not as_json and sys.stdin.isatty() and sys.stdout.isatty()
    report = play_demo_story(InProcessCommand(main, _find_output_encoding()), show, STORY, keep=keep or offered)
    try:
        status = print_command_report(report, _render_demo_report(report, keep=keep), as_json=as_json)
        if (
            offered
            and report.folder is not None
            and (with_pages or click.confirm("Open the pages in a browser?", default=True))
        ):
            _serve_demo_pages(Path(report.folder))
        return status
    finally:
        if report.folder is not None and not keep:
            remove_demo_sandbox(Path(report.folder))


def _serve_demo_pages(repository: Path) -> None:
    """Serve the pages of the sample repository until Ctrl-C, and open the review of a change."""
    from custody.demo.changes import AGAIN
    from custody.server.listener import ListenAddress, serve
    from custody.workspace.workspace import Workspace

    page = f"/changes/{AGAIN}"

    def announce(address: ListenAddress) -> None:
        print_terminal_notice(f"Serving the pages at {address.make_page_url(page)} (Ctrl-C to stop)")

    serve(Workspace(repository), host="127.0.0.1", port=0, announce=announce, page=page)


def _find_output_encoding() -> str:
    """Return the encoding of standard output; UTF-8 instead of ASCII, as click writes it."""
    encoding = lookup(sys.stdout.encoding or "utf-8").name
    return "utf-8" if encoding == "ascii" else encoding


def _make_demo_printer(color: bool | None) -> Show:
    def show(kind: OutputKind, line: str) -> None:
        if kind is OutputKind.HEADING:
            click.echo()
        click.echo(click.style(line, **_STYLES[kind]), color=color)

    return show


def _discard_demo_line(_kind: OutputKind, _line: str) -> None:
    """Print nothing: the JSON has every line."""


def _render_demo_report(report: DemoReport, *, keep: bool) -> str:
    commands = [command for step in report.steps for command in step.commands]
    wrong = sum(not command.as_told for command in commands)
    outcome = (
        f"{count_noun(wrong, 'result')} NOT as expected: please report it." if wrong else "every result as expected."
    )
    lines = ["", f"{count_noun(len(commands), 'command')} ran, {outcome}"]
    if report.folder is None or not keep:
        lines.append("Next: run 'custody init' in your own repository, or 'custody demo --keep' to try this one.")
    else:
        lines += [
            f"The sample repository is in {report.folder}. Try:",
            *(f"  {suggestion}" for suggestion in _SUGGESTIONS),
        ]
    return "\n".join(lines)


_SUGGESTIONS = (
    "custody why src/till/tax.py:10",
    "custody gate main..forged/discounts --format markdown",
    "custody dupes cluster --all",
)
