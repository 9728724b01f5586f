"""The common parts of all verbs: workspace, ``--json``, the progress bar, and printing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import click
from msgspec.structs import replace

from custody.core.errors import EXIT, InputError, Outcome
from custody.terminal.screen import ColorChoice, Screen, TextLine, detect_screen, escape_controls

if TYPE_CHECKING:
    from pathlib import Path

    from custody.core.wire.report import Report
    from custody.workspace.workspace import CommandResources, Progress, Workspace


F = TypeVar("F", bound=Callable[..., Any])

RESOURCES = "custody.resources"
PROGRESS = "custody.progress"
COLOR = "custody.color"
NO_PAGER = "custody.no_pager"

json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON on one line.")


revision_argument = click.argument("revision", required=False, metavar="[REV]")
rev_option = click.option("--rev", metavar="REV", hidden=True, help="The same as REV.")
"""The one way to name a revision in every verb: after what the verb is about; ``--rev`` is an alias."""


contents_option = click.option(
    "--contents",
    metavar="TEXT-FILE",
    help="Take the text of FILE from here instead of its place on disk; - is standard input.",
)
"""The text of a file that an editor has not saved."""


def use_contents(workspace: Workspace, file: str, contents: str, revision: str | None) -> Workspace:
    """Return the workspace in which ``file`` has the text of ``contents``, or of standard input for ``-``."""
    from custody.git import FILE_BYTES_MAX

    if revision is not None:
        raise InputError("--contents and REV are mutually exclusive", hint="leave out REV")
    try:
        with click.open_file(contents, "rb") as stream:
            content = stream.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise InputError(
            f"cannot read '{contents}': {error.strerror}", hint="pass a file, or - for standard input"
        ) from error
    return workspace.with_buffer(file, content)


def choose_revision(revision: str | None, rev: str | None) -> str | None:
    """Return the revision that the argument or its alias names; an ``InputError`` if both do."""
    if revision is not None and rev is not None:
        raise InputError("REV and --rev are mutually exclusive", hint="leave out --rev")
    return revision if rev is None else rev


def _set_database_option(ctx: click.Context, _parameter: click.Parameter, database: str | None) -> None:
    if database is not None:
        ctx.obj = (ctx.obj[0], database)


database_option = click.option(
    "--database",
    metavar="URL",
    expose_value=False,
    callback=_set_database_option,
    help="The same as --database before the verb.",
)
"""For verbs about a team's database itself, where people write the option after the verb."""


def open_command_workspace(ctx: click.Context, at: Path | None = None, *, is_service: bool = False) -> Workspace:
    """Return the workspace that the options before the verb name, or the one at ``at``.

    It opens its store once, until the verb ends; with ``is_service`` it opens one for each request.
    """
    from pathlib import Path

    from custody.core.ids import DEFAULT_PROJECT, check_project_name
    from custody.workspace.workspace import Workspace

    folder, database = ctx.obj
    path = Path(folder) if at is None else at
    if not path.is_dir():
        raise InputError(f"'{folder}' is not a folder", hint="pass -C an existing folder inside a git repository")
    project = ctx.meta.get("custody.project") or DEFAULT_PROJECT
    return Workspace(
        path,
        database,
        talk=warn,
        progress=_make_terminal_progress(ctx),
        project=check_project_name(project),
        resources=None if is_service else _open_command_resources(ctx),
    )


def _open_command_resources(ctx: click.Context) -> CommandResources:
    """Return the resources of this command, closed when it ends."""
    from custody.workspace.workspace import CommandResources

    if RESOURCES not in ctx.meta:
        resources = ctx.meta[RESOURCES] = CommandResources()
        ctx.call_on_close(resources.close)
    shared: CommandResources = ctx.meta[RESOURCES]
    return shared


OpenRemote: TypeAlias = "Callable[[Workspace, str | None], Workspace]"
"""Opens a service's evidence next to that of a workspace; without a name, that of the only service."""


def open_remote_command_workspace(ctx: click.Context, name: str | None) -> Workspace:
    """Return a workspace with a service's evidence next to our own."""
    opener: OpenRemote = ctx.meta["custody.remotes"]
    return opener(open_command_workspace(ctx), name)


