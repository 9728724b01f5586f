"""What every verb shares: its workspace, its ``--json``, its progress bar, and where words go."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from custody.core.errors import EXIT, InputError, Outcome
from custody.core.ids import DEFAULT_PROJECT, project_name
from custody.core.wire.report import Report, encode_report
from custody.workspace.workspace import CommandResources, Progress, Workspace

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

F = TypeVar("F", bound=Callable[..., Any])

RESOURCES = "custody.resources"

json_option = click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON on one line.")


def _named(ctx: click.Context, _parameter: click.Parameter, database: str | None) -> None:
    if database is not None:
        ctx.obj = (ctx.obj[0], database)


database_option = click.option(
    "--database", metavar="URL", expose_value=False, callback=_named, help="The same as --database before the verb."
)
"""For verbs about a team's database itself: there people look for it behind the verb."""


def open_workspace(ctx: click.Context, at: Path | None = None, *, is_service: bool = False) -> Workspace:
    """Where this verb works, from the options before the verb, or at the repository that it was given itself.

    It opens its store once, until the verb ends; with ``is_service`` it opens one for each request.
    """
    folder, database = ctx.obj
    path = Path(folder) if at is None else at
    if not path.is_dir():
        raise InputError(f"'{folder}' is not a folder", hint="give -C an existing folder inside a git repository")
    project = ctx.meta.get("custody.project") or DEFAULT_PROJECT
    return Workspace(
        path,
        database,
        talk=say,
        progress=_progress(ctx),
        project=project_name(project),
        resources=None if is_service else _resources(ctx),
    )


def _resources(ctx: click.Context) -> CommandResources:
    """What this command shares, closed when it ends."""
    if RESOURCES not in ctx.meta:
        resources = ctx.meta[RESOURCES] = CommandResources()
        ctx.call_on_close(resources.close)
    shared: CommandResources = ctx.meta[RESOURCES]
    return shared


OpenRemote = Callable[[Workspace, str | None], Workspace]
"""Opens a service's evidence beside that of a workspace; without a name, that of the only service."""


def remote_workspace(ctx: click.Context, name: str | None) -> Workspace:
    """Where this verb works when it is to answer from a service's evidence beside our own."""
    opener: OpenRemote = ctx.meta["custody.remotes"]
    return opener(open_workspace(ctx), name)


def say(sentence: str) -> None:
    """Tell the user something that is not the answer."""
    click.echo(f"custody: {sentence}", err=True)


def answer(report: Report, words: str, *, as_json: bool, tabs: bool = False) -> int:
    """Print the answer, as words or as JSON, and give the exit status it stands for; ``tabs`` may stand in words."""
    if as_json:
        click.echo(encode_report(report))
    elif words:
        click.echo(printable(words, tabs=tabs))
    return EXIT[Outcome(report.outcome)]


def printable(words: str, *, tabs: bool = False) -> str:
    """``words`` as any terminal can show them: what a record holds can neither move the cursor nor fail to print."""
    kept = "\n\t" if tabs else "\n"
    return "".join(sign if sign.isprintable() or sign in kept else ascii(sign)[1:-1] for sign in words)


def _progress(ctx: click.Context) -> Progress:
    """A bar on a terminal; silence elsewhere."""
    if not sys.stderr.isatty():
        return Progress()
    bar = _Bar()
    ctx.call_on_close(bar.stop)
    return Progress(bar.start, bar.step)


class _Bar:
    """rich's progress bar, imported when there is something to show."""

    def __init__(self) -> None:
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def start(self, what: str, total: int | None) -> None:
        """Begin a stretch of work."""
        from rich.console import Console
        from rich.progress import Progress as RichProgress

        self.stop()
        self._bar = RichProgress(console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task(what, total=total)
        self._bar.start()

    def step(self, count: int) -> None:
        """Some more is done."""
        if self._bar is not None and self._task is not None:
            self._bar.advance(self._task, count)

    def stop(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


# A verb that has parts, each imported when it is asked for.


CommandTable = Mapping[str, tuple[str, str]]
"""The parts by name: each with its function as ``module:name``, and its one-line help. The overview imports none."""


class CommandGroup(click.Group):
    """A group that knows its parts from a table."""

    def __init__(self, *args: Any, parts: CommandTable = MappingProxyType({}), **more: Any) -> None:
        super().__init__(*args, **more)
        self._parts = parts

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every part."""
        return list(self._parts)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one part."""
        if cmd_name not in self._parts:
            return None
        module, _, name = self._parts[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The overview, without importing any part."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, words) for name, (_, words) in self._parts.items()])
