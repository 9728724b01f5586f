"""The ``custody`` command: verbs are imported only when they are asked for, errors become exit statuses once, here."""

import os
import sys
from importlib import import_module
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, NoReturn

import click

from custody import __version__
from custody.core.errors import EXIT_BUG, CustodyError, WorldError, exit_status

if TYPE_CHECKING:
    from custody.workspace.workspace import Workspace

SECTIONS: MappingProxyType[str, MappingProxyType[str, str]] = MappingProxyType(
    {
        "Ask": MappingProxyType(
            {
                "blame": "Say who wrote each line of a file, how sure, and why.",
                "cite": "Keep the sources that statements rest on, and check what cites them.",
                "dupes": "Find the change that is already there, with evidence.",
                "gate": "Judge a change by what is known of its lines, and by what it says.",
                "graph": "Say what agents and programs call, inside what and in what order.",
                "log": "List sessions as they were captured, or show one.",
                "records": "List what was recorded, newest first.",
                "report": "Write the pages of 'custody serve' as files that work without a server.",
                "show": "Show what a record says.",
                "stats": "Count whose the lines of a file, a folder or the whole repository are.",
                "trust": "Say what an agent's record allows, and record decisions about its changes.",
                "why": "Say why a line is there: its commits, the tool call that wrote it, what was asked.",
            }
        ),
        "Set up": MappingProxyType(
            {
                "demo": "Show every verb at work on a sample repository, in a minute.",
                "init": "Have agents' work in this repository recorded as it happens.",
                "uninstall": "Take out of settings and hooks what 'custody init' put there.",
                "record": "Record one event of an agent.",
                "rules": "Show the rules in force and where each was set.",
                "completion": "Print the completion script of a shell.",
            }
        ),
        "Keep": MappingProxyType(
            {
                "verify": "Check that every kept record is as it was stored.",
                "doctor": "Look at the store and its surroundings, and say what to do.",
                "export": "Write everything that is kept as JSON lines, or spans for other tools.",
                "import": "Bring in what agents left on disk, an export, events, traces or spans.",
                "erase": "Forget what a record says, and keep the proof that it was there.",
            }
        ),
        "Team": MappingProxyType(
            {
                "github": "Judge pull requests on GitHub, and learn from what becomes of them.",
                "project": "Keep projects apart, each with its own store, tokens and retention.",
                "pull": "Take over what others recorded and share through a git remote or a service.",
                "push": "Share what was recorded here with a git remote or a service.",
                "remote": "Name the services to push to and to pull from.",
                "serve": "Answer over HTTP, for programs and for a team.",
                "token": "Make, list and revoke the tokens that open a service.",
                "worker": "Do what waits to be done: retention, and jobs of a service.",
            }
        ),
    }
)
"""Every verb with its one-line help, so that the overview imports none of them. A test holds them to the verbs' own."""


MODULES: MappingProxyType[str, str] = MappingProxyType(
    {
        "blame": "custody.attribution.cli",
        "cite": "custody.cite.cli.cite",
        "completion": "custody.cli.rules",
        "demo": "custody.cli.demo",
        "doctor": "custody.intake.cli.setup",
        "dupes": "custody.dupes.cli",
        "erase": "custody.ledger.cli",
        "export": "custody.cli.export",
        "gate": "custody.gate.cli",
        "github": "custody.server.cli.groups",
        "graph": "custody.graph.cli",
        "import": "custody.cli.import_",
        "init": "custody.intake.cli.setup",
        "log": "custody.ledger.cli",
        "project": "custody.server.cli.groups",
        "pull": "custody.share.cli",
        "push": "custody.share.cli",
        "record": "custody.intake.cli.record",
        "records": "custody.ledger.cli",
        "remote": "custody.share.cli",
        "report": "custody.server.cli.serve",
        "rules": "custody.cli.rules",
        "serve": "custody.server.cli.serve",
        "show": "custody.ledger.cli",
        "stats": "custody.attribution.cli",
        "token": "custody.server.cli.groups",
        "trust": "custody.trust.cli.trust",
        "uninstall": "custody.intake.cli.setup",
        "verify": "custody.cli.verify",
        "why": "custody.why.cli",
        "worker": "custody.server.cli.groups",
    }
)
"""The module that defines ``<verb>_command``: in the package of its question, or here where a verb asks several."""


class VerbGroup(click.Group):
    """A group that finds its verbs by name and shows them in sections."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every verb, in the order of the sections."""
        return [verb for verbs in SECTIONS.values() for verb in verbs]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one verb."""
        if cmd_name not in self.list_commands(ctx):
            return None
        command: click.Command = getattr(import_module(MODULES[cmd_name]), f"{cmd_name}_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb, or say which one was probably meant."""
        if args and args[0] not in self.list_commands(ctx) and not args[0].startswith("-"):
            raise click.UsageError(_unknown(args[0], self.list_commands(ctx)), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The overview: verbs by section, without importing any."""
        for section, verbs in SECTIONS.items():
            if verbs:
                with formatter.section(section):
                    formatter.write_dl(list(verbs.items()))


@click.group(
    cls=VerbGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Run 'custody VERB --help' for what a verb does, with examples.",
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
    show_envvar=True,
    help="Use a team's PostgreSQL database instead of this repository's own store.",
)
@click.option(
    "--project",
    metavar="NAME",
    envvar="CUSTODY_PROJECT",
    show_envvar=True,
    help="Work on this project of the store; 'default' if none is named.",
)
@click.version_option(__version__, prog_name="custody")
@click.pass_context
def cli(ctx: click.Context, folder: str, database: str | None, project: str | None) -> None:
    """Who wrote this line, on what grounds, and may we rely on it.

    custody keeps what coding agents did in a chain of records that cannot be changed unnoticed, beside your
    repository, and answers questions from it.
    """
    ctx.obj = (folder, database)
    ctx.meta["custody.project"] = project
    ctx.meta["custody.remotes"] = _open_remote


def _open_remote(workspace: "Workspace", name: str | None) -> "Workspace":
    from custody.share.service_transport import cached
    from custody.share.sync import the_service

    return cached(workspace, the_service(name))


def main() -> NoReturn:
    """Run the command and leave with the exit status that the error families give."""
    sys.excepthook = _bug
    try:
        status = cli.main(prog_name="custody", standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("stopped", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except CustodyError as error:
        click.echo(f"custody: {error.message}", err=True)
        if error.hint:
            click.echo(f"  hint: {error.hint}", err=True)
        sys.exit(exit_status(error))
    except BrokenPipeError:
        # The reader of our output went away: not an error of anybody's. Keep the interpreter from flushing into it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        click.echo(f"custody: {error.filename or 'the operating system'}: {error.strerror or error}", err=True)
        sys.exit(exit_status(WorldError(str(error))))
    sys.exit(status if isinstance(status, int) else 0)


def _bug(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """What nobody expected is a bug of ours: show it and leave with its status (the interpreter's own would be 1)."""
    import traceback  # slow to import, and hardly ever needed

    traceback.print_exception(kind, error, trace)
    click.echo(f"custody: this is a bug in custody {__version__}; nothing acknowledged is lost", err=True)
    sys.stdout.flush()
    os._exit(EXIT_BUG)


def _unknown(verb: str, verbs: list[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(verb, verbs, n=1)
    return f"no verb '{verb}'" + (f"; did you mean '{near[0]}'?" if near else "")