def print_terminal_notice(sentence: str) -> None:
    """Print a sentence that is not part of the result, on stderr."""
    click.echo(escape_terminal_text(sentence), err=True)


def warn(sentence: str) -> None:
    """Print a warning on stderr: the result is valid, but the user should know this."""
    click.echo(f"warning: {escape_terminal_text(sentence)}", err=True)


def print_command_report(report: Report, text: str | Iterable[TextLine], *, as_json: bool, tabs: bool = False) -> int:
    """Print the result, as text or as JSON, and return its exit status; ``tabs`` keeps tab characters in the text.

    A result that is longer than the terminal goes through the user's pager.
    """
    from custody.core.wire.report import encode_report

    if as_json:
        click.echo(encode_report(report))
    else:
        print_answer(text, tabs=tabs)
    return EXIT[Outcome(report.outcome)]


def print_answer(text: str | Iterable[TextLine], *, tabs: bool = False) -> None:
    """Print an answer for people: lines as the terminal shows them, or plain text with control characters escaped."""
    screen = current_screen()
    if isinstance(text, str):
        shown = escape_terminal_text(text, tabs=tabs)
    else:
        shown = "\n".join(screen.render(part) for line in text for part in screen.wrap(line))
    if not shown:
        return
    if context := click.get_current_context(silent=True):
        stop_progress(context)
    if screen.rows and shown.count("\n") >= screen.rows and wants_pager(context):
        from custody.terminal.pager import page_text

        if page_text(f"{shown}\n", screen):
            return
    # The abilities of the terminal were determined before: click must not strip styles again.
    click.echo(shown, color=True)


def current_screen(workspace: Workspace | None = None) -> Screen:
    """Return what standard output can show, by the terminal, the environment and ``--color``.

    With a workspace, paths can be links to its files.
    """
    context = click.get_current_context(silent=True)
    color: ColorChoice = context.meta.get(COLOR, "auto") if context else "auto"
    screen = detect_screen(color=color)
    if workspace is None or not screen.has_links or (folder := workspace.repository.work_tree) is None:
        return screen
    return replace(screen, folder=str(folder))


def wants_pager(context: click.Context | None) -> bool:
    """Return whether a long answer may be paged: not with ``--no-pager``."""
    return context is None or not context.meta.get(NO_PAGER, False)


def escape_terminal_text(text: str, *, tabs: bool = False) -> str:
    """Return ``text`` with control characters escaped, so that a record cannot move the cursor or fail to print."""
    return escape_controls(text, "\n\t" if tabs else "\n")


def _make_terminal_progress(ctx: click.Context) -> Progress:
    """Return a progress line on a terminal, and a silent one elsewhere."""
    from custody.workspace.workspace import Progress

    if not sys.stderr.isatty():
        return Progress()
    from custody.terminal.progress import ProgressLine

    line = ProgressLine(sys.stderr, detect_screen(sys.stderr).columns)
    ctx.meta[PROGRESS] = line
    ctx.call_on_close(line.stop)
    return Progress(line.start, line.step, line.start_bytes)


def stop_progress(ctx: click.Context) -> None:
    """Take the progress line away, so that an answer does not stand beside it."""
    if PROGRESS in ctx.meta:
        ctx.meta[PROGRESS].stop()


CommandTable = Mapping[str, tuple[str, str]]
"""Subcommands by name: each with its function as ``module:name``, and its one-line help. The overview imports none."""


class CommandGroup(click.Group):
    """A group that imports a subcommand only when it runs."""

    def __init__(self, *args: Any, parts: CommandTable = MappingProxyType({}), **more: Any) -> None:
        super().__init__(*args, **more)
        self._parts = parts
        self.prepare: Callable[[click.Command], click.Command] = lambda command: command

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return every subcommand."""
        return list(self._parts)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one subcommand."""
        if cmd_name not in self._parts:
            return None
        module, _, name = self._parts[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return self.prepare(command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the subcommand, or raise an error that suggests the nearest one."""
        if args and args[0] not in self._parts and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise click.NoSuchCommand(args[0], possibilities=self._parts, ctx=ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the overview, without importing any subcommand."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_line) for name, (_, help_line) in self._parts.items()])
