"""``custody demo``."""

import sys
from codecs import lookup
from pathlib import Path
from types import MappingProxyType
from typing import Any

import click

from custody.cli.main import main
from custody.demo.narrator import STORY, DemoReport, OutputKind, Show, tell
from custody.demo.sandbox import InProcessCommand, forget
from custody.terminal.frame import answer, json_option, say

_LOOKS: MappingProxyType[OutputKind, dict[str, Any]] = MappingProxyType(
    {
        OutputKind.HEADING: {"bold": True, "fg": "cyan"},
        OutputKind.SENTENCE: {},
        OutputKind.COMMAND: {"bold": True},
        OutputKind.OUTPUT: {"dim": True},
        OutputKind.WRONG: {"bold": True, "fg": "red"},
    }
)


@click.command("demo")
@click.option("--keep", is_flag=True, help="Keep the sample repository, and say where it is.")
@click.option("--plain", is_flag=True, help="Without colours.")
@click.option(
    "--serve/--no-serve",
    "wanted",
    default=None,
    help="End on the pages in a browser, or do not; on a terminal you are asked.",
)
@json_option
def demo_command(*, keep: bool, plain: bool, wanted: bool | None, as_json: bool) -> int:
    """Show every verb at work on a sample repository, in a minute.

    A repository is made in a temporary folder, with sessions of two agents and a person and six proposed changes: a
    duplicate, a rewrite, a backport, one with a forged trace, a report without sources, and a clean one. Then every
    verb is asked in turn. Nothing of yours is read or changed, nothing leaves this machine, and the folder is gone
    afterwards. Every answer is compared with what the story claims. On a terminal it then offers the pages that
    'custody serve' shows of all this. Exit status: 0 all as told, 1 something was not.

    \b
    Examples:
      custody demo
      custody demo --keep
      custody demo --serve
      custody demo --json | jq '.steps[].commands[].line'
    """
    show = _silent if as_json else _shower(None if not plain else False)
    offered = wanted if wanted is not None else not as_json and sys.stdin.isatty() and sys.stdout.isatty()
    report = tell(InProcessCommand(main, _encoding()), show, STORY, keep=keep or offered)
    try:
        status = answer(report, _render_demo(report, keep=keep), as_json=as_json)
        if (
            offered
            and report.folder is not None
            and (wanted or click.confirm("Look at it in a browser?", default=True))
        ):
            _look(Path(report.folder))
        return status
    finally:
        if report.folder is not None and not keep:
            forget(Path(report.folder))


def _look(repository: Path) -> None:
    """Serve the sample repository's pages until Ctrl-C, and open the first."""
    from custody.server.listener import ListenAddress, serve
    from custody.workspace.workspace import Workspace

    def announce(address: ListenAddress) -> None:
        say(f"the pages are at {address.at('overview')}; Ctrl-C ends this")

    serve(Workspace(repository), host="127.0.0.1", port=0, announce=announce, page="/overview")


def _encoding() -> str:
    """What this terminal speaks; to one that speaks ASCII click writes UTF-8."""
    spoken = lookup(sys.stdout.encoding or "utf-8").name
    return "utf-8" if spoken == "ascii" else spoken


def _shower(color: bool | None) -> Show:
    def show(kind: OutputKind, line: str) -> None:
        if kind is OutputKind.HEADING:
            click.echo()
        click.echo(click.style(line, **_LOOKS[kind]), color=color)

    return show


def _silent(_kind: OutputKind, _line: str) -> None:
    """The JSON says it all."""


def _render_demo(report: DemoReport, *, keep: bool) -> str:
    asked = [command for step in report.steps for command in step.commands]
    wrong = sum(not command.as_told for command in asked)
    lines = [
        "",
        f"{len(asked)} commands, " + ("all as told." if not wrong else f"{wrong} NOT as told: please report it."),
    ]
    if report.folder is None or not keep:
        lines.append("Next: 'custody init' in a git repository of yours; 'custody demo --keep' leaves this one to try.")
    else:
        lines += [
            f"The sample repository is in {report.folder}. Try there:",
            *(f"  {suggestion}" for suggestion in _TRY),
        ]
    return "\n".join(lines)


_TRY = (
    "custody why src/till/tax.py:10",
    "custody gate main..forged/discounts --format markdown",
    "custody dupes cluster --all",
)
