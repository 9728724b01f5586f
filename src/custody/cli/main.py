"""The ``custody`` command: imports a verb only when it runs, and turns errors into exit statuses."""

import atexit
import errno
import gc
import os
import sys
import threading
from importlib import import_module
from io import TextIOWrapper
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn

import click

from custody import __version__
from custody.cli.verb_table import COMMON_VERBS, MODULES, SECTIONS
from custody.core.errors import EXIT_BUG, CustodyError, WorldError, exit_status_from_error
from custody.core.platform import UNSUPPORTED

if TYPE_CHECKING:
    from custody.workspace.workspace import Workspace


COLLECTION_OBJECTS = 50_000
"""New objects until the first garbage collection: the imports of a command make many, and none is garbage."""


class OutputClosedError(Exception):
    """The reader of our output closed the pipe, which is not an error."""


class VerbGroup(click.Group):
    """A group that finds its verbs by name and shows them in sections."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the verb; a closed pipe is reported before click makes it a failure."""
        try:
            result: object = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError as error:
            raise OutputClosedError from error
        return result

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return every verb, in the order of the sections."""
        return [verb for verbs in SECTIONS.values() for verb in verbs]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one verb."""
        if cmd_name not in self.list_commands(ctx):
            return None
        command: click.Command = getattr(import_module(MODULES[cmd_name]), f"{cmd_name}_command")
        if not any(option.name == "color" for option in command.params):
            command.params += [_make_color_option(hidden=True), _make_pager_option(hidden=True)]
        if ctx.resilient_parsing:  # a shell completes
            from custody.cli.completion import add_completion

            return add_completion(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the verb, or raise an error that suggests the nearest one."""
        if args and args[0] not in self.list_commands(ctx) and not args[0].startswith("-"):
            raise click.NoSuchCommand(args[0], possibilities=self.list_commands(ctx), ctx=ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the common verbs in two groups, so that they fit on a screen, without importing any."""
        width = max(map(len, COMMON_VERBS))
        first, *others = SECTIONS
        for title, names in ((first, (first,)), (", ".join(others), others)):
            with formatter.section(title):
                verbs = [row for name in names for row in SECTIONS[name].items()]
                formatter.write_dl([(verb.ljust(width), text) for verb, text in verbs if verb in COMMON_VERBS])


def _make_color_option(*, hidden: bool) -> click.Option:
    """Return ``--color``, which works before and after a verb; the overview alone lists it."""
    return click.Option(
        ["--color"],
        type=click.Choice(("auto", "always", "never")),
        expose_value=False,
        callback=_set_color,
        hidden=hidden,
        help="Use color (auto: on a terminal).",
    )


def _make_pager_option(*, hidden: bool) -> click.Option:
    """Return ``--no-pager``, which works before and after a verb."""
    return click.Option(
        ["--no-pager"],
        is_flag=True,
        expose_value=False,
        callback=_set_no_pager,
        hidden=hidden,
        help="Print long results without the pager.",
    )


def _set_color(ctx: click.Context, _option: click.Parameter, color: str | None) -> None:
    if color is not None:
        ctx.meta["custody.color"] = color


def _set_no_pager(ctx: click.Context, _option: click.Parameter, no_pager: bool) -> None:
    if no_pager:
        ctx.meta["custody.no_pager"] = True


@click.group(
    cls=VerbGroup,
    invoke_without_command=True,
    subcommand_metavar="COMMAND [ARGS]...",
    params=[_make_color_option(hidden=False), _make_pager_option(hidden=False)],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="'custody help' lists all commands and topics, 'custody help NAME' shows one.",
)
@click.option(
    "-C",
    "folder",
    metavar="FOLDER",
    type=click.Path(path_type=str),
    default=".",
    help="Work as if started in FOLDER.",
)
@click.option(
    "--database",
    metavar="URL",
    envvar="CUSTODY_DATABASE",
    help="Use this PostgreSQL database as the store.",
)
@click.option(
    "--project",
    metavar="NAME",
    envvar="CUSTODY_PROJECT",
    help="Use this project of the store.",
)
@click.version_option(__version__, prog_name="custody")
@click.pass_context
def cli(ctx: click.Context, folder: str, database: str | None, project: str | None) -> None:
    """Show who wrote each line, why, and whether to trust it.

    \b
    Example:
      custody why src/app.py:10
    """
    ctx.obj = (folder, database)
    ctx.meta["custody.project"] = project
    ctx.meta["custody.remotes"] = _open_remote_verb_workspace
    if ctx.invoked_subcommand is None:
        _print_repository_status(ctx)


def _print_repository_status(ctx: click.Context) -> None:
    from custody.intake.cli.status import render_repository_status
    from custody.intake.install.repository_status import find_repository_status
    from custody.terminal.frame import current_screen, open_command_workspace, print_answer

    workspace = open_command_workspace(ctx)
    print_answer(render_repository_status(find_repository_status(workspace), current_screen(), workspace.now_ns()))


def _open_remote_verb_workspace(workspace: "Workspace", name: str | None) -> "Workspace":
    from custody.share.service_transport import open_remote_cache
    from custody.share.sync import find_remote_service

    return open_remote_cache(workspace, find_remote_service(name))


def _import_msgspec() -> None:
    """Import msgspec without ``typing_extensions``, which takes longer to load than msgspec itself.

    It asks for two names there that the standard library has in every Python that custody runs on.
    """
    if "typing_extensions" not in sys.modules:
        sys.modules["typing_extensions"] = None  # type: ignore[assignment]  # an import finds no module then
        try:
            import_module("msgspec")
        finally:
            del sys.modules["typing_extensions"]


def run() -> NoReturn:
    """Run the command as a program: quick to start and to end.

    Taking the interpreter apart takes as long as a seventh of a short command, so the process ends without it, once
    every handler for its exit ran and every stream is written.
    """
    gc.set_threshold(COLLECTION_OBJECTS)
    _import_msgspec()
    try:
        main()
    except SystemExit as stop:
        status = stop.code
        if not isinstance(status, int) or threading.active_count() > 1:
            raise  # the interpreter prints a text, and waits for threads
        atexit._run_exitfuncs()  # noqa: SLF001 - as multiprocessing ends its processes
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except (OSError, ValueError):
            raise stop from None  # a stream that cannot be written has a status of its own
        os._exit(status)


def main() -> NoReturn:
    """Run the command and exit with the status of its outcome or of its error family."""
    sys.excepthook = _exit_with_bug_report
    open_closed_streams()
    if UNSUPPORTED is not None:
        print_error(UNSUPPORTED, "use it inside the Windows Subsystem for Linux (WSL)")
        sys.exit(2)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A locale without some character shows its escape instead of failing.
            stream.reconfigure(errors="backslashreplace")
    try:
        status = cli.main(prog_name="custody", standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("stopped", err=True)
        sys.exit(130)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        sys.exit(error.exit_code)
    except click.ClickException as error:
        print_error(*usage_error_text(error))
        sys.exit(error.exit_code)
    except CustodyError as error:
        print_error(error.message, error.hint)
        sys.exit(exit_status_from_error(error))
    except (OutputClosedError, BrokenPipeError):
        # Keep the interpreter from flushing into the closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        print_error(*os_error_text(error))
        sys.exit(exit_status_from_error(WorldError(str(error))))
    sys.exit(status if isinstance(status, int) else 0)


def open_closed_streams() -> None:
    """Open the null device for each standard stream that the caller closed, as git does.

    Otherwise the next file that is opened, such as the store, would be standard output to git and to pagers.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is not None:
            continue
        descriptor = os.open(os.devnull, os.O_RDWR)
        if descriptor != number:
            os.dup2(descriptor, number)
            os.close(descriptor)
        os.set_inheritable(number, True)
        setattr(sys, name, open(number, mode, encoding="utf-8", errors="backslashreplace", closefd=False))  # noqa: SIM115


def _exit_with_bug_report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print an unexpected error as a bug and exit with its status (the interpreter's own would be 1)."""
    import traceback  # slow to import, and rarely needed

    for line in traceback.format_exception(kind, error, trace):
        for part in line.splitlines():
            click.echo(_escape_line(part), err=True)
    print_error(f"this is a bug in custody {__version__}; no acknowledged record is lost")
    sys.stdout.flush()
    os._exit(EXIT_BUG)


def print_error(message: str, hint: str | None = None) -> None:
    """Print an error and its hint, in the shape that all errors have; control characters are escaped."""
    click.echo(f"error: {_escape_line(message)}", err=True)
    if hint:
        click.echo(f"hint: {_escape_line(hint)}", err=True)


def _escape_line(text: str) -> str:
    from custody.terminal.screen import escape_controls  # a verb loads it; help and the version do without

    return escape_controls(" ".join(line.strip() for line in text.splitlines()) if "\n" in text else text)


def usage_error_text(error: click.ClickException) -> tuple[str, str | None]:
    """Return click's message in the shape of our own, and the nearest name or where to look for help.

    >>> usage_error_text(click.UsageError("No such option: --foo"))
    ('no such option: --foo', "run 'custody --help'")
    >>> usage_error_text(click.NoSuchOption("--rev", possibilities=["--reason"]))
    ("no such option '--rev'", "did you mean '--reason'?")
    """
    context = error.ctx if isinstance(error, click.UsageError) else None
    hint = f"run '{context.command_path if context is not None else 'custody'} --help'"
    if isinstance(error, click.NoSuchCommand | click.NoSuchOption) and error.possibilities:
        hint = f"did you mean {' or '.join(map(repr, error.possibilities))}?"
    if isinstance(error, click.NoSuchOption):
        return f"no such option '{error.option_name}'", hint
    if isinstance(error, click.NoSuchCommand):
        return f"unknown command '{error.command_name}'", hint
    message = error.format_message().rstrip(".")
    for words, plain in _PLAIN_WORDS:
        message = message.replace(words, plain)
    return message[:1].lower() + message[1:], hint


_PLAIN_WORDS = (
    ("is not a valid integer range", "is not a whole number"),
    ("is not a valid integer", "is not a whole number"),
    ("is not a valid float range", "is not a number"),
    ("is not a valid float", "is not a number"),
)
"""Words of click for which people have others."""


def os_error_text(error: OSError) -> tuple[str, str]:
    """Return the message and the hint for an error of the operating system that no module explains.

    >>> os_error_text(OSError(errno.ENOSPC, "No space left on device"))
    ('cannot read or write: no space left on device', 'free disk space, then run it again')
    >>> os_error_text(OSError(errno.EACCES, "Permission denied", "/x"))
    ("cannot use '/x': permission denied", 'check who owns it and who may read and write it')
    """
    reason = error.strerror or str(error) or type(error).__name__
    place = "cannot read or write" if error.filename is None else f"cannot use '{os.fsdecode(error.filename)}'"
    hint = _OS_HINTS.get(error.errno or 0, "check the disk and the permissions, then run it again")
    return f"{place}: {reason[:1].lower()}{reason[1:]}", hint


_OS_HINTS = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "free disk space, then run it again"),
    **dict.fromkeys((errno.EACCES, errno.EPERM), "check who owns it and who may read and write it"),
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), "raise the limit of open files with 'ulimit -n'"),
}
